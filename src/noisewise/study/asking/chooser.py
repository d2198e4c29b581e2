"""Which option to measure next, where a policy of `noisewise.POLICIES` asks: the measurements, told to it.

The policy is made afresh from the log at every question and learns every measurement in an order that does
not depend on that of telling. It sees values without the estimated offsets of their blocks; where options
were compared, it sees one estimate of each. Options that deviate from their features count as rougher.
"""

import math
from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np

from noisewise.core.choice.selection import Mask
from noisewise.core.model.dense import Floats
from noisewise.rules.policy import decide
from noisewise.rules.registry import rule_named
from noisewise.study.log.specification import PolicyChoice
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.fit import block_places, totals


class Chooser:
    """A policy with everything told so far; it remembers what is under way."""

    def __init__(self, analysis: Analysis, policy: PolicyChoice) -> None:
        self._unit = unit_of(analysis)
        sigma = analysis.sigmas.estimated / self._unit
        self._typical = float(np.median(sigma)) if sigma.size else math.nan
        options = {name: value for name, value in policy.options.items() if name != "horizon"}
        kind = rule_named(policy.name)
        self._rule = kind(**options).on(analysis.model.actions(), policy.options.get("horizon"))
        told = _pooled(analysis) if self._rule.pools else _one_by_one(analysis)
        for option, value, error in told if analysis.columns.value.size else ():
            self.learn(option, value, error)

    def choose(self, allowed: Mask, sigma: float | None, ask_number: int) -> int:
        """The option to measure next; the random draws belong to the number of the question."""
        noise = None if sigma is None else sigma / self._unit
        return int(decide(self._rule, allowed, noise, ask_number))

    @property
    def unit(self) -> float:
        """What the policy counts values in."""
        return self._unit

    @property
    def model(self) -> Any:
        """What the policy knows, in these units."""
        return self._rule.model

    @property
    def must_know_sigma(self) -> bool:
        """Whether the policy cannot choose before it knows sigma."""
        return self._rule.sees_sigma == "before"

    def copy(self) -> "Chooser":
        """One that learns on its own from here."""
        twin = copy(self)
        twin._rule = self._rule.copy()
        return twin

    def learn(self, option: int, value: float, sigma: float) -> None:
        """Take in one more measurement; large values are good, and 0 is where the sums are centred."""
        told = sigma / self._unit if self._rule.sees_sigma != "never" else math.nan
        self._rule.learn(option, value / self._unit, told)

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
