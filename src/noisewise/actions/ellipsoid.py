"""Ellipsoids and balls: every question is an eigenvector or a secular equation, so every answer is exact.

The questions are quadratic problems over a ball. All of them are nonconvex (a convex function is made
large), and all have no duality gap: the multiplier that solves ``Σ n_i/(δ + gap_i)² = target²`` gives both
the solution and a bound that nothing exceeds.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from noisewise.actions.oracle_set import ROUNDING, Oracle, OracleSet
from noisewise.core.blocks import Floats
from noisewise.core.checks import check_count, check_positive
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
    """Bound the contrast to an origin on the sphere by how far the parameter can be tilted against it.

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


#: A matrix whose smallest eigenvalue is below this share of the largest is flat.
FLAT = 1e-14


class Round(NamedTuple):
    """The ellipsoid as the image of the unit ball: ``a = root·u``, ``‖u‖ <= 1``."""

    root: Floats  # (dim, dim)
    inverse: Floats  # (dim, dim): of the root
    scale: float  # the root is this times the identity; 0 if it is not a multiple of it


def from_the_ball(shape: Round, vector: Floats) -> Floats:
    """``root·vector``."""
    if shape.scale > 0.0:
        return vector * shape.scale
    turned: Floats = np.dot(shape.root, vector)
    return turned


def seen_from_the_ball(shape: Round, vector: Floats) -> Floats:
    """``rootᵀ·vector``: the parameter that a unit vector u meets as ``<vector, root·u>``."""
    if shape.scale > 0.0:
        return vector * shape.scale
    turned: Floats = np.dot(vector, shape.root)
    return turned


def spread_from_the_ball(shape: Round, covariance: Floats) -> Floats:
    """``rootᵀ·covariance·root``."""
    if shape.scale > 0.0:
        return covariance * (shape.scale * shape.scale)
    turned: Floats = np.dot(np.dot(np.ascontiguousarray(shape.root.T), covariance), shape.root)
    return turned


def largest(shape: Round, direction: Floats, covariance: Floats, reach: float, out: Floats) -> float:
    """The action with the largest ``<direction, a> + reach·‖a‖``.

    It is the best action for the longest parameter (seen from the unit ball) of the confidence ellipsoid
    with centre ``direction`` and radius ``reach``.
    """
    seen = seen_from_the_ball(shape, direction)
    longest, upper = seen, 0.0
    if reach > 0.0:
        longest = np.empty(seen.size)
        upper = longest_in_ellipsoid(seen, spread_from_the_ball(shape, covariance), reach, longest)
    length = np.sqrt(np.dot(longest, longest))
    if length == 0.0:
        # All actions are equally good: take the first axis.
        longest = np.zeros(seen.size)
        longest[0] = length = 1.0
    elif reach == 0.0:
        upper = length
    out[:] = from_the_ball(shape, longest / length)
    return upper * (1.0 + TIE)


def contrast(
    shape: Round, theta: Floats, covariance: Floats, radius: float, origin: Floats, out: Floats
) -> float:
    """A bound on ``<θ, a - origin> + radius·‖a - origin‖``, and an action near it."""
    inner, seen = spread_from_the_ball(shape, covariance), seen_from_the_ball(shape, theta)
    furthest = np.empty(theta.size)
    bound = contrast_bound(seen, inner, radius, np.dot(shape.inverse, origin), furthest)
    length = np.sqrt(np.dot(furthest, furthest))
    if length > 0.0:
        furthest /= length
    out[:] = from_the_ball(shape, furthest)
    return bound * (1.0 + TIE)


ORACLE = Oracle(largest, contrast)


