# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, check-untyped-defs=False
"""The hot kernels as loops, for the compiler alone: the same arithmetic as the arrays they stand for.

Small loops over whole arrays, each doing one thing, are what the compiler turns into vector
instructions; features outside and actions inside, so that the vectors are read in storage order.
"""

import math

import numpy as np

from noisewise.core.compiler.kernels import REORDERED, compiled_body
from noisewise.core.model.dense import (
    AGE,
    BATCH,
    FAR,
    RECENTRE_AFTER,
    REFRESH_AFTER,
    SINCE_CENTRED,
    WORN,
    count,
    fold,
    recentre,
    set_theta,
    squared_norm,
    theta,
)
from noisewise.core.model.factor import RESIDUAL


# Nothing here allocates or calls what is not inlined: next to such a call Numba counts a reference to
# every array of the model in every round, which takes a fifth of it.
@compiled_body(fold, flags=REORDERED)
def _fold_loops(model, action, reward, sigma):
    worn, far = _learn(model, action, reward, sigma)
    if worn > 0 or _is_old(model):
        _refresh_worn(model)
    if far > FAR or _is_uncentred(model):
        recentre(model)


@compiled_body()
def _is_old(model):
    return model.tally[AGE] >= REFRESH_AFTER


@compiled_body()
def _is_uncentred(model):
    return model.tally[SINCE_CENTRED] >= RECENTRE_AFTER


@compiled_body(flags=REORDERED)
def _learn(model, action, reward, sigma):
    """Learn one measurement; return how many widths are worn, and ‖θ̂ - centre‖² in the norm of V."""
    # Every array is taken from the model once: each taking counts a reference.
    columns, factor, pivots, reciprocals = model.columns, model.factor, model.pivots, model.reciprocals
    half, row, step, products = model.half, model.row, model.step, model.scratch
    centre, means, tally = model.centre, model.means, model.tally
    dim = columns.shape[0]
    predicted = 0.0
    for i in range(dim):
        entry = columns[i, action]
        half[i] = entry
        row[i] = entry
        predicted += entry * centre[i]
    row[dim] = reward - predicted
    squared_width = _solve(factor, reciprocals, half, step)
    variance = sigma * sigma + squared_width
    gain = (reward - means[action]) / variance
    far = _rotate(factor, pivots, reciprocals, row, 1.0 / (sigma * sigma), tally)
    count(tally, squared_width, sigma)
    scale = math.sqrt(variance)
    for i in range(dim):
        step[i] /= scale
    _project(columns, step, products)
    worn = _lower(model.squared_widths, model.floors, products)
    _move(means, products, gain * scale)
    return worn, far


@compiled_body(flags=REORDERED)
def _solve(factor, reciprocals, half, step):
    """Take a in ``half``; leave ``U⁻ᵀa`` there and V⁻¹a in ``step``; return ‖a‖² in the norm of V⁻¹."""
    dim = step.size
    squared_width = 0.0
    for j in range(dim):
        entry = half[j]
        weighted = entry * reciprocals[j]
        squared_width += entry * weighted
        step[j] = weighted
        for i in range(j + 1, dim):
            half[i] -= entry * factor[j, i]
    for i in range(dim - 1, -1, -1):
        rest = step[i]
        for j in range(i + 1, dim):
            rest -= factor[i, j] * step[j]
        step[i] = rest
    return squared_width


@compiled_body(flags=REORDERED)
def _rotate(factor, pivots, reciprocals, row, weight, tally):
    """Rotate a new row into the factors; return ‖θ̂ - centre‖² in the norm of V."""
    dim = row.size - 1
    far = 0.0
    for j in range(dim):
        entry, pivot = row[j], pivots[j]
        grown = pivot + weight * entry * entry
        reciprocal = 1.0 / grown
        share = weight * entry * reciprocal
        weight *= pivot * reciprocal
        pivots[j] = grown
        reciprocals[j] = reciprocal
        for i in range(j + 1, dim + 1):
            row[i] -= entry * factor[j, i]
            factor[j, i] += share * row[i]
        far += grown * factor[j, dim] * factor[j, dim]
    tally[RESIDUAL] += weight * row[dim] * row[dim]
    return far


@compiled_body(flags=REORDERED)
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


@compiled_body(flags=REORDERED)
def _lower(squared_widths, floors, products):
    """Subtract what was learnt from the squared widths; return how many are worn."""
    worn = 0
    for k in range(products.size):
        lowered = squared_widths[k] - products[k] * products[k]
        squared_widths[k] = lowered
        worn += lowered < floors[k]
    return worn


