"""The least-squares fit behind estimates, certificate and check, with unknown offsets per block.

A value in a block is the option's value plus the block's offset. Offsets are unknowns without any prior, so
only differences between options mean something, and only between options that are connected: measured in a
common block, compared directly, or through others. In every connected group one offset is set to 0; nothing
that is reported depends on which.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.core.independent import quadratic_forms
from noisewise.core.model import Floats
from noisewise.core.pooled import Border, solve_border
from noisewise.study.measurements import Codes
from noisewise.study.sums import Sums, totals

UNMEASURED = -1


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
    fine: Floats | None = None  # (n,): what the means lack to be exact, where floats do not carry them
    slack: float = 0.0  # what rounding may have cost, in standard errors
    weights: Floats | None = None  # (dim,): of the features, in the linear models
    parts: Any = None  # of the linear models: what their boundaries need, `noisewise.study.mixed_fit.Parts`

    def differences(self, option: int) -> Floats:
        """By how much each option is estimated above this one, (n,): without the rounding of the means."""
        apart = self.means - self.means[option]
        if self.fine is not None:
            apart = apart + (self.fine - self.fine[option])
        return np.asarray(apart)

    def squares(self, sums: Sums) -> float:
        """What the fit leaves: chi-square on as many degrees of freedom as measurements exceed the rank."""
        return sums.within + float(np.sum(sums.weight * self.residuals**2)) + self.penalty

    def variances(self) -> Floats:
        """Squared standard errors of the options, (n,)."""
        variances = self.own.copy()
        k = self.loads.shape[1]
        variances[self.touched] += quadratic_forms(self.loads, self.covariance[:k, :k])
        return variances


def fit_independent(n: int, sums: Sums) -> Fit:
    """One unknown per option."""
    n_blocks = len(sums.blocks)
    level = sums.minus < 0
    precision = totals(sums.plus, sums.weight, n)
    precision += totals(sums.minus[~level], sums.weight[~level], n)
    offset_precision = totals(sums.block[level], sums.weight[level], n_blocks)
    if not sums.has_border:
        own = np.full(n, np.inf)
        own[sums.plus] = 1.0 / sums.weight
        means = np.zeros(n)
        means[sums.plus] = sums.value
        group = np.where(precision > 0.0, 0, UNMEASURED)
        nobody = np.empty(0, dtype=np.int64)
        return Fit(
            means, own, nobody, np.zeros((0, 0)), np.zeros((0, 0)), precision, offset_precision,
            np.zeros(n_blocks), group, np.zeros(sums.plus.size), sums.plus.size, 0.0, 0.0,
            log_det=float(np.log(sums.weight).sum()),
        )  # fmt: skip
    group, fixed = _groups(n, n_blocks, sums, precision, offset_precision)
    blocks = np.flatnonzero((offset_precision > 0.0) & ~fixed[n:])
    compared = np.unique(np.concatenate([sums.plus[~level], sums.minus[~level]]))
    seated = compared[~fixed[compared]]
    border = assemble_border(n, sums, blocks, seated, np.flatnonzero(fixed[:n]))
    solved = solve_border(border)
    own = solved.own
    own[fixed[:n]] = 0.0
    offsets = np.zeros(n_blocks)
    offsets[blocks] = solved.border_means[: blocks.size]
    residuals = left_over(sums, solved.means, offsets)
    rank = int(np.count_nonzero(precision > 0.0) + np.count_nonzero(offset_precision > 0.0) - fixed.sum())
    return Fit(
        solved.means, own, border.touched, solved.loads, solved.border, precision, offset_precision, offsets,
        group, residuals, rank, 0.0, 0.0, log_det=solved.log_det,
    )  # fmt: skip


def independent_rank(n: int, sums: Sums) -> int:
    """How many unknowns measurements of independent options determine: a matter of connections alone."""
    precision = totals(sums.plus, sums.weight, n)
    level = sums.minus < 0
    precision += totals(sums.minus[~level], sums.weight[~level], n)
    offset_precision = totals(sums.block[level], sums.weight[level], len(sums.blocks))
    _, fixed = _groups(n, len(sums.blocks), sums, precision, offset_precision)
    return int(np.count_nonzero(precision > 0.0) + np.count_nonzero(offset_precision > 0.0) - fixed.sum())


def assemble_border(
    n: int, sums: Sums, blocks: Codes, seated: Codes, fixed: Codes, ridge: float = 0.0
) -> Border:
    """The blocks of V: options on the diagonal; free offsets and compared options in the border.

    Args:
        n: Number of options.
        sums: The pooled measurements.
        blocks: Blocks whose offset is an unknown.
        seated: Options that sit in the border, because they were compared with others.
        fixed: Options whose value is set to 0.
        ridge: Prior precision of every unknown.
    """
    q = blocks.size + seated.size
    level = sums.minus < 0
    seat_of = np.full(n + 1, -1)  # the last entry serves NOBODY
    seat_of[seated] = blocks.size + np.arange(seated.size)
    place_of = np.full(len(sums.blocks), -1)
    place_of[blocks] = np.arange(blocks.size)
    place = np.where(level, place_of[sums.block], -1)
    known = np.zeros(n + 1, dtype=bool)
    known[fixed] = True
    plain = level & (seat_of[sums.plus] < 0) & ~known[sums.plus]
    own = totals(sums.plus[plain], sums.weight[plain], n)
    own_values = totals(sums.plus[plain], sums.weight[plain] * sums.value[plain], n)
    if ridge:
        own[seat_of[:n] < 0] += ridge
    coupled = plain & (place >= 0)
    touched = np.unique(np.concatenate([sums.plus[coupled], seated]))
    couplings = np.zeros((touched.size, q))
    rows = np.searchsorted(touched, sums.plus[coupled])
    np.add.at(couplings, (rows, place[coupled]), sums.weight[coupled])
    dense, dense_values = ridge * np.eye(q), np.zeros(q)
    # Every row touches at most three unknowns of the border: an offset, and two seats with signs.
    ends = [(place, 1.0), (seat_of[sums.plus], 1.0), (seat_of[sums.minus], -1.0)]
    for one, sign in ends:
        there = one >= 0
        np.add.at(dense_values, one[there], sign * (sums.weight * sums.value)[there])
        for other, other_sign in ends:
            both = there & (other >= 0)
            np.add.at(dense, (one[both], other[both]), sign * other_sign * sums.weight[both])
    return Border(own, own_values, touched, couplings, dense, dense_values, seat_of[touched])


def _groups(
    n: int, n_blocks: int, sums: Sums, precision: Floats, offset_precision: Floats
) -> tuple[Codes, NDArray[np.bool_]]:
    """Which options are connected, and which unknown of each group is set to 0: (n,), (n + n_blocks,)."""
    size = n + n_blocks
    group = _connected(size, sums.plus, np.where(sums.minus < 0, n + sums.block, sums.minus))
    weights = np.concatenate([precision, offset_precision])
    # Of every group the block without a name, else the block with the most precision, else the first option.
    rank = np.concatenate([np.full(n, 1.0), 2.0 + offset_precision])
    rank[n] = np.inf
    rank[weights == 0.0] = 0.0
    order = np.lexsort((np.arange(size), -rank))
    _, first = np.unique(group[order], return_index=True)
    fixed = np.zeros(size, dtype=bool)
    fixed[order[first]] = True
    fixed &= weights > 0.0
    return np.where(precision > 0.0, group[:n], UNMEASURED), fixed


def _connected(size: int, one: Codes, other: Codes) -> Codes:
    """The lowest number that each number is connected with: small labels spread along edges."""
    labels = np.arange(size)
    while True:
        least = np.minimum(labels[one], labels[other])
        spread = labels.copy()
        np.minimum.at(spread, one, least)
        np.minimum.at(spread, other, least)
        spread = spread[spread]
        if (spread == labels).all():
            return labels
        labels = spread


def left_over(sums: Sums, means: Floats, offsets: Floats) -> Floats:
    """What each row was measured above its option (less the other one) and its block's offset."""
    level = sums.minus < 0
    fitted = means[sums.plus] - np.where(level, 0.0, means[sums.minus])
    return np.asarray(sums.value - fitted - np.where(level, offsets[sums.block], 0.0))
