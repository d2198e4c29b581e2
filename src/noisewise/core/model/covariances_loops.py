# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, check-untyped-defs=False
"""How actions vary together, as loops, for the compiler alone."""

import math

import numpy as np

from noisewise.core.compiler.kernels import REORDERED, compiled_body
from noisewise.core.model.covariances import (
    CANCELLED,
    contrast_widths,
    covariance_with,
    distance_to,
    perturbed_means,
    squared_covariances,
)
from noisewise.core.model.dense_loops import _project, _solve


@compiled_body(covariance_with, flags=REORDERED, inline=False)
def _covariance_loops(model, action):
    dim, n = model.columns.shape
    half, step = np.empty(dim), np.empty(dim)
    for i in range(dim):
        half[i] = model.columns[i, action]
    _solve(model.factor, model.reciprocals, half, step)
    covariance = np.empty(n)
    _project(model.columns, step, covariance)
    return covariance


@compiled_body(squared_covariances, flags=REORDERED, inline=False)
def _squared_covariances_loops(model, rivals, action, weights):
    dim, n = model.columns.shape
    half, step, covariance, values = np.empty(dim), np.empty(dim), np.empty(n), np.zeros(n)
    for j in range(rivals.size):
        for i in range(dim):
            half[i] = model.columns[i, rivals[j]] - model.columns[i, action]
        _solve(model.factor, model.reciprocals, half, step)
        _project(model.columns, step, covariance)
        for k in range(n):
            values[k] += weights[j] * covariance[k] * covariance[k]
    return values


@compiled_body(perturbed_means, inline=False)
def _perturbed_means_loops(model, normals, scale):
    dim, n = model.columns.shape
    away = np.empty(dim)
    for i in range(dim - 1, -1, -1):
        rest = normals[i] * math.sqrt(model.reciprocals[i])
        for j in range(i + 1, dim):
            rest -= model.factor[i, j] * away[j]
        away[i] = rest
    values = np.empty(n)
    _project(model.columns, away, values)
    for k in range(n):
        values[k] = model.means[k] + scale * values[k]
    return values


@compiled_body(contrast_widths, inline=False)
def _contrast_widths_loops(model, action):
    widths = covariance_with(model, action)
    own = model.squared_widths[action]
    for k in range(widths.size):
        terms = model.squared_widths[k] + own
        widths[k] = math.sqrt(max(terms - 2.0 * widths[k], CANCELLED * terms))
    widths[action] = 0.0
    return widths


@compiled_body(distance_to, inline=False)
def _distance_to_loops(model, parameter):
    dim = model.columns.shape[0]
    squared = 0.0
    for i in range(dim):
        error = model.factor[i, dim] + model.centre[i] - parameter[i]
        for j in range(i + 1, dim):
            error += model.factor[i, j] * (model.centre[j] - parameter[j])
        squared += model.pivots[i] * error * error
    return math.sqrt(squared)
