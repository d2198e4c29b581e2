"""Polytopes by their vertices, or by inequalities whose vertices a library finds; and simplices."""

import functools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noisewise.actions import vertices as tried
from noisewise.actions.oracle_set import ROUNDING, OracleSet
from noisewise.core.blocks import Floats
from noisewise.core.checks import check_count

#: Two vertices nearer than this, relative to the polytope's size, are one.
SAME = 1e-9


class Polytope(OracleSet):
    """All weighted means of some points, its vertices.

    Args:
        vertices: The points, ``(n, dim)``; points inside do no harm.

    Example:
        >>> triangle = Polytope([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
        >>> triangle.best([1.0, 1.0]).vector.tolist(), triangle.contains([1.0, 1.0])
        ([2.0, 0.0], False)
    """

    oracle = tried.ORACLE

    def __init__(self, vertices: ArrayLike) -> None:
        self.vertices = _points("vertices", vertices)
        self.dim = self.vertices.shape[1]
        self.max_norm = float(np.sqrt(np.square(self.vertices).sum(axis=1).max()))
        self.shape = tried.one_table(self.vertices)

    @classmethod
    def from_inequalities(cls, matrix: ArrayLike, limits: ArrayLike) -> "Polytope":
        """The polytope of all a with ``matrix·a <= limits``, row by row.

        Example:
            >>> half = Polytope.from_inequalities([[-1, 0], [0, -1], [1, 1]], [0, 0, 1])
            >>> half.vertices.round(9).tolist()
            [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
        """
        return cls(_vertices_of(_points("matrix", matrix), limits))

    def contains(self, vector: Any) -> bool:
        """Whether the vector is a weighted mean of the vertices, up to rounding."""
        array = self.check_vector("vector", vector)
        away = np.abs(self.vertices - array).max(axis=1)
        if away.min() <= ROUNDING * self.max_norm:
            return True
        normals, offsets = self._facets
        if normals is not None and offsets is not None:
            return bool((normals @ array - offsets).max() <= ROUNDING * max(1.0, self.max_norm))
        return self._is_mean(array)

    def options(self) -> dict[str, Any]:
        """What the constructor was given, as plain numbers and lists."""
        return {"vertices": self.vertices.tolist()}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.vertices)} vertices, {self.dim} features)"

    @functools.cached_property
    def _facets(self) -> tuple[Floats | None, Floats | None]:
        """Unit normals and offsets of the sides; nothing where the hull has no inside, or too many sides."""
        from scipy.spatial import ConvexHull, QhullError

        if not 2 <= self.dim <= 6 or len(self.vertices) <= self.dim:
            return None, None
        try:
            sides = ConvexHull(self.vertices).equations
        except QhullError:
            return None, None
        return sides[:, :-1], -sides[:, -1]

    def _is_mean(self, vector: Floats) -> bool:
        """Whether weights of at least 0 that sum to 1 make the vector: a linear programme."""
        from scipy.optimize import linprog

        scale = self.max_norm or 1.0
        sums = np.vstack([self.vertices.T / scale, np.ones(len(self.vertices))])
        found = linprog(np.zeros(len(self.vertices)), A_eq=sums, b_eq=np.append(vector / scale, 1.0))
        return bool(found.status == 0)


def _points(name: str, points: ArrayLike) -> Floats:
    try:
        array = np.array(points, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(
            f"`{name}` must be a table of numbers with at least one row and one column, all rows equally "
            f"long; got {points!r}."
        )
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise ValueError(
            f"`{name}` must be finite numbers; got {float(array[row, column])} in row {row}, column {column}."
        )
    return array


def _vertices_of(matrix: Floats, limits: ArrayLike) -> Floats:
    """The corners of ``{a: matrix·a <= limits}``, sorted."""
    try:
        bounds = np.array(limits, dtype=np.float64)
    except (TypeError, ValueError):
        bounds = np.empty(0)
    if bounds.shape != (len(matrix),) or not np.isfinite(bounds).all():
        raise ValueError(f"`limits` must be {len(matrix)} finite numbers, one per row; got {limits!r}.")
    least, most = _extent(matrix, bounds)
    if matrix.shape[1] == 1:
        return np.array([least, most])
    corners = _intersections(matrix, bounds)
    size = float(np.abs(corners).max()) or 1.0
    _, first = np.unique(np.rint(corners / (SAME * size)), axis=0, return_index=True)
    tidy = np.where(np.abs(corners[first]) < SAME * size, 0.0, corners[first])
    return np.asarray(tidy[np.lexsort(tidy.T[::-1])])


def _extent(matrix: Floats, bounds: Floats) -> tuple[Floats, Floats]:
    """The smallest and largest value of each entry; refuses a set that is empty or has no end."""
    from scipy.optimize import linprog

    dim = matrix.shape[1]
    ends = np.empty((2, dim))
    for k in range(dim):
        for side, sign in ((0, 1.0), (1, -1.0)):
            found = linprog(sign * np.eye(dim)[k], A_ub=matrix, b_ub=bounds, bounds=(None, None))
            if found.status == 2:
                raise ValueError("`limits` must leave at least one vector; got an empty polytope.")
            if found.status != 0:
                raise ValueError(
                    f"`matrix` must bound every direction; got a polytope that is unbounded in entry {k}."
                )
            ends[side, k] = sign * found.fun
    return ends[0], ends[1]


def _intersections(matrix: Floats, bounds: Floats) -> Floats:
    from scipy.optimize import linprog
    from scipy.spatial import HalfspaceIntersection, QhullError

    lengths = np.linalg.norm(matrix, axis=1)
    rows = lengths > 0.0
    matrix, bounds, lengths = matrix[rows], bounds[rows], lengths[rows]
    # The centre of the largest ball inside is a point from which all sides can be seen.
    goal = np.append(np.zeros(matrix.shape[1]), -1.0)
    found = linprog(goal, A_ub=np.column_stack([matrix, lengths]), b_ub=bounds, bounds=(None, None))
    if not found.x[-1] > SAME * max(1.0, float(np.abs(found.x[:-1]).max())):
        raise ValueError(
            "`limits` must leave an inside: this polytope is flat. Give its vertices to nw.sets.Polytope."
        )
    try:
        sides = np.column_stack([matrix, -bounds])
        return np.asarray(HalfspaceIntersection(sides, found.x[:-1]).intersections)
    except QhullError:
        raise ValueError(
            "`matrix` must describe a polytope whose vertices can be found; got one that is too flat or "
            "has too many sides. Give its vertices: nw.sets.Polytope(vertices)."
        ) from None


class Simplex(Polytope):
    """All vectors of ``dim`` entries, none below 0, that sum to 1: shares of a mixture.

    Example:
        >>> mixture = Simplex(3)
        >>> mixture.best([0.1, 0.3, 0.2]).vector.tolist(), mixture.contains([0.5, 0.5, 0.0])
        ([0.0, 1.0, 0.0], True)
    """

    def __init__(self, dim: int) -> None:
        super().__init__(np.eye(check_count("dim", dim)))

    def contains(self, vector: Any) -> bool:
        """Whether the vector is a mixture, up to rounding."""
        array = self.check_vector("vector", vector)
        return bool(array.min() >= -ROUNDING and abs(float(array.sum()) - 1.0) <= ROUNDING * self.dim)

    def options(self) -> dict[str, Any]:
        """What the constructor was given, as plain numbers and lists."""
        return {"dim": self.dim}

    def __repr__(self) -> str:
        return f"Simplex({self.dim})"
