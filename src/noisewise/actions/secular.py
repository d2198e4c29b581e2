"""Quadratic problems over a ball, solved exactly by one eigendecomposition and the secular equation.

All of them are nonconvex (a convex function is made large), and all have no duality gap: the multiplier
that solves ``Σ n_i/(δ + gap_i)² = target²`` gives both the solution and a bound that nothing exceeds.
"""

import math

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.core.selection import TIE

#: Newton's method on the secular equation needs fewer than ten steps; bisection steps in when it leaves.
STEPS = 60
#: Steps of the golden section: the logarithm of the multiplier to five digits, its value to ten.
GOLDEN_STEPS = 32
GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
#: The number of decades over which the multiplier is sought.
DECADES = 7.0


def secular_root(numerators: Floats, gaps: Floats, target: float) -> float:
    """The δ >= 0 with ``Σ n_i/(δ + gap_i)² = target²``; 0 if the sum is below it everywhere.

    Newton's method on ``1/√Σ``, which is nearly linear in δ, kept inside a bracket.
    """
    held = np.dot(numerators, (gaps == 0.0) * 1.0)
    low, high = math.sqrt(held) / target, math.sqrt(numerators.sum()) / target
    if high == 0.0:
        return 0.0
    root = low if low > 0.0 else high
    for _ in range(STEPS):
        distances = root + gaps
        terms = numerators / (distances * distances)
        value, slope = terms.sum(), -2.0 * (terms / distances).sum()
        excess = math.sqrt(value) / target - 1.0
        if abs(excess) < 4e-16 or slope == 0.0:
            break
        if excess > 0.0:
            low = root
        else:
            high = root
        proposed = root - 2.0 * value / slope * excess
        if not low < proposed < high:
            proposed = 0.5 * (low + high)
        if proposed == root or high - low <= 1e-16 * high:
            break
        root = proposed
    return root


def first_axis(basis: Floats, out: Floats) -> None:
    """The unit vector in the span of orthonormal columns that lies nearest to a coordinate axis.

    Eigenvectors come with any sign, and of equal eigenvalues in any rotation; this choice depends on the
    span alone. Of equally near axes the first counts.
    """
    squares = np.dot(basis * basis, np.ones(basis.shape[1]))
    chosen = np.argmax(squares >= squares.max() * (1.0 - TIE))
    out[:] = np.dot(basis, basis[chosen]) / math.sqrt(squares[chosen])


def longest_in_ellipsoid(centre: Floats, covariance: Floats, radius: float, out: Floats) -> float:
    """Into ``out`` the longest x with ``‖x - centre‖ <= radius`` in the norm of covariance⁻¹.

    Returns a bound on its length that no such x exceeds. One eigendecomposition.
    """
    values, vectors = np.linalg.eigh(covariance)
    dim = values.size
    top = values[dim - 1]
    first = dim - 1
    while first > 0 and values[first - 1] >= top * (1.0 - TIE):
        first -= 1  # equal to the largest, but for rounding
    along = np.dot(centre, vectors)
    lean = math.sqrt(np.dot(along[first:], along[first:]))
    variances = np.maximum(values, 0.0)
    variances[first:] = top
    gaps = top - variances
    # A lean that is only rounding must not decide between the two ends of the widest direction.
    level = lean <= TIE * (math.sqrt(np.dot(along, along)) + radius * math.sqrt(top))
    if level:
        along[first:] = 0.0
    numerators = along * along * variances
    rest = (numerators[:first] / (gaps[:first] * gaps[:first])).sum()
    held = level and rest <= radius * radius
    delta = 0.0 if held else secular_root(numerators, gaps, radius)
    multiplier = top + delta
    # x_i = centre_i + centre_i·c_i/(ν - c_i); where ν = c_i the centre is 0.
    until = first if held else dim
    stretch = multiplier / (delta + gaps[:until])
    dual = multiplier * radius * radius + np.dot(along[:until] * along[:until], stretch)
    along[:until] *= stretch
    out[:] = np.dot(vectors, along)
    if held:
        axis = np.empty(dim)
        first_axis(np.ascontiguousarray(vectors[:, first:]), axis)
        out += math.sqrt((radius * radius - rest) * top) * axis
    return math.sqrt(dual) + (lean if level else 0.0)


