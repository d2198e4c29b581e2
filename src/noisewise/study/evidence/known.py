"""Evidence of measurements with known standard errors: normal mixtures on the suspected side, over scales.

Let N be the precision of an option and x how far the mean m lies above (below) its weighted mean. The
likelihood ratio of "the mean is m - d" against "it is m", averaged over d > 0 with a half-normal law of
precision ρ, is an e-process if m is the mean; so is an average over several ρ:

    F(x) = log Σ_s w_s·exp(N²x²/(2(N + ρ_s)))·(1 + N/ρ_s)^-½·2Φ(Nx/√(N + ρ_s))

It is the logarithm of a Laplace transform over a half-line, hence convex and increasing. ρ is measured in the
difference that matters: a race that is decided by large gaps ends on a small ρ, a close one on the largest.
The same form serves scatter of which an upper limit is known (`LimitedScatter`).
"""

import math
from collections.abc import Iterator
from typing import ClassVar, Self

import numpy as np

from noisewise.core.blocks import Floats, Mask, distinct
from noisewise.study.evidence.kind import Kind, LogEvidence, Recorded, log_mean
from noisewise.study.log.measurements import Codes, Columns
from noisewise.study.models.fit import pool
from noisewise.study.models.scatter import own_rows
from noisewise.study.telling.error_bars import KNOWN, NONE, READINGS

#: ρ times resolution², and the weight of each.
SCALES = np.array([4.0, 0.4, 0.04, 4e-3, 4e-4, 4e-5, 4e-7, 4e-9, 4e-12])
WEIGHTS = np.array([0.385, 0.33, 0.185, 0.065, 0.025, 0.006, 0.002, 0.0015, 0.0005])
_LOG_WEIGHTS = np.log(WEIGHTS)
#: ``(1 + 2z)·exp(z²)·erfc(z)`` as a Chebyshev series in ``(z - PIVOT)/(z + PIVOT)``, for z >= 0.
PIVOT = 3.75
_SERIES = np.array([
    1.1775789345674017, -0.004590054580646477, -0.08424913336651792, 0.05920993999819189,
    -0.026658668435305753, 0.009074997670705265, -0.0024131635404176085, 0.0004907758365258084,
    -6.916973302501226e-05, 4.139027986072858e-06, 7.74038306619768e-07, -2.188640104923384e-07,
    1.0764999465761822e-08, 4.521959811377773e-09, -7.754400206844005e-10, -6.318088320734915e-11,
    2.8687950276695216e-11, 1.945587881257291e-13, -9.654696555661986e-13, 3.252541402504813e-14,
    3.3477977867117527e-14, -1.864752496624116e-15, -1.2509977495195792e-15,
])  # fmt: skip


class KnownErrorBars(Kind):
    """Measurements with standard errors that do not depend on what came out.

    Args:
        precision: Σ 1/se² of every option, (n,); 0 where there are none.
        apart: By how much the weighted mean of these measurements lies above the option's estimate, (n,).
        resolution: The difference that matters.
    """

    name = "known error bars"
    told: ClassVar[tuple[str, ...]] = (KNOWN,)

    def __init__(self, precision: Floats, apart: Floats, resolution: float) -> None:
        self._precision, self._apart, self.resolution = precision, apart, resolution
        self._rho = SCALES / resolution**2

    @classmethod
    def takes(cls, recorded: Recorded) -> Mask:
        """Whatever has no price of its own."""
        return np.ones(recorded.columns.plus.size, dtype=bool)

    @classmethod
    def of(cls, recorded: Recorded, rows: Mask) -> Self:
        """Weighted means."""
        pooled = pool(recorded.columns.select(rows), recorded.sigma[rows], recorded.sign)
        precision, means = np.zeros(recorded.n), np.zeros(recorded.n)
        precision[pooled.plus], means[pooled.plus] = pooled.weight, pooled.value + pooled.centre
        return cls(precision, recorded.apart(precision > 0.0, means), recorded.resolution)

    @property
    def facts(self) -> Floats:
        """Precision and mean."""
        return np.column_stack([self._precision, self._apart])

    @property
    def signature(self) -> tuple[object, ...]:
        """The mixture."""
        return (self.name, self._rho.tobytes())

    def holds(self) -> Mask:
        """Where there is any precision."""
        return np.asarray(self._precision > 0.0)

    def log_e(self, options: Codes, z: Floats, side: float) -> LogEvidence:
        """The mixture over all scales."""
        precision = self._precision[options][:, None, None]
        x = z[..., None] - (side * self._apart[options])[:, None, None]
        root = np.sqrt(precision + self._rho)
        bend, slope = one_sided(precision * x / root)
        height = _LOG_WEIGHTS - 0.5 * np.log1p(precision / self._rho)
        return log_mean(height + bend, slope * precision / root)

    def guess(self, options: Codes, levels: Floats, side: float) -> Floats:
        """Where the best single scale, its factor 2Φ left out, reaches the level.

        Far on the other side of the data the evidence is about ``log Σ_s w_s·√(2/π)/((1 + N/ρ_s)^½·|t_s|)``.
        """
        precision = self._precision[options][:, None, None]
        wanted = levels[..., None] - _LOG_WEIGHTS + 0.5 * np.log1p(precision / self._rho)
        far = np.sqrt(2.0 * np.maximum(wanted, 0.0) * (precision + self._rho)) / precision
        roots = np.sqrt(precision + self._rho) / (precision * np.sqrt(1.0 + precision / self._rho))
        behind = (
            math.sqrt(2.0 / math.pi)
            * (WEIGHTS * roots).sum(axis=-1)
            * np.exp(-np.clip(levels, -700.0, 700.0))
        )
        at_data = np.logaddexp.reduce(_LOG_WEIGHTS - 0.5 * np.log1p(precision / self._rho), axis=-1)
        z = np.where(levels < at_data - 2.0, -behind, far.min(axis=-1))
        return np.asarray(z + (side * self._apart[options])[:, None])

    def imagined(self, options: Codes, more: Floats) -> "KnownErrorBars":
        """More precision, at the estimate: the mean of all is drawn there."""
        now = self._precision[options]
        then = now + more
        with np.errstate(invalid="ignore", divide="ignore"):
            apart = np.where(then > 0.0, self._apart[options] * now / then, 0.0)
        return type(self)(then, apart, self.resolution)

    @property
    def precision(self) -> Floats:
        """As the error bars say."""
        return self._precision


