# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, check-untyped-defs=False
"""The verbs for vectors as loops, for the compiler alone."""

import math

import numpy as np

from noisewise.core.compiler.kernels import REORDERED, compiled_body
from noisewise.core.model.vectors import covariance, spread


@compiled_body(spread, inline=False)
def _spread_loops(model):
    return _inverse_root(model.factor, model.reciprocals)


@compiled_body(inline=False)
def _inverse_root(factor, reciprocals):
    dim = reciprocals.size
    root = np.zeros((dim, dim))
    for k in range(dim):
        root[k, k] = math.sqrt(reciprocals[k])
        for i in range(k - 1, -1, -1):
            rest = 0.0
            for j in range(i + 1, k + 1):
                rest -= factor[i, j] * root[j, k]
            root[i, k] = rest
    return root


@compiled_body(covariance, inline=False)
def _covariance_matrix_loops(model):
    return _squared(_inverse_root(model.factor, model.reciprocals))


@compiled_body(flags=REORDERED, inline=False)
def _squared(root):
    dim = len(root)
    product = np.empty((dim, dim))
    for i in range(dim):
        for j in range(i, dim):
            entry = 0.0
            for k in range(j, dim):
                entry += root[i, k] * root[j, k]
            product[i, j] = product[j, i] = entry
    return product
