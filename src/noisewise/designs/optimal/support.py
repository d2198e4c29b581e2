"""Designs on few actions: the core design of Algorithm 2, and the best g for a given number."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from noisewise.designs.optimal.columns import grown, worst_rows
from noisewise.designs.optimal.pricing import Price, Pricing
from noisewise.designs.optimal.reduction import full_size, reduce_support
from noisewise.designs.optimal.selection import balance, forward, frank_wolfe, heaviest
from noisewise.designs.optimal.working import WorkingSet, merged, whitened
from noisewise.designs.shared.rows import Floats

CORE_AIM = 0.97  # of 2 rank, on the pool: leaves room for the rows that are not in it
SAMPLE = 60  # rows per dimension
MAX_ROUNDS = 60
HOPELESS = 3.0  # g / rank, from which on it pays to choose all actions anew

Found = tuple[WorkingSet, Price]


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
        weights = core_weights(pool.coordinates, weights)
        found = priced(pricing, pool, weights)
        if found[1].g_value <= 2.0 * rank:
            return found
        pool = pool.joined(rows, worst_rows(pricing, *found, 1.0, rng), share=0.0)
        weights = np.append(weights, np.zeros(len(pool.indices) - len(weights)))
        if found[1].g_value > HOPELESS * rank:
            weights = None
    raise ArithmeticError(
        "`support` must be within reach of float64 for these vectors; got 'core' and "
        f"g / rank = {found[1].g_value / rank:.3g}."
    )


def core_weights(coordinates: Floats, weights: Floats | None) -> Floats:
    """Return weights with g <= 2 CORE_AIM rank on these rows and a support within the budget.

    Frank-Wolfe needs 1.2 to 2 times the rank where the budget allows three times as many.
    Should it ever exceed the budget, re-optimising all weights at every step does not.
    """
    rank = coordinates.shape[1]
    aim = 2.0 * CORE_AIM * rank
    weights = frank_wolfe(coordinates, weights, aim=aim)
    if np.count_nonzero(weights) > full_size(rank):
        weights = reduce_support(coordinates, weights)
    if np.count_nonzero(weights) > core_budget(rank):
        weights = forward(coordinates, core_budget(rank), aim=aim)
    return weights


def limited_design(pricing: Pricing, found: Found, n_actions: int, rng: np.random.Generator) -> Found:
    """Return the best design found on at most ``n_actions`` actions, from the optimal one.

    Which actions are best is a combinatorial question: three ways of choosing them compete. The
    weights on the chosen ones are then balanced for the largest g over all rows.
    """
    optimal, price = found
    if len(optimal.indices) <= n_actions:
        return found
    if full_size(optimal.rank) <= n_actions:
        return reduced_design(pricing, found)
    pool = grown(pricing, optimal, price, 1e-9, rng)
    ways = (
        forward(pool.coordinates, n_actions),
        frank_wolfe(pool.coordinates, None, n_actions=n_actions),
        heaviest(pool.coordinates, pool.weights, n_actions),
    )
    trials = [balance(pool.coordinates, weights) for weights in ways if weights is not None]
    weights, _ = min(trials, key=lambda trial: trial[1])
    best = priced(pricing, pool, weights)
    chosen = best[0].indices
    for _ in range(3):
        pool = pool.joined(pricing.rows, worst_rows(pricing, *best, 0.0, rng), share=0.0)
        weights = np.where(np.isin(pool.indices, chosen), 1.0 / len(chosen), 0.0)
        again = priced(pricing, pool, balance(pool.coordinates, weights)[0])
        best = min(best, again, key=lambda result: result[1].g_value)
    return best


def reduced_design(pricing: Pricing, found: Found) -> Found:
    """Return a design on at most r(r+1)/2 actions that is no worse."""
    working, _ = found
    if len(working.indices) <= full_size(working.rank):
        return found
    return priced(pricing, working, reduce_support(working.coordinates, working.weights))


def priced(pricing: Pricing, pool: WorkingSet, weights: Floats) -> Found:
    """Return the design of these weights, without the rows of weight zero, and its price."""
    support = merged(replace(pool, weights=weights).support())
    support = whitened(support, support.weights)
    return support, pricing.price(support)
