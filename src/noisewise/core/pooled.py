"""Learning everything at once: a fresh model filled from pooled rows, instead of one fold per measurement.

A **row** is a measurement (or the weighted mean of many equal ones) of any combination of the unknowns, not
only of an action: an option on a certain day, or the difference of two options.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.core.independent import IndependentModel, set_posterior
from noisewise.core.model import LOG_DET, TOLD, TOTAL_PRECISION, Model, recentre, refresh
from noisewise.core.rows import Floats


def fill_model(model: Model, rows: Floats, values: Floats, weights: Floats, told: int) -> None:
    """Fill a fresh model: ``V = ridge·I + Σ weight·row rowᵀ`` by one QR factorisation.

    Rows go in by falling weight: reflections are accurate row by row only if the large ones come first.
    """
    dim = model.columns.shape[0]
    ridge = float(model.pivots[0])
    weighted = np.sqrt(weights)[:, None] * np.column_stack([rows, values])
    prior = np.column_stack([np.sqrt(ridge) * np.eye(dim), np.zeros(dim)])
    stacked = np.vstack([prior, weighted])
    order = np.argsort(-np.abs(stacked).max(axis=1), kind="stable")
    upper = np.linalg.qr(stacked[order], mode="r")[:dim]
    diagonal = np.diagonal(upper).copy()
    model.factor[...] = upper / diagonal[:, None]
    model.factor[:, :dim] *= np.triu(np.ones((dim, dim)), 1)
    model.pivots[...] = diagonal**2
    model.reciprocals[...] = diagonal**-2
    refresh(model, np.arange(model.means.size))
    recentre(model)
    model.tally[LOG_DET] = float(np.log(model.pivots / ridge).sum())
    model.tally[TOTAL_PRECISION] = float(weights.sum())
    model.tally[TOLD] = told


class Border(NamedTuple):
    """Pooled measurements of independent options, as the blocks of ``V`` and ``Σ weight·value·row``.

    ``V = [[diag(own), couplings], [couplingsᵀ, dense]]``; an option that sits in the border has ``own = 0``.
    """

    own: Floats  # (n,)
    own_values: Floats  # (n,)
    touched: NDArray[np.int64]  # (rows,): sorted
    couplings: Floats  # (rows, q)
    dense: Floats  # (q, q)
    dense_values: Floats  # (q,)
    seats: NDArray[np.int64]  # (rows,): which unknown of the border the option itself is, or -1


class Posterior(NamedTuple):
    """What the measurements say: see `noisewise.core.independent`."""

    own: Floats  # (n,): infinite for an option that nothing is known about
    loads: Floats  # (rows, q)
    border: Floats  # (q, q)
    border_means: Floats  # (q,)
    means: Floats  # (n,)
    log_det: float


def solve_border(sums: Border) -> Posterior:
    """Eliminate the options, solve for the border, substitute back."""
    seated = sums.seats >= 0
    with np.errstate(divide="ignore", invalid="ignore"):
        own = np.where(sums.own > 0.0, 1.0 / sums.own, np.inf)
        means = np.where(sums.own > 0.0, sums.own_values / sums.own, 0.0)
    own[sums.touched[seated]] = 0.0
    q = sums.dense.shape[0]
    loads = np.zeros((sums.touched.size, q))
    alone = ~seated
    rows = sums.touched[alone]
    loads[alone] = -sums.couplings[alone] * own[rows, None]
    loads[seated, sums.seats[seated]] = 1.0
    complement = sums.dense + sums.couplings[alone].T @ loads[alone]
    border, log_det = inverse(complement)
    border_means = border @ (sums.dense_values + loads[alone].T @ sums.own_values[rows])
    means[sums.touched] += loads @ border_means
    positive = sums.own > 0.0
    return Posterior(
        own, loads, border, border_means, means, log_det + float(np.log(sums.own[positive]).sum())
    )


def fill_independent(model: IndependentModel, sums: Border, weight: float, told: int) -> None:
    """Fill a fresh model from sums that contain its ridge."""
    ridge = 1.0 / float(model.own[0])
    solved = solve_border(sums)
    unknowns = int(np.count_nonzero(sums.own > 0.0)) + sums.dense.shape[0]
    tally = {
        LOG_DET: solved.log_det - unknowns * float(np.log(ridge)),
        TOTAL_PRECISION: weight,
        TOLD: float(told),
    }
    set_posterior(model, solved.own, solved.loads, solved.border, solved.means, tally)


def inverse(matrix: Floats) -> tuple[Floats, float]:
    """The inverse of a positive definite matrix and the logarithm of its determinant.

    Scaled to a diagonal of ones first: offsets of days with few and with many measurements differ in size.
    """
    if not matrix.size:
        return matrix.copy(), 0.0
    scale = 1.0 / np.sqrt(np.diagonal(matrix))
    lower = np.linalg.cholesky(matrix * np.outer(scale, scale))
    half = np.linalg.solve(lower, np.diag(scale))
    return half.T @ half, 2.0 * float(np.log(np.diagonal(lower) / scale).sum())