class LimitedScatter(KnownErrorBars):
    """Readings that share a scatter of which an upper limit is known, with that limit.

    For every level v >= 0 the reach falls as precision grows: with r = N/ρ its square is
    ``(2v + log(1 + r))(1 + r)/r²`` over ρ for one scale, and ``r/(2 + r) < log(1 + r)``. So what a level
    above 0 leaves possible with a limit that is true contains what it leaves possible with the true scatter.
    Below 0 that need not be so, and such levels are not used: see `levels.py`.
    """

    name = "pooled scatter"
    told = (READINGS, NONE)
    limited = True

    @classmethod
    def takes(cls, recorded: Recorded) -> Mask:
        """Readings whose scatter is shared."""
        return recorded.of_kind(*cls.told) & ~(own_rows(recorded.columns) & recorded.own)

    @classmethod
    def parts(cls, columns: Columns, rows: Mask) -> Iterator[Mask]:
        """Those that share a scatter."""
        for code in distinct(columns.pool[rows]):
            yield rows & (columns.pool == code)


def one_sided(t: Floats) -> tuple[Floats, Floats]:
    """``t²/2 + log 2Φ(t)`` and its slope ``t + φ(t)/Φ(t)``, without cancellation on either side."""
    distance = np.abs(t)
    scaled = scaled_tail(distance / math.sqrt(2.0))  # exp(t²/2)·2Φ(-|t|)
    below = t < 0.0
    falling = np.exp(-0.5 * np.minimum(distance, 40.0) ** 2)
    other = 2.0 - falling * scaled  # 2Φ(|t|)
    value = np.where(below, np.log(scaled), 0.5 * t * t + np.log(other))
    ratio = math.sqrt(2.0 / math.pi) / np.where(below, scaled, 1.0)
    ratio = np.where(below, ratio, math.sqrt(2.0 / math.pi) * falling / other)
    return value, np.asarray(np.maximum(t + ratio, _least_slope(t)))


def _least_slope(t: Floats) -> Floats:
    """Far below 0 the slope is 1/|t| (1 - 2/t² + …), where the sum of both parts has lost its digits."""
    far = np.maximum(-t, 1.0)
    return np.where(t < -50.0, (1.0 - 2.0 / far**2) / far, 0.0)


def scaled_tail(z: Floats) -> Floats:
    """``exp(z²)·erfc(z)`` for z >= 0, to 2e-15."""
    y = (z - PIVOT) / (z + PIVOT)
    twice, later, last = 2.0 * y, np.zeros_like(y), np.zeros_like(y)
    for coefficient in _SERIES[:0:-1]:
        later, last = twice * later - last + coefficient, later
    return np.asarray((y * later - last + _SERIES[0]) / (1.0 + 2.0 * z))
