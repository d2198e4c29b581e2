"""Ways of choosing few rows of a pool, and of weighting them for the largest g of the pool."""

from __future__ import annotations

import math

import numpy as np

from noisewise.designs.optimal.newton import NEGLIGIBLE, solve_weights
from noisewise.designs.shared.algebra import product, singular_values, squared_norms, times, weighted_moment
from noisewise.designs.shared.frame import whitener
from noisewise.designs.shared.growth import choose_spanning
from noisewise.designs.shared.rows import Floats, Indices

BALANCING_STEPS = 120


def spanning_weights(coordinates: Floats) -> Floats:
    """Return even weights on rows that span the space, each the farthest from those before."""
    weights = np.zeros(len(coordinates))
    weights[choose_spanning(coordinates)] = 1.0 / coordinates.shape[1]
    return weights


def whitened_pool(coordinates: Floats, weights: Floats) -> Floats:
    """Return the coordinates of the pool in which the moment of ``weights`` is the identity."""
    support = weights > 0.0
    return product(coordinates, whitener(coordinates[support], weights[support]))


def frank_wolfe(
    coordinates: Floats,
    weights: Floats | None,
    *,
    aim: float = 0.0,
    n_actions: int | None = None,
) -> Floats:
    """Add the row of largest g with the best step until no g is above ``aim``.

    Or until ``n_actions`` rows are in use. Without ``weights`` to go on from it starts from
    spanning rows, after Kumar and Yildirim (J. Optim. Theory Appl. 2005).
    """
    rank = coordinates.shape[1]
    weights = spanning_weights(coordinates) if weights is None else weights.copy()
    for count in range(20 * rank + 100):
        if count % 20 == 0:  # afresh: the rounding of rank-one updates must not add up
            white = whitened_pool(coordinates, weights)
        g_values = squared_norms(white)
        place = int(np.argmax(g_values))
        largest = float(g_values[place])
        full = n_actions is not None and weights[place] == 0.0
        if largest <= max(aim, rank) or (full and np.count_nonzero(weights) == n_actions):
            break
        step = (largest / rank - 1.0) / (largest - 1.0)
        weights *= 1.0 - step
        weights[place] += step
        # V <- (1 - s) V + s z z^T: shrink by the root of 1 - s + s g along z, of 1 - s elsewhere.
        direction = white[place] / math.sqrt(largest)
        stretch = 1.0 - math.sqrt((1.0 - step) / (1.0 - step + step * largest))
        white -= np.outer(times(white, direction) * stretch, direction)
        white /= math.sqrt(1.0 - step)
    return weights


def forward(coordinates: Floats, n_actions: int, *, aim: float = 0.0) -> Floats:
    """Add rows of largest g and re-optimise all weights, up to ``n_actions`` rows."""
    rank = coordinates.shape[1]
    weights = spanning_weights(coordinates)
    while True:
        chosen = np.flatnonzero(weights)
        g_values = squared_norms(whitened_pool(coordinates, weights))
        room = n_actions - len(chosen)
        new = np.setdiff1d(largest_places(g_values, max(1, room // 12)), chosen)
        if room <= 0 or g_values.max() <= max(aim, rank * (1.0 + 1e-9)) or len(new) == 0:
            return weights
        weights *= 1.0 - len(new) / (len(chosen) + len(new))
        weights[new] = 1.0 / (len(chosen) + len(new))
        chosen = np.flatnonzero(weights)
        weights[chosen] = solve_weights(coordinates[chosen], weights[chosen], 1e-2)


def heaviest(coordinates: Floats, weights: Floats, n_actions: int) -> Floats | None:
    """Keep the largest weights and re-optimise them; None if those rows do not span."""
    kept = largest_places(weights, n_actions)
    values = singular_values(coordinates[kept])
    if values[-1] <= 1e-10 * values[0]:
        return None
    result = np.zeros(len(weights))
    result[kept] = solve_weights(coordinates[kept], weights[kept] + NEGLIGIBLE, 1e-2)
    return result


def largest_places(values: Floats, n_wanted: int) -> Indices:
    """Return the places of the ``n_wanted`` largest values."""
    return np.argsort(-values, kind="stable")[:n_wanted]


def balance(coordinates: Floats, weights: Floats) -> tuple[Floats, float]:
    """Reweight the chosen rows for the largest g over the whole pool, and return that g.

    The power mean of g over the pool stands for the maximum, its power rising; its slope along
    weight j is z_j^T M z_j, M the moment of the pool weighted by g^(p-1), and the weights go
    with the root of it (as in the multiplicative algorithms of Yu, Ann. Statist. 2010).
    """
    best, least = weights, math.inf
    exponent = 0.5
    for count in range(BALANCING_STEPS):
        white = whitened_pool(coordinates, weights)
        g_values = squared_norms(white)
        largest = float(g_values.max())
        if largest < least:
            best, least = weights, largest
        elif largest > 1.1 * least:  # a high power overshoots: go back, and on more slowly
            weights, exponent = best, 0.7 * exponent
            continue
        pull = (g_values / largest) ** (10.0 + 200.0 * count / BALANCING_STEPS)
        chosen = np.flatnonzero(weights)
        images = product(white[chosen], weighted_moment(white, pull))
        slopes = np.einsum("ij,ij->i", images, white[chosen])
        moved = np.zeros(len(weights))
        moved[chosen] = weights[chosen] * np.maximum(slopes / slopes.max(), 1e-6) ** exponent
        weights = moved / moved.sum()
    return best, least
