"""Products of small matrices."""

from typing import Any

import numpy as np

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
