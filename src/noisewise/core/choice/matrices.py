"""Products of small matrices: NumPy's in the interpreter, loops in compiled code.

Numba takes seconds to compile what a few array expressions say, and tenths of a second for loops.
"""

import math
from typing import Any

import numpy as np

from noisewise.core.compiler.kernels import compiled_body
from noisewise.core.model.dense import DenseModel
from noisewise.core.support.blocks import Floats


def product(left: Any, right: Any) -> Floats:
    """``left·right``."""
    return np.asarray(left @ right)


def crossed(left: Any, right: Any) -> Floats:
    """``leftᵀ·right``."""
    return np.asarray(left.T @ right)


def applied(matrix: Any, vector: Any) -> Floats:
    """``matrix·vector``."""
    return np.asarray(matrix @ vector)


def pulled_back(matrix: Any, vector: Any) -> Floats:
    """``matrixᵀ·vector``."""
    return np.asarray(matrix.T @ vector)


def paired(left: Any, right: Any) -> float:
    """The sum of the products of all entries of two matrices."""
    return float((left * right).sum())


def dotted(left: Any, right: Any) -> float:
    """The same for vectors."""
    return float(left @ right)


def add_matrix_into(out: Any, values: Any, scale: float) -> None:
    """``out += scale·values``."""
    out += scale * values


def root_into(out: Any, model: DenseModel) -> None:
    """R, a root of ``V = RᵀR``: ``D^(1/2)·U``."""
    upper = np.triu(model.factor[:, :-1], 1)
    np.fill_diagonal(upper, 1.0)
    out[:] = np.sqrt(model.pivots)[:, None] * upper


@compiled_body(product, inline=False)
def _product_loops(left: Any, right: Any) -> Floats:
    out = np.zeros((left.shape[0], right.shape[1]))
    for i in range(left.shape[0]):
        for k in range(left.shape[1]):
            for j in range(right.shape[1]):
                out[i, j] += left[i, k] * right[k, j]
    return out


@compiled_body(crossed, inline=False)
def _crossed_loops(left: Any, right: Any) -> Floats:
    out = np.zeros((left.shape[1], right.shape[1]))
    for k in range(left.shape[0]):
        for i in range(left.shape[1]):
            for j in range(right.shape[1]):
                out[i, j] += left[k, i] * right[k, j]
    return out


@compiled_body(applied, inline=False)
def _applied_loops(matrix: Any, vector: Any) -> Floats:
    out = np.zeros(matrix.shape[0])
    for i in range(matrix.shape[0]):
        for k in range(matrix.shape[1]):
            out[i] += matrix[i, k] * vector[k]
    return out


@compiled_body(pulled_back, inline=False)
def _pulled_back_loops(matrix: Any, vector: Any) -> Floats:
    out = np.zeros(matrix.shape[1])
    for k in range(matrix.shape[0]):
        for i in range(matrix.shape[1]):
            out[i] += matrix[k, i] * vector[k]
    return out


@compiled_body(paired, inline=False)
def _paired_loops(left: Any, right: Any) -> float:
    total = 0.0
    for i in range(left.shape[0]):
        for j in range(left.shape[1]):
            total += left[i, j] * right[i, j]
    return total


@compiled_body(dotted, inline=False)
def _dotted_loops(left: Any, right: Any) -> float:
    total = 0.0
    for i in range(left.size):
        total += left[i] * right[i]
    return total


@compiled_body(add_matrix_into, inline=False)
def _add_matrix_loops(out: Any, values: Any, scale: float) -> None:
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] += scale * values[i, j]


@compiled_body(root_into, inline=False)
def _root_loops(out: Any, model: DenseModel) -> None:
    for i in range(out.shape[0]):
        size = math.sqrt(model.pivots[i])
        for j in range(out.shape[1]):
            out[i, j] = size * model.factor[i, j] if j > i else size if j == i else 0.0
