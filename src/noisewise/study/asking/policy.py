"""The rule that makes suggestions: RACE, a study's own, or any other one, which replays the measurements.

A rule is made afresh from the log for every question, and learns every measurement in an order that does not
depend on that of recording. It sees values without the estimated offsets of their blocks; where options were
compared, it sees one estimate of each. Options that deviate from their features count as rougher.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import numpy as np

from noisewise.core.blocks import Floats, Mask
from noisewise.core.checks import check_positive
from noisewise.core.version import __version__
from noisewise.study.asking.race import SHARPNESS
from noisewise.study.log.specification import RACE, PolicyChoice, Specification
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.fit import block_places, totals

#: What a study asks of a policy unless its options say otherwise: values are in units of half the span.
SETTING = {"ridge": 1.0, "norm_bound": 1.0}


def pinned_policy(name: str, options: dict[str, Any], *, delta: float, seed: int) -> PolicyChoice:
    """A policy with all its options, and the installed version; ``horizon`` may be among the options.

    They are checked by making the policy on two actions.
    """
    from noisewise.rules.registry import check_known, make_policy

    check_known(name, RACE)
    if name == RACE:
        sharpness = check_positive("sharpness", options.get("sharpness", SHARPNESS))
        others = {option: value for option, value in options.items() if option != "sharpness"}
        if others:
            raise TypeError(
                f"{RACE} has the option sharpness, and no other; got {', '.join(sorted(others))}."
            )
        return PolicyChoice(RACE, __version__, {"sharpness": sharpness})
    made = make_policy(name, np.eye(2), **{**SETTING, "delta": delta, "seed": seed, **options})
    horizon = {"horizon": options["horizon"]} if "horizon" in options else {}
    return PolicyChoice(name, __version__, {**made.options, **horizon})


def policy_body(name: str, options: dict[str, Any], specification: Specification) -> dict[str, Any]:
    """Return the body of an event "policy"."""
    pinned = pinned_policy(name, options, delta=specification.delta, seed=specification.seed)
    return {"policy": asdict(pinned)}


def rule_of(policy: PolicyChoice) -> Any:
    """Return the rule of a policy, with the options that it was pinned with; they may come from a log."""
    from noisewise.rules.policy import Policy
    from noisewise.rules.registry import rule_named

    with _from_a_log():
        options = dict(policy.options)
        horizon = options.pop("horizon", None)
        rule = rule_named(policy.name)(**options)
        if missing := sorted(set(rule.options()) - set(options)):
            raise ValueError(f"{policy.name} lacks the option {missing[0]!r}.")
        Policy(rule, np.eye(2), horizon=horizon)
    return rule


def sharpness_of(policy: PolicyChoice) -> float:
    """How sharply RACE tells strong rivals from weak ones."""
    with _from_a_log():
        return check_positive("sharpness", policy.options.get("sharpness"))


@contextmanager
def _from_a_log() -> Iterator[None]:
    """Say in one sentence what is wrong with a policy that came from a log."""
    try:
        yield
    except (ValueError, TypeError, KeyError, OverflowError) as problem:
        raise ValueError(
            f"the policy of this study is not valid: {problem.args[0] if problem.args else problem} Choose "
            "another one, with `set_policy`."
        ) from None


class Chooser:
    """A rule with everything measured so far; it remembers what is under way."""

    def __init__(self, analysis: Analysis, policy: PolicyChoice) -> None:
        self._unit = unit_of(analysis)
        sigma = analysis.sigmas.estimated / self._unit
        self._typical = float(np.median(sigma)) if sigma.size else math.nan
        self._rule = rule_of(policy).on(analysis.model.actions(), policy.options.get("horizon"))
        if not analysis.columns.value.size:
            return
        for option, value, error in _pooled(analysis) if self._rule.pools else _one_by_one(analysis):
            seen = error / self._unit if self._rule.sees_sigma != "never" else math.nan
            self._rule.learn(option, value / self._unit, seen)

    def choose(self, allowed: Mask, sigma: float | None, ask_number: int) -> int:
        """The option to measure next; the random draws belong to the number of the question."""
        from noisewise.rules.policy import decide

        return int(decide(self._rule, allowed, None if sigma is None else sigma / self._unit, ask_number))

    def imagine(self, option: int, sigma: float | None) -> None:
        """Take a measurement under way as if it had come out as expected."""
        assumed = self._typical if sigma is None else sigma / self._unit
        if not math.isfinite(assumed):
            assumed = self._rule.model.width(option) or 1.0
        self._rule.imagine(option, assumed)


def _taken(analysis: Analysis) -> Floats:
    """What is taken off the values of each block: its offset, and the mean of the options that it links."""
    sums, fit = analysis.sums, analysis.estimates
    if not sums.has_border:
        return np.zeros(len(sums.blocks))
    taken, level = fit.offsets.copy(), sums.minus < 0
    if fit.connected:
        _, place = np.unique(fit.group, return_inverse=True)
        middle = np.bincount(place, fit.means) / np.bincount(place)
        taken[sums.block[level]] += middle[place[sums.plus[level]]]
    return taken


def _pooled(analysis: Analysis) -> Iterator[tuple[int, float, float]]:
    """One value of each option: the mean of its measurements, or its estimate where it was compared."""
    sums, fit, n = analysis.sums, analysis.estimates, analysis.n
    if (sums.minus >= 0).any():
        mean, variance = fit.means.copy(), fit.variances()
    else:
        weight = totals(sums.plus, sums.weight, n)
        with np.errstate(divide="ignore", invalid="ignore"):
            values = sums.weight * (sums.value - _taken(analysis)[sums.block])
            mean, variance = totals(sums.plus, values, n) / weight, 1.0 / weight
    variance += analysis.sizes.deviation**2
    for option in np.flatnonzero((fit.precision > 0.0) & np.isfinite(variance)).tolist():
        yield option, float(mean[option]), math.sqrt(variance[option])


def _one_by_one(analysis: Analysis) -> Iterator[tuple[int, float, float]]:
    """Every measurement of a single option, sorted."""
    sums, columns, sign = analysis.sums, analysis.columns, analysis.specification.sign
    if (columns.minus >= 0).any():
        yield from _pooled(analysis)
        return
    sigma = np.hypot(analysis.sigmas.estimated, analysis.sizes.deviation)
    block = block_places(columns, sums.blocks)
    values = sign * columns.value - sums.centre - _taken(analysis)[block]
    for at in np.lexsort((sigma, values, block, columns.plus)).tolist():
        yield int(columns.plus[at]), float(values[at]), float(sigma[at])


def unit_of(analysis: Analysis) -> float:
    """Half the range of the estimates so far, or eps if that is larger."""
    specification, fit = analysis.specification, analysis.estimates if analysis.columns.value.size else None
    if fit is not None and (fit.group >= 0).any():
        spread = float(np.ptp(fit.means[fit.group >= 0])) / 2.0
        return max(spread, specification.resolution)
    return specification.resolution
