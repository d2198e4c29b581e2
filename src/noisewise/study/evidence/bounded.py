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
interpolated between a few s, and lowered by more than that errs (`SAFETY`).
"""

import math
from collections.abc import Iterator
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
#: The width of a cell on the axis of s, and in how many points of it sums are computed.
WIDTH, NODES = 0.5, 6
#: By how much the sum of one reading is lowered: more than interpolation errs.
SAFETY = 1e-8
#: Readings that are summed together: what fits a processor's cache.
TOGETHER = 1 << 15

_places = np.cos(np.pi * (np.arange(NODES) + 0.5) / NODES)
#: From values in the points of a cell to the coefficients of a polynomial in the place, from -1 to 1.
_to_powers = np.linalg.inv(_places[:, None] ** np.arange(NODES)).T


class BoundedReadings(Kind):
    """Readings between two bounds.

    Args:
        options: Of which option each reading is, (N,).
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
        self._sums: dict[tuple[bytes, bool], _Sums] = {}

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
        sums = self._sums_of(options, upwards)
        value, slope = sums(s)
        count = self._count[options][:, None, None]
        value += count * (np.log1p(-STAKES) - SAFETY) - math.log(STAKES.size)
        return log_mean(value, slope / (apart * self._width)[..., None])

    def _apart(self, options: Codes, z: Floats, side: float) -> Floats:
        """How far means lie from the bound on the suspected side, as a part of the bounds' distance."""
        place = (self._estimate[options] - self._low)[:, None] + side * self._sign * z
        share = np.clip(place / self._width, 0.0, 1.0)
        return np.asarray(1.0 - share if side * self._sign > 0.0 else share)

    def _sums_of(self, options: Codes, upwards: bool) -> "_Sums":
        key = options.tobytes(), upwards
        if key not in self._sums:
            place = np.full(self._estimate.size, -1, dtype=np.int64)
            place[options] = np.arange(options.size)
            rows = np.flatnonzero(place[self._options] >= 0)
            share = (self._values[rows] - self._low) / self._width
            self._sums = {
                key: _Sums(place[self._options[rows]], 1.0 - share if upwards else share, options.size)
            }
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
        n = self._estimate.size
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.nan_to_num(np.bincount(self._options, self._values, n) / self._count)
        squares = np.bincount(self._options, (self._values - mean[self._options]) ** 2, n)
        return np.asarray((self._count + 1.0) / (squares + (0.25 * self._width) ** 2))

    def guess(self, options: Codes, levels: Floats, side: float) -> Floats:
        """Where the normal approximation reaches a somewhat higher level."""
        count = self._count[options]
        sums = self._sums_of(options, side * self._sign > 0.0)
        wanted = np.maximum(levels, 0.0) + math.log(STAKES.size) + 1.0
        mean, variance = sums.mean, (sums.variance * count + 0.25) / (count + 1.0)
        far = np.sqrt(2.0 * wanted * (variance / count)[:, None]) + wanted / count[:, None]
        # Not beyond the middle between the data and the bound: there the evidence is finite.
        far = np.minimum(far, (0.5 * mean)[:, None])
        at_data = np.where(side * self._sign > 0.0, 1.0 - mean, mean)  # as a share of the bounds' distance
        apart = side * self._sign * (self._low + self._width * at_data - self._estimate[options])
        return np.minimum(apart[:, None] + self._width * far, self.ends(options, side)[1][:, None])

    def ends(self, options: Codes, side: float) -> tuple[Floats, Floats]:
        """Means lie between the bounds."""
        below, above = self._estimate[options] - self._bounds[0], self._bounds[1] - self._estimate[options]
        return (-below, above) if side * self._sign > 0.0 else (-above, below)


