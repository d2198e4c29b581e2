# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, check-untyped-defs=False
"""Choosing as loops, for the compiler alone.

Also where loops are no faster than arrays: what Numba needs for one `np.where` compiles for seconds.
"""

import math

import numpy as np

from noisewise.core.choice.selection import (
    ROUNDING,
    TIE,
    drop_ruled_out,
    first_best,
    first_largest,
    first_largest_candidate,
    first_near,
    keep_near_best,
    masked_argmax,
    most_optimistic,
    most_telling,
    regret_bound,
    smallest_bound,
    strongest_rival,
)
from noisewise.core.compiler.kernels import REORDERED, compiled_body
from noisewise.core.model.covariances import CANCELLED, contrast_widths
from noisewise.core.model.dense_loops import _project, _solve

# Infinities mark what is not allowed, so only the absence of NaN may be assumed.
NO_NAN = frozenset({"nnan", "nsz"})


@compiled_body(first_largest)
def _first_largest_loops(values, allowed):
    return max(0, _first_largest_of_both(values, allowed, allowed))


@compiled_body(first_largest_candidate)
def _first_largest_candidate_loops(values, allowed, candidates):
    action = _first_largest_of_both(values, allowed, candidates)
    return action if action >= 0 else first_largest(values, allowed)


@compiled_body(flags=NO_NAN)
def _first_largest_of_both(values, one, other):
    """The first largest where both masks are true; -1 if they never are."""
    top = -np.inf
    for k in range(values.size):
        top = max(top, values[k] if one[k] & other[k] else -np.inf)
    low = top - TIE * abs(top) if abs(top) < np.inf else top
    for k in range(values.size):
        if one[k] and other[k] and values[k] >= low:
            return k
    return _first_of_both(one, other)  # where no value is a number


@compiled_body()
def _first_of_both(one, other):
    for k in range(one.size):
        if one[k] and other[k]:
            return k
    return -1


@compiled_body(first_best, flags=NO_NAN)
def _first_best_loops(values, squared_widths, allowed):
    winner = masked_argmax(values, allowed)
    return first_near(values, allowed, winner, TIE * math.sqrt(squared_widths[winner]))


@compiled_body(masked_argmax, flags=NO_NAN)
def _masked_argmax_loops(values, allowed):
    top = -np.inf
    for k in range(values.size):
        top = max(top, values[k] if allowed[k] else -np.inf)
    for k in range(values.size):
        if allowed[k] and values[k] >= top:
            return k
    return max(0, _first_of_both(allowed, allowed))


@compiled_body(first_near, flags=NO_NAN)
def _first_near_loops(values, allowed, winner, tolerance):
    top = values[winner]
    low = top - (tolerance + ROUNDING * abs(top)) if abs(top) < np.inf else top
    for k in range(values.size):
        if allowed[k] and values[k] >= low:
            return k
    return max(0, _first_of_both(allowed, allowed))


@compiled_body(most_optimistic, flags=NO_NAN)
def _most_optimistic_loops(model, allowed, radius):
    upper, means, squared_widths = model.scratch, model.means, model.squared_widths
    for k in range(upper.size):
        upper[k] = means[k] + radius * math.sqrt(squared_widths[k])
    return first_best(upper, squared_widths, allowed)


@compiled_body(flags=REORDERED)
def _solve_difference(model, one, other):
    """Leave ``V⁻¹(a_one - a_other)`` in the model's ``step``; ``other`` below 0 stands for no action."""
    columns, half = model.columns, model.half
    for i in range(half.size):
        half[i] = columns[i, one] - (columns[i, other] if other >= 0 else 0.0)
    _solve(model.factor, model.reciprocals, half, model.step)


@compiled_body(strongest_rival, flags=NO_NAN)
def _strongest_rival_loops(model, leader, radius):
    values, means, squared_widths = model.scratch, model.means, model.squared_widths
    _solve_difference(model, leader, -1)
    _project(model.columns, model.step, values)
    own, base = squared_widths[leader], means[leader]
    for k in range(values.size):
        terms = squared_widths[k] + own
        values[k] = means[k] - base + radius * math.sqrt(max(terms - 2.0 * values[k], CANCELLED * terms))
    top, rival = -np.inf, 0
    for k in range(values.size):
        if k != leader and values[k] > top:
            top, rival = values[k], k
    slack = TIE * (top - (means[rival] - base)) + ROUNDING * (abs(means[rival]) + abs(base))
    low = top - (slack + ROUNDING * abs(top))
    for k in range(values.size):
        if k != leader and values[k] >= low:
            return k
    return 0


@compiled_body(most_telling, flags=NO_NAN)
def _most_telling_loops(model, one, other, variance, allowed):
    values, squared_widths = model.scratch, model.squared_widths
    _solve_difference(model, one, other)
    _project(model.columns, model.step, values)
    for k in range(values.size):
        values[k] = values[k] * values[k] / (variance + squared_widths[k])
    return first_largest(values, allowed)


@compiled_body(drop_ruled_out, flags=NO_NAN)
def _drop_ruled_out_loops(model, candidates, radius):
    # Three simple loops vectorise; one that does everything does not.
    slack, means, squared_widths = model.scratch, model.means, model.squared_widths
    for k in range(candidates.size):
        slack[k] = radius * math.sqrt(squared_widths[k])
    floor = -np.inf
    for k in range(candidates.size):
        floor = max(floor, means[k] - slack[k] if candidates[k] else -np.inf)
    for k in range(candidates.size):
        candidates[k] = candidates[k] & (means[k] + slack[k] >= floor)


@compiled_body(keep_near_best, flags=NO_NAN)
def _keep_near_best_loops(values, candidates, slack):
    best = -np.inf
    for k in range(values.size):
        best = max(best, values[k] if candidates[k] else -np.inf)
    for k in range(values.size):
        candidates[k] = candidates[k] & (values[k] >= best - slack)


@compiled_body(regret_bound, inline=False)
def _regret_bound_loops(model, candidates, action, radius):
    widths = contrast_widths(model, action)
    bound = 0.0
    for k in range(widths.size):
        if candidates[k]:
            upper = model.means[k] - model.means[action] + radius * widths[k]
            if np.isnan(upper):
                return np.inf  # what is no number bounds nothing
            bound = max(bound, upper)
    return bound


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
