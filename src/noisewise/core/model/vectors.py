"""Verbs for vectors that are not rows of a list: a model whose only column is the vector spoken of.

In an infinite set no list of actions exists. The model then has one column, and `place` writes into it
the vector that is about to be measured; everything else about the model stays as it is.
"""

import numpy as np

from noisewise.core.model.covariances import covariance_with
from noisewise.core.model.dense import WORN, DenseModel, Floats, theta
from noisewise.core.native.verbs import verb
from noisewise.core.support import blas


def place(model: DenseModel, vector: Floats) -> None:
    """Make ``vector`` the model's only action."""
    for i in range(vector.size):
        model.columns[i, 0] = vector[i]
    model.means[0] = np.dot(theta(model), vector)
    squared_width = covariance_with(model, 0)[0]
    model.squared_widths[0] = squared_width
    model.floors[0] = WORN * squared_width


@verb
def spread(model: DenseModel) -> Floats:
    """A root W of ``V⁻¹ = W·Wᵀ``, (dim, dim): ``U⁻¹·D^(-1/2)``."""
    dim = model.pivots.size
    solve = blas.routines().solve_many
    inverse = solve(1.0, np.asfortranarray(model.factor[:, :dim]), np.eye(dim), diag=1)
    return np.asarray(inverse * np.sqrt(model.reciprocals))


@verb
def covariance(model: DenseModel) -> Floats:
    """``V⁻¹``, (dim, dim): its large eigenvalues, the wide directions, are exact to rounding."""
    root = spread(model)
    return np.ascontiguousarray(root @ root.T)
