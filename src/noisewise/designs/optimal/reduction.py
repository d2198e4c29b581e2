"""Fewer actions for the same moment matrix (Caratheodory)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.linalg import qr

from noisewise.designs.shared.rows import Floats

TINY = 1e-12


def full_size(rank: int) -> int:
    """Return r(r+1)/2, the number of actions that is enough for any moment matrix, up to its scale."""
    return rank * (rank + 1) // 2


def reduce_support(coordinates: Floats, weights: Floats) -> Floats:
    """Return weights on at most r(r+1)/2 of the rows whose moment is no smaller.

    Every null vector of the rows' outer products moves the weights without moving the moment;
    going where the total weight does not grow, until a weight is zero, and scaling up at
    the end, g can only fall. (One action less than with the total weight held fixed.)
    """
    weights = weights.copy()
    excess = np.count_nonzero(weights) - full_size(coordinates.shape[1])
    while excess > 0:
        support = np.flatnonzero(weights)
        weights[support] = eliminate(outer_products(coordinates[support]), weights[support])
        left = np.count_nonzero(weights) - full_size(coordinates.shape[1])
        if left >= excess:
            break  # rounding: no null vector was left where one must be
        excess = left
    return np.asarray(weights / weights.sum())


def outer_products(coordinates: Floats) -> Floats:
    """Return the distinct entries of z z^T, one row per z."""
    row, column = np.triu_indices(coordinates.shape[1])
    return np.asarray(coordinates[:, row] * coordinates[:, column])


def eliminate(products: Floats, weights: Floats) -> Floats:
    """Set weights to zero, one per null vector of ``products.T``, keeping weights @ products."""
    n_rows, n_equations = products.shape
    basis = qr(products, check_finite=False)[0]
    null = np.asfortranarray(basis[:, n_equations:])
    weights = weights.copy()
    alive = np.ones(n_rows, dtype=bool)
    for last in range(null.shape[1] - 1, -1, -1):
        direction = null[:, last]
        if direction.sum() < 0.0:
            direction = -direction
        place = first_to_vanish(weights, direction, alive)
        if place < 0:
            continue
        weights = np.maximum(weights - weights[place] / direction[place] * direction, 0.0)
        weights[place] = 0.0
        alive[place] = False
        # The remaining null vectors must leave the dropped row alone.
        others = null[:, :last]
        others -= np.outer(direction, others[place] / direction[place])
        others[place] = 0.0
    return weights


def first_to_vanish(weights: Floats, direction: Floats, alive: npt.NDArray[np.bool_]) -> int:
    """Return the row whose weight is the first to reach zero against ``direction``."""
    falling = np.flatnonzero(alive & (direction > TINY * np.abs(direction).max()))
    if len(falling) == 0:
        return -1
    return int(falling[np.argmin(weights[falling] / direction[falling])])
