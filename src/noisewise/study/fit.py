"""The least-squares fit behind estimates, certificate and check: its form, and the linear model's.

A value in a block is the option's value plus the block's offset, which is unknown and has no prior.
"""

from typing import NamedTuple

import numpy as np

from noisewise.core.independent import quadratic_forms
from noisewise.core.model import Floats
from noisewise.core.twofold import Twofold, add, subtract, twofold
from noisewise.study.components import Component
from noisewise.study.measurements import Codes
from noisewise.study.sums import Sums, totals


class Fit(NamedTuple):
    """Estimates and their covariance, in the form of `noisewise.core.independent`."""

    means: Floats  # (n,)
    own: Floats  # (n,): infinite for an option that was never measured
    touched: Codes  # (rows,)
    loads: Floats  # (rows, k)
    covariance: Floats  # (q, q) of all unknowns of the border; loads refer to the first k of them
    precision: Floats  # (n,): the precision of an option's value were all else known
    offset_precision: Floats  # (n_blocks,): the same of each block's offset
    offsets: Floats  # (n_blocks,): 0 for those that were set to 0 or never measured
    group: Codes  # (n,): which options are connected; UNMEASURED if never measured
    residuals: Floats  # (rows of the sums,): from the fit without ridge
    rank: int  # how many unknowns were determined
    ridge: float  # on theta; 0 in the independent model
    level: float  # what to add to the means to have values as in the block that others are compared with
    penalty: float = 0.0  # Σ (deviation/size)² of the fit without ridge
    log_det: float = 0.0  # of the precision of what was determined; independent model only
    dim: int = 0  # features in the border of the model with deviations; its offsets follow
    seats: int = 0  # deviations that sit in its border, last
    fine: Floats | None = None  # (n,): what the means lack as doubles; see `noisewise.core.twofold`
    components: tuple[Component, ...] = ()  # the connected parts of a study with blocks or differences
    moved: float = 0.0  # what the last refinement of the estimates still changed, in their own errors

    def differences(self, option: int) -> Floats:
        """The estimated differences to an option, (n,), to the last digit where ``fine`` is known."""
        apart = self.means - self.means[option]
        return apart if self.fine is None else apart + (self.fine - self.fine[option])

    def squares(self, sums: Sums) -> float:
        """What the fit leaves: chi-square on as many degrees of freedom as measurements exceed the rank."""
        return sums.within + float(np.sum(sums.weight * self.residuals**2)) + self.penalty

    def variances(self) -> Floats:
        """Squared standard errors of the options, (n,)."""
        variances = self.own.copy()
        k = self.loads.shape[1]
        variances[self.touched] += quadratic_forms(self.loads, self.covariance[:k, :k])
        return variances


def left_over(
    sums: Sums,
    means: Floats,
    offsets: Floats,
    fine_means: Floats | None = None,
    fine_offsets: Floats | None = None,
) -> Floats:
    """What each row was measured above its option (less the other one) and its block's offset."""
    level = sums.minus < 0
    value = twofold(sums.value, sums.fine)
    mean = twofold(means, fine_means)
    offset = twofold(offsets, fine_offsets)
    beside = Twofold(
        np.where(level, offset.high[sums.block], -mean.high[sums.minus]),
        np.where(level, offset.low[sums.block], -mean.low[sums.minus]),
    )
    return subtract(value, add(mean.at(sums.plus), beside)).plain


def fit_linear(features: Floats, sums: Sums, ridge: float) -> Fit:
    """One weight per whitened feature, with a ridge; one offset per block, without."""
    n, dim = features.shape
    n_blocks = len(sums.blocks)
    level = sums.minus < 0
    rows = features[sums.plus]
    rows[~level] -= features[sums.minus[~level]]
    present = np.unique(sums.block[level])
    place_of = np.full(n_blocks, -1)
    place_of[present] = np.arange(present.size)
    q = dim + present.size
    weighted = rows * sums.weight[:, None]
    precision, right = np.zeros((q, q)), np.zeros(q)
    precision[:dim, :dim] = weighted.T @ rows
    right[:dim] = weighted.T @ sums.value
    place = place_of[sums.block[level]]
    cross = np.zeros((present.size, dim))
    np.add.at(cross, place, weighted[level])
    precision[dim:, :dim], precision[:dim, dim:] = cross, cross.T
    at = np.arange(dim, q)
    offset_weight = totals(place, sums.weight[level], present.size)
    precision[at, at] = offset_weight
    right[dim:] = totals(place, (sums.weight * sums.value)[level], present.size)
    free, rank = least_squares(precision, right)
    offsets, offset_precision = np.zeros(n_blocks), np.zeros(n_blocks)
    offsets[present], offset_precision[present] = free[dim:], offset_weight
    residuals = sums.value - rows @ free[:dim] - np.where(level, offsets[sums.block], 0.0)
    precision[np.arange(dim), np.arange(dim)] += ridge
    scale = 1.0 / np.sqrt(np.diagonal(precision))
    covariance = np.linalg.inv(precision * np.outer(scale, scale)) * np.outer(scale, scale)
    estimate = covariance @ right
    offsets[present] = estimate[dim:]
    # As in the block without a name; if all have names, as in the one with the most precision.
    reference = 0 if offset_precision[0] > 0.0 else int(np.argmax(offset_precision))
    everybody = np.arange(n)
    return Fit(
        features @ estimate[:dim], np.zeros(n), everybody, features, covariance, np.zeros(n),
        offset_precision, offsets, np.zeros(n, dtype=np.int64), residuals, rank, ridge,
        float(offsets[reference]),
    )  # fmt: skip


def least_squares(precision: Floats, right: Floats) -> tuple[Floats, int]:
    """The solution without ridge in the directions that were measured, and how many those are."""
    diagonal = np.diagonal(precision)
    scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    sizes, directions = np.linalg.eigh(precision * np.outer(scale, scale))
    kept = sizes > 1e-10 * max(1e-300, float(sizes[-1])) if sizes.size else sizes > 0.0
    along = directions[:, kept]
    return scale * (along @ ((along.T @ (scale * right)) / sizes[kept])), int(kept.sum())
