"""Products: an action is one choice from each of several sets, side by side."""

import math
from itertools import pairwise
from typing import Any

import numpy as np

from noisewise.actions import vertices
from noisewise.actions.oracle_set import Answer, Oracle, OracleSet, reached, set_from
from noisewise.actions.search import linear_ascent
from noisewise.core.blocks import Floats


class Product(OracleSet):
    """All ``(a, b, …)`` with a from the first set, b from the second, and so on.

    Exact where every set has vertices and there are at most 2^20 combinations; otherwise the best of 64
    ascents, with a bound on what it may have missed.

    Example:
        >>> from noisewise.actions import Ball, Simplex
        >>> recipe = Product(Simplex(2), Ball(2))
        >>> recipe.dim, recipe.best([1.0, 2.0, 0.0, -3.0]).vector.tolist()
        (4, [0.0, 1.0, 0.0, -1.0])
    """

    def __init__(self, *factors: OracleSet) -> None:
        if not factors or not all(isinstance(factor, OracleSet) for factor in factors):
            raise TypeError(f"`factors` must be sets such as nw.sets.Ball(2); got {factors!r}.")
        self.factors = factors
        self.dim = sum(factor.dim for factor in factors)
        self.max_norm = math.hypot(*(factor.max_norm for factor in factors))
        self._cuts = list(pairwise(np.cumsum([0, *(factor.dim for factor in factors)]).tolist()))
        tables = _balanced([factor.shape for factor in factors])
        self.exact = tables is not None
        self.shape: Any = tables or self
        self.oracle = vertices.ORACLE if self.exact else SEARCH

    def best(self, parameter: Any) -> Answer:
        """The best of every set, side by side."""
        direction = self.check_vector("parameter", parameter)
        answers = [factor.best(direction[slice(*cut)]) for factor, cut in self._parts()]
        vector = np.concatenate([answer.vector for answer in answers])
        return Answer(
            vector, sum(answer.value for answer in answers), sum(answer.upper for answer in answers)
        )

    def largest_of(self, direction: Floats, spread: Floats, reach: float) -> Answer:
        """The action found with the largest ``<direction, a> + reach·‖a‖``, and a bound over all."""
        if self.exact or reach == 0.0:
            return super().largest_of(direction, spread, reach)
        out, origin = np.empty(self.dim), np.zeros(self.dim)
        upper = search_contrast(self, direction, spread, reach, origin, out)
        value = reached(out, direction, spread, reach)
        return Answer(out, value, max(upper, value))

    def between(self, starts: Floats, ends: Floats, shares: Floats) -> Floats:
        """Actions on the way from starts to ends, part by part."""
        ways = [
            factor.between(starts[:, slice(*cut)], ends[:, slice(*cut)], shares)
            for factor, cut in self._parts()
        ]
        return np.hstack(ways)

    def contains(self, vector: Any) -> bool:
        """Whether every part is in its set, up to rounding."""
        array = self.check_vector("vector", vector)
        return all(factor.contains(array[slice(*cut)]) for factor, cut in self._parts())

    def options(self) -> dict[str, Any]:
        """The sets, as plain numbers and lists."""
        return {"factors": [factor.describe() for factor in self.factors]}

    def __repr__(self) -> str:
        return f"Product({', '.join(map(repr, self.factors))})"

    def bound(self, theta: Floats, covariance: Floats, radius: float, origin: Floats) -> float:
        """What no action exceeds of ``<θ, a - origin> + radius·‖a - origin‖``.

        The smaller of two bounds: the triangle inequality over the parts, and ``‖x‖² <= κ·Σ‖x_i‖²`` with κ
        the largest eigenvalue of the covariance in units of its diagonal blocks.
        """
        apart, linear, squares = 0.0, 0.0, 0.0
        whitener = np.zeros_like(covariance)
        for factor, cut in self._parts():
            rows = slice(*cut)
            block = np.ascontiguousarray(covariance[rows, rows])
            part, start, scratch = theta[rows], origin[rows], np.empty(factor.dim)
            ask = factor.oracle.contrast
            apart += ask(factor.shape, part, block, radius, start, scratch)
            linear += factor.best(part).upper - float(part @ start)
            squares += ask(factor.shape, np.zeros(factor.dim), block, 1.0, start, scratch) ** 2
            whitener[rows, rows] = np.linalg.inv(np.linalg.cholesky(block))
        coupling = float(np.linalg.eigvalsh(whitener @ covariance @ whitener.T)[-1])
        return min(apart, linear + radius * math.sqrt(coupling * squares))

    def _parts(self) -> Any:
        return zip(self.factors, self._cuts, strict=True)


def product_from(factors: list[dict[str, Any]]) -> Product:
    """The product that `Product.options` described."""
    return Product(*map(set_from, factors))


OracleSet.kinds["Product"] = product_from


def search_largest(
    product: Product, direction: Floats, covariance: Floats, reach: float, out: Floats
) -> float:
    """Write the best action found; a bound is computed only where it is wanted."""
    if reach == 0.0:
        answer = product.best(direction)
        out[:] = answer.vector
        return answer.upper
    out[:] = linear_ascent(
        lambda at: product.best(at).vector, direction, covariance, reach, np.zeros(product.dim)
    )
    return math.inf


def search_contrast(
    product: Product, theta: Floats, covariance: Floats, radius: float, origin: Floats, out: Floats
) -> float:
    """Write the best action found, and return a bound over all."""
    out[:] = linear_ascent(lambda at: product.best(at).vector, theta, covariance, radius, origin)
    return product.bound(theta, covariance, radius, origin)


SEARCH = Oracle(search_largest, search_contrast)


def _balanced(shapes: list[Any]) -> vertices.Vertices | None:
    """All combinations of vertices as two tables of about equal length; None if there are too many."""
    if not all(isinstance(shape, vertices.Vertices) for shape in shapes):
        return None
    parts = [table for shape in shapes for table in (shape.left, shape.right)]
    sizes = [len(table) for table in parts]
    if math.prod(sizes) > vertices.MOST_VERTICES:
        return None
    cut = min(range(len(parts) + 1), key=lambda k: math.prod(sizes[:k]) + math.prod(sizes[k:]))
    return vertices.Vertices(_combined(parts[:cut]), _combined(parts[cut:]), False)


def _combined(tables: list[Floats]) -> Floats:
    rows = np.zeros((1, 0))
    for table in tables:
        rows = np.hstack([np.repeat(rows, len(table), axis=0), np.tile(table, (len(rows), 1))])
    return rows
