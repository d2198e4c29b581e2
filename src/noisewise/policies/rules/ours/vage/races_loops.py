# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, check-untyped-defs=False
"""Races as loops, for the compiler alone: of few actions all are looked at."""

import math

import numpy as np

from noisewise.core.choice.selection import ROUNDING, TIE, first_largest
from noisewise.core.choice.selection_loops import NO_NAN
from noisewise.core.compiler.kernels import compiled_body
from noisewise.core.model.covariances import CANCELLED, contrast_widths, squared_covariances
from noisewise.core.native.verbs import numpy_body
from noisewise.policies.rules.ours.vage.ledgers import book
from noisewise.policies.rules.ours.vage.noise_history import DIFFER, average_variance
from noisewise.policies.rules.ours.vage.races import BEHIND, NEGLIGIBLE, RACES, closest_races
from noisewise.policies.rules.ours.vage.settlement import most_settling

compiled_body(book, inline=False)(numpy_body(book))


@compiled_body(closest_races, inline=False)
def _closest_races_loops(model, sketch, candidates, leader, reach, rivals, weights):
    means, own, best = model.means, model.squared_widths[leader], model.means[leader]
    widths = contrast_widths(model, leader)
    for k in range(widths.size):
        terms = model.squared_widths[k] + own
        if not candidates[k] or widths[k] * widths[k] <= 2.0 * CANCELLED * terms or k == leader:
            widths[k] = -np.inf
    reach = _far_enough(means, widths, best, reach)
    upper = model.scratch
    top, slack = _upper_bounds(means, widths, reach, upper)
    tolerance = TIE * slack + ROUNDING * (abs(top - slack) + abs(best))
    first = 0.0
    for j in range(RACES):
        rivals[j], weights[j] = leader, 0.0
    for j in range(RACES):
        if top == -np.inf:
            break
        k = _first_above(upper, top - tolerance)
        if j == 0:
            first, slack = upper[k], reach * widths[k]
        weight = math.exp(-(first - upper[k]) / (BEHIND * slack))
        if weight < NEGLIGIBLE:
            break
        rivals[j], weights[j], upper[k] = k, weight, -np.inf
        top = upper.max()


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
def _most_settling_loops(model, sketch, rivals, leader, weights, noise, sigma, allowed):
    count = 0
    while count < RACES and weights[count] > 0.0:
        count += 1
    gains = squared_covariances(model, rivals[:count], leader, weights[:count])
    variance = average_variance(noise) if math.isnan(sigma) else sigma * sigma
    differ = math.isnan(sigma) and noise.tally[DIFFER] > 0.0
    for k in range(gains.size):
        expected = variance * noise.relative[k] if differ else variance
        gains[k] /= expected + model.squared_widths[k]
    action = first_largest(gains, allowed)
    return action if gains[action] > 0.0 else -1
