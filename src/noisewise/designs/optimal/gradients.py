"""The same quadratic model for thousands of rows, where its matrix would be too large."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from noisewise.designs.shared.algebra import (
    squared_norms,
    squared_products_times,
    squared_row_products,
    symmetric_times,
)
from noisewise.designs.shared.rows import Floats

MAX_ROUNDS = 12
HELD = 5600  # rows whose matrix is held: 125 MB
LITTLE = 0.3  # of the first slope: what is left at most where it led somewhere
EASY = 0.3  # rows per r(r+1)/2: below, the matrix is far from singular unless rows are near copies


class LargeModel:
    """The model |V(u) - 2I|^2/2 + r sum(u)^2/2 around weights w, by products of float32 alone.

    Only changes of the weights are multiplied, so that rounding changes a step by a millionth. Up to `HELD`
    rows the matrix is held, one triangle of it, where that is less to read than 4 m r^2 operations take.
    """

    def __init__(self, coordinates: Floats, weights: Floats) -> None:
        n_rows, self.rank = coordinates.shape
        self.weights = weights
        self.norms = squared_norms(coordinates)
        self.curvatures = self.norms**2 + self.rank
        self.rounded = coordinates.astype(np.float32)
        self.triangle = squared_row_products(self.rounded) if n_rows <= HELD else None
        # Where the matrix is nearly singular a rough step is as good as an exact one, and much cheaper.
        self.easy = n_rows <= EASY * self.rank * (self.rank + 1) / 2
        self.max_directions, self.accuracy, self.enough = (30, 1e-3, 1e-3) if self.easy else (12, 0.1, 0.03)

    def times(self, vector: Floats) -> Floats:
        """Return the matrix of the model times ``vector``."""
        if self.triangle is not None:
            along = symmetric_times(self.triangle, vector)
        else:
            along = squared_products_times(self.rounded, vector)
        return np.asarray(along + self.rank * vector.sum())

    def slope(self, weights: Floats) -> Floats:
        """Return the gradient of the model: at w it is r - g, so only the change has to be computed."""
        here = self.rank * self.weights.sum() - self.norms
        return np.asarray(here + self.times(weights - self.weights))

    def direction(self, slope: Floats, free: npt.NDArray[np.bool_]) -> Floats:
        """Minimise approximately over the free weights, by conjugate gradients."""
        residual = np.where(free, -slope, 0.0)
        step = np.zeros_like(slope)
        way = residual / self.curvatures
        size = float(residual @ way)
        aim = self.accuracy**2 * size
        for _ in range(self.max_directions):
            image = np.where(free, self.times(way), 0.0)
            bend = float(way @ image)
            if bend <= 0.0 or size <= aim:
                break
            step += size / bend * way
            residual -= size / bend * image
            scaled = residual / self.curvatures
            size, last = float(residual @ scaled), size
            way = scaled + size / last * way
        return step


def minimise_large(coordinates: Floats, weights: Floats) -> tuple[Floats, bool]:
    """Return weights u >= 0 of small slope, by projected conjugate gradients, and whether that led far.

    (After Bertsekas, SIAM J. Control Optim. 1982, for the projection.) Among near copies it does not: the
    directions are long, and projecting them undoes them.
    """
    model = LargeModel(coordinates, weights)
    slope = model.slope(weights)
    first = remaining(weights, slope)
    for _ in range(MAX_ROUNDS):
        if remaining(weights, slope) <= model.enough * first:
            break
        step = model.direction(slope, (weights > 0.0) | (slope < 0.0))
        length = 1.0
        while length > 1e-3:
            trial = np.maximum(weights + length * step, 0.0)
            trial_slope = model.slope(trial)
            # For a quadratic, the difference of values is the mean slope along the move.
            if float((slope + trial_slope) @ (trial - weights)) < 0.0:
                break
            length *= 0.4
        else:
            break
        weights, slope = trial, trial_slope
    return weights, not model.easy or remaining(weights, slope) <= LITTLE * first


def remaining(weights: Floats, slope: Floats) -> float:
    """Return the norm of the slope where the weights may follow it."""
    return float(np.linalg.norm(np.where(weights > 0.0, slope, np.minimum(slope, 0.0))))
