"""A rule with all its measurements, on a list or an infinite set: ask, tell, recommend, estimate."""

import json
import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from noisewise.actions import ActionSet, OracleSet, set_from
from noisewise.core.blocks import Floats, Mask
from noisewise.core.checks import check_number, check_sigma
from noisewise.core.files import save_arrays
from noisewise.core.randomness import generator, stream
from noisewise.rules.model import KeptCertificate
from noisewise.rules.rule import ANYTIME, Action, Rule, plain

#: Rewards further from 0 than this many sigmas overflow when they are squared.
MOST_SIGMAS = 1e150
#: Raised whenever the layout of saved policies changes.
FORMAT = 4


@dataclass(frozen=True, eq=False)
class Estimate:
    """What a policy believes at one moment.

    ``<theta, a> ± radius·‖a‖`` (the width, in the norm of V⁻¹) holds for all actions and at all times with
    probability 1 - delta, and with it: the best action is among the ``candidates``, and the recommended one
    is at most ``regret_bound`` below the best. ``certificate`` says if "at all times" is restricted, or what
    the statement rests on; where it begins with "none" nothing is ruled out, and the radius is infinite.
    """

    theta: Floats  # (dim,)
    radius: float
    recommended: Action
    label: str
    mean: float
    """The estimated value of the recommended action."""
    width: float
    """Its standard error."""
    regret_bound: float
    regret_found: float
    """The largest regret that was found to be possible: below the bound only on sets without exact
    answers."""
    total_precision: float
    n_told: int
    delta: float
    certificate: str
    means: Any = None
    """The estimated values of all actions, (n,); on a list."""
    widths: Any = None
    """Their standard errors, (n,); on a list."""
    candidates: Any = None
    """Which may still be the best, (n,); on a list."""
    covariance: Any = None
    """``V⁻¹``, (dim, dim); on an infinite set."""

    def __repr__(self) -> str:
        left = (
            ""
            if self.candidates is None
            else f"; {int(self.candidates.sum())} of {self.candidates.size} actions may still be the best"
        )
        return (
            f"Estimate(after {self.n_told} measurements: recommends {self.label}, at most "
            f"{self.regret_bound:.3g} below the best with {1 - self.delta:.0%} confidence"
            f"{'' if self.certificate == ANYTIME else ' (' + self.certificate + ')'}{left})"
        )


class Advice:
    """What is recommended: the rule's own answer, or one of the actions that were measured."""

    def __init__(self, chance: float) -> None:
        self.chance = chance  # uniform on [0, 1): which measurement "uniform-played" points at
        self._played: Floats = np.zeros(0)
        self._counted = 0

    def of(self, rule: Rule, told: Sequence[Action]) -> Action:
        """What to recommend after measuring ``told``, in order.

        The last and the most played action are recommended while they may still be the best. One drawn from
        all measurements stays what it is: only then is its expected regret the mean of the measured ones.
        """
        wanted, best = rule.recommendation, rule.recommend()
        if wanted == "best":
            return best
        if wanted == "smallest-bound":
            return rule.model.smallest_bound(rule.candidates(), best, rule.beta())
        if not told:
            return best
        candidates = rule.candidates()
        if isinstance(rule.actions, OracleSet):
            return told[-1].copy() if candidates.allow(told[-1][None, :])[0] else best
        if wanted == "last":
            return told[-1] if candidates[told[-1]] else best
        self._count(rule.model.means.size, told)
        if wanted == "most-played":
            action = int(np.argmax(self._played))
            return action if candidates[action] else best
        return int(np.searchsorted(np.cumsum(self._played), self.chance * len(told), side="right"))

    def _count(self, n_actions: int, told: Sequence[int]) -> None:
        """How often each action was measured; only those since the last count are counted."""
        played = self._played if self._played.size else np.zeros(n_actions)
        self._played = played + np.bincount(told[self._counted :], minlength=n_actions)
        self._counted = len(told)


