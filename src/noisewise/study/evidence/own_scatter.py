"""Evidence of readings whose scatter is unknown and each option's own: t-mixtures on the suspected side.

Let an option have n readings with mean x̄ and sum of squares S around it, and let the mean m lie d above
(below) x̄. Under "the mean is m" the ratios of the readings' distances from m do not depend on the scatter.
The density of these ratios, if the mean lies δ standard deviations below m, over the one at δ = 0, averaged
over δ > 0 with a half-normal law of precision c, is a martingale in the order of these readings:

    (c/(c + n))^½ · (1 + t²/n)^(n/2) · 2T_n(t),     1 + t²/n = (n + c)(1 + q)/(n + c + cq),   q = nd²/S,

t having the sign of d, and T_n being Student's distribution with n degrees of freedom. With
``w = ±(n·log(1 + t²/n))^½`` the middle factor is exp(w²/2), and T_n is bounded from below by the normal law:

    T_n(t) >= Φ(κw)  for t > 0, κ² = 1 - 1/(2n);      T_n(t) >= Φ(w)  for t < 0.

(The density of t over that of κw is proportional to ``((s/2)/sinh(s/2))^½`` in ``s = log(1 + t²/n)``, which
falls; as both laws have half of their mass above 0, the first has more of it near 0. Over that of w it is
proportional to ``(s/(1 - e^-s))^½``, which rises.) Evidence that is smaller by that is no less true, and is
computed as that of known error bars.

**Own stacks.** This is a martingale among the ratios of one option's own readings. Whoever looks at the
readings themselves knows more, and by choosing among options can make products of such martingales grow. But
its supremum over all of an option's readings, also those that will never be made, exceeds x with probability
1/x at most, whoever chooses; and suprema of different options are independent (`levels.py`). For the same
reason it does not multiply with other evidence about the same option: with fixed weights v + v' = 1 the
larger of ``v·sup E`` and ``v'·sup E'`` exceeds x with probability 1/x at most (`limits`).

The evidence grows with d, but not beyond all limits: few readings exclude nothing. It is not convex either.
"""

import functools
from typing import Self

import numpy as np

from noisewise.core.blocks import Floats, Mask, median
from noisewise.study.evidence import search
from noisewise.study.evidence.kind import UP, Kind, LogEvidence, Recorded, log_mean
from noisewise.study.evidence.known import one_sided
from noisewise.study.log.measurements import Codes
from noisewise.study.models.scatter import own_readings, own_rows
from noisewise.study.telling.error_bars import NONE, READINGS

#: c, and the weight of each: the last ones are for few readings that lie far from each other's options.
SCALES = np.array([30.0, 3.0, 0.3, 0.03, 0.003])
WEIGHTS = np.array([0.31, 0.33, 0.28, 0.05, 0.03])
_LOG_WEIGHTS = np.log(WEIGHTS)
#: The least number of readings that say anything about their own scatter.
LEAST = 2
#: What no guess of ``log(1 + q)`` exceeds.
FAR = 45.0
#: For how many numbers of readings and levels reaches are kept.
MOST_KEPT = 20_000


