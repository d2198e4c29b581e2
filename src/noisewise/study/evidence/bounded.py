"""Evidence of readings that cannot lie outside of known bounds: bets on each of them, over many stakes.

Let readings lie in [lo, hi] and have mean m. For a stake λ in (0, 1) the factor

    1 + λ·(m - x)/(hi - m)  =  1 - λ + λ·(hi - x)/(hi - m)

is never negative, because x <= hi, and has mean 1. The product over an option's readings is an e-process
against "the mean is m", and so is an average over λ: it grows if readings lie below m. Mirrored, with lo in
the place of hi, it grows if they lie above. No more is assumed than the bounds; bets adapt to how readings
really scatter. As stakes are fixed, the order of readings does not matter, but every single one does.

The logarithm of a factor is ``log((1 - λ)t + λ(hi - x)) - log t`` with t = hi - m. Its derivatives in m are
``1/t - a/(at + b) >= 0`` and ``1/t² - a²/(at + b)² >= 0``, with a = 1 - λ and b = λ(hi - x) >= 0: each is
convex and never falls, so are sums over readings, and so is the logarithm of an average of exponentials of
such sums.

**Quick sums.** With u = (hi - x)/(hi - lo), p = (m - lo)/(hi - lo) and ``s = log(λ/(1 - λ)) - log(1 - p)``, a
product is ``n·log(1 - λ) + Σ log(1 + e^s·u)``: for all stakes and all means one smooth function of s. It is
computed at even steps of s and interpolated by cubic polynomials with the right slopes. Its fourth derivative
is at most n/8, so that these err by ``n·STEP⁴/3072`` at most, by which it is lowered.
"""

import math
from typing import Self

import numpy as np

from noisewise.core.blocks import Floats, Mask
from noisewise.study.evidence.kind import Kind, LogEvidence, Recorded, log_mean, sums_of_digits
from noisewise.study.log.measurements import Codes
from noisewise.study.models.fit import totals
from noisewise.study.telling.error_bars import BOUNDED

#: All stakes λ.
STAKES = 0.95 * 1.6 ** -np.arange(13.0)
_ODDS = np.log(STAKES) - np.log1p(-STAKES)
#: A mean is taken to lie at least so far from the bound, as a part of their distance.
NEAREST = 1e-9
#: The steps of s, by how much the sum of one reading is lowered, and all s.
STEP = 1.0 / 16.0
SAFETY = STEP**4 / 3072.0
GRID = np.arange(_ODDS.min() - STEP, _ODDS.max() - math.log(NEAREST) + STEP, STEP)
#: Numbers that are held at a time.
ROOM = 1 << 18


