"""Choosing the largest with ties broken on purpose, and dropping what cannot be the best."""

import numpy as np
from numpy.typing import NDArray

from noisewise.core.model import Floats, Model, contrast_widths, row_blocks

Mask = NDArray[np.bool_]

#: Values within this share of the largest magnitude count as equal; the lowest index wins. Without it
#: round-off decides (unit vectors all tie in round one), and differently on every machine.
TIE = 1e-9


def first_largest(values: Floats, allowed: Mask) -> int:
    """The lowest allowed index whose value ties with the largest allowed one; 0 if none is allowed."""
    if allowed.all():
        low = values.max() - TIE * max(values.max(), -values.min())
        return int(np.argmax(values >= low))
    top = np.max(values, where=allowed, initial=-np.inf)
    low = top - TIE * max(top, -np.min(values, where=allowed, initial=np.inf))
    return int(np.argmax(allowed & (values >= low)))


def drop_ruled_out(model: Model, candidates: Mask, radius: float) -> None:
    """Drop, in place, every candidate whose upper bound is below another's lower bound."""
    floor = -np.inf
    for rows in row_blocks(candidates.size):
        slack = np.sqrt(model.squared_widths[rows])
        slack *= radius
        means, alive = model.means[rows], candidates[rows]
        np.add(means, slack, out=model.scratch[rows])
        np.subtract(means, slack, out=slack)
        floor = max(floor, float(np.max(slack, where=alive, initial=-np.inf)))
    for rows in row_blocks(candidates.size):
        candidates[rows] &= model.scratch[rows] >= floor


def regret_bound(model: Model, candidates: Mask, action: int, radius: float) -> float:
    """How far ``action`` can be below the best: the largest upper bound on a contrast to it.

    ``max over candidates k of  <θ̂, a_k - a> + radius·‖a_k - a‖``; the best action is among the
    candidates whenever the certificate holds, so nothing else needs to be compared.
    """
    upper = model.means - model.means[action] + radius * contrast_widths(model, action)
    return max(0.0, float(np.max(upper, where=candidates, initial=-np.inf)))
