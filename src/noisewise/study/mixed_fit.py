"""The fit of the model with deviations: weights of features, offsets of blocks, a deviation per option.

Estimates of deviations are shrunk by what their size makes likely, so an option that was never measured has
one, too: the weighted sum of its features, give or take the size.
"""

import numpy as np

from noisewise.core.mixed import Eliminated, Gathered, eliminate, gather
from noisewise.core.model import Floats
from noisewise.core.pooled import inverse
from noisewise.study.fit import Fit, least_squares, left_over
from noisewise.study.measurements import Codes
from noisewise.study.sums import Sums, totals


def gather_rows(features: Floats, sums: Sums) -> tuple[Gathered, Codes]:
    """Sums for any size of the deviations, and the blocks that have an offset."""
    level = sums.minus < 0
    present = np.unique(sums.block[level])
    place_of = np.full(len(sums.blocks), -1)
    place_of[present] = np.arange(present.size)
    rows = gather(
        features, sums.plus, sums.minus, place_of[sums.block], sums.value, sums.weight, present.size
    )
    return rows, present


def fit_mixed(features: Floats, sums: Sums, deviation: float, ridge: float) -> Fit:
    """One weight per whitened feature, with a ridge; one offset per block, without; deviations."""
    n, dim = features.shape
    rows, present = gather_rows(features, sums)
    gone = eliminate(rows, deviation)
    free, rank = least_squares(gone.precision, gone.right)
    offsets = np.zeros(len(sums.blocks))
    residuals, penalty = leave(gone, features, sums, present, free)
    precision = gone.precision.copy()
    precision[np.arange(dim), np.arange(dim)] += ridge
    covariance, _ = inverse(precision)
    border = covariance @ gone.right
    offsets[present] = border[dim : dim + present.size]
    level = sums.minus < 0
    offset_precision = totals(sums.block[level], sums.weight[level], len(sums.blocks))
    reference = 0 if offset_precision[0] > 0.0 else int(np.argmax(offset_precision))
    seats = rows.compared.size
    return Fit(
        gone.means(border), gone.own, np.arange(n), gone.loads, covariance, np.zeros(n), offset_precision,
        offsets, np.zeros(n, dtype=np.int64), residuals, rank - seats, ridge, float(offsets[reference]),
        penalty=penalty, dim=dim, seats=seats,
    )  # fmt: skip


def estimated_weights(features: Floats, sums: Sums, deviation: float, ridge: float) -> Floats:
    """The weights of the features, (dim,)."""
    dim = features.shape[1]
    gone = eliminate(gather_rows(features, sums)[0], deviation)
    precision = gone.precision.copy()
    precision[np.arange(dim), np.arange(dim)] += ridge
    return np.asarray(np.linalg.solve(precision, gone.right)[:dim])


def leave(
    gone: Eliminated, features: Floats, sums: Sums, present: Codes, border: Floats
) -> tuple[Floats, float]:
    """Residuals of the rows, and Σ (deviation/size)²."""
    dim = features.shape[1]
    means = gone.means(border)
    offsets = np.zeros(len(sums.blocks))
    offsets[present] = border[dim : dim + present.size]
    penalty = 0.0
    if gone.deviation > 0.0:
        penalty = float(np.sum(((means - features @ border[:dim]) / gone.deviation) ** 2))
    return left_over(sums, means, offsets), penalty
