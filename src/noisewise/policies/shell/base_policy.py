"""What policies on lists and on infinite sets share: a rule, its options, its history, copies and files."""

import json
import math
from abc import ABC, abstractmethod
from array import array
from copy import copy
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np

from noisewise.actions import ActionSet, OracleSet
from noisewise.core.model.dense import log_det
from noisewise.core.support.checks import check_number, check_sigma
from noisewise.core.support.randomness import check_seed
from noisewise.policies.shell.decide import imagine
from noisewise.policies.shell.policy_file import Saved, copy_state, restore_state, told_actions, write_saved
from noisewise.policies.shell.restarting import fitted
from noisewise.policies.shell.rule import Rule, make_params

#: Rewards further from 0 than this many sigmas overflow when they are squared.
MOST_SIGMAS = 1e150


class BasePolicy(ABC):
    """A rule with its state; how it asks for actions is a matter of `Policy` and `SetPolicy`."""

    actions: ActionSet | OracleSet
    _state: Any

    @abstractmethod
    def __init__(
        self, rule: Rule, actions: Any, options: dict[str, Any], *, horizon: int | None = None
    ) -> None:
        """On these actions, before any measurement."""

    @abstractmethod
    def ask(self, sigma: float | None = None, pending: Any = (), allowed: Any = None) -> Any:
        """The action to measure next."""

    @abstractmethod
    def why(self, action: Any, pending: Any = ()) -> str:
        """Why to measure this action now, in words."""

    @abstractmethod
    def tell(self, action: Any, reward: float, sigma: float) -> None:
        """Learn one measurement."""

    @abstractmethod
    def tell_many(self, actions: Any, rewards: Any, sigmas: Any) -> None:
        """Learn many measurements in order; if one of them is bad, none is learnt."""

    @abstractmethod
    def recommend(self) -> Any:
        """The action to take if measuring stops now."""

    @abstractmethod
    def is_candidate(self, action: Any) -> bool:
        """Whether an action may still be the best."""

    @abstractmethod
    def estimate(self) -> Any:
        """Everything the policy believes now."""

    def _prepare(self, rule: Rule, actions: Any, options: dict[str, Any], horizon: int | None) -> None:
        self._settle(rule, actions, options, horizon)
        self._params = make_params(self.rule, actions, horizon, self.options)

    def _settle(self, rule: Rule, actions: Any, options: dict[str, Any], horizon: int | None) -> None:
        """Everything but the rule's parameters."""
        self.actions = actions
        # Numbers of NumPy become plain ones, which a file can hold.
        self.options = {
            name: value.item() if isinstance(value, np.generic) else value for name, value in options.items()
        }
        self.rule = fitted(rule, self.options)
        self.seed = check_seed(self.options.get("seed", 0))
        self.horizon = horizon
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

    def copy(self) -> Self:
        """An independent copy, with everything told so far."""
        twin = copy(self)  # what a rule worked out beforehand, such as a design, is shared
        twin.options = dict(self.options)
        twin._state = copy_state(self._state)
        twin._sigmas, twin._told = self._sigmas[:], self._told[:]
        return twin

    def fresh(self, actions: Any = None, horizon: int | None = None) -> Self:
        """The same rule and options before any measurement, perhaps on other actions of the same kind."""
        actions = self.actions if actions is None else actions
        return type(self)(self.rule, actions, self.options, horizon=horizon or self.horizon)

    def _make_room(self, coming: int) -> None:
        """See that the state can take more measurements."""
        if self.rule.make_room is None or self.horizon is not None:
            return
        count = len(self._sigmas) + coming
        if hasattr(self._state, "inner"):
            inner = self.rule.make_room(self._params, self._state.inner, count)
            if inner is not self._state.inner:
                self._state = self._state._replace(inner=inner)
        else:
            self._state = self.rule.make_room(self._params, self._state, count)

    def resume(self, saved: Saved) -> None:
        """Take over the state and history of a saved policy of the same rule, options and actions."""
        self._make_room(saved.arrays["sigmas"].size)
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
        kept, sigmas, told = self._kept_state(), np.array(self._sigmas), np.array(self._told)
        write_saved(Path(path), header, self.actions, kept, sigmas, told)

    def _kept_state(self) -> Any:
        """What a file holds of the state."""
        return self._state

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

    def _imagine(self, state: Any, row: int, sigma: float) -> None:
        """Change a state as if a measurement under way came out as expected.

        Where its sigma is not known it is the median told so far; before the first, as large as the action
        is wide.
        """
        if math.isnan(sigma):
            if self._sigmas:
                sigma = float(np.median(self._sigmas))
            else:
                sigma = math.sqrt(state.model.squared_widths[row]) or 1.0
        imagine(self.rule, self._params, state, row, sigma)

    def __repr__(self) -> str:
        return (
            f"{self.name} on {self.actions!r}: {self.n_told} measurements, total precision "
            f"{self.total_precision:.4g}, information {log_det(self._state.model) / 2:.3g} nats"
        )


def chosen_by(name: str, width: float) -> str:
    """The reason of a rule that has no words of its own."""
    return f"The rule {name!r} chose it; its value is known to ±{width:.2g} (one standard error)."
