"""A matrix as ``UᵀDU``: solved with, and updated by rotations without square roots (Gentleman 1973)."""

from typing import Protocol

import numpy as np

from noisewise.core.model.tally import RESIDUAL as RESIDUAL
from noisewise.core.support import blas
from noisewise.core.support.blocks import Floats


class Factored(Protocol):
    """A matrix held as ``UᵀDU``: a model, or one of the smaller things that robust estimates keep."""

    @property
    def factor(self) -> Floats:
        """U, and a last column that follows its rotations."""

    @property
    def pivots(self) -> Floats:
        """D."""

    @property
    def reciprocals(self) -> Floats:
        """1/D."""

    @property
    def tally(self) -> Floats:
        """Where the residual of each rotation is booked."""


def solve_lower(model: Factored, vector: Floats) -> Floats:
    """``U⁻ᵀ·vector``."""
    dim = vector.size
    solved, _ = blas.routines().solve_triangular(model.factor[:, :dim], vector, trans=1, unitdiag=1)
    return np.asarray(solved)


def solve_upper(model: Factored, vector: Floats) -> Floats:
    """``U⁻¹·vector``."""
    dim = vector.size
    solved, _ = blas.routines().solve_triangular(model.factor[:, :dim], vector, unitdiag=1)
    return np.asarray(solved)


def rotate_in(model: Factored, row: Floats, half: Floats, weight: float) -> None:
    """Replace the factors of V by those of ``V + weight·a aᵀ``; the row is a and what it measured.

    One plane rotation per feature, all at once: rotation j meets the entry ``(U⁻ᵀa)_j``, given as
    ``half``, and the weight that is left, ``1/w_j = 1/w + Σ_{i<j} half_i²/D_i``. LAPACK's update of a QR
    factor reflects instead, and loses seven digits when a row of weight 1e16 meets rows of weight 1.
    """
    if weight == 0.0:
        return
    left = np.empty(row.size)
    left[0] = 1.0 / weight
    left[1:] = half * half * model.reciprocals
    weights = 1.0 / np.cumsum(left)
    grown = model.pivots + weights[:-1] * half * half
    # What is left of the row after each rotation: summed up in their order, as if one by one.
    rows = np.empty((row.size, row.size))
    rows[0] = row
    np.multiply(model.factor, -half[:, None], out=rows[1:])
    np.cumsum(rows, axis=0, out=rows)
    factor = model.factor
    factor += np.triu(rows[1:] * (weights[:-1] * half / grown)[:, None], 1)
    model.pivots[:] = grown
    np.divide(1.0, grown, out=model.reciprocals)
    model.tally[RESIDUAL] += weights[-1] * float(rows[-1, -1]) ** 2
