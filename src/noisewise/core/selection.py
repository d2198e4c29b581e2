"""Choosing the largest with ties broken on purpose, and dropping what cannot be the best."""

import numpy as np
from numpy.typing import NDArray

from noisewise.core.model import Floats, Model, contrast_widths
from noisewise.core.rows import map_rows, row_blocks

Mask = NDArray[np.bool_]

#: Values within this share of the largest magnitude count as equal; the lowest index wins. Without it
#: round-off decides (unit vectors all tie in round one), and differently on every machine.
TIE = 1e-9


def first_largest(values: Floats, allowed: Mask) -> int:
    """The lowest allowed index whose value ties with the largest allowed one; 0 if none is allowed."""

    def extremes(rows: slice) -> tuple[float, float]:
        block, mask = values[rows], allowed[rows]
        if mask.all():
            return float(block.max()), float(block.min())
        return float(np.where(mask, block, -np.inf).max()), float(np.where(mask, block, np.inf).min())

    found = map_rows(extremes, values.size)
    largest = max(top for top, _ in found)
    low = largest - TIE * max(largest, -min(bottom for _, bottom in found))
    for (top, _), rows in zip(found, row_blocks(values.size), strict=True):
        if top >= low > -np.inf:
            return int(rows.start + np.argmax(allowed[rows] & (values[rows] >= low)))
    return 0


def first_largest_candidate(values: Floats, allowed: Mask, candidates: Mask) -> int:
    """The first largest of the allowed candidates; of the allowed, if no candidate is."""
    both = allowed & candidates
    return first_largest(values, both if both.any() else allowed)


def most_optimistic(model: Model, allowed: Mask, radius: float) -> int:
    """The allowed action with the largest upper bound ``<θ̂, a> + radius·‖a‖``."""
    return first_largest(model.means + radius * np.sqrt(model.squared_widths), allowed)


def drop_ruled_out(model: Model, candidates: Mask, radius: float) -> None:
    """Drop, in place, every candidate whose upper bound is below another's lower bound."""

    def bounds(rows: slice) -> tuple[float, float]:
        """The largest lower bound of a candidate, and the smallest upper bound."""
        means, alive = model.means[rows], candidates[rows]
        if not alive.any():
            return -np.inf, np.inf
        slack = radius * np.sqrt(model.squared_widths[rows])
        smallest_upper = float((means + slack).min())
        np.subtract(means, slack, out=slack)
        if not alive.all():
            slack[~alive] = -np.inf
        return float(slack.max()), smallest_upper

    found = map_rows(bounds, candidates.size)
    floor = max(lower for lower, _ in found)
    for (_, smallest_upper), rows in zip(found, row_blocks(candidates.size), strict=True):
        if smallest_upper < floor:
            slack = radius * np.sqrt(model.squared_widths[rows])
            candidates[rows] &= model.means[rows] + slack >= floor


def regret_bound(model: Model, candidates: Mask, action: int, radius: float) -> float:
    """How far ``action`` can be below the best: the largest upper bound on a contrast to it.

    ``max over candidates k of  <θ̂, a_k - a> + radius·‖a_k - a‖``; the best action is among the
    candidates whenever the certificate holds, so nothing else needs to be compared.
    """
    upper = model.means - model.means[action] + radius * contrast_widths(model, action)
    return max(0.0, float(np.max(upper, where=candidates, initial=-np.inf)))
