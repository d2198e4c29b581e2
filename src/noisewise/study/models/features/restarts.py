"""Moments at which a new likelihood ratio of the weights begins, with the fit of that moment as its prior.

A restart may look at everything told until then, so it must not stand inside what was told together: a table
has no order in time, and may well be sorted by its values. It stands where the number of measurements told
reaches 2·dim, 4·dim, 8·dim, ... or, in a table, after it. Measurements that were voided are left out, and
numbers stay what they are.

The fit of a moment changes only if something before it does, or the error bars: it is kept with the study.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.study.log.measurements import Codes, Columns
from noisewise.study.models.exact.weighted_rows import ENOUGH
from noisewise.study.models.features.linear_fit import Parts
from noisewise.study.models.features.weight_regions import (
    Martingale,
    Units,
    from_restart,
)
from noisewise.study.models.sums import pool

#: The first restart comes after 2·dim measurements, and each after so many times those of the one before.
FIRST, GROWTH = 2, 2
#: The most restarts.
MOST = 16
#: One that came so late that less than this part of the information is newer says nothing yet.
NEW = 0.02


class Restart(NamedTuple):
    """The fit at the moment of a restart."""

    factor: Floats  # (dim, dim): root of the precision of the weights
    weights: Floats  # (dim,)
    usable: bool  # whether floats carried it


class ToldInOrder(NamedTuple):
    """The measurements in the order of telling, and what their fits depend on."""

    columns: Columns
    sigma: Floats
    sign: float
    features: Floats
    deviation: float
    ridge: float

    def fit_of_first(self, count: int) -> Restart:
        """The fit of the first measurements."""
        first = self.columns.select(np.arange(count))
        sums = pool(first, self.sigma[:count], self.sign)
        solved = (parts := Parts(self.features, sums, self.deviation, self.ridge)).solved
        before = parts.layout.before
        usable = not solved.exact and solved.slack <= ENOUGH
        return Restart(solved.factor.high[before:, before:], solved.solution.high[before:], usable)


class KeptRestarts:
    """The fits of a study's restarts, as long as what they rest on is the same."""

    def __init__(self) -> None:
        self._told: ToldInOrder | None = None
        self._found: dict[int, Restart] = {}

    def at(self, told: ToldInOrder, places: Codes) -> list[Restart]:
        """The fits of the first so many measurements, for every place."""
        same = 0 if self._told is None else _equal_until(self._told, told)
        self._found = {count: one for count, one in self._found.items() if count <= same}
        self._told = told
        for count in places.tolist():
            if count not in self._found:
                self._found[count] = told.fit_of_first(count)
        return [self._found[count] for count in places.tolist()]


def in_order(columns: Columns, sigma: Floats) -> tuple[Columns, Floats]:
    """The measurements in the order in which they were told."""
    if (np.diff(columns.number) > 0).all():
        return columns, sigma
    order = np.argsort(columns.number, kind="stable")
    return columns.select(order), sigma[order]


def restart_places(columns: Columns, dim: int) -> Codes:
    """After how many of the measurements (in order) a restart stands; nowhere if moments are unknown."""
    moment, number = columns.moment, columns.number
    if moment is None or not number.size:
        return np.empty(0, dtype=np.int64)
    ends = np.flatnonzero(np.append(np.diff(moment) != 0, True))  # the last ones of what was told together
    thresholds = FIRST * dim * GROWTH ** np.arange(MOST, dtype=np.int64)
    if columns.fits:
        thresholds = thresholds[thresholds > number[ends[0]]]  # those before are known
    at = np.searchsorted(number[ends], thresholds)
    return np.unique(ends[at[at < ends.size]]) + 1


def restarted(
    units: Units, factor: Floats, weights: Floats, fits: Sequence[Restart], scale: float, share: float
) -> list[Martingale]:
    """The martingales of all restarts, the k-th with ``1/(k(k + 1))`` of their share.

    Args:
        units: The coordinates, those of the present fit.
        factor: Its R, (dim, dim).
        weights: Its θ̂, (dim,).
        fits: At the restarts.
        scale: Their ridge, in units of that of the present fit.
        share: Of all restarts together.
    """
    inverse = np.linalg.inv(factor)
    found = []
    for k, one in enumerate(fits, start=1):
        if not one.usable:
            continue
        known, away = one.factor @ inverse, factor @ (one.weights - weights)
        later = from_restart(units, known, away, scale, share / (k * (k + 1)))
        if float(np.trace(later.curvature)) > NEW * units.dim:
            found.append(later)
    return found


def _equal_until(one: ToldInOrder, other: ToldInOrder) -> int:
    """How many of the first measurements are the same, error bars and all."""
    if (one.sign, one.deviation, one.ridge) != (other.sign, other.deviation, other.ridge):
        return 0
    count = min(one.sigma.size, other.sigma.size)
    differ = one.sigma[:count] != other.sigma[:count]
    for name in ("plus", "minus", "block", "value"):
        differ |= getattr(one.columns, name)[:count] != getattr(other.columns, name)[:count]
    return int(np.argmax(differ)) if differ.any() else count