class _Sums:
    """``Σ log(1 + e^s·u)`` over the readings of each of some options, for any s.

    Args:
        place: Which of the options each reading is of, (N,).
        u: From the bound on the suspected side, as a part of the bounds' distance, (N,).
        size: How many options there are.
    """

    def __init__(self, place: Codes, u: Floats, size: int) -> None:
        self._size = size
        order = np.lexsort((u, place))
        place, u = place[order], u[order]
        fresh = np.ones(u.size, dtype=bool)
        fresh[1:] = (np.diff(place) != 0) | (np.diff(u) != 0.0)
        at = np.flatnonzero(fresh)
        # Equal readings are summed once: ratings from 1 to 5 are five numbers.
        self._place, self._u = place[at], u[at]
        self._times = np.diff(np.append(at, u.size)).astype(np.float64)
        count = np.bincount(place, minlength=size)
        self.mean = np.bincount(self._place, self._times * self._u, size) / count
        apart = self._u - self.mean[self._place]
        self.variance = np.bincount(self._place, self._times * apart * apart, size) / count
        self._slices = list(_slices(np.bincount(self._place, minlength=size)))
        self._first, self._powers = 0, np.zeros((NODES, size, 0))

    def __call__(self, s: Floats) -> tuple[Floats, Floats]:
        """The sums and their slopes, (options, …)."""
        place = s * (1.0 / WIDTH)
        cell = np.floor(place)
        place -= cell
        place *= 2.0
        place -= 1.0
        self._provide(int(cell.min()), int(cell.max()))
        cells = self._powers.shape[2]
        at = cell.astype(np.int64)
        at += np.arange(-self._first, self._size * cells - self._first, cells).reshape(
            -1, *(1,) * (s.ndim - 1)
        )
        powers = self._powers.reshape(NODES, -1)
        value, slope = powers[-1].take(at), np.zeros(s.shape)
        for power in range(NODES - 2, -1, -1):
            slope *= place
            slope += value
            value *= place
            value += powers[power].take(at)
        slope *= 2.0 / WIDTH
        return value, slope

    def _provide(self, low: int, high: int) -> None:
        """Have the polynomials of these cells."""
        have = self._powers.shape[2]
        if have and self._first <= low and high < self._first + have:
            return
        if have:
            low, high = min(low, self._first), max(high, self._first + have - 1)
        wanted = np.arange(low, high + 1)
        old = (wanted >= self._first) & (wanted < self._first + have)
        powers = np.empty((NODES, self._size, wanted.size))
        powers[..., old] = self._powers
        fresh = np.flatnonzero(~old)
        step = max(1, TOGETHER // max(1, self._u.size))
        for first in range(0, fresh.size, step):
            some = fresh[first : first + step]
            powers[..., some] = self._cells(wanted[some])
        self._first, self._powers = low, powers

    def _cells(self, cells: Codes) -> Floats:
        """The polynomials of some cells, (NODES, options, cells)."""
        scale = np.exp(WIDTH * (cells[:, None] + 0.5 * (1.0 + _places))).ravel()
        found = np.zeros((self._size, scale.size))
        for some in self._slices:
            logs = self._times[some, None] * np.log1p(self._u[some, None] * scale)
            starts = np.flatnonzero(np.diff(self._place[some], prepend=-1))
            found[self._place[some][starts]] += np.add.reduceat(logs, starts, axis=0)
        by_cell = found.reshape(self._size, cells.size, NODES)
        # Not as a product of matrices, whose last bits depend on how many options there are.
        powers = np.zeros((NODES, self._size, cells.size))
        for node in range(NODES):
            powers += _to_powers[node][:, None, None] * by_cell[..., node]
        return powers


def _slices(counts: Codes) -> Iterator[slice]:
    """Readings in pieces that fit a cache; where those of one option are cut does not depend on others."""
    first = last = 0
    for count in counts.tolist():
        if last > first and last + count - first > TOGETHER:
            yield slice(first, last)
            first = last
        last += count
        while last - first > TOGETHER:
            yield slice(first, first + TOGETHER)
            first += TOGETHER
    if last > first:
        yield slice(first, last)
