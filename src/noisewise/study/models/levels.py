"""On which level estimates are shown: offsets of blocks make any level as true as another.

Only differences between options mean something where blocks have offsets, so a level has to be chosen, for
display alone. It is that of the average measurement: a control whose daily values average 0.11 is shown near
0.11, whichever day the fit sets to 0.
"""

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.study.models.connected_parts import Component
from noisewise.study.models.fit import Fit
from noisewise.study.models.sums import Sums, totals


def display_levels(fit: Fit, sums: Sums) -> Floats:
    """What to add to the means of the fit, (n,): the same for all options that are connected.

    ``Σ weight·(offset of its block) / Σ weight`` over the rows of a group that are not differences, plus the
    centre; for a group of differences alone, minus the mean of its options.
    """
    names, group = np.unique(fit.group, return_inverse=True)
    level = sums.minus < 0
    of_row, weight = group[sums.plus[level]], sums.weight[level]
    weights = totals(of_row, weight, names.size)
    offsets = totals(of_row, weight * fit.offsets[sums.block[level]], names.size)
    means = totals(group, fit.means, names.size) / totals(group, np.ones(group.size), names.size)
    with np.errstate(invalid="ignore", divide="ignore"):
        levels = np.where(weights > 0.0, sums.centre + offsets / weights, -means)
    levels[names < 0] = sums.centre  # never measured: there is nothing to show
    return np.asarray(levels[group])


def display_errors(fit: Fit, sums: Sums) -> Floats:
    """The standard errors of the values shown, (n,): of each option against its group's level."""
    errors = np.sqrt(fit.variances())
    weights = totals(sums.block[sums.minus < 0], sums.weight[sums.minus < 0], len(sums.blocks))
    for part in fit.components:
        errors[part.options] = _errors(part, weights[part.blocks])
    return np.asarray(errors)


def _errors(part: Component, weights: Floats) -> Floats:
    """Of ``node - Σ c·node``, c the blocks' weights, or equal ones if all are options; Σ c = 1.

    A node that was eliminated is ``loads·(those that stay) + own``, so with ``a = c + loadsᵀc`` of those that
    stay, and C their covariance, the sum has covariance ``C·a`` with them.
    """
    count = part.options.size
    c = (
        np.concatenate([np.zeros(count), weights / weights.sum()])
        if weights.size
        else np.full(count, 1 / count)
    )
    grounded = part.grounded(0)
    gone = part.gone & (np.arange(part.size) != 0)
    with_stay = grounded.covariance @ (c[grounded.stay] + grounded.loads.T @ c[gone])
    shared = np.zeros(part.size)
    shared[grounded.stay] = with_stay
    shared[gone] = grounded.loads @ with_stay + grounded.own * c[gone]
    variances = part.variances(grounded, 0) - 2.0 * shared + float(c @ shared)
    return np.asarray(np.sqrt(np.maximum(variances[:count], 0.0)))