class Policy:
    """A rule on its actions, with all measurements so far: say what to measure, take the result, recommend.

    Made by the rules' constructors, such as `noisewise.vaee`, or by `noisewise.make_policy`.

    Args:
        rule: With its options.
        actions: An `ActionSet`, an array of vectors, or a set such as `noisewise.sets.Ball`. On a list an
            action is a row number or a label, on an infinite set it is a vector.
        horizon: How many measurements are planned, for rules that need to know.
    """

    def __init__(
        self, rule: Rule, actions: ActionSet | OracleSet | ArrayLike, *, horizon: int | None = None
    ) -> None:
        given: Any = actions
        self.actions: Any = given if isinstance(given, ActionSet | OracleSet) else ActionSet(given)
        self.on_set = isinstance(self.actions, OracleSet)
        self.rule = rule.on(self.actions, horizon)
        self._everything: Any = None if self.on_set else self.rule.model.everyone()
        self._told: list[Action] = []
        self._rewards, self._sigmas = array("d"), array("d")
        self._advice = Advice(float(generator(rule.seed, "advice", 0).random()))
        if rule.recommendation == "smallest-bound" and math.isnan(self.rule.beta()):
            raise ValueError(
                f"`recommendation` must not be 'smallest-bound' for {self.name!r}, which has no certificate."
            )

    @property
    def name(self) -> str:
        """The rule's name."""
        return self.rule.name

    @property
    def options(self) -> dict[str, Any]:
        """The rule's options by name; the horizon is kept apart."""
        return self.rule.options()

    @property
    def horizon(self) -> int | None:
        """How many measurements are planned."""
        return self.rule.horizon

    @property
    def seed(self) -> int:
        """Seed of the rule's own random choices."""
        return self.rule.seed

    @property
    def n_told(self) -> int:
        """Number of measurements so far."""
        return len(self._sigmas)

    @property
    def total_precision(self) -> float:
        """The sum of 1/σ² over all measurements: the currency of everything."""
        return float((np.array(self._sigmas) ** -2.0).sum())

    def ask(
        self,
        sigma: float | None = None,
        pending: Iterable[Any] = (),
        allowed: Sequence[Any] | Mask | None = None,
    ) -> Any:
        """The action to measure next: a row number, or the vector on an infinite set. Asking changes nothing.

        Args:
            sigma: The noise of the coming measurement, if it is known beforehand; a rule that needs it
                refuses to choose without.
            pending: Measurements under way, as actions or pairs (action, sigma). A missing sigma is the
                median told so far; before the first, as large as the action is wide.
            allowed: The actions that can be measured this time, or a mask of them; default: all. Not on an
                infinite set.
        """
        announced = None if sigma is None else check_sigma(sigma)
        mask = self._allowed(allowed)
        rule, number = self._imagined(pending)
        return decide(rule, mask, announced, number)

    def why(self, action: Any, pending: Iterable[Any] = ()) -> str:
        """Why to measure this action now, in words.

        Args:
            action: Usually what ``ask`` answered.
            pending: The measurements under way that ``ask`` was told of.
        """
        checked = self._action(action)
        return self._imagined(pending)[0].explain(checked)

    def tell(self, action: Any, reward: float, sigma: float, *, strict: bool = True) -> None:
        """Learn one measurement: the action, what came out, and its sigma.

        Args:
            action: A row number or label, on an infinite set a vector.
            reward: What came out.
            sigma: Its standard deviation.
            strict: Whether to refuse a vector outside of an infinite set.
        """
        self._learn(*self._checked(action, reward, sigma, strict))

    def tell_many(
        self, actions: Sequence[Any], rewards: ArrayLike, sigmas: ArrayLike, *, strict: bool = True
    ) -> None:
        """Learn many measurements in order; if one of them is bad, none is learnt."""
        columns = list(actions), np.atleast_1d(rewards).tolist(), np.atleast_1d(sigmas).tolist()
        if len({len(column) for column in columns}) > 1:
            raise ValueError(
                "`actions`, `rewards` and `sigmas` must be equally long; "
                f"got {len(columns[0])}, {len(columns[1])} and {len(columns[2])}."
            )
        for told in [self._checked(*each, strict) for each in zip(*columns, strict=True)]:
            self._learn(*told)

    def recommend(self) -> Any:
        """The action to take if measuring stops now."""
        return self._advice.of(self.rule, self._told)

    def is_candidate(self, action: Any) -> bool:
        """Whether an action may still be the best."""
        checked = self._action(action)
        candidates = self.rule.candidates()
        if self._void():
            return True
        if not self.on_set:
            return bool(candidates[checked])
        model, point = self.rule.model, checked[None, :]
        now = KeptCertificate(model.theta(), model.covariance(), self.rule.beta(), self.recommend())
        return bool(now.allows(point)[0] and candidates.allow(point)[0])

    def estimate(self) -> Estimate:
        """Everything the policy believes now, as copies."""
        rule, model, void, advised = self.rule, self.rule.model, self._void(), self.recommend()
        radius, own = float(rule.beta()), self._of_set if self.on_set else self._of_list
        bound, found, more = own(advised, radius)
        most = rule.limits.largest_gap
        return Estimate(
            theta=model.theta(),
            radius=math.inf if void else radius,
            recommended=advised,
            label=_in_words(advised) if self.on_set else self.actions.label(advised),
            mean=model.mean(advised),
            width=model.width(advised),
            regret_bound=bound if bound < most and not void else most,  # also where it is NaN
            regret_found=found if found < most else most,
            total_precision=self.total_precision,
            n_told=self.n_told,
            delta=rule.delta,
            certificate=void or rule.certificate(),
            **more,
        )

    def _of_list(self, advised: int, radius: float) -> tuple[float, float, dict[str, Any]]:
        """The regret bound, the regret that is possible, and what only lists have."""
        model, candidates = self.rule.model, self.rule.candidates()
        bound = float(self.rule.bound(advised, candidates))
        left = model.everyone() if self._void() else np.array(candidates)
        more = {"means": model.means.copy(), "widths": np.sqrt(model.squared_widths), "candidates": left}
        return bound, bound, more

    def _of_set(self, advised: Floats, radius: float) -> tuple[float, float, dict[str, Any]]:
        spread = self.rule.model.covariance()
        answer = self.actions.contrast_of(self.rule.model.theta(), spread, radius, advised)
        return answer.upper, max(0.0, answer.value), {"covariance": spread}

    def _void(self) -> str:
        """Why the certificate does not hold any more, whatever its radius; empty if it does."""
        largest, most = max(self._sigmas, default=0.0), self.rule.most_sigma()
        if largest <= most:
            return ""
        return (
            f"none: a sigma of {largest:g} was told, and {self.name!r} with these options has a certificate "
            f"for sigmas of at most {most:g}"
        )

    def copy(self) -> Self:
        """An independent copy, with all measurements so far."""
        twin = copy(self)
        twin.rule, twin._told, twin._advice = self.rule.copy(), self._told[:], Advice(self._advice.chance)
        twin._rewards, twin._sigmas = self._rewards[:], self._sigmas[:]
        return twin

    def fresh(self, actions: Any = None, horizon: int | None = None) -> Self:
        """A policy with this rule and its options before any measurement, perhaps on other actions."""
        chosen = self.actions if actions is None else actions
        return type(self)(self.rule, chosen, horizon=horizon or self.horizon)

    def save(self, path: str | PathLike[str]) -> None:
        """Write rule, options, actions and measurements to one file; `noisewise.load_policy` reads it."""
        if not Path(path).parent.is_dir():
            raise FileNotFoundError(f"`path` must be in a folder that exists; got {str(path)!r}.")
        header = {"format": FORMAT, "rule": self.name, "options": self.options}
        header |= {"horizon": plain(self.horizon), "actions": self.actions.fingerprint()}
        told: Any = np.array(self._told, dtype=np.float64 if self.on_set else np.int64)
        arrays = {"told": told, "rewards": np.array(self._rewards), "sigmas": np.array(self._sigmas)}
        if self.on_set:
            header["set"] = self.actions.describe()
        else:
            if not self.actions.is_memory_map:
                arrays["vectors"] = self.actions.vectors
            header["labels"] = self.actions.labels
        try:
            arrays["header"] = np.array(json.dumps(header))
        except TypeError:
            raise TypeError(
                f"`options` of {self.name!r} must be plain numbers and strings to be saved; "
                f"got {self.options!r}."
            ) from None
        save_arrays(Path(path), arrays)

    def _learn(self, action: Action, reward: float, sigma: float) -> None:
        self.rule.learn(action, reward, math.nan if self.rule.sees_sigma == "never" else sigma)
        self._told.append(action)
        self._rewards.append(reward)
        self._sigmas.append(sigma)

    def _imagined(self, pending: Iterable[Any]) -> tuple[Rule, int]:
        """The rule as if what is under way came out as expected, and how many measurements that makes."""
        if isinstance(pending, str) or not isinstance(pending, Iterable):
            raise TypeError(f"`pending` must be a list of actions or pairs (action, sigma); got {pending!r}.")
        under_way = [self._pending(item) for item in pending]
        if not under_way:
            return self.rule, self.n_told
        rule = self.rule.copy()
        for action, given in under_way:
            sigma = given
            if sigma is None:
                sigma = float(np.median(self._sigmas)) if self._sigmas else rule.model.width(action) or 1.0
            rule.imagine(action, sigma)
        return rule, self.n_told + len(under_way)

    def _pending(self, item: Any) -> tuple[Action, float | None]:
        is_pair = isinstance(item, tuple | list) and (
            not self.on_set or (isinstance(item, tuple) and len(item) == 2 and np.ndim(item[0]) == 1)
        )
        if is_pair and len(item) != 2:
            raise ValueError(f"`pending` must hold actions or pairs (action, sigma); got {item!r}.")
        action, sigma = item if is_pair else (item, None)
        return self._action(action, strict=False), None if sigma is None else check_sigma(sigma)

    def _action(self, action: Any, strict: bool = True) -> Action:
        """A row number, or a vector of the set."""
        return self.actions.check_action(action, strict=strict) if self.on_set else self.actions.index(action)

    def _checked(self, action: Any, reward: Any, sigma: Any, strict: bool) -> tuple[Action, float, float]:
        checked = self._action(action, strict)
        value, deviation = check_number("reward", reward), check_sigma(sigma)
        least = self.rule.limits.sigma_min
        if deviation < least:
            raise ValueError(
                f"`sigma` must be at least the sigma_min={least!r} this policy was made with; got {sigma!r}."
            )
        if abs(value) > MOST_SIGMAS * deviation:
            raise ValueError(f"`reward` must be within {MOST_SIGMAS:g} sigmas of 0; got {reward!r}.")
        return checked, value, deviation

    def _allowed(self, allowed: Sequence[Any] | Mask | None) -> Any:
        if allowed is None:
            return self._everything
        if self.on_set:
            raise ValueError(
                f"`allowed` must be left out on an infinite set; got {allowed!r}. "
                "(Make a smaller set, such as nw.sets.Polytope(vertices), or an nw.ActionSet.)"
            )
        n = self.actions.n_actions
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

    def __repr__(self) -> str:
        return (
            f"{self.name} on {self.actions!r}: {self.n_told} measurements, total precision "
            f"{self.total_precision:.4g}, information {self.rule.model.log_det / 2:.3g} nats"
        )


