"""Where the weights of features can be: likelihood ratios averaged into one, and ellipsoids that hold them.

**Coordinates.** The fit has a ridge ρ, weights θ̂ and ``V + ρ = RᵀR``. Everything is in ``u = R(θ - θ̂)``:
the fit is u = 0, and a difference of options that is ``<c, θ>`` is off by ``<R⁻ᵀc, u>``. With ``J = √ρ·R⁻¹``
and ``φ = √ρ·θ̂`` the weights themselves are ``√ρ·θ = φ + Ju``.

**One martingale.** Fix a normal prior at some moment, by anything seen until then. The likelihood of what
comes later, averaged over the prior and divided by that at θ, is a martingale with mean 1 if θ is the truth.
By Bayes' rule it is the prior density at θ over the posterior one, so its logarithm is a quadratic,

    log M(u) = ½·uᵀGu - gᵀu + constant,      G = the information of what came later, in these units.

*From the start*, with prior ``N(0, 1/(fρ))``: G and g are those of all measurements whatever f is, so that an
average over several f has the same form, and only the constant is a mean: no f must be known to be right.
*From a restart* s on, the prior is the fit of that moment (ridge fρ); its precision is ``KᵀK`` in these
units, and its mean is ``v = R(θ̂_s - θ̂)``:

    G = I - JᵀJ - (KᵀK - f·JᵀJ),    posterior precision KᵀK + G = I + (f - 1)·JᵀJ.

**Together.** Each has a share; one of a restart that has not begun stands still at 1. What their average
leaves possible, and ellipsoids around that, is `core.choice.regions`; the span says ``‖φ + Ju‖² <= 1``
(Popoviciu).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from noisewise.core.choice.radius import SCALE_SHARES, SCALES
from noisewise.core.choice.regions import Region, around_the_fit, new_ellipsoids, short_ellipsoids
from noisewise.core.model.dense import Floats

#: The ridge of a restart's prior, in the same units.
RESTART_SCALE = 4.0


class Units(NamedTuple):
    """The fit as the coordinates of regions."""

    shrunk: Floats  # (dim, dim): J
    pulled: Floats  # (dim,): φ

    @property
    def dim(self) -> int:
        """How many weights there are."""
        return self.pulled.size


class Martingale(NamedTuple):
    """The logarithm of a likelihood ratio times its share: ``½·uᵀGu - gᵀu + constant``."""

    curvature: Floats  # (dim, dim): G
    slope: Floats  # (dim,): g
    constant: float

    def at(self, u: Floats) -> float:
        """Its value."""
        return float(0.5 * u @ self.curvature @ u - self.slope @ u) + self.constant


def from_start(units: Units, share: float) -> Martingale:
    """Of all measurements, averaged over scales of the weights."""
    left, sizes, _ = np.linalg.svd(units.shrunk)
    along = (left.T @ units.pulled) ** 2
    dim = units.dim
    # In the directions of J the information is x = 1/j² - 1 ridges, and nothing cancels.
    x = 1.0 / sizes**2 - 1.0
    logs = []
    # The first scale has weights as large as the span allows; values that are spread like a bell the second.
    for scale, weight in zip(SCALES, SCALE_SHARES, strict=True):
        f = scale * dim
        fitted = along * (1.0 - f * (x + 2.0)) / (2.0 * (x + f))
        logs.append(math.log(weight) + float((fitted - 0.5 * np.log1p(x / f)).sum()))
    constant = log_sum(logs) + math.log(share)
    square = units.shrunk.T @ units.shrunk
    return Martingale(np.eye(dim) - square, units.shrunk.T @ units.pulled, constant)


def from_restart(units: Units, known: Floats, away: Floats, scale: float, share: float) -> Martingale:
    """Of what came after a restart.

    Args:
        units: The coordinates.
        known: K, the root of the precision that the prior has, (dim, dim).
        away: v, where its mean lies, (dim,).
        scale: f, the ridge in its precision.
        share: Of all martingales together.
    """
    square, pull = units.shrunk.T @ units.shrunk, units.shrunk.T @ units.pulled
    prior, unit = known.T @ known, np.eye(units.dim)
    prior_pull = prior @ away + scale * pull
    curvature = unit - square - (prior - scale * square)
    posterior, rest = unit + (scale - 1.0) * square, (1.0 - scale) * pull
    apart = known @ away
    constant = 0.5 * float(rest @ np.linalg.solve(posterior, rest) - apart @ apart)
    constant += float(np.linalg.slogdet(known)[1] - 0.5 * np.linalg.slogdet(posterior)[1])
    return Martingale(curvature, pull - prior_pull, constant + math.log(share))


def log_sum(logs: Sequence[float]) -> float:
    """``log Σ exp``."""
    top = max(logs)
    return top + math.log(sum(math.exp(one - top) for one in logs))


class WeightEllipsoid(NamedTuple):
    """``‖root⁻¹(u - centre)‖ <= radius``."""

    centre: Floats  # (dim,)
    radius: float
    root: Floats  # (dim, dim): root·rootᵀ is the inverse of its matrix


class WeightRegion:
    """The region in which the average of some martingales is below 1/δ.

    Args:
        units: The coordinates.
        martingales: With their shares; the first is that from the start.
        level: ``log 1/δ``.
        careful: For a fit that lost digits: the ball around it alone.
    """

    def __init__(
        self, units: Units, martingales: Sequence[Martingale], level: float, *, careful: bool = False
    ) -> None:
        some = martingales[:1] if careful else martingales
        self._careful = careful
        self._region = Region(
            curvatures=np.array([one.curvature for one in some]),
            slopes=np.array([one.slope for one in some]),
            constants=np.array([one.constant for one in some]),
            square=units.shrunk.T @ units.shrunk,
            pull=units.shrunk.T @ units.pulled,
            excess=float(units.pulled @ units.pulled) - 1.0,
            level=level,
        )
        self._found = new_ellipsoids(len(some), units.dim)

    def around_the_fit(self) -> list[WeightEllipsoid]:
        """What the martingale from the start allows, with the span and without."""
        return self._first(around_the_fit(self._region, self._careful, self._found))

    def ellipsoids(self, directions: Floats) -> list[WeightEllipsoid]:
        """Ellipsoids that are short along directions with these second moments, (dim, dim)."""
        if self._careful:
            return self.around_the_fit()
        return self._first(short_ellipsoids(self._region, directions, self._found))

    def _first(self, count: int) -> list[WeightEllipsoid]:
        centres, radii, roots = self._found
        return [WeightEllipsoid(centres[k].copy(), float(radii[k]), roots[k].copy()) for k in range(count)]


class Reaches:
    """How far a region reaches along many directions: the least of its ellipsoids.

    Args:
        ellipsoids: Which contain the region.
    """

    def __init__(self, ellipsoids: Sequence[WeightEllipsoid]) -> None:
        self._centres = np.array([one.centre for one in ellipsoids])
        self._radii = np.array([one.radius for one in ellipsoids])
        self._roots = np.concatenate([one.root.T for one in ellipsoids]) if ellipsoids else np.zeros((0, 0))

    def along(self, directions: Floats) -> Floats:
        """The largest ``<direction, u>`` for every column, (n,); infinite if nothing limits it."""
        dim, n = directions.shape
        if not self._radii.size:
            return np.full(n, np.inf)
        seen = (self._roots @ directions).reshape(self._radii.size, dim, n)
        lengths = np.sqrt(np.einsum("eij,eij->ej", seen, seen))
        return np.asarray((self._centres @ directions + self._radii[:, None] * lengths).min(axis=0))
