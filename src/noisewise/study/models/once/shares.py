"""One look at shares of successes: exact binomial limits of both options of a difference.

For an option with s successes out of t the p-value of "its share is p" is ``P(X <= s | p)`` on the side of
large p, ``P(X >= s | p)`` on that of small ones. Both are at most as small as chance makes them (Clopper and
Pearson), without any approximation. Their normal quantiles z are added up with those of other measurements of
the same option, with weights that follow from the numbers of trials alone. A difference "j minus i" is as
large as it can be with ``z_j² + z_i² <= c²`` (`multipliers.two_evidences`), which is the root of a sum of
squares where errors are nearly normal.
"""

import math
from typing import Any

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.study.evidence.half_widths import HalfWidths
from noisewise.study.log.measurements import Codes
from noisewise.study.models.once.look import OneLook, never_compared
from noisewise.study.models.once.multipliers import falls_to_zero, two_evidences
from noisewise.study.models.sums import totals

#: Directions in which evidence is divided between two options; fewer with very many options.
DIRECTIONS, FEWER, MANY = 256, 64, 5000


class SharesOnce(HalfWidths):
    """Half-widths from tables of how far each option can be off at every z."""

    def __init__(self, look: OneLook) -> None:
        measured = np.flatnonzero(look.fit.group >= 0)
        count = max(1, int(look.may_win[measured].sum()) - 1)
        radius = two_evidences(count, look.delta)
        n = look.fit.own.size
        turns = np.linspace(0.0, 0.5 * math.pi, (DIRECTIONS if n <= MANY else FEWER) + 1)
        option = _Options(look)
        self._group = look.fit.group
        self._up = np.full((n, turns.size - 1), np.inf)
        self._down = np.full((n, turns.size - 1), np.inf)
        # Up falls and down rises with the turn: taken from its two ends, a step is bounded from above.
        self._up[measured] = option.away(measured, radius * np.cos(turns[:-1]), 1.0)
        self._down[measured] = option.away(measured, radius * np.sin(turns[1:]), -1.0)

    @property
    def evidence(self) -> tuple[str, ...]:
        """What is looked at once."""
        return ("one look: counts",)

    def half_widths(self, option: int) -> Floats:
        """By how much "j minus option" can be larger than estimated, for every j, (n,)."""
        half = (self._up + self._down[option]).max(axis=1)
        return never_compared(np.maximum(half, 0.0), option, self._group)

    def lead_widths(self, rival: int) -> Floats:
        """By how much "rival minus i" can be larger than estimated, for every i, (n,)."""
        half = (self._up[rival] + self._down).max(axis=1)
        return never_compared(np.maximum(half, 0.0), rival, self._group)


class _Options:
    """What was measured of every option: successes out of trials, and a mean of all else."""

    def __init__(self, look: OneLook) -> None:
        n, columns, share = look.fit.own.size, look.columns, look.is_share
        plus, trials = columns.plus[share], columns.readings[share]
        successes = np.rint(columns.value[share] * trials)
        # Large is good: of a share that should be small, failures are counted.
        self._good = totals(plus, successes if look.sign > 0.0 else trials - successes, n)
        self._trials = totals(plus, trials, n)
        weight = look.sigma[~share] ** -2.0
        other = columns.plus[~share]
        self._weight = totals(other, weight, n)
        value = look.sign * columns.value[~share] + (look.sign < 0.0)
        with np.errstate(invalid="ignore"):
            self._mean = np.where(self._weight > 0.0, totals(other, weight * value, n) / self._weight, 0.0)
        self._estimate = look.fit.means + look.sums.centre + (look.sign < 0.0)

    def away(self, options: Codes, z: Floats, side: float) -> Floats:
        """How far above (below) its estimate each option can be where its z is this, (options, z)."""
        found = np.empty((options.size, z.size))
        counted, barred = self._trials[options] > 0.0, self._weight[options] > 0.0
        for kind, limits in (
            (~counted, self._normal),
            (~barred, self._exact),
            (counted & barred, self._both),
        ):
            if kind.any():
                found[kind] = limits(options[kind], z, side)
        return np.asarray(side * (found - self._estimate[options, None]))

    def _normal(self, options: Codes, z: Floats, side: float) -> Floats:
        return np.asarray(self._mean[options, None] + side * z / np.sqrt(self._weight[options, None]))

    def _exact(self, options: Codes, z: Floats, side: float) -> Floats:
        """The limits of Clopper and Pearson."""
        from scipy.special import betaincinv, ndtr

        good, trials = self._good[options, None], self._trials[options, None]
        bad, tail = trials - good, ndtr(-z)
        if side > 0.0:
            return np.asarray(
                1.0 - np.where(bad > 0.0, betaincinv(np.maximum(bad, 1.0), good + 1.0, tail), 0.0)
            )
        return np.asarray(np.where(good > 0.0, betaincinv(np.maximum(good, 1.0), bad + 1.0, tail), 0.0))

    def _both(self, options: Codes, z: Floats, side: float) -> Floats:
        """Where the sum of both z, weighted by the largest error a share can have, is as wanted."""
        from scipy.special import betainc, ndtri

        good, trials, weight = (part[options, None] for part in (self._good, self._trials, self._weight))
        bad, mean = trials - good, self._mean[options, None]
        all_weight = weight + 4.0 * trials

        def reached(p: Any) -> Any:
            a, b, x = (bad, good, 1.0 - p) if side > 0.0 else (good, bad, p)
            tail = np.where(a > 0.0, betainc(np.maximum(a, 1.0), b + 1.0, x), 1.0)
            exact = -ndtri(tail)  # minus infinity where every trial came out on this side
            return (np.sqrt(4.0 * trials) * exact + side * weight * (p - mean)) / np.sqrt(all_weight)

        shape = (options.size, z.size)

        def too_little(
            far: Floats,
        ) -> Floats:  # how far z is from being reached, at this distance from 0 or 1
            p = far.reshape(shape) if side > 0.0 else 1.0 - far.reshape(shape)
            return np.asarray((z - reached(p)).ravel())

        size = options.size * z.size
        limit = np.minimum(1.0, falls_to_zero(too_little, np.zeros(size), np.ones(size))).reshape(shape)
        return limit if side > 0.0 else 1.0 - limit
