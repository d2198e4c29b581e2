"""The shell around a rule on a set that answers questions: actions are vectors."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from noisewise.actions import Answer, OracleSet
from noisewise.core.choice.selection import Mask
from noisewise.core.model.dense import Floats
from noisewise.core.model.vectors import covariance, place
from noisewise.core.support.checks import check_sigma
from noisewise.policies.shell.base_policy import BasePolicy, chosen_by
from noisewise.policies.shell.decide import decide
from noisewise.policies.shell.on_sets import OnSets, SetState, keep_if_due, learn_vector, new_state, own_slot
from noisewise.policies.shell.policy_file import copy_state
from noisewise.policies.shell.rule import Rule
from noisewise.policies.shell.set_candidates import candidates, narrowed, recommended
from noisewise.policies.shell.set_estimate import SetEstimate


class VectorMeasurement(NamedTuple):
    """A checked measurement of a vector."""

    action: Floats
    reward: float
    sigma: float


@dataclass(frozen=True)
class Vectors:
    """The actions of a set, of which a rule chooses by an aim."""

    actions: OracleSet
    certified: SetState
    """What was told: what is pending makes widths smaller, but rules nothing out before it is there."""
    bounded: bool
    """Whether a bound on what any action of the set could reach is wanted."""

    def n_draws(self, rule: Rule, params: Any) -> int:
        """One per feature, if the aim is random."""
        return self.actions.dim if _on_sets(rule).random else 0

    def choose(self, rule: Rule, params: Any, state: Any, sigma: float, draws: Floats) -> Answer:
        """The best action for the rule's aim; among the candidates, if the rule keeps to them."""
        actions, direction = self.actions, np.empty(self.actions.dim)
        reach = float(_on_sets(rule).aim(params, state, draws, direction))
        spread = covariance(state.model)
        if self.bounded:
            answer = actions.largest_of(direction, spread, reach)
        else:
            vector = np.empty(actions.dim)
            actions.oracle.largest(actions.shape, direction, spread, reach, vector)
            answer = Answer(vector, math.nan, math.inf)
        if _on_sets(rule).among_candidates(params):
            vector = narrowed(rule, actions, params, self.certified, spread, answer.vector)
            answer = Answer(vector, math.sqrt(max(0.0, float(vector @ spread @ vector))), answer.upper)
        return answer


def _on_sets(rule: Rule) -> OnSets:
    """How the rule runs on a set; `SetPolicy` refuses those that do not."""
    assert rule.on_sets is not None
    return rule.on_sets


