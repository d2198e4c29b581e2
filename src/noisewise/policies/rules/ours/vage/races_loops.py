# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, check-untyped-defs=False
"""Races as loops, for the compiler alone: of few actions all are looked at."""

import numpy as np

from noisewise.core.choice.selection import ROUNDING, TIE, first_largest
from noisewise.core.compiler.kernels import compiled_body
from noisewise.core.model.covariances import CANCELLED, contrast_widths, squared_covariances
from noisewise.core.model.dense import fold
from noisewise.policies.rules.ours.vage.races import closest_rivals, fold_in_races, follow
from noisewise.policies.rules.ours.vage.settlement import most_settling

# Infinities mark what is no rival, so only the absence of NaN may be assumed.
NO_NAN = frozenset({"nnan", "nsz"})


@compiled_body(fold_in_races)
def _fold_in_races_loops(model, known, action, reward, sigma):
    fold(model, action, reward, sigma)


@compiled_body(follow)
def _follow_loops(known, model, candidates):
    """Nothing is kept: in compiled code looking at all actions is cheaper."""


@compiled_body(closest_rivals, inline=False)
def _closest_rivals_loops(model, known, candidates, leader, reach, many):
    means, own, best = model.means, model.squared_widths[leader], model.means[leader]
    widths, n_rivals = contrast_widths(model, leader), 0
    for k in range(widths.size):
        terms = model.squared_widths[k] + own
        if candidates[k] and widths[k] * widths[k] > 2.0 * CANCELLED * terms and k != leader:
            n_rivals += 1
        else:
            widths[k] = -np.inf
    reach = _far_enough(means, widths, best, reach)
    upper = model.scratch
    top, slack = _upper_bounds(means, widths, reach, upper)
    tolerance = TIE * slack + ROUNDING * (abs(top - slack) + abs(best))
    found = np.empty(min(many, n_rivals), np.int64)
    for j in range(found.size):
        found[j] = _first_above(upper, top - tolerance)
        upper[found[j]] = -np.inf
        top = upper.max()
    return found, reach * widths[found]


@compiled_body(flags=NO_NAN)
def _far_enough(means, widths, best, reach):
    """The reach, or how many widths the closest rival is away if that is more."""
    least = np.inf
    for k in range(widths.size):
        least = min(least, (best - means[k]) / widths[k] if widths[k] > 0.0 else np.inf)
    return max(reach, least) if least < np.inf else reach


@compiled_body(flags=NO_NAN)
def _upper_bounds(means, widths, reach, upper):
    """Fill in the upper bounds; the largest of them, and how much of it is ``reach·width``."""
    top, slack = -np.inf, 0.0
    for k in range(widths.size):
        upper[k] = reach * widths[k] + means[k]
        top = max(top, upper[k])
    for k in range(widths.size):
        if upper[k] >= top:
            slack = max(slack, reach * widths[k])
    return top, slack


@compiled_body(flags=NO_NAN)
def _first_above(values, low):
    for k in range(values.size):
        if values[k] >= low:
            return k
    return 0


@compiled_body(most_settling, inline=False)
def _most_settling_loops(model, rivals, leader, weights, foreseen, allowed, max_norm):
    gains, variance, relative = (
        squared_covariances(model, rivals, leader, weights),
        foreseen.variance,
        foreseen.relative,
    )
    for k in range(gains.size):
        noise = variance * relative[k] if relative.size > 0 else variance
        gains[k] /= noise + model.squared_widths[k]
    action = first_largest(gains, allowed)
    return action if gains[action] > 0.0 else -1
