# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, check-untyped-defs=False
"""The hot kernels as loops, for the compiler alone: the same arithmetic as the arrays they stand for.

Small loops over whole arrays, each doing one thing, are what the compiler turns into vector
instructions; features outside and actions inside, so that the vectors are read in storage order.
"""

import math

import numpy as np

from noisewise.core.kernels import REORDERED, compiled_body
from noisewise.core.model import (
    AGE,
    CANCELLED,
    FAR,
    REFRESH_AFTER,
    WORN,
    contrast_widths,
    count,
    covariance_with,
    distance_to,
    fold,
    recentre,
    theta,
)
from noisewise.core.selection import TIE, drop_ruled_out, first_largest, regret_bound


@compiled_body(fold, flags=REORDERED)
def _fold_loops(model, action, reward, sigma):
    dim = model.columns.shape[0]
    step, row = model.step, model.row
    for i in range(dim):
        step[i] = model.columns[i, action]
        row[i] = model.columns[i, action] / sigma
    squared_width = _solve(model.factor, model.reciprocals, step)
    variance = sigma * sigma + squared_width
    from_centre = reward - model.base[action]
    gain = (from_centre - model.drift[action]) / variance
    row[dim] = from_centre / sigma
    far = _rotate(model.factor, model.reciprocals, row)
    count(model.tally, squared_width, sigma)
    scale = math.sqrt(variance)
    for i in range(dim):
        step[i] /= scale
    _project(model.columns, step, model.scratch)
    worn = _lower(model.squared_widths, model.floors, model.scratch)
    _move(model.means, model.base, model.drift, model.scratch, gain * scale)
    refresh_all = model.tally[AGE] >= REFRESH_AFTER
    if worn > 0 or refresh_all:
        _refresh_worn(model, refresh_all)
    if far > FAR:
        recentre(model)


def _solve(factor, reciprocals, step):
    """Replace a by V⁻¹a; return ‖a‖² in the norm of V⁻¹."""
    dim = step.size
    squared_width = 0.0
    for i in range(dim):
        half = step[i] * reciprocals[i]
        step[i] = half
        squared_width += half * half
        for j in range(i + 1, dim):
            step[j] -= factor[i, j] * half
    for i in range(dim - 1, -1, -1):
        rest = step[i]
        for j in range(i + 1, dim):
            rest -= factor[i, j] * step[j]
        step[i] = rest * reciprocals[i]
    return squared_width


def _rotate(factor, reciprocals, row):
    """Rotate a new row into the factor; return ‖R(θ̂ - centre)‖²."""
    dim = row.size - 1
    far = 0.0
    for j in range(dim):
        corner, entry = factor[j, j], row[j]
        length = math.sqrt(corner * corner + entry * entry)
        reciprocal = 1.0 / length
        cosine, sine = corner * reciprocal, entry * reciprocal
        factor[j, j] = length
        reciprocals[j] = reciprocal
        for i in range(j + 1, dim + 1):
            above, below = factor[j, i], row[i]
            factor[j, i] = cosine * above + sine * below
            row[i] = cosine * below - sine * above
        far += factor[j, dim] * factor[j, dim]
    factor[dim, dim] = math.sqrt(factor[dim, dim] * factor[dim, dim] + row[dim] * row[dim])
    return far


def _project(columns, step, products):
    """``products_k = <step, a_k>``, four features at a time: half the time of one at a time."""
    dim, n = columns.shape
    for k in range(n):
        products[k] = 0.0
    j = 0
    while j + 4 <= dim:
        s0, s1, s2, s3 = step[j], step[j + 1], step[j + 2], step[j + 3]
        for k in range(n):
            products[k] += (
                s0 * columns[j, k] + s1 * columns[j + 1, k] + s2 * columns[j + 2, k] + s3 * columns[j + 3, k]
            )
        j += 4
    while j < dim:
        s0 = step[j]
        for k in range(n):
            products[k] += s0 * columns[j, k]
        j += 1


def _lower(squared_widths, floors, products):
    """Subtract what was learnt from the squared widths; return how many are worn."""
    worn = 0
    for k in range(products.size):
        lowered = squared_widths[k] - products[k] * products[k]
        squared_widths[k] = lowered
        worn += lowered < floors[k]
    return worn


