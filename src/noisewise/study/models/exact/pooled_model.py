"""Learning everything at once: a fresh model filled from pooled rows, instead of one fold per measurement.

A **row** is a measurement (or the weighted mean of many equal ones) of any combination of the unknowns, not
only of an action: an option on a certain day, or the difference of two options.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.core.model.dense import LOG_DET, TOLD, TOTAL_PRECISION, DenseModel, recentre, refresh_all
from noisewise.core.model.independent import IndependentModel, set_posterior
from noisewise.core.support.blocks import Floats
from noisewise.study.models.exact.network import invert_network


def fill_model(model: DenseModel, rows: Floats, values: Floats, weights: Floats, told: int) -> None:
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
    refresh_all(model)
    recentre(model)
    model.tally[LOG_DET] = float(np.log(model.pivots / ridge).sum())
    model.tally[TOTAL_PRECISION] = float(weights.sum())
    model.tally[TOLD] = told


class Border(NamedTuple):
    """Pooled measurements of independent options as a network: see `noisewise.study.models.exact.network`.

    Nodes are the options and what they share: offsets of blocks (with their sign turned, so that a value is a
    difference) and, in the place of options of their own, those that were compared.
    """

    excess: Floats  # (n,): prior precision and weight outside of all blocks; 0 for an option in the border
    values: Floats  # (n,): Σ weight·value of the options' own measurements
    touched: NDArray[np.int64]  # (rows,): sorted
    couplings: Floats  # (rows, q): weight between an option and a shared node
    links: Floats  # (q, q): between two shared nodes
    shared_excess: Floats  # (q,)
    shared_values: Floats  # (q,)
    seats: NDArray[np.int64]  # (rows,): which shared node the option itself is, or -1
    gone: int = 0  # unknowns that were eliminated before
    gone_log_det: float = 0.0  # and what they add to the log-determinant


class Posterior(NamedTuple):
    """What the measurements say: see `noisewise.core.model.independent`."""

    own: Floats  # (n,)
    loads: Floats  # (rows, q)
    border: Floats  # (q, q)
    means: Floats  # (n,)
    log_det: float


def solve_border(sums: Border) -> Posterior:
    """Eliminate the options, solve for the border, substitute back; no difference is taken on the way."""
    seated = sums.seats >= 0
    alone = ~seated
    rows = sums.touched[alone]
    precision = sums.excess.copy()
    precision[rows] += sums.couplings[alone].sum(axis=1)
    positive = precision > 0.0
    own = np.zeros(precision.size)
    own[positive] = 1.0 / precision[positive]
    means = sums.values * own
    loads = np.zeros(sums.couplings.shape)
    loads[alone] = sums.couplings[alone] * own[rows, None]
    loads[seated, sums.seats[seated]] = 1.0
    links = sums.links + sums.couplings[alone].T @ loads[alone]
    border, log_det = invert_network(links, sums.shared_excess + loads[alone].T @ sums.excess[rows])
    shared = border @ (sums.shared_values + loads[alone].T @ sums.values[rows])
    means[sums.touched] += loads @ shared
    logs = sums.gone_log_det + float(log_det) + float(np.log(precision[positive]).sum())
    return Posterior(own, loads, border, means, logs)


def fill_independent(model: IndependentModel, sums: Border, weight: float, told: int) -> None:
    """Fill a fresh model from sums that contain its ridge."""
    ridge = 1.0 / float(model.own[0])
    solved = solve_border(sums)
    unknowns = int(np.count_nonzero(sums.excess > 0.0)) + sums.links.shape[0] + sums.gone
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
