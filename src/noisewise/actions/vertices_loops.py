# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, check-untyped-defs=False
"""Enumeration of vertices as loops, for the compiler alone: one flip at a time, by Gray's code."""

import math

import numpy as np

from noisewise.actions.vertices import contrast_values
from noisewise.core.compiler.kernels import compiled_body


@compiled_body(contrast_values, inline=False)
def _contrast_values_loops(shape, theta, covariance, radius, origin):
    n_left, cut = shape.left.shape
    n_right, dim_right = shape.right.shape
    values = np.empty(n_left * n_right)
    means_right, squares_right = np.empty(n_right), np.empty(n_right)
    for j in range(n_right):
        means_right[j], squares_right[j] = _of_row(shape.right, j, theta, covariance, origin, cut)
    pull = np.empty(dim_right)
    for i in range(n_left):
        mean, square = _of_row(shape.left, i, theta, covariance, origin, 0)
        # cross = 2·(l_i - origin)ᵀ·C·(r_j - origin) = <pull, r_j - origin>
        for k in range(dim_right):
            pull[k] = 0.0
            for m in range(cut):
                pull[k] += 2.0 * covariance[cut + k, m] * (shape.left[i, m] - origin[m])
        start = i * n_right
        cross = _dot(shape.right, 0, pull, origin, cut)
        code = 0
        for step in range(n_right):
            if step > 0 and shape.gray:
                # The step from one code to the next flips one bit: the lowest that is set in `step`.
                bit, rest = 0, step
                while rest & 1 == 0:
                    rest >>= 1
                    bit += 1
                code ^= 1 << bit
                k = dim_right - 1 - bit
                flipped = shape.right[n_right - 1, k] - shape.right[0, k]
                cross += pull[k] * (flipped if code >> bit & 1 else -flipped)
            elif step > 0:
                code = step
                cross = _dot(shape.right, code, pull, origin, cut)
            squared = square + squares_right[code] + cross
            values[start + code] = mean + means_right[code] + radius * math.sqrt(max(squared, 0.0))
    return values


@compiled_body()
def _dot(table, row, pull, origin, offset):
    total = 0.0
    for k in range(pull.size):
        total += pull[k] * (table[row, k] - origin[offset + k])
    return total


@compiled_body()
def _of_row(table, row, theta, covariance, origin, offset):
    """The mean and the squared width of one row of a table whose entries begin at ``offset``."""
    mean, square = 0.0, 0.0
    for k in range(table.shape[1]):
        entry = table[row, k] - origin[offset + k]
        mean += theta[offset + k] * entry
        for m in range(table.shape[1]):
            square += entry * covariance[offset + k, offset + m] * (table[row, m] - origin[offset + m])
    return mean, square
