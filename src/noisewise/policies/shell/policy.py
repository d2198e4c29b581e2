"""The shell around a rule on a list of actions: ask, tell, recommend, estimate. The same for every rule."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from noisewise.actions import ActionSet, OracleSet
from noisewise.core.choice.selection import Mask
from noisewise.core.model.dense import Floats, theta
from noisewise.core.support.checks import check_sigma
from noisewise.core.support.randomness import generator
from noisewise.policies.shell.base_policy import BasePolicy, chosen_by
from noisewise.policies.shell.decide import Rows, decide, plan_if_wanted
from noisewise.policies.shell.policy_file import copy_state
from noisewise.policies.shell.recommendation import (
    BEST,
    RECOMMENDATIONS,
    SMALLEST_BOUND,
    Advice,
    make_advice,
    recommended,
)
from noisewise.policies.shell.rule import ANYTIME, Rule

Pending = Iterable[Any]


@dataclass(frozen=True, eq=False)
class Estimate:
    """What a policy believes at one moment.

    ``means[k] ± radius·widths[k]`` holds for all actions and at all times with probability 1 - delta, and
    with it: the best action is among the ``candidates``, and the recommended one is at most
    ``regret_bound`` below the best. ``certificate`` says if "at all times" is restricted, or what the
    statement rests on; where it begins with "none" nothing is ruled out, and the radius is infinite.
    """

    theta: Floats  # (dim,)
    means: Floats  # (n,)
    widths: Floats  # (n,)
    radius: float
    candidates: Mask  # (n,)
    recommended: int
    regret_bound: float
    total_precision: float
    n_told: int
    delta: float
    label: str
    certificate: str

    def __repr__(self) -> str:
        return (
            f"Estimate(after {self.n_told} measurements: recommends {self.label}, at most "
            f"{self.regret_bound:.3g} below the best with {1 - self.delta:.0%} confidence"
            f"{'' if self.certificate == ANYTIME else ' (' + self.certificate + ')'}; "
            f"{int(self.candidates.sum())} of {self.candidates.size} actions may still be the best)"
        )


class RowMeasurement(NamedTuple):
    """A checked measurement."""

    action: int
    reward: float
    sigma: float


class Policy(BasePolicy):
    """A rule with its state: say what to measure, take the result, recommend.

    Made by the rules' constructors, such as `noisewise.vaee`, or by `noisewise.make_policy`.
    """

    actions: ActionSet

    def __init__(
        self,
        rule: Rule,
        actions: ActionSet | ArrayLike,
        options: dict[str, Any],
        *,
        horizon: int | None = None,
    ) -> None:
        if isinstance(actions, OracleSet):
            raise TypeError(
                f"`actions` must be a list of vectors for nw.Policy; got {actions!r}: use nw.SetPolicy, or "
                "the rule's constructor, which takes both."
            )
        listed = actions if isinstance(actions, ActionSet) else ActionSet(actions)
        self._prepare(rule, listed, options, horizon)
        self._everything: Mask = np.ones(listed.n_actions, dtype=np.bool_)
        self._everything.flags.writeable = False
        self._state = self.rule.init(self._params)
        self._advice_kind = self._make_advice().kind
        self._check_certified()

    def ask(
        self,
        sigma: float | None = None,
        pending: Pending = (),
        allowed: Sequence[Any] | Mask | None = None,
    ) -> Any:
        """The action to measure next (on an infinite set, its vector). Asking changes nothing.

        Args:
            sigma: The noise of the coming measurement, if it is known beforehand; a rule that needs it
                refuses to choose without.
            pending: Measurements under way, as actions or pairs (action, sigma). A missing sigma is the
                median told so far; before the first, as large as the action is wide.
            allowed: The actions that can be measured this time. Default: all.
        """
        announced = None if sigma is None else check_sigma(sigma)
        menu = Rows(self._allowed(allowed))
        state, n_pending = self._imagined(pending)
        number = self.n_told + n_pending
        return decide(self.rule, self._params, state, menu, sigma=announced, seed=self.seed, number=number)

    def why(self, action: Any, pending: Pending = ()) -> str:
        """Why to measure this action now, in words.

        Args:
            action: Usually what ``ask`` answered.
            pending: The measurements under way that ``ask`` was told of.
        """
        row = self.actions.index(action)
        state, _ = self._imagined(pending)
        plan_if_wanted(self.rule, self._params, state)
        if self.rule.explain is not None:
            return self.rule.explain(self._params, state, row, self.actions.label)
        return chosen_by(self.name, math.sqrt(state.model.squared_widths[row]))

    def tell(self, action: Any, reward: float, sigma: float) -> None:
        """Learn one measurement: the action's row or label, what came out, and its sigma."""
        told = self._checked(action, reward, sigma)
        plan_if_wanted(self.rule, self._params, self._state)
        self._make_room(1)
        self.rule.absorb(self._params, self._state, *self._seen(told))
        self._sigmas.append(told.sigma)
        self._told.append(told.action)
        # At once: an estimate should know what the measurement completed.
        plan_if_wanted(self.rule, self._params, self._state)

    def tell_many(self, actions: Sequence[Any], rewards: ArrayLike, sigmas: ArrayLike) -> None:
        """Learn many measurements in order; if one of them is bad, none is learnt."""
        columns_told = self._equally_long(actions, rewards, sigmas)
        told = [self._checked(*item) for item in zip(*columns_told, strict=True)]
        if told and self.rule.absorb_many is not None:
            columns = [np.array(column) for column in zip(*map(self._seen, told), strict=True)]
            self._make_room(len(told))
            self.rule.absorb_many(self._params, self._state, *columns)
            self._sigmas.extend(item.sigma for item in told)
            self._told.extend(item.action for item in told)
        else:
            for item in told:
                self.tell(*item)

    def recommend(self) -> Any:
        """The action to take if measuring stops now."""
        best = int(self.rule.recommend(self._params, self._state))
        if self._advice_kind == BEST:
            return best
        return recommended(
            self._make_advice(),
            np.array(self._told, dtype=np.int64),
            best,
            self._state.model,
            self.rule.candidates(self._params, self._state),
            float(self.rule.radius(self._params, self._state)),
        )

    def is_candidate(self, action: Any) -> bool:
        """Whether an action may still be the best."""
        row = self.actions.index(action)
        return bool(self._breach() or self.rule.candidates(self._params, self._state)[row])

    def estimate(self) -> Estimate:
        """Everything the policy believes now, as arrays of its own."""
        model, setting = self._state.model, self._params.setting
        recommended = self.recommend()
        radius = float(self.rule.radius(self._params, self._state))
        candidates = np.array(self.rule.candidates(self._params, self._state))
        bound = float(self.rule.bound(self._params, self._state, candidates, recommended, radius))
        breach = self._breach()
        if breach:
            radius, bound, candidates[:] = math.inf, math.inf, True
        most = 2.0 * setting.radius.norm_bound * setting.radius.max_norm
        return Estimate(
            theta=theta(model),
            means=model.means.copy(),
            widths=np.sqrt(model.squared_widths),
            radius=radius,
            candidates=candidates,
            recommended=recommended,
            regret_bound=bound if bound < most else most,  # also where it is no number
            total_precision=self.total_precision,
            n_told=self.n_told,
            delta=setting.radius.delta,
            label=self.actions.label(recommended),
            certificate=breach or self.rule.certificate(self._params, self._state),
        )

    def _make_advice(self) -> Advice:
        return make_advice(self.options, self.actions.n_actions, generator(self.seed, "advice", 0))

    def _check_certified(self) -> None:
        wanted = self._advice_kind == SMALLEST_BOUND
        if wanted and math.isnan(self.rule.radius(self._params, self._state)):
            raise ValueError(
                f"`recommendation` must not be {RECOMMENDATIONS[SMALLEST_BOUND]!r} for {self.name!r}, "
                "which has no certificate."
            )

    def _imagined(self, pending: Pending) -> tuple[Any, int]:
        """The state as if what is under way came out as expected, and how many measurements that is.

        A copy wherever choosing would change it.
        """
        if isinstance(pending, str) or not isinstance(pending, Iterable):
            raise TypeError(f"`pending` must be a list of actions or pairs (action, sigma); got {pending!r}.")
        under_way = [self._checked_pending(item) for item in pending]
        state = copy_state(self._state) if under_way or self.rule.plan else self._state
        for action, sigma in under_way:
            self._imagine(state, action, sigma)
        return state, len(under_way)

    def _checked(self, action: Any, reward: Any, sigma: Any) -> RowMeasurement:
        return RowMeasurement(self.actions.index(action), *self._checked_values(reward, sigma))

    def _checked_pending(self, item: Any) -> tuple[int, float]:
        if isinstance(item, tuple | list):
            if len(item) != 2:
                raise ValueError(f"`pending` must hold actions or pairs (action, sigma); got {item!r}.")
            sigma = math.nan if item[1] is None else check_sigma(item[1])
            return self.actions.index(item[0]), sigma
        return self.actions.index(item), math.nan

    def _allowed(self, allowed: Sequence[Any] | Mask | None) -> Mask:
        n = self.actions.n_actions
        if allowed is None:
            return self._everything
        if isinstance(allowed, np.ndarray) and allowed.dtype == np.bool_:
            if allowed.shape != (n,):
                raise ValueError(f"`allowed` must have shape ({n},); got {allowed.shape}.")
            mask = allowed.copy()
        else:
            if isinstance(allowed, str) or not isinstance(allowed, Iterable):
                raise TypeError(f"`allowed` must be a list of actions or a mask; got {allowed!r}.")
            mask = np.zeros(n, dtype=np.bool_)
            mask[[self.actions.index(action) for action in allowed]] = True
        if not mask.any():
            raise ValueError(f"`allowed` must contain at least one action; got {allowed!r}.")
        return mask