def _move(means, base, drift, products, gain):
    for k in range(products.size):
        moved = drift[k] + products[k] * gain
        drift[k] = moved
        means[k] = base[k] + moved


def _refresh_worn(model, refresh_all):
    dim, n = model.columns.shape
    half = np.empty(dim)
    for k in range(n):
        if refresh_all or model.squared_widths[k] < model.floors[k]:
            for i in range(dim):
                half[i] = model.columns[i, k]
            exact = 0.0
            for i in range(dim):
                value = half[i] * model.reciprocals[i]
                exact += value * value
                for j in range(i + 1, dim):
                    half[j] -= model.factor[i, j] * value
            model.squared_widths[k] = exact
            model.floors[k] = WORN * exact
    if refresh_all:
        model.tally[AGE] = 0.0


for _loops in (_solve, _rotate, _project, _lower, _move, _refresh_worn):
    compiled_body(_loops, flags=REORDERED)(_loops)


@compiled_body(recentre)
def _recentre_loops(model):
    dim, n = model.columns.shape
    model.centre[:] = theta(model)
    for i in range(dim):
        model.factor[i, dim] = 0.0
    for k in range(n):
        mean = 0.0
        for i in range(dim):
            mean += model.centre[i] * model.columns[i, k]
        model.base[k] = mean
        model.drift[k] = 0.0
        model.means[k] = mean


@compiled_body(theta)
def _theta_loops(model):
    dim = model.columns.shape[0]
    estimate = np.empty(dim)
    for i in range(dim - 1, -1, -1):
        rest = model.factor[i, dim]
        for j in range(i + 1, dim):
            rest -= model.factor[i, j] * estimate[j]
        estimate[i] = rest / model.factor[i, i]
    for i in range(dim):
        estimate[i] += model.centre[i]
    return estimate


@compiled_body(covariance_with, flags=REORDERED)
def _covariance_loops(model, action):
    dim, n = model.columns.shape
    step = np.empty(dim)
    for i in range(dim):
        step[i] = model.columns[i, action]
    _solve(model.factor, model.reciprocals, step)
    covariance = np.empty(n)
    _project(model.columns, step, covariance)
    return covariance


@compiled_body(contrast_widths)
def _contrast_widths_loops(model, action):
    widths = covariance_with(model, action)
    own = model.squared_widths[action]
    for k in range(widths.size):
        terms = model.squared_widths[k] + own
        widths[k] = math.sqrt(max(terms - 2.0 * widths[k], CANCELLED * terms))
    widths[action] = 0.0
    return widths


@compiled_body(distance_to)
def _distance_to_loops(model, parameter):
    dim = model.columns.shape[0]
    squared = 0.0
    for i in range(dim):
        error = model.factor[i, dim]
        for j in range(i, dim):
            error += model.factor[i, j] * (model.centre[j] - parameter[j])
        squared += error * error
    return math.sqrt(squared)


# Infinities mark what is not allowed, so only the absence of NaN may be assumed.
@compiled_body(first_largest, flags=frozenset({"nnan", "nsz"}))
def _first_largest_loops(values, allowed):
    top, bottom = -np.inf, np.inf
    for k in range(values.size):
        top = max(top, values[k] if allowed[k] else -np.inf)
        bottom = min(bottom, values[k] if allowed[k] else np.inf)
    low = top - TIE * max(top, -bottom)
    for k in range(values.size):
        if allowed[k] and values[k] >= low:
            return k
    return 0


@compiled_body(drop_ruled_out, flags=frozenset({"nnan", "nsz"}))
def _drop_ruled_out_loops(model, candidates, radius):
    # Three simple loops vectorise; one that does everything does not.
    slack = model.scratch
    for k in range(candidates.size):
        slack[k] = radius * math.sqrt(model.squared_widths[k])
    floor = -np.inf
    for k in range(candidates.size):
        floor = max(floor, model.means[k] - slack[k] if candidates[k] else -np.inf)
    for k in range(candidates.size):
        candidates[k] = candidates[k] & (model.means[k] + slack[k] >= floor)


@compiled_body(regret_bound)
def _regret_bound_loops(model, candidates, action, radius):
    widths = contrast_widths(model, action)
    bound = 0.0
    for k in range(widths.size):
        if candidates[k]:
            bound = max(bound, model.means[k] - model.means[action] + radius * widths[k])
    return bound