@compiled_body(flags=REORDERED)
def _move(means, products, gain):
    for k in range(products.size):
        means[k] += products[k] * gain


@compiled_body(flags=REORDERED)
def _refresh_worn(model):
    """Recompute worn squared widths, a batch of actions at a time; all of them when it is time."""
    _refresh_arrays(
        model.columns,
        model.factor,
        model.reciprocals,
        model.squared_widths,
        model.floors,
        model.tally,
        model.batch,
        model.halves,
    )


@compiled_body(flags=REORDERED)
def _refresh_arrays(columns, factor, reciprocals, squared_widths, floors, tally, batch, halves):
    refresh_all = tally[AGE] >= REFRESH_AFTER
    size, last = 0, floors.size - 1
    for k in range(floors.size):
        if refresh_all or squared_widths[k] < floors[k]:
            batch[size] = k
            size += 1
        if size == BATCH or (k == last and size > 0):
            _squared_widths_of(columns, factor, reciprocals, batch, size, halves, squared_widths)
            for b in range(size):
                floors[batch[b]] = WORN * squared_widths[batch[b]]
            size = 0
    if refresh_all:
        tally[AGE] = 0.0


@compiled_body(flags=REORDERED)
def _squared_widths_of(columns, factor, reciprocals, batch, size, halves, squared_widths):
    """``‖D^(-1/2)·U⁻ᵀa‖²`` by forward substitution on all of the batch at once, four features at a time."""
    dim = columns.shape[0]
    for i in range(dim):
        for b in range(size):
            halves[i, b] = columns[i, batch[b]]
        j = 0
        while j + 4 <= i:
            f0, f1, f2, f3 = factor[j, i], factor[j + 1, i], factor[j + 2, i], factor[j + 3, i]
            for b in range(size):
                halves[i, b] -= (
                    f0 * halves[j, b] + f1 * halves[j + 1, b] + f2 * halves[j + 2, b] + f3 * halves[j + 3, b]
                )
            j += 4
        while j < i:
            f0 = factor[j, i]
            for b in range(size):
                halves[i, b] -= f0 * halves[j, b]
            j += 1
    for b in range(size):
        squared_widths[batch[b]] = 0.0
    for i in range(dim):
        reciprocal = reciprocals[i]
        for b in range(size):
            squared_widths[batch[b]] += halves[i, b] * halves[i, b] * reciprocal


@compiled_body(recentre, flags=REORDERED)
def _recentre_loops(model):
    _recentre_arrays(model.columns, model.factor, model.centre, model.half, model.means, model.tally)


@compiled_body(flags=REORDERED)
def _recentre_arrays(columns, factor, centre, away, means, tally):
    dim = centre.size
    for i in range(dim - 1, -1, -1):
        rest = factor[i, dim]
        for j in range(i + 1, dim):
            rest -= factor[i, j] * away[j]
        away[i] = rest
    for i in range(dim):
        centre[i] += away[i]
        factor[i, dim] = 0.0
    _project(columns, centre, means)
    tally[SINCE_CENTRED] = 0.0


@compiled_body(set_theta, flags=REORDERED, inline=False)
def _set_theta_loops(model, estimate):
    centre, factor, tally = model.centre, model.factor, model.tally
    dim = centre.size
    for i in range(dim):
        centre[i] = estimate[i]
        factor[i, dim] = 0.0
    _project(model.columns, centre, model.means)
    tally[SINCE_CENTRED] = 0.0


@compiled_body(theta, inline=False)
def _theta_loops(model):
    dim = model.columns.shape[0]
    estimate = np.empty(dim)
    for i in range(dim - 1, -1, -1):
        rest = model.factor[i, dim]
        for j in range(i + 1, dim):
            rest -= model.factor[i, j] * estimate[j]
        estimate[i] = rest
    for i in range(dim):
        estimate[i] += model.centre[i]
    return estimate


@compiled_body(squared_norm, flags=REORDERED)
def _squared_norm_loops(model):
    return _squared_norm_of(model.factor, model.centre, model.half)


@compiled_body(flags=REORDERED)
def _squared_norm_of(factor, centre, away):
    dim = centre.size
    total = 0.0
    for i in range(dim - 1, -1, -1):
        rest = factor[i, dim]
        for j in range(i + 1, dim):
            rest -= factor[i, j] * away[j]
        away[i] = rest
        total += (centre[i] + rest) * (centre[i] + rest)
    return total