def quadratic_bound(linear: Floats, curvature: Floats, solution: Floats) -> float:
    """``max over ‖x‖ <= 1 of Σ linear_i·x_i + ½·curvature_i·x_i²``, curvatures ascending, none below 0.

    By weak duality the value is never below the maximum; the solution is written into ``solution``.
    """
    top = curvature[curvature.size - 1]
    gaps = top - curvature
    delta = secular_root(linear * linear, gaps, 1.0)
    # A distance of 0 goes with a linear part of 0.
    solution[:] = linear / np.maximum(delta + gaps, 1e-300)
    return float(0.5 * (top + delta + np.dot(linear, solution)))


def contrast_bound(
    theta: Floats, covariance: Floats, radius: float, origin: Floats, furthest: Floats
) -> float:
    """A bound on ``<θ, x - origin> + radius·‖x - origin‖_covariance`` over ``‖x‖ <= 1``.

    ``min over μ > 0 of radius·μ/2 + max over x of <θ, x - origin> + radius/(2μ)·‖x - origin‖²``: each is
    a quadratic problem with the same eigenvectors, and the minimum over 1/μ a convex one. Whatever μ it
    ends at, the bound holds. The x it ends at is written into ``furthest``.
    """
    values, vectors = np.linalg.eigh(covariance)
    values = np.maximum(values, 0.0)
    along, start = np.dot(theta, vectors), np.dot(origin, vectors)
    solution, kept = np.empty(along.size), np.zeros(along.size)
    offset, length = np.dot(theta, origin), np.dot(values, start * start)
    widest = 2.0 * math.sqrt(values[values.size - 1])
    best = np.inf
    low, high = 0.0, DECADES * math.log(10.0)
    inner, outer, at_inner, at_outer = 0.0, 0.0, np.nan, np.nan
    for _ in range(GOLDEN_STEPS + 2):
        # Two points inside the bracket, of which one is new every time.
        fresh_inner = math.isnan(at_inner)
        if fresh_inner:
            inner = high - GOLDEN * (high - low)
        else:
            outer = low + GOLDEN * (high - low)
        mu = widest * math.exp(-(inner if fresh_inner else outer))
        stiffness = radius / mu
        bound = quadratic_bound(along - stiffness * values * start, stiffness * values, solution)
        bound += 0.5 * radius * mu - offset + 0.5 * stiffness * length
        if bound < best:
            best = bound
            kept[:] = solution
        if fresh_inner:
            at_inner = bound
        else:
            at_outer = bound
        if math.isnan(at_outer):
            continue
        if at_inner <= at_outer:
            high, outer, at_outer, at_inner = outer, inner, at_inner, np.nan
        else:
            low, inner, at_inner, at_outer = inner, outer, at_outer, np.nan
    furthest[:] = np.dot(vectors, kept)
    return float(max(min(best, tilt_bound(theta, covariance, radius, origin)), 0.0))


def tilt_bound(theta: Floats, covariance: Floats, radius: float, origin: Floats) -> float:
    """The same bound for an origin on the sphere, from how far the parameter can be tilted against it.

    The best action for a parameter of length ``√(p² + q²)``, p along the origin and q across, is
    ``√(p² + q²) - p`` above the origin: it grows with q and falls with p. Much better than the other bound
    where the parameter is known well across the origin and badly along it.
    """
    if abs(np.dot(origin, origin) - 1.0) > TIE:
        return np.inf
    pull = np.dot(covariance, origin)
    squared_width = np.dot(origin, pull)
    least = np.dot(theta, origin) - radius * math.sqrt(max(squared_width, 0.0))
    # P·C·P with P = I - origin·originᵀ
    across = covariance.copy()
    for i in range(origin.size):
        across[i] += (squared_width * origin[i] - pull[i]) * origin - origin[i] * pull
    away = theta - np.dot(theta, origin) * origin
    values, _ = np.linalg.eigh(across)
    widest = max(values[origin.size - 1], 0.0)
    most = math.sqrt(np.dot(away, away)) + radius * math.sqrt(widest)
    if least <= 0.0:
        return float(math.sqrt(least * least + most * most) - least)
    return float(most * most / (math.sqrt(least * least + most * most) + least))
