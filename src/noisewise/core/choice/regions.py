"""Where theta can be when several likelihood ratios are averaged: ellipsoids that hold the region.

**Coordinates.** The fit has a ridge λ, an estimate θ̂ and ``V = RᵀR``. Everything is in ``u = R(θ - θ̂)``: the
fit is u = 0, and a difference ``<c, θ>`` is off by ``<R⁻ᵀc, u>``. With ``J = √λ·R⁻¹`` and ``φ = √λ·θ̂`` theta
itself is ``√λ·θ = φ + Ju``.

**The region.** Each martingale, times its share, has a logarithm that is quadratic in u,
``½·uᵀGu - gᵀu + constant``. If shares add up to at most 1, ``Σ share·M(u) < 1/δ`` at all times with
probability 1 - δ (Ville). This region is convex, and lies in ellipsoids that are easy to compute: for any
weights τ that add up to 1, by Jensen,

    Σ τ·(log share + log M(u) - log τ)  <=  log Σ share·M(u)  <  log 1/δ,

a quadratic in u. Every τ gives one, and all hold at once, so τ may be chosen by looking at the data. What is
known beforehand, ``‖φ + Ju‖² <= most``, may be added η/2 times. τ = (1, 0, ...) with η = 1 is the ball around
the fit if the first martingale is that of all measurements.
"""

import math
from typing import NamedTuple

import numpy as np

from noisewise.core.support.blocks import Floats

#: Ellipsoids that are longer than 1/√this in some direction, in standard errors, bound nothing there.
FLAT = 1e-3
#: How often τ is improved, how many of the last are kept, and how many martingales on their own.
IMPROVED, KEPT, ALONE = 6, 3, 3
#: The ellipsoids that are left in the end, at most: with these, the first martingale without and with η.
MOST = 2 + ALONE + KEPT


class Region(NamedTuple):
    """Martingales with their shares, and what is known beforehand."""

    curvatures: Floats  # (m, dim, dim): G
    slopes: Floats  # (m, dim): g
    constants: Floats  # (m,)
    square: Floats  # (dim, dim): JᵀJ
    pull: Floats  # (dim,): Jᵀφ
    excess: float  # ‖φ‖² - most
    level: float  # log 1/δ


class Ellipsoids(NamedTuple):
    """``‖root⁻¹(u - centre)‖ <= radius`` for each place."""

    centres: Floats  # (places, dim)
    radii: Floats  # (places,)
    roots: Floats  # (places, dim, dim): root·rootᵀ is the inverse of its matrix


def new_ellipsoids(martingales: int, dim: int) -> Ellipsoids:
    """Places for what `short_ellipsoids` finds, and for those that it tries on the way."""
    places = MOST + martingales + 1
    return Ellipsoids(np.zeros((places, dim)), np.zeros(places), np.zeros((places, dim, dim)))


def put_ellipsoid(region: Region, tau: Floats, eta: float, found: Ellipsoids, place: int) -> bool:
    """Write down the ellipsoid of these weights; False if it is too flat to be of use."""
    matrix, pull, constant = eta * region.square, -eta * region.pull, 0.5 * eta * region.excess
    for k in np.flatnonzero(tau > 0.0):
        matrix = matrix + tau[k] * region.curvatures[k]
        pull = pull + tau[k] * region.slopes[k]
        constant += tau[k] * (region.constants[k] - math.log(tau[k]))
    if not math.isfinite(float((matrix * matrix).sum() + pull @ pull + constant)):
        return False
    sizes, axes = np.linalg.eigh(matrix)
    if not sizes[0] >= FLAT:
        return False
    found.roots[place] = axes / np.sqrt(sizes)
    centre = found.centres[place] = axes @ (axes.T @ pull / sizes)
    # A region that nothing is left of is not smaller than what a single known number would have.
    squared = max(2.0 * (region.level - constant) + float(pull @ centre), 2.0 * region.level)
    found.radii[place] = math.sqrt(squared)
    return True


def width_along(found: Ellipsoids, place: int, directions: Floats) -> float:
    """How far an ellipsoid reaches along directions with these second moments, in the mean square."""
    root = found.roots[place]
    return float(found.radii[place] * math.sqrt(max(0.0, float((root * (directions @ root)).sum()))))


def balanced_weights(region: Region, found: Ellipsoids, place: int, directions: Floats) -> Floats:
    """τ in proportion to what the martingales are at an ellipsoid's ends: with these Jensen loses nothing."""
    root, centre = found.roots[place], found.centres[place]
    inverse = root @ root.T
    along = inverse @ directions
    # The covariance of its points that are furthest out along the directions.
    spread, scale = along @ inverse, found.radii[place] ** 2 / max(np.trace(along), 1e-300)
    outer = np.einsum("kij,ij->k", region.curvatures, scale * spread + np.outer(centre, centre))
    logs = region.constants + 0.5 * outer - region.slopes @ centre
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def around_the_fit(region: Region, careful: bool, found: Ellipsoids) -> int:
    """What the first martingale allows, with what is known beforehand and without: how many were found.

    Args:
        region: The region.
        careful: For a fit that lost digits: the ball alone.
        found: Where they are written.
    """
    first, count = np.zeros(region.constants.size), 0
    first[0] = 1.0
    if not careful and put_ellipsoid(region, first, 0.0, found, 0):
        count = 1
    return count + 1 if put_ellipsoid(region, first, 1.0, found, count) else count


def short_ellipsoids(region: Region, directions: Floats, found: Ellipsoids) -> int:
    """Ellipsoids that are short along directions with these second moments, (dim, dim): how many were found.

    Those around the fit; the shortest of single martingales; and from the shortest of all on, weights τ that
    are halfway to the balanced ones of the last.
    """
    count, martingales = around_the_fit(region, False, found), region.constants.size
    if martingales == 1:
        return count
    tau, start, eta = np.zeros(martingales), 0, 0.0
    shortest, last = np.inf, 0
    for k in range(count):
        width = width_along(found, k, directions)
        if width < shortest:
            # The last of them is the ball, with η = 1.
            shortest, last, eta = width, k, 1.0 if k == count - 1 else 0.0
    widths = np.full(martingales, np.inf)
    for k in range(1, martingales):
        tau[k] = 1.0
        if put_ellipsoid(region, tau, 0.0, found, MOST + k):
            widths[k] = width_along(found, MOST + k, directions)
            if widths[k] < shortest:
                shortest, last, eta, start = widths[k], MOST + k, 0.0, k
        tau[k] = 0.0
    if shortest == np.inf:
        return count
    for _ in range(min(ALONE, martingales - 1)):
        k = int(np.argmin(widths))
        if widths[k] < np.inf:
            _copy(found, MOST + k, count)
            widths[k] = np.inf
            count += 1
    tau[start] = 1.0
    steps = 0
    for step in range(IMPROVED):
        balanced = balanced_weights(region, found, last, directions)
        for k in range(martingales):
            tau[k] = 0.5 * (tau[k] + balanced[k])
        last = count + step % KEPT
        if not put_ellipsoid(region, tau, eta, found, last):
            break
        steps = step + 1
    return count + min(steps, KEPT)


def _copy(found: Ellipsoids, place: int, to: int) -> None:
    found.centres[to][:] = found.centres[place]
    found.radii[to] = found.radii[place]
    found.roots[to][:] = found.roots[place]