def decide(rule: Rule, allowed: Any, sigma: float | None, number: int) -> Action:
    """What a rule measures next.

    Args:
        rule: With everything it knows, measurements under way included.
        allowed: A mask of the actions; None on an infinite set.
        sigma: The noise of the coming measurement; None if it is not known.
        number: Number of the question, which decides its random numbers.
    """
    if sigma is None and rule.sees_sigma == "before":
        raise ValueError(f"`sigma` must be given: {rule.name!r} needs it before it chooses; got None.")
    if rule.random:
        rule.rng = stream(rule.seed, "live", number)  # type: ignore[misc]
    return rule.choose(allowed, sigma if rule.foresees else None)


def _in_words(vector: Floats) -> str:
    shown = ", ".join(f"{entry:.3g}" for entry in vector[:6])
    return f"[{shown}{', …' if vector.size > 6 else ''}]"


def read_policy(path: Path, actions: Any, make_rule: Any) -> Policy:
    """The policy that was saved, with everything told to it again."""
    if not path.exists():
        raise FileNotFoundError(f"`path` must be a saved policy; {str(path)!r} does not exist.")
    with _refusing_damage(path):
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            arrays = dict(file)
        header = json.loads(str(arrays.pop("header")))
        version = header["format"]
        if version != FORMAT:
            raise ValueError(
                f"`path` must be a policy of format {FORMAT}; {str(path)!r} has format {str(version)[:20]}: "
                "tell its measurements to a new policy."
            )
        if type(header["horizon"]) not in (int, type(None)):
            raise ValueError("its horizon is not a whole number")
        rule = make_rule(header["rule"], header["options"], path)
        whole = _actions_of(header, arrays, actions)
        if arrays["told"].dtype.kind not in "if" or arrays["rewards"].dtype != np.float64:
            raise ValueError("its measurements are not numbers")
        policy = Policy(rule, whole, horizon=header["horizon"])
        policy.tell_many(list(arrays["told"]), arrays["rewards"], arrays["sigmas"], strict=False)
    return policy


def _actions_of(header: dict[str, Any], arrays: dict[str, Any], actions: Any) -> Any:
    """The action set, given or stored, checked to be the same."""
    if actions is None and "set" in header:
        actions = set_from(header["set"])
    elif actions is None:
        if "vectors" not in arrays:
            raise ValueError(
                "`actions` must be given: this policy was saved on a memory map, which is not stored with it."
            )
        actions = ActionSet(arrays["vectors"], header["labels"])
    elif not isinstance(actions, ActionSet | OracleSet):
        actions = ActionSet(actions)
    if actions.fingerprint() != header["actions"]:
        raise ValueError(
            f"`actions` must be the set this policy was saved with; got {actions!r} with other vectors."
        )
    return actions


@contextmanager
def _refusing_damage(path: Path) -> Iterator[None]:
    """Report whatever goes wrong with what a file holds in one sentence."""
    try:
        yield
    except Exception as error:
        said = " ".join(str(error).split())
        if isinstance(error, ValueError) and said.startswith(("`path`", "`actions`")):
            raise
        raise ValueError(
            f"`path` must be a file written by policy.save; {str(path)!r} is not, or is damaged: "
            f"{said[:200] or type(error).__name__}."
        ) from None
