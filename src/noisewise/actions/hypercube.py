"""The corners ``{-1, 1}^dim/√dim`` alone: the lower bound's set, of 2^dim actions."""

import math
from typing import Any

import numpy as np

from noisewise.actions.box import Box
from noisewise.actions.oracle_set import ROUNDING
from noisewise.core.blocks import Floats
from noisewise.core.checks import check_count


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
