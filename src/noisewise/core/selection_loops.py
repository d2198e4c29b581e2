# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, check-untyped-defs=False
"""Choosing as loops, for the compiler alone.

Also where loops are no faster than arrays: what Numba needs for one `np.where` compiles for seconds.
"""

import numpy as np

from noisewise.core.kernels import compiled_body
from noisewise.core.model import contrast_widths
from noisewise.core.selection import TIE, smallest_bound


@compiled_body(smallest_bound, inline=False)
def _smallest_bound_loops(model, candidates, action, radius):
    means = model.means
    best, lowest, current = action, np.inf, action
    floors = np.empty(means.size)
    for k in range(floors.size):
        floors[k] = 0.0 if candidates[k] else np.inf
    while True:
        widths = contrast_widths(model, current)
        bound, rival, least = -np.inf, 0, np.inf
        for k in range(floors.size):
            slack, lead = radius * widths[k], means[k] - means[current]
            known = not np.isnan(lead + slack)  # what is no number bounds nothing
            if candidates[k] and (lead + slack if known else np.inf) > bound:
                bound, rival = lead + slack if known else np.inf, k
            floors[k] = max(floors[k], slack - lead) if known else np.inf
        floors[current] = np.inf
        for k in range(floors.size):
            least = min(least, floors[k])
        bound = max(0.0, bound)
        if bound < lowest * (1.0 - TIE):
            best, lowest = current, bound
        if least >= lowest * (1.0 - TIE):
            return best
        if floors[rival] < np.inf:
            current = rival
        else:
            current = 0
            while floors[current] > least + TIE * lowest:
                current += 1