class RoundSet(OracleSet):
    """Balls and ellipsoids: what they answer alike."""

    oracle = ORACLE

    def between(self, starts: Floats, ends: Floats, shares: Floats) -> Floats:
        """Actions on the way from starts to ends, along the surface if both are on it."""
        inner, outer = starts @ self.shape.inverse.T, ends @ self.shape.inverse.T
        straight = inner + shares[:, None] * (outer - inner)
        lengths = np.linalg.norm(straight, axis=1)
        wanted = (1.0 - shares) * np.linalg.norm(inner, axis=1) + shares * np.linalg.norm(outer, axis=1)
        # Through the middle no way along the surface is shorter than another: then straight on.
        factors = np.divide(wanted, lengths, out=np.ones_like(wanted), where=lengths > 1e-6 * wanted)
        return np.asarray((straight * factors[:, None]) @ self.shape.root.T)


class Ellipsoid(RoundSet):
    """All a with ``aᵀ·matrix⁻¹·a <= 1``: half-axes are the roots of the matrix's eigenvalues.

    Args:
        matrix: Symmetric and positive definite, ``(dim, dim)``.

    Example:
        >>> flat = Ellipsoid([[4.0, 0.0], [0.0, 1.0]])
        >>> flat.best([1.0, 0.0]).vector.tolist(), flat.contains([0.0, 1.5])
        ([2.0, 0.0], False)
    """

    def __init__(self, matrix: ArrayLike) -> None:
        self.matrix = _positive_definite(matrix)
        self.dim = len(self.matrix)
        root: Any = np.linalg.cholesky(self.matrix)
        self.shape = Round(root, np.linalg.inv(root), 0.0)
        self.max_norm = float(np.linalg.norm(root, 2))

    def contains(self, vector: Any) -> bool:
        """Whether the vector is an action, up to rounding."""
        within = self.shape.inverse @ self.check_vector("vector", vector)
        return bool(within @ within <= (1.0 + ROUNDING) ** 2)

    def options(self) -> dict[str, Any]:
        """What the constructor was given, as plain numbers and lists."""
        return {"matrix": self.matrix.tolist()}

    def __repr__(self) -> str:
        return f"Ellipsoid({self.dim} features, half-axes up to {self.max_norm:.3g})"


def _positive_definite(matrix: ArrayLike) -> Floats:
    try:
        array = np.array(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty(0)
    square = array.ndim == 2 and array.shape[0] == array.shape[1] and array.size > 0
    if not square or not np.isfinite(array).all():
        raise ValueError(f"`matrix` must be a square table of finite numbers; got {matrix!r}.")
    scale = float(np.abs(array).max())
    if np.abs(array - array.T).max() > ROUNDING * scale:
        raise ValueError(f"`matrix` must be symmetric; got {array.tolist()!r}.")
    array = (array + array.T) / 2.0
    least = float(np.linalg.eigvalsh(array)[0])
    if not least > FLAT * scale:
        raise ValueError(
            f"`matrix` must be positive definite, or the ellipsoid is flat or unbounded; "
            f"got one with an eigenvalue of {least:.3g}."
        )
    return array


class Ball(RoundSet):
    """All vectors of ``dim`` numbers that are at most ``radius`` long.

    Example:
        >>> ball = Ball(3, radius=2.0)
        >>> ball.best([0.0, 5.0, 0.0]).vector.tolist(), ball.contains([2.0, 2.0, 0.0])
        ([0.0, 2.0, 0.0], False)
    """

    def __init__(self, dim: int, radius: float = 1.0) -> None:
        self.dim = check_count("dim", dim)
        self.radius = self.max_norm = check_positive("radius", radius)
        self.shape = Round(self.radius * np.eye(self.dim), np.eye(self.dim) / self.radius, self.radius)

    def contains(self, vector: Any) -> bool:
        """Whether the vector is an action, up to rounding."""
        length = float(np.linalg.norm(self.check_vector("vector", vector)))
        return length <= self.radius * (1.0 + ROUNDING)

    def options(self) -> dict[str, Any]:
        """What the constructor was given, as plain numbers and lists."""
        return {"dim": self.dim, "radius": self.radius}

    def __repr__(self) -> str:
        return f"Ball({self.dim}, radius={self.radius:g})"
