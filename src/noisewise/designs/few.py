"""Designs on few actions: the core design of Algorithm 2, and a good one for a given number."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.linalg import qr

from noisewise.designs.algebra import Floats, product, singular_values, squared_norms, times
from noisewise.designs.columns import Found, Pricing, grown, worst_rows
from noisewise.designs.rows import choose_spanning, whitener
from noisewise.designs.weights import solve_weights
from noisewise.designs.working import WorkingSet, merged, whitened

CORE_AIM = 0.97  # of 2 rank, on the pool: leaves room for the rows that are not in it
SAMPLE = 60  # rows per dimension
MAX_ROUNDS = 60
HOPELESS = 3.0  # g / rank, from which on it pays to choose all actions anew
TINY = 1e-12


def full_size(rank: int) -> int:
    """Return r(r+1)/2, the number of actions that is enough for any moment matrix, up to its scale."""
    return rank * (rank + 1) // 2


def core_budget(rank: int) -> int:
    """Return the largest support of Algorithm 2: 4 r log log r + 16, and r(r+1)/2 for r <= 8."""
    if rank <= 8:
        return full_size(rank)
    return math.floor(4.0 * rank * math.log(math.log(rank)) + 16.0)


def core_design(pricing: Pricing, working: WorkingSet, rng: np.random.Generator) -> Found:
    """Return a design with g <= 2 rank on at most ``core_budget(rank)`` actions."""
    rows, rank = pricing.rows, working.rank
    pool = working
    # On sets where all rows nearly tie nothing but a sample tells where g will be large.
    n_drawn = min(rows.n_actions, SAMPLE * rank)
    pool = pool.joined(rows, np.sort(rng.choice(rows.n_actions, n_drawn, replace=False)), share=0.0)
    weights: Floats | None = None
    for _ in range(MAX_ROUNDS):
        # Frank-Wolfe needs 1.2 to 2 times the rank where the budget allows three times as many.
        weights = frank_wolfe(pool.coordinates, weights, aim=2.0 * CORE_AIM * rank)
        if np.count_nonzero(weights) > full_size(rank):
            weights = reduce_support(pool.coordinates, weights)
        found = priced(pricing, pool, weights)
        if found[1].g_value <= 2.0 * rank and found[0].n_support <= core_budget(rank):
            return found
        pool = pool.joined(rows, worst_rows(pricing, *found, 1.0, rng), share=0.0)
        weights = np.append(weights, np.zeros(len(pool.indices) - len(weights)))
        if found[1].g_value > HOPELESS * rank:
            weights = None
    raise ArithmeticError(
        "`support` must be within reach of float64 for these vectors; got 'core' and "
        f"g / rank = {found[1].g_value / rank:.3g}."
    )


def limited_design(pricing: Pricing, found: Found, n_actions: int, rng: np.random.Generator) -> Found:
    """Return a good design on at most ``n_actions`` actions, from the optimal one.

    With r(r+1)/2 actions nothing is lost. Which actions are best below that is a combinatorial question:
    the heaviest of the optimal design compete with those that Frank-Wolfe takes first.
    """
    optimal, price = found
    if len(optimal.indices) <= n_actions:
        return found
    if full_size(optimal.rank) <= n_actions:
        return priced(pricing, optimal, reduce_support(optimal.coordinates, optimal.weights))
    pool = grown(pricing, optimal, price, 1e-9, rng)
    heaviest = np.zeros(len(pool.weights))
    heaviest[np.argsort(-pool.weights, kind="stable")[:n_actions]] = 1.0
    trials = []
    for weights in (heaviest, frank_wolfe(pool.coordinates, None, n_actions=n_actions)):
        chosen = pool.only(np.flatnonzero(weights))
        values = singular_values(chosen.coordinates)
        if values[-1] > 1e-10 * values[0]:
            even = np.full(len(chosen.indices), 1.0 / len(chosen.indices))
            trials.append(priced(pricing, chosen, solve_weights(chosen.coordinates, even, 1e-3)))
    return min(trials, key=lambda trial: trial[1].g_value)


def priced(pricing: Pricing, pool: WorkingSet, weights: Floats) -> Found:
    """Return the design of these weights, without the rows of weight zero, and its price."""
    support = merged(replace(pool, weights=weights).support())
    support = whitened(support, support.weights)
    return support, pricing.price(support)


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
    if weights is None:
        weights = np.zeros(len(coordinates))
        weights[choose_spanning(coordinates)] = 1.0 / rank
    weights = weights.copy()
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


def reduce_support(coordinates: Floats, weights: Floats) -> Floats:
    """Return weights on at most r(r+1)/2 of the rows whose moment is no smaller (Caratheodory).

    Every null vector of the rows' outer products moves the weights without moving the moment;
    going where the total weight does not grow, until a weight is zero, and scaling up at
    the end, g can only fall. (One action less than with the total weight held fixed.)
    """
    row, column = np.triu_indices(coordinates.shape[1])
    support = np.flatnonzero(weights)
    kept = weights[support]
    products = coordinates[support][:, row] * coordinates[support][:, column]
    null = np.asfortranarray(qr(products, check_finite=False)[0][:, products.shape[1] :])
    alive = np.ones(len(support), dtype=bool)
    for last in range(null.shape[1] - 1, -1, -1):
        direction = null[:, last] * (1.0 if null[:, last].sum() >= 0.0 else -1.0)
        falling = np.flatnonzero(alive & (direction > TINY * np.abs(direction).max()))
        if len(falling) == 0:
            continue
        place = falling[np.argmin(kept[falling] / direction[falling])]
        kept = np.maximum(kept - kept[place] / direction[place] * direction, 0.0)
        kept[place], alive[place] = 0.0, False
        # The remaining null vectors must leave the dropped row alone.
        others = null[:, :last]
        others -= np.outer(direction, others[place] / direction[place])
        others[place] = 0.0
    reduced = np.zeros(len(weights))
    reduced[support] = kept / kept.sum()
    return reduced
