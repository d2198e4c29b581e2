"""Ellipsoids: every question is an eigenvector or a secular equation, so every answer is exact."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from noisewise.actions.oracle_set import ROUNDING, Oracle, OracleSet
from noisewise.actions.secular import contrast_bound, longest_in_ellipsoid
from noisewise.core.blocks import Floats
from noisewise.core.selection import TIE

#: A matrix whose smallest eigenvalue is below this share of the largest is flat.
FLAT = 1e-14


class Round(NamedTuple):
    """The ellipsoid as the image of the unit ball: ``a = root·u``, ``‖u‖ <= 1``."""

    root: Floats  # (dim, dim)
    inverse: Floats  # (dim, dim): of the root
    scale: float  # the root is this times the identity; 0 if it is no multiple of it


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
        # All actions are equally good: the first axis stands for them.
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


ORACLE = Oracle(largest, contrast, compiled=True)


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