class OwnScatter(Kind):
    """Readings of every option, whose scatter is its own.

    Args:
        readings: How many there are of every option, (n,).
        apart: By how much their mean lies above the option's estimate, (n,).
        squares: Their sum of squares around their mean, (n,).
        least: What the sum of squares is taken to be at least, (n,): readings that are rounded may agree.
        usual: The standard deviation of a reading where none is known: used to look ahead, not in bounds.
    """

    name = "own scatter"
    own_stack = True
    convex = False
    told = (READINGS, NONE)
    by_readings = True

    def __init__(
        self, readings: Floats, apart: Floats, squares: Floats, least: Floats, usual: float = 1.0
    ) -> None:
        self._readings, self._apart, self._usual = readings, apart, usual
        self._squares, self._raised = squares, np.maximum(squares, least)

    @classmethod
    def takes(cls, recorded: Recorded) -> Mask:
        """Readings that name neither instrument nor block."""
        return own_rows(recorded.columns) & recorded.own

    @classmethod
    def of(cls, recorded: Recorded, rows: Mask) -> Self:
        """Sums of squares."""
        sums, floor = own_readings(recorded.columns.select(rows), recorded.n), recorded.noise_floor
        apart = recorded.apart(sums.readings > 0.0, recorded.sign * sums.mean)
        least = np.zeros(recorded.n) if floor is None else sums.least_squares(floor)
        return cls(sums.readings, apart, sums.squares, least, recorded.resolution)

    @property
    def facts(self) -> Floats:
        """The sums."""
        return np.column_stack([self._readings, self._apart, self._squares, self._raised])

    @property
    def signature(self) -> tuple[object, ...]:
        """The mixture."""
        return (self.name, SCALES.tobytes(), WEIGHTS.tobytes())

    def holds(self) -> Mask:
        """Where there are readings that scatter: those that agree to the last digit say nothing."""
        return np.asarray((self._readings >= LEAST) & (self._raised > 0.0))

    def log_e(self, options: Codes, z: Floats, side: float) -> LogEvidence:
        """The mixture over all scales."""
        x = z - (side * self._apart[options])[:, None]
        n = self._readings[options][:, None]
        squares = np.where(x > 0.0, self._raised[options][:, None], self._squares[options][:, None])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            q = np.where(x == 0.0, 0.0, n * x * x / squares)
        place = np.copysign(np.log1p(np.minimum(q, 1e300)), x)
        value, slope = _mixture(n, place)
        # d log(1 + q)/dx = 2nx/(S + nx²)
        inner = 2.0 * n * np.abs(x) / (squares + n * x * x)
        return LogEvidence(value, slope * inner)

    def imagined(self, options: Codes, more: Floats) -> "OwnScatter":
        """More readings around the estimate, that scatter as those so far."""
        now = self._readings[options]
        then = now + more
        with np.errstate(invalid="ignore", divide="ignore"):
            apart = np.where(then > 0.0, self._apart[options] * now / then, 0.0)
        grown = np.maximum(more - (now < 1.0), 0.0) * self._variance[options]
        least = (self._raised - self._squares)[options]
        squares = self._squares[options] + grown
        raised = np.where(least > 0.0, self._raised[options], 0.0)
        return OwnScatter(then, apart, squares, raised, self._usual)

    @property
    def precision(self) -> Floats:
        """Readings over the variance of one."""
        return np.asarray(self._readings * self.of_one)

    @property
    def of_one(self) -> Floats:
        """One over the variance of a reading."""
        return np.asarray(1.0 / self._variance)

    @property
    def _variance(self) -> Floats:
        """Of a reading of each option; of those that were hardly read, as it usually is."""
        freedom = self._readings - 1.0
        known = (freedom >= 1.0) & (self._raised > 0.0)
        usual = median(self._raised[known] / freedom[known]) if known.any() else self._usual**2
        return np.where(known, self._raised / np.maximum(freedom, 1.0), usual)

    def guess(self, options: Codes, levels: Floats, side: float) -> Floats:
        """Where a normal likelihood ratio reaches a somewhat higher level."""
        wanted = np.broadcast_to(np.maximum(levels, 0.0) + 2.0, (options.size, levels.shape[-1]))
        n, squares = self._readings[options][:, None], self._raised[options][:, None]
        far = np.sqrt(squares * np.expm1(np.minimum(2.0 * wanted / n, FAR)) / n)
        return np.asarray(far + (side * self._apart[options])[:, None])

    def reaches(self, options: Codes, levels: Floats, side: float) -> Floats:
        """The largest distance whose evidence is below each level, (options, levels).

        In units of √S they depend on the number of readings and the level only.

        Args:
            options: Those to look at, (k,).
            levels: Of log E, (levels,).
            side: UP or DOWN.
        """
        counts, row = np.unique(self._readings[options], return_inverse=True)
        name = np.ascontiguousarray(levels).tobytes()
        unit = np.array([_of_unit(count, name) for count in counts.tolist()]).reshape(-1, levels.size)[row]
        # On the side of the data a larger sum of squares would exclude more.
        squares = np.where(unit > 0.0, self._raised[options][:, None], self._squares[options][:, None])
        with np.errstate(invalid="ignore"):
            away = np.where(np.isfinite(unit), unit * np.sqrt(squares), unit)
        return np.asarray(away + (side * self._apart[options])[:, None])


def _mixture(n: Floats, place: Floats) -> tuple[Floats, Floats]:
    """Log E where ``log(1 + q)`` is so large (times the sign of d), and its slope, of the shape of place."""
    size, readings = np.abs(place)[..., None], np.asarray(n)[..., None]
    # s = log(1 + t²/n) = log(1 + q) - log(1 + cq/(n + c)), without cancellation where q is small.
    share = SCALES / (readings + SCALES)
    kept = np.exp(-size)
    inside = kept + share * -np.expm1(-size)  # (1 + cq/(n + c))/(1 + q)
    s = -np.where(size < 0.5, np.log1p((1.0 - share) * np.expm1(-size)), np.log(inside))
    root = np.sqrt(readings * s)
    above = place[..., None] > 0.0
    shrunk = np.sqrt(1.0 - 0.5 / readings)
    w = np.where(above, shrunk * root, -root)
    bend, steep = one_sided(w)
    value = bend + np.where(above, 0.25 * s, 0.0)  # (1 - κ²)·w²/2 = s/4
    # dw/ds = ±√n/(2√s), and ds/d log(1 + q) = (1 - share)·e^-size/inside
    with np.errstate(divide="ignore", invalid="ignore"):
        by_s = np.where(
            above, steep * shrunk * np.sqrt(readings / s) / 2.0 + 0.25, steep * np.sqrt(readings / s) / 2.0
        )
        slopes = np.nan_to_num(by_s * (1.0 - share) * kept / inside, posinf=0.0)
    height = _LOG_WEIGHTS + 0.5 * np.log(share)
    found = log_mean(height + value, slopes)
    return found.value, found.slope


@functools.lru_cache(maxsize=MOST_KEPT)
def _of_unit(count: float, levels: bytes) -> Floats:
    """Reaches for so many readings with S = 1, (levels,)."""
    kind = OwnScatter(np.array([count]), np.zeros(1), np.ones(1), np.zeros(1))
    return np.asarray(search.reaches([kind], np.zeros(1, dtype=np.int64), np.frombuffer(levels), UP)[0])
