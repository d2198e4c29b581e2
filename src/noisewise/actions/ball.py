"""Balls around 0: the ellipsoid that is equally long in all directions."""

from typing import Any

import numpy as np

from noisewise.actions.ellipsoid import Round, RoundSet
from noisewise.actions.oracle_set import ROUNDING
from noisewise.core.checks import check_count, check_positive


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
