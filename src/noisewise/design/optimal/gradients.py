"""The same quadratic model for thousands of rows, where its matrix would be too large."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from noisewise.design.shared.algebra import column_products_of, product, squared_norms
from noisewise.design.shared.rows import Floats

MAX_ROUNDS = 12
MAX_DIRECTIONS = 12  # of conjugate gradients between two looks at the signs
ENOUGH = 0.03  # of the first slope: a Newton step need not be exact


class LargeModel:
    """The model |V(u) - 2I|^2/2 + r sum(u)^2/2, by products alone: 4 m r^2 operations each."""

    def __init__(self, coordinates: Floats) -> None:
        self.coordinates = coordinates
        self.rank = coordinates.shape[1]
        self.norms = squared_norms(coordinates)
        self.curvatures = self.norms**2 + self.rank

    def times(self, vector: Floats) -> Floats:
        """Return the matrix of the model times ``vector``."""
        moment = column_products_of(self.coordinates * vector[:, None], self.coordinates)
        images = product(self.coordinates, moment)
        along = np.einsum("ij,ij->i", images, self.coordinates)
        return np.asarray(along + self.rank * vector.sum())

    def slope(self, weights: Floats) -> Floats:
        """Return the gradient of the model."""
        return self.times(weights) - 2.0 * self.norms

    def direction(self, slope: Floats, free: npt.NDArray[np.bool_]) -> Floats:
        """Minimise approximately over the free weights, by conjugate gradients."""
        residual = np.where(free, -slope, 0.0)
        step = np.zeros_like(slope)
        way = residual / self.curvatures
        size = float(residual @ way)
        aim = 0.01 * size
        for _ in range(MAX_DIRECTIONS):
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


def minimise_large(coordinates: Floats, weights: Floats) -> Floats:
    """Return weights u >= 0 of small slope, by projected conjugate gradients.

    (After Bertsekas, SIAM J. Control Optim. 1982, for the projection.)
    """
    model = LargeModel(coordinates)
    slope = model.slope(weights)
    first = remaining(weights, slope)
    for _ in range(MAX_ROUNDS):
        if remaining(weights, slope) <= ENOUGH * first:
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
    return weights


def remaining(weights: Floats, slope: Floats) -> float:
    """Return the norm of the slope where the weights may follow it."""
    return float(np.linalg.norm(np.where(weights > 0.0, slope, np.minimum(slope, 0.0))))
