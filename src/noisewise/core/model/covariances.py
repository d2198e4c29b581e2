"""How actions vary together, by the model: covariances, contrasts, draws from the posterior, distances."""

import math

import numpy as np
from numpy.typing import NDArray

from noisewise.core.model.dense import DenseModel, Floats
from noisewise.core.model.model import AnyModel
from noisewise.core.native.verbs import verb
from noisewise.core.support.blocks import row_blocks, workspace


@verb
def covariance_with(model: AnyModel, action: int) -> Floats:
    """The covariances ``aᵀV⁻¹a_k`` of one action with all actions, (n,)."""
    covariances = np.empty(model.means.size)
    covariances_into(covariances, model, action)
    return covariances


def covariances_into(out: Floats, model: AnyModel, action: int) -> None:
    """The same into an array that is there already: a new one may cost as much as half the arithmetic."""
    model.write_covariances(out, action)


@verb
def squared_covariances(model: AnyModel, rivals: NDArray[np.int64], action: int, weights: Floats) -> Floats:
    """``Σ_j w_j·((a_j - b)ᵀV⁻¹a_k)²`` over the differences of some rivals to one action, (n,)."""
    return model.squared_covariances(rivals, action, weights)


@verb
def perturbed_means(model: AnyModel, normals: Floats, scale: float) -> Floats:
    """The actions' values under a draw ``θ̂ + scale·V^(-1/2)·normals`` from the posterior, (n,)."""
    return model.perturbed_means(normals, scale)


#: Differences of near-duplicates cancel to rounding error: this share of the terms bounds it from above.
CANCELLED = 1e-12


@verb
def contrast_widths(model: AnyModel, action: int) -> Floats:
    """The widths ``‖a_k - a‖`` of the differences between all actions and one, (n,)."""
    widths, own = covariance_with(model, action), float(model.squared_widths[action])
    for rows in row_blocks(widths.size):
        terms, _ = workspace(rows)
        squared = widths[rows]
        np.add(model.squared_widths[rows], own, out=terms)
        squared *= -2.0
        squared += terms
        terms *= CANCELLED
        np.maximum(squared, terms, out=squared)
        np.sqrt(squared, out=squared)
    widths[action] = 0.0
    return widths


@verb
def distance_to(model: DenseModel, parameter: Floats) -> float:
    """``‖θ̂ - parameter‖`` in the norm of V: what a radius has to cover."""
    dim = model.columns.shape[0]
    apart = model.centre - parameter
    error = apart + model.factor[:, dim] + np.triu(model.factor[:, :dim], 1) @ apart
    return math.sqrt(model.pivots @ error**2)
