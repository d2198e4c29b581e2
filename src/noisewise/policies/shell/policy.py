"""The shell around a rule: ask, tell, recommend, estimate, copy, save. The same for every rule."""

import json
import math
from array import array
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from noisewise.actions import ActionSet, OracleSet
from noisewise.core.choice.selection import Mask
from noisewise.core.model.dense import Floats, log_det, theta
from noisewise.core.support.checks import check_number, check_sigma
from noisewise.core.support.randomness import check_seed, generator
from noisewise.policies.shell.policy_file import Saved, copy_state, restore_state, told_actions, write_saved
from noisewise.policies.shell.recommendation import (
    BEST,
    RECOMMENDATIONS,
    SMALLEST_BOUND,
    Advice,
    make_advice,
    recommended,
)
from noisewise.policies.shell.rule import ANYTIME, FORESEEING, Rule, make_params

Pending = Iterable[Any]

#: Rewards further from 0 than so many sigmas overflow when they are squared.
MOST_SIGMAS = 1e150


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


class Measurement(NamedTuple):
    """A checked measurement."""

    action: int
    reward: float
    sigma: float


class Policy:
    """A rule with its state: say what to measure, take the result, recommend.

    Made by the rules' constructors, such as `noisewise.vaee`, or by `noisewise.make_policy`.
    """

    def __new__(
        cls, rule: Rule | None = None, actions: Any = None, *_: Any, horizon: int | None = None
    ) -> "Policy":
        """On a set that answers questions, such as a ball, a policy is a `SetPolicy`."""
        if cls is Policy and isinstance(actions, OracleSet):
            from noisewise.policies.shell.set_policy import SetPolicy

            cls = SetPolicy
        return super().__new__(cls)

    def __init__(
        self,
        rule: Rule,
        actions: ActionSet | OracleSet | ArrayLike,
        options: dict[str, Any],
        *,
        horizon: int | None = None,
    ) -> None:
        listed = actions if isinstance(actions, ActionSet) else ActionSet(actions)  # type: ignore[arg-type]
        self._prepare(rule, listed, options, horizon)
        self._state = rule.init(self._params)
        self._advice_kind = self._make_advice().kind
        self._check_certified()

    def _prepare(self, rule: Rule, actions: Any, options: dict[str, Any], horizon: int | None) -> None:
        self.rule = rule
        self.actions: ActionSet = actions
        # Numbers of NumPy become plain ones, which a file can hold.
        self.options = {
            name: value.item() if isinstance(value, np.generic) else value for name, value in options.items()
        }
        self.seed = check_seed(self.options.get("seed", 0))
        self.horizon = horizon
        self._params = make_params(rule, self.actions, horizon, self.options)
        self._sigmas = array("d")
        self._told = array("q")  # the actions, in order; none on sets whose actions have no rows

    @property
    def name(self) -> str:
        """The rule's name."""
        return self.rule.name

    @property
    def n_told(self) -> int:
        """How many measurements have been told."""
        return len(self._sigmas)

    @property
    def total_precision(self) -> float:
        """The sum of 1/σ² over all measurements: the currency of everything."""
        return float((np.array(self._sigmas) ** -2.0).sum())

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
        announced = math.nan if sigma is None else check_sigma(sigma)
        if self.rule.sees_sigma not in FORESEEING:
            announced = math.nan
        elif sigma is None and self.rule.sees_sigma == "before":
            raise ValueError(f"`sigma` must be given: {self.name!r} needs it before it chooses; got None.")
        mask = self._allowed(allowed)
        state, n_pending = self._imagined(pending)
        return int(self.rule.choose(self._params, state, mask, announced, self._draws(n_pending)))

    def why(self, action: Any, pending: Pending = ()) -> str:
        """Why to measure this action now, in words.

        Args:
            action: Usually what ``ask`` answered.
            pending: The measurements under way that ``ask`` was told of.
        """
        row = self.actions.index(action)
        state, _ = self._imagined(pending)
        if self.rule.explain is not None:
            return self.rule.explain(self._params, state, row, self.actions.label)
        return chosen_by(self.name, math.sqrt(state.model.squared_widths[row]))

    def tell(self, action: Any, reward: float, sigma: float) -> None:
        """Learn one measurement: the action's row or label, what came out, and its sigma."""
        told = self._checked(action, reward, sigma)
        self._plan_if_wanted(self._state)
        self.rule.absorb(self._params, self._state, *self._seen(told))
        self._sigmas.append(told.sigma)
        self._told.append(told.action)
        # At once: an estimate should know what the measurement completed.
        self._plan_if_wanted(self._state)

    def tell_many(self, actions: Sequence[Any], rewards: ArrayLike, sigmas: ArrayLike) -> None:
        """Learn many measurements in order; if one of them is bad, none is learnt."""
        columns_told = self._equally_long(actions, rewards, sigmas)
        told = [self._checked(*item) for item in zip(*columns_told, strict=True)]
        if told and self.rule.absorb_many is not None:
            columns = [np.array(column) for column in zip(*map(self._seen, told), strict=True)]
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

    def copy(self) -> "Policy":
        """An independent copy, with everything told so far."""
        twin = copy(self)  # what a rule worked out beforehand, such as a design, is shared
        twin.options = dict(self.options)
        twin._state = copy_state(self._state)
        twin._sigmas, twin._told = self._sigmas[:], self._told[:]
        return twin

    def fresh(self, actions: ActionSet | OracleSet | None = None, horizon: int | None = None) -> "Policy":
        """The same rule and options before any measurement, perhaps on other actions."""
        return Policy(self.rule, actions or self.actions, self.options, horizon=horizon or self.horizon)

    def resume(self, saved: Saved) -> None:
        """Take over the state and history of a saved policy of the same rule, options and actions."""
        self._state = restore_state(self._state, saved)
        self._sigmas = array("d", saved.arrays["sigmas"].tolist())
        # Actions of infinite sets are vectors, and have no rows.
        self._told = array("q", told_actions(saved, getattr(self.actions, "n_actions", 0)).tolist())

    def save(self, path: str | PathLike[str]) -> None:
        """Write rule, options, actions and state to one file; `noisewise.load_policy` reads it."""
        header = {
            "rule": self.rule.name,
            "options": self.options,
            "horizon": self.horizon,
            "actions": self.actions.fingerprint(),
        }
        try:
            json.dumps(header)
        except TypeError:
            raise TypeError(
                f"`options` of {self.name!r} must be plain numbers and strings to be saved; "
                f"got {self.options!r}."
            ) from None
        write_saved(
            Path(path), header, self.actions, self._state, np.array(self._sigmas), np.array(self._told)
        )

    def _breach(self) -> str:
        """Why the certificate does not hold any more, whatever its radius; empty if it does."""
        limit = self.rule.most_sigma(self._params)
        largest = max(self._sigmas, default=0.0)
        if largest <= limit:
            return ""
        return (
            f"none: a sigma of {largest:g} was told, and {self.name!r} with these options has a certificate "
            f"for sigmas of at most {limit:g}"
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
        """The state as if what is under way came out as expected, ready to choose; and how much that is."""
        if isinstance(pending, str) or not isinstance(pending, Iterable):
            raise TypeError(f"`pending` must be a list of actions or pairs (action, sigma); got {pending!r}.")
        under_way = [self._checked_pending(item) for item in pending]
        state = copy_state(self._state) if under_way or self.rule.plan else self._state
        for action, sigma in under_way:
            if math.isnan(sigma):
                sigma = self._typical_sigma(state, action)
            self.rule.imagine(self._params, state, action, sigma)
        self._plan_if_wanted(state)
        return state, len(under_way)

    def _checked(self, action: Any, reward: Any, sigma: Any) -> Measurement:
        return Measurement(self.actions.index(action), *self._checked_values(reward, sigma))

    def _checked_values(self, reward: Any, sigma: Any) -> tuple[float, float]:
        value, deviation = check_number("reward", reward), check_sigma(sigma)
        least = self._params.setting.radius.sigma_min
        if deviation < least:
            raise ValueError(
                f"`sigma` must be at least the sigma_min={least!r} this policy was made with; got {sigma!r}."
            )
        if abs(value) > MOST_SIGMAS * deviation:
            raise ValueError(f"`reward` must be within {MOST_SIGMAS:g} sigmas of 0; got {reward!r}.")
        return value, deviation

    @staticmethod
    def _equally_long(*columns: Any) -> tuple[list[Any], ...]:
        lists = list(columns[0]), *(np.atleast_1d(column).tolist() for column in columns[1:])
        if len({len(column) for column in lists}) > 1:
            raise ValueError(
                "`actions`, `rewards` and `sigmas` must be equally long; got {}, {} and {}.".format(
                    *map(len, lists)
                )
            )
        return lists

    def _seen(self, told: Any) -> Any:
        return told._replace(sigma=math.nan) if self.rule.sees_sigma == "never" else told

    def _checked_pending(self, item: Any) -> tuple[int, float]:
        if isinstance(item, tuple | list):
            if len(item) != 2:
                raise ValueError(f"`pending` must hold actions or pairs (action, sigma); got {item!r}.")
            sigma = math.nan if item[1] is None else check_sigma(item[1])
            return self.actions.index(item[0]), sigma
        return self.actions.index(item), math.nan

    def _typical_sigma(self, state: Any, action: int) -> float:
        if self._sigmas:
            return float(np.median(self._sigmas))
        return math.sqrt(state.model.squared_widths[action]) or 1.0

    def _allowed(self, allowed: Sequence[Any] | Mask | None) -> Mask:
        n = self.actions.n_actions
        if allowed is None:
            return np.ones(n, dtype=np.bool_)
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

    def _draws(self, n_pending: int) -> Floats:
        n_draws = self.rule.n_draws(self._params)
        if n_draws == 0:
            return np.empty(0)
        return generator(self.seed, "live", self.n_told + n_pending).standard_normal(n_draws)

    def _plan_if_wanted(self, state: Any) -> None:
        if self.rule.plan and self.rule.wants_plan and self.rule.wants_plan(self._params, state):
            self.rule.plan(self._params, state)

    def __repr__(self) -> str:
        return (
            f"{self.name} on {self.actions!r}: {self.n_told} measurements, total precision "
            f"{self.total_precision:.4g}, information {log_det(self._state.model) / 2:.3g} nats"
        )


def chosen_by(name: str, width: float) -> str:
    """The reason of a rule that has no words of its own."""
    return f"The rule {name!r} chose it; its value is known to ±{width:.2g} (one standard error)."
