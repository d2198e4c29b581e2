"""The best weights on a working set that fits in memory: Newton steps on the log-determinant.

Each step minimises a quadratic model over non-negative weights, in one of three ways.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import numpy.typing as npt

from noisewise.designs.algebra import (
    Floats,
    eigenvalues,
    factor_positive,
    product,
    row_products,
    solve_factored,
    squared_norms,
    squared_products_times,
    squared_row_products,
    times,
    weighted_moment,
)
from noisewise.designs.rows import whitener

NEGLIGIBLE = 1e-13  # weights below this are rounding
MAX_STEPS = 60
SMALL_RANK = 15  # up to here Lawson-Hanson is as fast as block pivoting, and sparser
LARGE = (600, 900)  # rows, 12 per dimension but within these; beyond, factorising takes longer than iterating
LARGEST_MATRIX = 4000  # rows whose products may be held in memory
LARGEST_TABLE = 10_000_000  # entries of the least-squares matrix
RIDGE = 1e-7  # of the mean curvature, centred on the present weights: a proximal term
PATIENCE = 2  # exchanges that may increase the number of wrong signs
MAX_PIVOTS = 30
MAX_ROUNDS = 12
LITTLE = 0.3  # of the first slope: what is left at most where it led somewhere
HELD = 5600  # rows whose matrix is held, one triangle of it: 125 MB
EASY = 0.3  # rows per r(r+1)/2: below, the matrix is far from singular unless rows are near copies


def solve_weights(coordinates: Floats, weights: Floats, tolerance: float, *, stubborn: bool = True) -> Floats:
    """Return weights on the rows with max g <= (1 + tolerance) rank *among these rows*.

    Unless ``stubborn`` it gives up where steps stop paying: other rows may be what is missing.
    Else it falls short only where float64 does; the caller's certificate will tell.
    """
    weights = weights / weights.sum()
    best, best_gap, last_gap = weights, np.inf, np.inf
    effort, n_worse = 0, 0
    for _ in range(MAX_STEPS):
        white = product(coordinates, whitener(coordinates, weights))
        g_values = squared_norms(white)
        gap = float(g_values.max()) / white.shape[1] - 1.0
        effort = 0 if gap < 0.5 * last_gap else min(2, effort + 1)
        n_worse = 0 if gap < 0.9 * best_gap else n_worse + 1
        if gap < best_gap:
            best, best_gap = weights, gap
        if gap <= tolerance or n_worse > (8 if stubborn else 2):
            break
        weights, last_gap = newton_step(white, weights, g_values, effort=effort), gap
    return best


def newton_step(white: Floats, weights: Floats, g_values: Floats, *, effort: int) -> Floats:
    """Move to the minimum of the model, or as far towards it as log det grows."""
    rank = white.shape[1]
    gap = float(g_values.max()) / rank - 1.0
    # Far below the rank a row cannot enter in this step; the next one looks again.
    active = np.flatnonzero((weights > 0.0) | (g_values > rank * (1.0 - min(0.3, 3.0 * gap))))
    model = np.maximum(minimise_model(white[active], weights[active], effort=effort), 0.0)
    aim = np.zeros_like(weights)
    aim[active] = model / model.sum()
    step = step_length(eigenvalues(weighted_moment(white[active], aim[active])))
    moved = aim if step == 1.0 else weights + step * (aim - weights)
    moved[moved < NEGLIGIBLE] = 0.0
    return np.asarray(moved / moved.sum())


def step_length(spectrum: Floats) -> float:
    """Maximise sum log(1 + a (e - 1)) over a in [0, 1], e the eigenvalues of the aimed moment.

    The whole step is taken whenever it gains a tenth of what the slope promises: only then do
    the weights that the model sets to zero vanish.
    """
    excess = spectrum - 1.0
    slope = float(excess.sum())
    if spectrum[0] > 1e-3 and float(np.log(spectrum).sum()) >= 0.1 * slope:
        return 1.0
    end = min(1.0, -0.999999 / float(excess[0]))

    def derivative(step: float) -> float:
        return float(np.sum(excess / (1.0 + step * excess)))

    if slope <= 0.0 or derivative(end) >= 0.0:
        return end if slope > 0.0 else 0.0
    low, high = 0.0, end
    while high - low > 1e-6 * end:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if derivative(middle) > 0.0 else (low, middle)
    return low


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
        factor = factor_positive(block)
        if factor is not None:
            solution[chosen] = solve_factored(factor, linear[chosen])
            return solution
        ridge = max(10.0 * ridge, 1e-8 * scale)
    raise ArithmeticError(
        f"`vectors` must be conditioned well enough for float64; got curvatures of {scale!r}."
    )


class LargeModel:
    """The model |V(u) - 2I|^2/2 + r sum(u)^2/2 around weights w, by products of float32 alone.

    Only changes of the weights are multiplied, so that rounding changes a step by a millionth.
    """

    def __init__(self, coordinates: Floats, weights: Floats) -> None:
        n_rows, self.rank = coordinates.shape
        self.weights = weights
        self.norms = squared_norms(coordinates)
        self.curvatures = self.norms**2 + self.rank
        self.rounded = coordinates.astype(np.float32)
        self.triangle = squared_row_products(self.rounded) if n_rows <= HELD else None
        # Where the matrix is nearly singular a rough step is as good as an exact one, and much cheaper.
        self.easy = n_rows <= EASY * self.rank * (self.rank + 1) / 2
        self.max_directions, self.accuracy, self.enough = (30, 1e-3, 1e-3) if self.easy else (12, 0.1, 0.03)

    def times(self, vector: Floats) -> Floats:
        """Return the matrix of the model times ``vector``."""
        return np.asarray(
            squared_products_times(self.rounded, self.triangle, vector) + self.rank * vector.sum()
        )

    def slope(self, weights: Floats) -> Floats:
        """Return the gradient of the model: at w it is r - g, so only the change has to be computed."""
        here = self.rank * self.weights.sum() - self.norms
        return np.asarray(here + self.times(weights - self.weights))

    def direction(self, slope: Floats, free: npt.NDArray[np.bool_]) -> Floats:
        """Minimise approximately over the free weights, by conjugate gradients."""
        residual = np.where(free, -slope, 0.0)
        step = np.zeros_like(slope)
        way = residual / self.curvatures
        size = float(residual @ way)
        aim = self.accuracy**2 * size
        for _ in range(self.max_directions):
            image = np.where(free, self.times(way), 0.0)
            bend = float(way @ image)
            if bend <= 0.0 or size <= aim:
                break
            step += size / bend * way
            residual -= size / bend * image
            scaled = residual / self.curvatures
            size, last = float(residual @ scaled), size
            way = scaled + size / last * way
        return step


def minimise_large(coordinates: Floats, weights: Floats) -> tuple[Floats, bool]:
    """Return weights u >= 0 of small slope, by projected conjugate gradients, and whether that led far.

    (After Bertsekas, SIAM J. Control Optim. 1982, for the projection.) Among near copies it does not: the
    directions are long, and projecting them undoes them.
    """
    model = LargeModel(coordinates, weights)
    slope = model.slope(weights)
    first = remaining(weights, slope)
    for _ in range(MAX_ROUNDS):
        if remaining(weights, slope) <= model.enough * first:
            break
        step = model.direction(slope, (weights > 0.0) | (slope < 0.0))
        length = 1.0
        while length > 1e-3:
            trial = np.maximum(weights + length * step, 0.0)
            trial_slope = model.slope(trial)
            # For a quadratic, the difference of values is the mean slope along the move.
            if float((slope + trial_slope) @ (trial - weights)) < 0.0:
                break
            length *= 0.4
        else:
            break
        weights, slope = trial, trial_slope
    return weights, not model.easy or remaining(weights, slope) <= LITTLE * first


def remaining(weights: Floats, slope: Floats) -> float:
    """Return the norm of the slope where the weights may follow it."""
    return float(np.linalg.norm(np.where(weights > 0.0, slope, np.minimum(slope, 0.0))))