class BoundedReadings(Kind):
    """Readings between two bounds.

    Args:
        options: Of which option each reading is, (N,), ascending.
        values: The readings, (N,), as they were told.
        bounds: The least and the largest that a reading can be.
        estimate: What distances are counted from, (n,), on the scale of the readings.
        sign: Of the goal: a mean is ``sign·reading``.
    """

    name = "bounded readings"
    told = (BOUNDED,)
    by_readings = True

    def __init__(
        self, options: Codes, values: Floats, bounds: tuple[float, float], estimate: Floats, sign: float
    ) -> None:
        self._low, self._width = bounds[0], bounds[1] - bounds[0]
        self._options, self._values, self._bounds = options, values, bounds
        self._estimate, self._sign = estimate, sign
        self._count = np.bincount(options, minlength=estimate.size).astype(np.float64)
        self._sums: dict[tuple[bytes, bool], tuple[Floats, Floats]] = {}

    @classmethod
    def takes(cls, recorded: Recorded) -> Mask:
        """Readings between bounds, unless extra scatter is added to them."""
        return recorded.of_kind(BOUNDED) & recorded.as_told

    @classmethod
    def of(cls, recorded: Recorded, rows: Mask) -> Self:
        """Every single reading, in an order that is not that of telling."""
        columns, n, sign, bounds = recorded.columns.select(rows), recorded.n, recorded.sign, recorded.bounds
        assert bounds is not None
        singles = [columns.singles.get(number) for number in columns.number.tolist()]
        values = [
            np.array([value]) if several is None else several
            for several, value in zip(singles, columns.value.tolist(), strict=True)
        ]
        readings, option = np.concatenate(values), np.repeat(columns.plus, [part.size for part in values])
        order = np.lexsort((readings, option))
        option, readings = option[order], readings[order]
        count = np.bincount(option, minlength=n)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = totals(option, readings, n) / count
        mean = np.where(count > 0, mean, recorded.elsewhere(float(readings.mean()), *bounds))
        return cls(option, readings, bounds, mean - sign * recorded.apart(count > 0, sign * mean), sign)

    @property
    def facts(self) -> Floats:
        """How many readings there are, a hash of all of them in any order, and the estimate."""
        digits = sums_of_digits(self._options, self._estimate.size, self._values)
        return np.column_stack([self._count, digits, self._estimate])

    @property
    def signature(self) -> tuple[object, ...]:
        """Bounds and stakes."""
        return (self.name, self._sign, self._bounds, STAKES.tobytes())

    def holds(self) -> Mask:
        """Where there are readings."""
        return np.asarray(self._count > 0.0)

    def log_e(self, options: Codes, z: Floats, side: float) -> LogEvidence:
        """The mixture over all stakes."""
        upwards = side * self._sign > 0.0  # of readings
        apart = np.maximum(self._apart(options, z, side), NEAREST)  # 1 - p
        s = _ODDS - np.log(apart)[..., None]
        value, slope = _interpolated(*self._sums_of(options, upwards), s)
        count = self._count[options][:, None, None]
        value += count * (np.log1p(-STAKES) - SAFETY) - math.log(STAKES.size)
        return log_mean(value, slope / (apart * self._width)[..., None])

    def _apart(self, options: Codes, z: Floats, side: float) -> Floats:
        """How far means lie from the bound on the suspected side, as a part of the bounds' distance."""
        place = (self._estimate[options] - self._low)[:, None] + side * self._sign * z
        share = np.clip(place / self._width, 0.0, 1.0)
        return np.asarray(1.0 - share if side * self._sign > 0.0 else share)

    def _sums_of(self, options: Codes, upwards: bool) -> tuple[Floats, Floats]:
        """``Σ log(1 + e^s·u)`` over the readings of each option at all s, and its slopes, (k, GRID) each."""
        key = options.tobytes(), upwards
        if key not in self._sums:
            sums = np.zeros((2, options.size, GRID.size))
            for row, option in enumerate(options.tolist()):
                # Equal readings are summed once: ratings from 1 to 5 are five numbers.
                some = slice(*np.searchsorted(self._options, [option, option + 1]))
                values, times = np.unique(self._values[some], return_counts=True)
                share = (values - self._low) / self._width
                u = 1.0 - share if upwards else share
                for first in range(0, u.size, ROOM // GRID.size):
                    some = slice(first, first + ROOM // GRID.size)
                    odds = np.multiply.outer(u[some], np.exp(GRID))
                    sums[:, row] += times[some] @ np.stack([np.log1p(odds), odds / (1.0 + odds)])
            self._sums = {key: (sums[0], sums[1])}
        return self._sums[key]

    def imagined(self, options: Codes, more: Floats) -> "BoundedReadings":
        """More readings like those so far; of options without any, like those of all, around its estimate."""
        owners, values = [], []
        ends = np.array([self._low, self._low + self._width])
        everything = np.sort(self._values) if self._values.size else ends
        for place, option in enumerate(options.tolist()):
            own = np.sort(self._values[self._options == option])
            law, count = own, round(float(more[place]))
            if not own.size:
                shift = self._estimate[option] - float(everything.mean())
                law = np.clip(everything + shift, *self._bounds)
            taken = law[((np.arange(count) + 0.5) / max(1, count) * law.size).astype(np.int64)]
            values += [own, taken]
            owners.append(np.full(own.size + count, place))
        return BoundedReadings(
            np.concatenate(owners).astype(np.int64), np.concatenate(values), self._bounds,
            self._estimate[options], self._sign,
        )  # fmt: skip

    @property
    def precision(self) -> Floats:
        """Readings over the variance of one."""
        return np.asarray(self._count * self.of_one)

    @property
    def of_one(self) -> Floats:
        """One over the variance of a reading, as if one more had lain a quarter of the bounds away."""
        away = (self._values - self._mean[self._options]) ** 2
        squares = np.bincount(self._options, away, self._estimate.size)
        return np.asarray((self._count + 1.0) / (squares + (0.25 * self._width) ** 2))

    @property
    def _mean(self) -> Floats:
        """Of the readings of each option, (n,); 0 where there are none."""
        return np.bincount(self._options, self._values, self._estimate.size) / np.maximum(self._count, 1.0)

    def guess(self, options: Codes, levels: Floats, side: float) -> Floats:
        """Where the normal approximation reaches a somewhat higher level."""
        count, upwards = self._count[options], side * self._sign > 0.0
        share = (self._mean[options] - self._low) / self._width
        mean, variance = 1.0 - share if upwards else share, 1.0 / (self.of_one[options] * self._width**2)
        wanted = np.maximum(levels, 0.0) + math.log(STAKES.size) + 1.0
        far = np.sqrt(2.0 * wanted * (variance / count)[:, None]) + wanted / count[:, None]
        # Not beyond the middle between the data and the bound: there the evidence is finite.
        far = np.minimum(far, (0.5 * mean)[:, None])
        apart = side * self._sign * (self._mean - self._estimate)[options]
        return np.minimum(apart[:, None] + self._width * far, self.ends(options, side)[1][:, None])

    def ends(self, options: Codes, side: float) -> tuple[Floats, Floats]:
        """Means lie between the bounds."""
        below, above = self._estimate[options] - self._bounds[0], self._bounds[1] - self._estimate[options]
        return (-below, above) if side * self._sign > 0.0 else (-above, below)


def _interpolated(value: Floats, slope: Floats, s: Floats) -> tuple[Floats, Floats]:
    """Sums at any s, (k, ...), and their slopes: Hermite's cubics."""
    place = np.clip((s - GRID[0]) / STEP, 0.0, GRID.size - 1.001)
    cell = place.astype(np.int64)
    t, row = place - cell, np.arange(len(value)).reshape(-1, *(1,) * (s.ndim - 1))
    low, high = value[row, cell], value[row, cell + 1]
    left, right = STEP * slope[row, cell], STEP * slope[row, cell + 1]
    square, cube = 3.0 * (high - low) - 2.0 * left - right, left + right - 2.0 * (high - low)
    sums = low + t * (left + t * (square + t * cube))
    return sums, (left + t * (2.0 * square + 3.0 * t * cube)) / STEP