class SetPolicy(BasePolicy):
    """A rule with its state on a set such as `noisewise.Ball`: it asks for vectors.

    Made by the rules' constructors, such as `noisewise.vaee`, when they are given such a set.
    """

    actions: OracleSet
    _state: SetState

    def __init__(
        self, rule: Rule, actions: OracleSet, options: dict[str, Any], *, horizon: int | None = None
    ) -> None:
        if rule.on_sets is None:
            raise ValueError(
                f"`actions` must be a list of vectors for {rule.name!r}, which looks at every action; "
                f"got {actions!r}. (nw.vaee runs on it.)"
            )
        self._on_sets: OnSets = rule.on_sets
        self._prepare(rule, actions, options, horizon)
        wanted = options.get("recommendation", "best")
        if wanted != "best" and not (wanted == "last" and rule.on_sets.recommends_last(self._params)):
            raise ValueError(
                f"`recommendation` must be 'best' for {rule.name!r} on {actions!r}, whose actions are not "
                f"counted; got {wanted!r}."
            )
        self._state = new_state(rule.on_sets, rule.init(self._params))

    def ask(
        self,
        sigma: float | None = None,
        pending: Iterable[Any] = (),
        allowed: Sequence[Any] | Mask | None = None,
    ) -> Floats:
        """The vector to measure next. Asking changes nothing; only telling does.

        Args:
            sigma: The noise of the coming measurement, if it is known beforehand.
            pending: Measurements under way, as vectors or pairs (vector, sigma).
            allowed: Not on an infinite set: leave it out.
        """
        return self._choose(sigma, pending, allowed, bounded=False).vector

    def choice(self, sigma: float | None = None, pending: Iterable[Any] = ()) -> Answer:
        """What `ask` would answer, with its value and a bound on what any action of the set could reach.

        The value is what the rule makes large: a width for `noisewise.vaee`, an upper bound for optimism.
        """
        return self._choose(sigma, pending, None, bounded=True)

    def why(self, action: Any, pending: Iterable[Any] = ()) -> str:
        """Why to measure this vector now, in words.

        Args:
            action: Usually what ``ask`` answered.
            pending: The measurements under way that ``ask`` was told of.
        """
        vector = self.actions.check_action(action)
        spread = covariance(self._with(self._under_way(pending)).inner.model)
        return chosen_by(self.name, math.sqrt(max(0.0, float(vector @ spread @ vector))))

    def tell(self, action: Any, reward: float, sigma: float, *, strict: bool = True) -> None:
        """Learn one measurement: the vector, what came out, and its sigma.

        Args:
            action: The vector that was measured.
            reward: What came out.
            sigma: Its standard deviation.
            strict: Whether to refuse a vector outside the set.
        """
        self._learn(self._checked(action, reward, sigma, strict=strict))

    def tell_many(
        self, actions: Sequence[Any], rewards: ArrayLike, sigmas: ArrayLike, *, strict: bool = True
    ) -> None:
        """Learn many measurements in order; if one of them is bad, none is learnt."""
        columns = self._equally_long(actions, rewards, sigmas)
        checked = [self._checked(a, r, s, strict) for a, r, s in zip(*columns, strict=True)]
        before = None if self.rule.absorb_many is None else self.copy()
        try:
            for told in checked:
                self._learn(told)
        except ValueError:
            # Only rules with a limited history refuse what was checked.
            if before is not None:
                self._state, self._sigmas = before._state, before._sigmas
            raise

    def recommend(self) -> Floats:
        """The action to take if measuring stops now."""
        return recommended(self.rule, self.actions, self._params, self._state)

    def is_candidate(self, vector: Any) -> bool:
        """Whether an action may still be the best, by the newest certificate and those kept."""
        action = self.actions.check_action(vector)
        return bool(self._breach()) or bool(
            candidates(self.rule, self.actions, self._params, self._state)(action[None, :])[0]
        )

    def estimate(self) -> SetEstimate:
        """Everything the policy believes now."""
        inner, limits = self._state.inner, self._params.setting.radius
        radius = float(self.rule.radius(self._params, inner))
        recommended = self.recommend()
        parameter, spread = self._on_sets.parameter(self._params, inner), covariance(inner.model)
        found = self.actions.contrast_of(parameter, spread, radius, recommended)
        upper, value, breach = found.upper, found.value, self._breach()
        if breach:
            radius, upper = math.inf, math.inf
        most = 2.0 * limits.norm_bound * self.actions.max_norm
        return SetEstimate(
            theta=parameter,
            covariance=spread,
            radius=radius,
            recommended=recommended,
            mean=float(parameter @ recommended),
            width=math.sqrt(np.maximum(0.0, recommended @ spread @ recommended)),
            regret_bound=upper if upper < most else most,  # also where it is no number
            regret_found=max(0.0, value) if value < most else most,
            total_precision=self.total_precision,
            n_told=self.n_told,
            delta=limits.delta,
            certificate=breach or self.rule.certificate(self._params, inner),
        )

    def copy(self) -> Self:
        """An independent copy, with everything told so far."""
        twin = super().copy()
        twin._state = twin._state._replace(inner=own_slot(twin._state.inner))
        return twin

    def _choose(self, sigma: Any, pending: Any, allowed: Any, *, bounded: bool) -> Answer:
        if allowed is not None:
            raise ValueError(
                f"`allowed` must be left out on an infinite set; got {allowed!r}. "
                "(Make a smaller set, such as nw.Polytope(vertices), or an nw.ActionSet.)"
            )
        announced = None if sigma is None else check_sigma(sigma)
        under_way = self._under_way(pending)
        state, number = self._with(under_way).inner, self.n_told + len(under_way)
        menu = Vectors(self.actions, self._state, bounded)
        return decide(self.rule, self._params, state, menu, sigma=announced, seed=self.seed, number=number)

    def _with(self, under_way: list[tuple[Floats, float]]) -> Any:
        """The state as if these measurements had come out as expected."""
        state = self._state
        if under_way or self.rule.plan:
            state = copy_state(state)
            state = state._replace(inner=own_slot(state.inner))
        for vector, sigma in under_way:
            place(state.inner.model, vector)
            self._imagine(state.inner, 0, sigma)
        return state

    def _learn(self, told: Any) -> None:
        self._make_room(1)
        rule, params, state = self.rule, self._params, self._state
        learn_vector(rule.absorb, params, state, *self._seen(told))
        largest, shape = self.actions.oracle.largest, self.actions.shape
        keep_if_due(rule.radius, self._on_sets.parameter, largest, params, shape, state)
        self._sigmas.append(told.sigma)

    def _checked(self, action: Any, reward: Any, sigma: Any, strict: bool = True) -> Any:
        return VectorMeasurement(
            self.actions.check_action(action, strict=strict), *self._checked_values(reward, sigma)
        )

    def _under_way(self, pending: Any) -> list[tuple[Floats, float]]:
        if isinstance(pending, str) or not isinstance(pending, Iterable):
            raise TypeError(f"`pending` must be a list of vectors or pairs (vector, sigma); got {pending!r}.")
        return [self._pending_vector(item) for item in pending]

    def _pending_vector(self, item: Any) -> tuple[Floats, float]:
        if isinstance(item, tuple) and len(item) == 2 and np.ndim(item[0]) == 1:
            sigma = math.nan if item[1] is None else check_sigma(item[1])
            return self.actions.check_action(item[0], strict=False), sigma
        return self.actions.check_action(item, strict=False), math.nan
