"""Mixtures: entries of at least 0 that sum to 1."""

from typing import Any

import numpy as np

from noisewise.actions.oracle_set import ROUNDING
from noisewise.actions.polytope import Polytope
from noisewise.core.checks import check_count


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
