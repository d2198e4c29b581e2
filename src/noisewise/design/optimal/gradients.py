"""The same quadratic model for thousands of rows, where its matrix would be too large."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from noisewise.design.shared.algebra import (
    column_products_of,
    product,
    squared_norms,
    squared_row_products,
    symmetric_times,
)
from noisewise.design.shared.rows import Floats

MAX_ROUNDS = 12


class LargeModel:
    """The model |V(u) - 2I|^2/2 + r sum(u)^2/2 around weights w, by products alone: 4 m r^2 operations each."""

    max_directions = 12  # of conjugate gradients between two looks at the signs
    accuracy = 0.1  # of a direction, and of the whole: a Newton step need not be exact
    enough = 0.03

    def __init__(self, coordinates: Floats, weights: Floats) -> None:
        self.coordinates = coordinates
        self.weights = weights
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
        """Return the gradient of the model: at w it is r - g, so only the change has to be computed."""
        return self.rank * float(self.weights.sum()) - self.norms + self.times(weights - self.weights)

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


class HeldModel(LargeModel):
    """The same with its matrix held in float32: a product costs m^2/2 readings of it.

    Only changes of the weights are multiplied, so that rounding the matrix changes a step by a millionth.
    """

    max_directions = 60
    accuracy = 1e-3
    enough = 1e-3

    def __init__(self, coordinates: Floats, weights: Floats) -> None:
        super().__init__(coordinates, weights)
        self.matrix = squared_row_products(coordinates)

    def times(self, vector: Floats) -> Floats:
        """Return the matrix of the model times ``vector``."""
        return symmetric_times(self.matrix, vector) + self.rank * float(vector.sum())


def minimise_large(coordinates: Floats, weights: Floats, *, held: bool = False) -> Floats:
    """Return weights u >= 0 of small slope, by projected conjugate gradients.

    (After Bertsekas, SIAM J. Control Optim. 1982, for the projection.)
    """
    model = (HeldModel if held else LargeModel)(coordinates, weights)
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
    return weights


def remaining(weights: Floats, slope: Floats) -> float:
    """Return the norm of the slope where the weights may follow it."""
    return float(np.linalg.norm(np.where(weights > 0.0, slope, np.minimum(slope, 0.0))))
