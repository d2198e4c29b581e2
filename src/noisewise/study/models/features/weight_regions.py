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

**Together.** Each has a share; one of a restart that has not begun stands still at 1. If shares add up to at
most 1, ``Σ share·M < 1/δ`` at all times with probability 1 - δ (Ville). This region is convex, and lies in
ellipsoids that are easy to compute: for any weights τ that add up to 1, by Jensen,

    Σ τ·(log share + log M(u) - log τ)  <=  log Σ share·M(u)  <  log 1/δ,

a quadratic in u. Every τ gives one, and all hold at once, so τ may be chosen by looking at the data. The span
says ``‖φ + Ju‖² <= 1`` (Popoviciu); η/2 times that may be added. τ = (1, 0, ...) with η = 1 is a ball around
the fit.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from noisewise.core.choice.radius import SCALE_SHARES, SCALES
from noisewise.core.model.dense import Floats

#: The ridge of a restart's prior, in the same units.
RESTART_SCALE = 4.0
#: Multipliers of the span: without it, and the ball around the fit.
MULTIPLIERS = (0.0, 1.0)
#: Ellipsoids that are longer than 1/√this in some direction, in standard errors, bound nothing there.
FLAT = 1e-3
#: How often τ is improved, how many of the last are kept, and how many restarts on their own.
IMPROVED, KEPT, ALONE = 6, 3, 3


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

    def spread(self, directions: Floats) -> Floats:
        """The covariance of its points that are furthest out along directions with these second moments."""
        inverse = self.root @ self.root.T
        along = inverse @ directions
        length = max(float(np.trace(along)), 1e-300)
        return np.asarray(self.radius**2 / length * (along @ inverse))

    def width(self, directions: Floats) -> float:
        """How far it reaches along these directions, in the mean square."""
        return self.radius * math.sqrt(max(0.0, float(np.sum(self.root * (directions @ self.root)))))


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
        self._units, self._level = units, level
        some = martingales[:1] if careful else martingales
        self._curvatures = np.array([one.curvature for one in some])
        self._slopes = np.array([one.slope for one in some])
        self._constants = np.array([one.constant for one in some])
        self._multipliers = MULTIPLIERS[1:] if careful else MULTIPLIERS
        self._square = units.shrunk.T @ units.shrunk
        self._pull = units.shrunk.T @ units.pulled
        self._excess = float(units.pulled @ units.pulled) - 1.0

    def around_the_fit(self) -> list[WeightEllipsoid]:
        """What the martingale from the start allows, with the span and without."""
        tau = self._alone(0)
        return [found for eta in self._multipliers if (found := self.ellipsoid(tau, eta)) is not None]

    def ellipsoids(self, directions: Floats) -> list[WeightEllipsoid]:
        """Ellipsoids that are short along directions with these second moments, (dim, dim)."""
        found = self.around_the_fit()
        count = self._constants.size
        if count == 1:
            return found
        starts = [(0.0, self._alone(k)) for k in range(count)]
        starts += [(eta, self._alone(0)) for eta in self._multipliers if eta]
        tried = [(eta, tau, one) for eta, tau in starts if (one := self.ellipsoid(tau, eta)) is not None]
        if not tried:
            return found
        tried.sort(key=lambda start: start[2].width(directions))
        found += [one for _, tau, one in tried if not tau[0]][:ALONE]
        eta, tau, best = tried[0]
        improved = []
        for _ in range(IMPROVED):
            tau = 0.5 * (tau + self._balanced(best, directions))
            better = self.ellipsoid(tau, eta)
            if better is None:
                break
            best = better
            improved.append(best)
        return found + improved[-KEPT:]

    def ellipsoid(self, tau: Floats, eta: float) -> WeightEllipsoid | None:
        """The ellipsoid of these weights; None if it is too flat to be of use."""
        there = np.flatnonzero(tau > 0.0)
        weight = tau[there]
        matrix = np.tensordot(weight, self._curvatures[there], 1) + eta * self._square
        pull = weight @ self._slopes[there] - eta * self._pull
        constant = float(weight @ (self._constants[there] - np.log(weight))) + 0.5 * eta * self._excess
        sizes, axes = np.linalg.eigh(matrix)
        if not (np.isfinite(sizes).all() and sizes[0] >= FLAT and math.isfinite(constant)):
            return None
        centre = axes @ ((axes.T @ pull) / sizes)
        # A region that the span leaves nothing of is not smaller than what a single known number would have.
        squared = max(2.0 * (self._level - constant) + float(pull @ centre), 2.0 * self._level)
        return WeightEllipsoid(centre, math.sqrt(squared), axes / np.sqrt(sizes))

    def _alone(self, which: int) -> Floats:
        tau = np.zeros(self._constants.size)
        tau[which] = 1.0
        return tau

    def _balanced(self, one: WeightEllipsoid, directions: Floats) -> Floats:
        """Weights in proportion to what the martingales are at its ends: with these Jensen loses nothing."""
        moments = np.outer(one.centre, one.centre) + one.spread(directions)
        logs = self._constants + 0.5 * np.tensordot(self._curvatures, moments, 2) - self._slopes @ one.centre
        weights = np.exp(logs - logs.max())
        return np.asarray(weights / weights.sum())


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
