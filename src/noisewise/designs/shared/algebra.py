"""Products and factorisations through one BLAS, that of SciPy.

NumPy and SciPy each bring their own BLAS with its own pool of threads. Alternating between the
two makes the idle pool spin against the busy one: the solver ran five times slower on two
cores. Called without SciPy's checks, small problems also take half the time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import dgemm, dgemv, dger, dsyrk, sgemm, ssymv, ssyrk
from scipy.linalg.lapack import dgesdd, dpotrf, dpotrs, dsyevd, dtrtri

from noisewise.designs.shared.rows import Floats

Singles = npt.NDArray[np.float32]

WORTH_A_TRIANGLE = 10_000_000  # operations from which on computing one half and copying it is faster


def product(left: Floats, right: Floats) -> Floats:
    """Return ``left @ right``; BLAS counts by columns, so the transposes cost nothing."""
    return np.asarray(dgemm(1.0, right.T, left.T).T)


def product_into(left: npt.NDArray[Any], right: npt.NDArray[Any], out: npt.NDArray[Any]) -> None:
    """Write ``left @ right`` to ``out``, in the precision of ``out``."""
    multiply = sgemm if out.dtype == np.float32 else dgemm
    multiply(1.0, right.T, left.T, c=out.T, overwrite_c=1)


def times(matrix: Floats, vector: Floats) -> Floats:
    """Return ``matrix @ vector``."""
    return np.asarray(dgemv(1.0, matrix.T, vector, trans=1))


def combined(weights: Floats, matrix: Floats) -> Floats:
    """Return ``weights @ matrix``: the rows, weighted."""
    return np.asarray(dgemv(1.0, matrix.T, weights))


def row_products(matrix: Floats) -> Floats:
    """Return ``matrix @ matrix.T``."""
    return np.asarray(dgemm(1.0, matrix.T, matrix.T, trans_a=1))


def squared_row_products(matrix: Singles) -> Singles:
    """Return the squares of ``matrix @ matrix.T`` for `symmetric_times`: one triangle of them."""
    products = ssyrk(1.0, matrix.T, trans=1)
    return np.asarray(np.square(products, out=products))


def symmetric_times(triangle: Singles, vector: Floats) -> Floats:
    """Return a symmetric matrix, of which the upper triangle counts, times ``vector``."""
    unit, rounded = in_single(vector)
    return np.asarray(unit * ssymv(1.0, triangle, rounded).astype(np.float64))


def squared_products_times(matrix: Singles, vector: Floats) -> Floats:
    """Return the squares of ``matrix @ matrix.T``, entry by entry, times ``vector`` without forming them."""
    unit, rounded = in_single(vector)
    moment = sgemm(1.0, matrix.T, (matrix * rounded[:, None]).T, trans_b=1)
    images = sgemm(1.0, moment, matrix.T).T
    return np.asarray(unit * np.einsum("ij,ij->i", images, matrix).astype(np.float64))


def in_single(vector: Floats) -> tuple[float, Singles]:
    """Return a unit and the vector in it, in float32: where its largest entry is 1 nothing underflows."""
    unit = float(np.max(np.abs(vector), initial=0.0)) or 1.0
    return unit, (vector / unit).astype(np.float32)


def column_products(matrix: Floats) -> Floats:
    """Return ``matrix.T @ matrix``."""
    n_rows, n_columns = matrix.shape
    if n_rows * n_columns**2 < WORTH_A_TRIANGLE:
        return np.asarray(dgemm(1.0, matrix.T, matrix.T, trans_b=1))
    upper = np.asarray(dsyrk(1.0, matrix.T))
    return np.asarray(upper + np.triu(upper, 1).T)


def subtract_square(matrix: Floats, vector: Floats) -> None:
    """Subtract ``vector vector^T`` from a symmetric matrix, in place."""
    dger(-1.0, vector, vector, a=matrix.T, overwrite_x=0, overwrite_y=0, overwrite_a=1)


def add_column_products(matrix: Floats, total: Floats) -> None:
    """Add ``matrix.T @ matrix`` to the upper triangle of ``total``, stored by rows."""
    dsyrk(1.0, matrix.T, beta=1.0, c=total.T, lower=1, overwrite_c=1)


def eigenvalues(matrix: Floats) -> Floats:
    """Return the eigenvalues of a symmetric matrix, smallest first."""
    return np.asarray(dsyevd(matrix, compute_v=0)[0])


def singular_values(matrix: Floats) -> Floats:
    """Return the singular values, largest first."""
    return np.asarray(dgesdd(matrix, compute_uv=0)[1])


def inverse_root(moment: Floats) -> Floats | None:
    """Return C upper triangular with C^T moment C = I; None if moment is not positive."""
    lower, failed = dpotrf(moment, lower=1)
    if failed:
        return None
    inverse, failed = dtrtri(lower, lower=1, overwrite_c=1)
    return None if failed else np.asarray(inverse.T)


def factor_positive(matrix: Floats) -> Floats | None:
    """Factor a symmetric matrix for `solve_factored`, destroying it; None if it is not positive definite.

    Only the upper triangle is read.
    """
    lower, failed = dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
    return None if failed else np.asarray(lower)


def solve_factored(factor: Floats, right: Floats) -> Floats:
    """Solve with a factor from `factor_positive`."""
    return np.asarray(dpotrs(factor, right, lower=1)[0])


def solve_positive(matrix: Floats, right: Floats) -> Floats | None:
    """Solve a symmetric system, destroying ``matrix``; None if it is not positive definite.

    Only the upper triangle is read.
    """
    factor = factor_positive(matrix)
    return None if factor is None else solve_factored(factor, right)


def squared_norms(block: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the squared norm of every row."""
    return np.asarray(np.einsum("ij,ij->i", block, block))


def weighted_moment(coordinates: Floats, weights: Floats) -> Floats:
    """Return the moment matrix, the sum of ``weights * z z^T``."""
    return column_products(coordinates * np.sqrt(weights)[:, None])
