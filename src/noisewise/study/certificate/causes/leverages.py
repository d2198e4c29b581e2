"""Leverages: how much of its own fitted value each measurement decides; leaving one out needs no new fit.

With weights w = 1/σ² and the normal matrix ``A = XᵀWX`` measurement i has leverage ``h = w·xᵀA⁻¹x``. Without
it its residual is ``r/(1 - h)``, chi-square is smaller by ``w·r²/(1 - h)``, and what the others say of it has
variance ``σ²·h/(1 - h)``. A deviation of size τ is an unknown, tied to its features by a weight of 1/τ².

In plain floats: they say which measurements to suspect, and the fit without those is then computed exactly.
"""

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.study.log.measurements import Columns
from noisewise.study.models.sums import totals

#: What is added to a diagonal of ones, for levels that nothing determines.
RIDGE = 1e-10
#: No measurement decides more than this of its fitted value: the rest is rounding.
MOST = 1.0 - 1e-9


def leverages(columns: Columns, sigma: Floats, features: Floats | None, deviation: float) -> Floats:
    """The leverage of every measurement, (N,); networks of independent options have `PlainNetwork`.

    Args:
        columns: The measurements.
        sigma: Their standard errors.
        features: Of the options, where the model has them.
        deviation: The size of deviations from the weighted sums of features.
    """
    weight = np.square(np.median(sigma) / sigma)
    if features is None:
        found = weight / totals(columns.plus, weight, 1 + int(columns.plus.max()))[columns.plus]
    elif deviation == 0.0:
        found = _of_weights(columns, weight, features)
    else:
        scaled = deviation / float(np.median(sigma))
        found = _of_unknowns(columns, weight, features, scaled)
    return np.asarray(np.clip(found, 0.0, MOST))


def _of_weights(columns: Columns, weight: Floats, features: Floats) -> Floats:
    """In the linear model: a block's offset takes the weighted mean of its rows."""
    level = columns.minus < 0
    rows = features[columns.plus] - np.where(level[:, None], 0.0, features[columns.minus])
    total = totals(columns.block[level], weight[level], len(columns.blocks))
    share = np.where(level, weight / np.maximum(total[columns.block], 1e-300), 0.0)
    for at in range(features.shape[1]):
        means = totals(columns.block[level], (share * rows[:, at])[level], len(columns.blocks))
        rows[:, at] -= np.where(level, means[columns.block], 0.0)
    normal = rows.T @ (weight[:, None] * rows)
    inverse = np.linalg.pinv(normal, rcond=1e-12, hermitian=True)
    return np.asarray(share + weight * np.einsum("ij,jk,ik->i", rows, inverse, rows, optimize=True))


def _of_unknowns(columns: Columns, weight: Floats, features: Floats, deviation: float) -> Floats:
    """With an unknown per option and per block, and the weights of features, which deviations tie."""
    from scipy.linalg.lapack import dpotrf, dpotri

    level = columns.minus < 0
    options, ends = np.unique(np.concatenate([columns.plus, columns.minus[~level]]), return_inverse=True)
    plus, other = ends[: level.size], np.zeros(level.size, dtype=np.int64)
    other[~level] = ends[level.size :]
    blocks, place = np.unique(columns.block[level], return_inverse=True)
    other[level] = options.size + place
    sign = np.where(level, 1.0, -1.0)
    size = options.size + blocks.size
    normal = np.zeros((size, size))
    np.add.at(normal, (plus, plus), weight)
    np.add.at(normal, (other, other), weight)
    np.add.at(normal, (plus, other), sign * weight)
    np.add.at(normal, (other, plus), sign * weight)
    normal = _tied(normal, features[options], deviation)
    scale = 1.0 / np.sqrt(np.diag(normal))
    normal *= scale[:, None] * scale
    normal[np.diag_indices_from(normal)] += RIDGE
    factor, _ = dpotrf(normal, lower=1)
    inverse, _ = dpotri(factor, lower=1)
    diagonal = np.diag(inverse) * scale**2
    low, high = np.minimum(plus, other), np.maximum(plus, other)
    cross = inverse[high, low] * scale[high] * scale[low]
    return np.asarray(weight * (diagonal[plus] + diagonal[other] + 2.0 * sign * cross))


def _tied(normal: Floats, features: Floats, deviation: float) -> Floats:
    """The normal matrix with the weights of features, to which deviations tie the options."""
    options, dim, size = features.shape[0], features.shape[1], len(normal)
    whole = np.zeros((size + dim, size + dim))
    whole[:size, :size] = normal
    prior = deviation**-2.0
    places = np.arange(options)
    whole[places, places] += prior
    whole[:options, size:] = -prior * features
    whole[size:, :options] = whole[:options, size:].T
    whole[size:, size:] = prior * features.T @ features
    return whole
