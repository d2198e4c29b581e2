"""Column generation: solve on a few rows, price all, add the worst, until the certificate."""

from __future__ import annotations

import numpy as np

from noisewise.designs.optimal.newton import solve_weights
from noisewise.designs.optimal.pricing import Price, Pricing
from noisewise.designs.optimal.working import WorkingSet, merged, whitened
from noisewise.designs.shared.growth import choose_diverse, thin_out
from noisewise.designs.shared.rows import Indices

MAX_IDLE = 6  # rounds without a new row: the rest is rounding


def solve_columns(
    pricing: Pricing, working: WorkingSet, gap: float, rng: np.random.Generator
) -> tuple[WorkingSet, Price]:
    """Improve the working set until max g over all rows is at most (1 + gap) rank.

    Returns the support alone, whitened, with the price that certifies it.
    """
    rank = working.rank
    reached, n_added, n_idle = 1.0, len(working.indices), 0
    while n_idle < MAX_IDLE:
        weights = solve_weights(
            working.coordinates,
            working.weights,
            inner_tolerance(gap, reached),
            stubborn=n_added == 0,
        )
        working = whitened(working, weights)
        price = pricing.price(working)
        reached = price.g_value / rank - 1.0
        if reached <= gap:
            found = merged(working.support())
            if len(found.indices) < working.n_support:
                found = whitened(found, found.weights)
                price = pricing.price(found)
            return found, price
        useful = (weights > 0.0) | (working.g_values > rank * (1.0 - min(0.02, reached)))
        working = working.only(np.flatnonzero(useful))
        n_before = len(working.indices)
        working = grown(pricing, working, price, gap, rng)
        n_added = len(working.indices) - n_before
        n_idle = n_idle + 1 if n_added == 0 else 0
    raise ArithmeticError(
        f"`gap` must be within reach of float64 for these vectors; got {gap!r} and reached {reached:.3g}."
    )


def inner_tolerance(gap: float, reached: float) -> float:
    """Return how well to solve on the working set when ``reached`` is the gap over all rows."""
    if reached < 1e-3:
        return 0.3 * gap  # another Newton step is cheaper than another reading
    return max(0.3 * gap, min(0.03, 0.1 * reached))


def grown(
    pricing: Pricing, working: WorkingSet, price: Price, gap: float, rng: np.random.Generator
) -> WorkingSet:
    """Add a diverse batch of the rows with too large a g."""
    new = worst_rows(pricing, working, price, gap, rng)
    # About what they need to lower their own g: more would upset weights that are nearly right.
    needed = len(new) * (price.g_value / working.rank - 1.0) / working.rank
    return working.joined(pricing.rows, new, share=min(1e-3, needed))


def worst_rows(
    pricing: Pricing, working: WorkingSet, price: Price, gap: float, rng: np.random.Generator
) -> Indices:
    """Choose among the rows of too large a g those that differ most from one another."""
    rank = working.rank
    reached = price.g_value / rank - 1.0
    level = rank * (1.0 + 0.3 * gap)  # as the inner tolerance: no row within it enters
    n_wanted = max((8 if reached > 0.1 else 4) * rank, working.n_support // 2, 50)
    fresh = (price.g_values > level) & ~np.isin(price.indices, working.indices)
    violators = price.indices[fresh]
    violators = violators[thin_out(price.g_values[fresh], 3 * n_wanted, rng)]
    coordinates = working.frame.coordinates(pricing.rows.take(violators))
    # The nearer the optimum, the smaller the weights that will repair what is left.
    mass = 1.0 / (rank * max(50.0, 15.0 / reached))
    return violators[choose_diverse(coordinates, n_wanted, level=level, mass=mass)]
