"""Boxes and hypercubes: up to 2^20 corners are tried one by one, beyond that 64 ascents and a bound."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noisewise.actions import vertices
from noisewise.actions.oracle_set import ROUNDING, Answer, Oracle, OracleSet, reached
from noisewise.actions.search import corner_bound, flip_ascent
from noisewise.core.blocks import Floats
from noisewise.core.checks import check_count


class Box(OracleSet):
    """All vectors between ``low`` and ``high``, entry by entry.

    Args:
        low: The least value of every entry, ``(dim,)``.
        high: The largest.

    Example:
        >>> box = Box([0.0, -1.0], [1.0, 1.0])
        >>> box.best([1.0, -2.0]).vector.tolist(), box.contains([0.5, 2.0])
        ([1.0, -1.0], False)
    """

    def __init__(self, low: ArrayLike, high: ArrayLike) -> None:
        self.low, self.high = _limits(low, high)
        self.dim = self.low.size
        self.max_norm = float(np.linalg.norm(np.maximum(np.abs(self.low), np.abs(self.high))))
        self.exact = 2**self.dim <= vertices.MOST_VERTICES
        self.shape: Any = vertices.two_tables(self.low, self.high) if self.exact else self
        self.oracle = vertices.ORACLE if self.exact else SEARCH

    def best(self, parameter: Any) -> Answer:
        """The corner with the largest ``<parameter, a>``."""
        direction = self.check_vector("parameter", parameter)
        corner = np.where(direction > 0.0, self.high, self.low)
        value = float(corner @ direction)
        return Answer(corner, value, value)

    def largest_of(self, direction: Floats, spread: Floats, reach: float) -> Answer:
        """The action found with the largest ``<direction, a> + reach·‖a‖``, and a bound over all."""
        if self.exact or reach == 0.0:
            return super().largest_of(direction, spread, reach)
        corner = flip_ascent(self.low, self.high, direction, spread, reach, np.zeros(self.dim))
        value = reached(corner, direction, spread, reach)
        width = reached(corner, np.zeros(self.dim), spread, 1.0)
        bound = corner_bound(self.low, self.high, direction, spread, reach, np.zeros(self.dim), width)
        return Answer(corner, value, max(bound, value))

    def contains(self, vector: Any) -> bool:
        """Whether the vector is an action, up to rounding."""
        array, slack = self.check_vector("vector", vector), ROUNDING * self.max_norm
        return bool(((self.low - slack <= array) & (array <= self.high + slack)).all())

    def options(self) -> dict[str, Any]:
        """What the constructor was given, as plain numbers and lists."""
        return {"low": self.low.tolist(), "high": self.high.tolist()}

    def __repr__(self) -> str:
        return f"Box({self.dim} features from {self.low.min():g} to {self.high.max():g})"


def search_largest(box: Box, direction: Floats, covariance: Floats, reach: float, out: Floats) -> float:
    """Write the best corner found; a bound is computed only where it is wanted."""
    if reach == 0.0:
        answer = box.best(direction)
        out[:] = answer.vector
        return answer.upper
    out[:] = flip_ascent(box.low, box.high, direction, covariance, reach, np.zeros(box.dim))
    return math.inf


def search_contrast(
    box: Box, theta: Floats, covariance: Floats, radius: float, origin: Floats, out: Floats
) -> float:
    """Write the best corner found, and return a bound over all corners."""
    out[:] = flip_ascent(box.low, box.high, theta, covariance, radius, origin)
    width = reached(out - origin, np.zeros(box.dim), covariance, 1.0)
    return corner_bound(box.low, box.high, theta, covariance, radius, origin, width)


SEARCH = Oracle(search_largest, search_contrast)


def _limits(low: ArrayLike, high: ArrayLike) -> tuple[Floats, Floats]:
    limits = []
    for name, given in (("low", low), ("high", high)):
        try:
            array = np.array(given, dtype=np.float64)
        except (TypeError, ValueError):
            array = np.empty((0, 0))
        if array.ndim != 1 or array.size == 0 or np.isnan(array).any():
            raise ValueError(f"`{name}` must be a list of numbers, one per feature; got {given!r}.")
        if np.isinf(array).any():
            raise ValueError(f"`{name}` must be finite, or the box is unbounded; got {array.tolist()!r}.")
        limits.append(array)
    if limits[0].shape != limits[1].shape:
        raise ValueError(
            f"`low` and `high` must be equally long; got {limits[0].size} and {limits[1].size} numbers."
        )
    wrong = limits[0] > limits[1]
    if wrong.any():
        k = int(np.argmax(wrong))
        raise ValueError(
            f"`low` must not exceed `high`, or the box is empty; got {float(limits[0][k])!r} and "
            f"{float(limits[1][k])!r} at position {k}."
        )
    return limits[0], limits[1]


class Hypercube(Box):
    """All ``2^dim`` vectors of signs, divided by ``√dim``; every one has length 1.

    Example:
        >>> cube = Hypercube(4)
        >>> cube.best([1.0, -1.0, 3.0, 0.5]).vector.tolist(), cube.contains([0.5, 0.5, 0.5, 0.0])
        ([0.5, -0.5, 0.5, 0.5], False)
    """

    def __init__(self, dim: int) -> None:
        size = 1.0 / math.sqrt(check_count("dim", dim))
        super().__init__(np.full(dim, -size), np.full(dim, size))

    def contains(self, vector: Any) -> bool:
        """Whether the vector is a corner, up to rounding."""
        array = self.check_vector("vector", vector)
        return bool(np.abs(np.abs(array) - self.high).max() <= ROUNDING)

    def between(self, starts: Floats, ends: Floats, shares: Floats) -> Floats:
        """Corners on the way from starts to ends: a share of the differing signs is flipped, in order."""
        differ = starts != ends
        number = np.cumsum(differ, axis=1)
        flipped = differ & (number <= np.floor(shares * number[:, -1])[:, None])
        return np.where(flipped, ends, starts)

    def options(self) -> dict[str, Any]:
        """What the constructor was given, as plain numbers and lists."""
        return {"dim": self.dim}

    def __repr__(self) -> str:
        return f"Hypercube({self.dim})"
