# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, check-untyped-defs=False
"""The kernels of medians of means as loops, for the compiler alone."""

import math

import numpy as np

from noisewise.core.choice.selection import TIE
from noisewise.core.compiler.kernels import REORDERED, compiled_body
from noisewise.core.model.dense import theta
from noisewise.policies.robust.factor_loops import rotate, solve
from noisewise.policies.robust.median_of_means import (
    MOST_MOVES,
    SETTLED,
    centre_of,
    certified_contrast,
    covering_radius,
    deal,
)


@compiled_body(deal, flags=REORDERED, inline=False)
def _deal_loops(blocks, columns, action, reward, sigma):
    n_blocks, dim = blocks.thetas.shape
    half, step, row = np.empty(dim), np.empty(dim), np.empty(dim + 1)
    squared_widths = np.empty(n_blocks)
    for b in range(n_blocks):
        for i in range(dim):
            half[i] = columns[i, action]
        squared_widths[b] = solve(blocks.factor[b], blocks.reciprocals[b], half, step)
    low = squared_widths.max() * (1.0 - TIE)
    b = 0
    while squared_widths[b] < low:
        b += 1
    for i in range(dim):
        row[i] = columns[i, action]
    row[dim] = reward
    factor = blocks.factor[b]
    weight = 1.0 / (sigma * sigma)
    rotate(factor, blocks.pivots[b], blocks.reciprocals[b], row, weight, blocks.tally[b])
    for i in range(dim - 1, -1, -1):
        rest = factor[i, dim]
        for j in range(i + 1, dim):
            rest -= factor[i, j] * blocks.thetas[b, j]
        blocks.thetas[b, i] = rest


@compiled_body(flags=REORDERED)
def _place(factor, pivots, estimate, place):
    """``D^(1/2)·U·estimate``: where it lies when V is the identity."""
    dim = pivots.size
    for i in range(dim):
        value = estimate[i]
        for j in range(i + 1, dim):
            value += factor[i, j] * estimate[j]
        place[i] = value * math.sqrt(pivots[i])


@compiled_body(centre_of, flags=REORDERED, inline=False)
def _centre_of_loops(blocks, model):
    n_blocks, dim = blocks.thetas.shape
    factor, pivots = model.factor, model.pivots
    places, apart = np.empty((n_blocks, dim)), np.empty(n_blocks)
    point, moved = np.empty(dim), np.empty(dim)
    before = theta(model)
    _place(factor, pivots, before, point)
    for b in range(n_blocks):
        _place(factor, pivots, blocks.thetas[b], places[b])
    for _ in range(MOST_MOVES):
        spread = 0.0
        for b in range(n_blocks):
            squared = 0.0
            for i in range(dim):
                squared += (places[b, i] - point[i]) ** 2
            apart[b] = math.sqrt(squared)
            spread += apart[b] / n_blocks
        if spread == 0.0:
            return before
        total = 0.0
        moved[:] = 0.0
        for b in range(n_blocks):
            pull = 1.0 / max(apart[b], 1e-9 * spread)
            total += pull
            for i in range(dim):
                moved[i] += pull * places[b, i]
        squared = 0.0
        for i in range(dim):
            moved[i] /= total
            squared += (moved[i] - point[i]) ** 2
            point[i] = moved[i]
        if math.sqrt(squared) <= SETTLED * spread:
            break
    for i in range(dim - 1, -1, -1):
        rest = point[i] / math.sqrt(pivots[i])
        for j in range(i + 1, dim):
            rest -= factor[i, j] * moved[j]
        moved[i] = rest
    return moved


@compiled_body(flags=REORDERED)
def _upper_median(blocks, direction, reach, half, step, upper):
    """The median over blocks of ``<θ_b, y> + reach·‖y‖``."""
    n_blocks, dim = blocks.thetas.shape
    for b in range(n_blocks):
        value = 0.0
        for i in range(dim):
            half[i] = direction[i]
            value += direction[i] * blocks.thetas[b, i]
        upper[b] = value + reach * math.sqrt(solve(blocks.factor[b], blocks.reciprocals[b], half, step))
    upper.sort()
    median = upper[n_blocks // 2]
    return np.inf if np.isnan(median) else median


@compiled_body(certified_contrast, flags=REORDERED, inline=False)
def _certified_contrast_loops(blocks, model, candidates, action, reach):
    n_blocks, dim = blocks.thetas.shape
    half, step, upper, contrast = np.empty(dim), np.empty(dim), np.empty(n_blocks), np.empty(dim)
    columns = model.columns
    largest = 0.0
    for k in range(candidates.size):
        if candidates[k]:
            for i in range(dim):
                contrast[i] = columns[i, k] - columns[i, action]
            largest = max(largest, _upper_median(blocks, contrast, reach, half, step, upper))
    return largest


@compiled_body(covering_radius, flags=REORDERED, inline=False)
def _covering_radius_loops(blocks, model, reach):
    n_blocks, dim = blocks.thetas.shape
    half, step, upper, direction = np.empty(dim), np.empty(dim), np.empty(n_blocks), np.empty(dim)
    columns = model.columns
    largest = 0.0
    for k in range(model.means.size):
        if model.squared_widths[k] > 0.0:
            for i in range(dim):
                direction[i] = columns[i, k]
            above = _upper_median(blocks, direction, reach, half, step, upper) - model.means[k]
            for i in range(dim):
                direction[i] = -direction[i]
            below = _upper_median(blocks, direction, reach, half, step, upper) + model.means[k]
            away = max(above, below) / math.sqrt(model.squared_widths[k])
            if np.isnan(away):
                return np.inf
            largest = max(largest, away)
    return largest
