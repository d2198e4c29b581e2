"""The quadratic model of the log-determinant over non-negative weights."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import numpy.typing as npt

from noisewise.designs.optimal.gradients import minimise_large
from noisewise.designs.shared.algebra import row_products, solve_positive, times
from noisewise.designs.shared.rows import Floats

SMALL_RANK = 15  # up to here Lawson-Hanson is as fast as block pivoting, and sparser
LARGE = (600, 900)  # rows, 12 per dimension but within these; beyond, factorising takes longer than iterating
LARGEST_MATRIX = 4000  # rows whose products may be held in memory
LARGEST_TABLE = 10_000_000  # entries of the least-squares matrix
RIDGE = 1e-7  # of the mean curvature, centred on the present weights: a proximal term
PATIENCE = 2  # exchanges that may increase the number of wrong signs
MAX_PIVOTS = 30


def minimise_model(coordinates: Floats, weights: Floats, *, effort: int) -> Floats:
    """Return weights u >= 0 that minimise the second-order model around ``weights``.

    In coordinates z where the moment of ``weights`` is the identity, -logdet has the gradient
    -g and the Hessian H = (Z Z^T)^2 (entry by entry), and H w = g. With the multiplier of
    sum(w) = 1, which is the rank r, and the curvature r 11^T that only fixes the scale, the model
    is |V(u) - 2I|^2/2 + r sum(u)^2/2: non-negative least squares in u.

    Three ways, and ``effort`` (0, 1, 2) moves to a slower but surer one.
    """
    n_rows, rank = coordinates.shape
    size = n_rows * rank * (rank + 1) // 2
    if rank <= SMALL_RANK or (effort > 1 and size <= LARGEST_TABLE):
        with suppress(RuntimeError):  # it counts its steps, and may run out of them
            return least_squares(coordinates)
    large = min(max(LARGE[0], 12 * rank), LARGE[1])
    if n_rows > (large if effort == 0 else LARGEST_MATRIX):
        found, led_far = minimise_large(coordinates, weights)
        if led_far or n_rows > LARGEST_MATRIX:
            return found
    return block_pivoting(coordinates, weights)


def least_squares(coordinates: Floats) -> Floats:
    """Solve the model by Lawson-Hanson: at most r(r+1)/2 + 1 positive weights, never a cycle."""
    from scipy.optimize import nnls  # takes a third of a second: only where it is called

    rank = coordinates.shape[1]
    row, column = np.triu_indices(rank)
    factor = np.where(row == column, 1.0, np.sqrt(2.0))
    products = coordinates[:, row] * coordinates[:, column] * factor
    matrix = np.vstack([products.T, np.full(len(coordinates), np.sqrt(rank))])
    aim = np.append(np.where(row == column, 2.0, 0.0), 0.0)
    return np.asarray(nnls(matrix, aim, maxiter=30 * len(coordinates) + 300)[0])


def block_pivoting(coordinates: Floats, weights: Floats) -> Floats:
    """Solve the model by exchanging all wrong signs at once, all BLAS-3.

    The rule of Portugal, Judice and Vicente (Math. Comp. 1994). Where it would cycle (more rows
    than r(r+1)/2, near copies) weights are only dropped from then on: no longer the minimum, but
    a feasible point, mostly a good one, and the caller judges it by the step it allows.
    """
    hessian, linear = quadratic_model(coordinates, weights)
    rank = coordinates.shape[1]
    free = (weights > 0.0) | (linear > 2.0 * rank)
    fewest, patience = len(linear) + 1, PATIENCE
    for _ in range(MAX_PIVOTS):
        solved = solve_free(hessian, linear, free)
        negative = free & (solved < 0.0)
        slope = times(hessian, solved) - linear
        missing = ~free & (slope < -1e-10 * rank)
        n_wrong = int(np.count_nonzero(negative) + np.count_nonzero(missing))
        patience = PATIENCE if n_wrong < fewest else patience - 1
        fewest = min(fewest, n_wrong)
        if n_wrong == 0:
            return solved
        if patience < 0:
            break
        free ^= negative | missing
    while negative.any():
        free &= ~negative
        solved = solve_free(hessian, linear, free)
        negative = free & (solved < 0.0)
    return solved


def quadratic_model(coordinates: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the matrix and the linear term of the model, with its proximal term."""
    hessian = row_products(coordinates)
    norms = np.diagonal(hessian).copy()
    hessian *= hessian
    hessian += coordinates.shape[1]
    ridge = RIDGE * float(np.mean(norms**2))
    hessian[np.diag_indices(len(hessian))] += ridge
    return hessian, 2.0 * norms + ridge * weights


def solve_free(hessian: Floats, linear: Floats, free: npt.NDArray[np.bool_]) -> Floats:
    """Minimise over the ``free`` weights, the others being 0."""
    chosen = np.flatnonzero(free)
    solution = np.zeros(len(linear))
    ridge, scale = 0.0, float(np.diagonal(hessian).mean())
    while ridge <= scale:
        block = hessian.take(chosen, axis=0).take(chosen, axis=1)
        block[np.diag_indices(len(block))] += ridge
        solved = solve_positive(block, linear[chosen])
        if solved is not None:
            solution[chosen] = solved
            return solution
        ridge = max(10.0 * ridge, 1e-8 * scale)
    raise ArithmeticError(
        f"`vectors` must be conditioned well enough for float64; got curvatures of {scale!r}."
    )
