"""The fit of the linear models: weights of features, offsets of blocks, and a deviation per option or none.

Estimates of deviations are shrunk by what their size makes likely, so an option that was never measured
has one as well: the weighted sum of its features, give or take the size. With size 0 this is the linear
model.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.study.models.exact import twofold as tf
from noisewise.study.models.exact.twofold import Twofold
from noisewise.study.models.exact.weighted_rows import Codes, SolvedRows, WeightedRows, solve
from noisewise.study.models.features.linear_rows import (
    RowLayout,
    Values,
    feature_rows,
    lay_out,
    left_in_rows,
    means_of,
    option_values,
    spread_merged,
)
from noisewise.study.models.fit import Fit, reference_place
from noisewise.study.models.sums import Sums, totals

#: Directions of the measured features below this share of their size are rounding.
RANK_TOLERANCE = 1e-8
#: Below this share of two squared lengths, that of the difference is computed from the difference itself.
CLOSE = 1e-10


class FreeFit(NamedTuple):
    """The fit without ridge."""

    residuals: Floats  # (rows of the sums,)
    penalty: float
    rank: int


class Parts:
    """What boundaries and the check need to know of a fit besides its estimates.

    Args:
        features: ``(n, dim)``.
        sums: The pooled measurements.
        deviation: The size of the deviations.
        ridge: Prior precision of the weights.
        keep_offsets: Whether every block's offset must be an unknown.
    """

    def __init__(
        self, features: Floats, sums: Sums, deviation: float, ridge: float, keep_offsets: bool = False
    ) -> None:
        self._features, self._sums, self._deviation = features, sums, deviation
        self.ridge, self._keep_offsets = ridge, keep_offsets
        self._layouts: dict[bool, RowLayout] = {}
        layout = self.laid_out(False)
        held = np.concatenate([np.zeros(layout.before), np.full(layout.dim, ridge)])
        self.solved = solve(lambda exact: self.laid_out(exact).rows, held)
        self.layout = self.laid_out(self.solved.exact)

    def laid_out(self, exact: bool) -> RowLayout:
        """The rows, with their low parts or without."""
        if exact not in self._layouts:
            self._layouts[exact] = lay_out(
                self._features, self._sums, self._deviation, exact, keep_offsets=self._keep_offsets
            )
        return self._layouts[exact]

    @functools.cached_property
    def values(self) -> Values:
        """How options depend on the unknowns."""
        return option_values(self.layout, self._features)

    @functools.cached_property
    def half(self) -> Twofold:
        """The options in units of independent standard errors, (q, n); weights come last."""
        return self.solved.whitened(self.values.loads)

    @functools.cached_property
    def free(self) -> FreeFit:
        """The fit without ridge."""
        columns = determined(self._features, self._sums)
        free = solve_free(self.laid_out, columns)
        layout = self.laid_out(free.exact)
        left = spread_merged(layout, free, self._sums, *left_in_rows(layout, free, self._sums.plus.size))
        present = np.unique(self._sums.block[self._sums.minus < 0]).size
        return FreeFit(*left, columns.size + present)

    def apart(self, option: int) -> Floats:
        """The differences to one option in these units, (q, n), without the rounding of either."""
        one = self.half.at((slice(None), slice(option, option + 1)))
        away = self.half.high - one.high
        if self.solved.exact:
            return away + (self.half.low - one.low)
        apart = np.einsum("ij,ij->j", away, away)
        close = apart <= CLOSE * (self._lengths + self._lengths[option])
        close[option] = False
        if close.any():
            near, here = self.values.loads.high[close], self.values.loads.high[option]
            away[:, close] = self.solved.whitened(tf.plainly(near - here)).high
        return away

    @functools.cached_property
    def _lengths(self) -> Floats:
        return np.asarray(np.einsum("ij,ij->j", self.half.high, self.half.high))


class LinearFit(Fit):
    """A fit whose residuals are computed when they are first used."""

    @property
    def residuals(self) -> Floats:
        """Of the fit without ridge, (rows of the sums,)."""
        return np.asarray(self.parts.free.residuals)

    @property
    def rank(self) -> int:
        """How many unknowns were determined."""
        return int(self.parts.free.rank)

    @property
    def penalty(self) -> float:
        """``Σ (deviation/size)²`` of the fit without ridge."""
        return float(self.parts.free.penalty)

    def variances(self) -> Floats:
        """Squared standard errors of the options, (n,)."""
        return np.asarray(self.own + np.einsum("ij,ij->i", self.loads, self.loads))


def ridge_of(span: float | None) -> float:
    """The prior precision of the weights: with it, ``ridge·‖θ‖² <= 1`` if no two options differ by more."""
    return float((2.0 / (span or np.inf)) ** 2)


def fit_linear(features: Floats, sums: Sums, ridge: float) -> Fit:
    """One weight per whitened feature, with a ridge; one offset per block, without."""
    return fit_mixed(features, sums, 0.0, ridge)


def fit_mixed(
    features: Floats, sums: Sums, deviation: float, ridge: float, *, any_order: bool = False
) -> Fit:
    """One weight per whitened feature, with a ridge; one offset per block, without; deviations.

    Args:
        features: ``(n, dim)``.
        sums: The pooled measurements.
        deviation: The size of the deviations.
        ridge: Prior precision of the weights.
        any_order: Whether the boundary will have to pay for the offset of every block.
    """
    n, dim = features.shape
    parts = Parts(features, sums, deviation, ridge, any_order)
    layout, solved = parts.layout, parts.solved
    means = means_of(parts.values, solved)
    if not np.isfinite(solved.slack):
        means = tf.twofold(np.nan_to_num(means.high, posinf=0.0, neginf=0.0))  # nothing rests on these
    offsets = offsets_of(layout, solved, means, sums)
    level = sums.minus < 0
    offset_precision = totals(sums.block[level], sums.weight[level], len(sums.blocks))
    return LinearFit(
        means=means.high,
        own=parts.values.own,
        touched=np.arange(n),
        loads=parts.half.high.T,
        covariance=np.eye(layout.rows.x.shape[1]),
        precision=np.zeros(n),
        offset_precision=offset_precision,
        offsets=offsets,
        group=np.zeros(n, dtype=np.int64),
        residuals=np.empty(0),  # these three are found later
        rank=0,
        ridge=ridge,
        level=float(offsets[reference_place(offset_precision)]),
        penalty=0.0,
        dim=dim,
        fine=means.low if solved.exact else None,
        weights=solved.solution.high[layout.before :],
        slack=solved.slack,
        parts=parts,
    )


def estimated_weights(features: Floats, sums: Sums, deviation: float, ridge: float) -> Floats:
    """The weights of the features, (dim,)."""
    return np.asarray(Parts(features, sums, deviation, ridge).solved.solution.high[-features.shape[1] :])


def offsets_of(layout: RowLayout, solved: SolvedRows, means: Twofold, sums: Sums) -> Floats:
    """The estimated offsets of all blocks, (n_blocks,); 0 for one without a measurement."""
    level = np.flatnonzero(sums.minus < 0)
    offsets = np.zeros(len(sums.blocks))
    # Of an option that is alone in a block nothing is learned: what remains of its value is the offset.
    offsets[sums.block[level]] = sums.value[level] - means.high[sums.plus[level]]
    offsets[layout.blocks] = solved.shared().high if layout.blocks.size else 0.0
    seats = layout.seats.size
    offsets[layout.offsets] = solved.solution.high[seats : layout.before]
    return offsets


def determined(features: Floats, sums: Sums) -> Codes:
    """Columns of the features that the measurements determine, whatever their weights; others follow.

    Of features that were only measured together, the first and longest stand for the others: the fit without
    ridge is the same.
    """
    rows, level = feature_rows(features, sums, False).high, sums.minus < 0
    size = float(np.sqrt(np.einsum("ij,ij->", rows, rows)))
    blocks, place = np.unique(sums.block[level], return_inverse=True)
    if blocks.size:
        count = np.bincount(place)
        centre = np.column_stack([np.bincount(place, column) for column in rows[level].T]) / count[:, None]
        rows[level] -= centre[place]
    dim = features.shape[1]
    products = rows.T @ rows
    if products.size and np.linalg.eigvalsh(products)[0] > 1e-9 * size**2:
        return np.arange(dim)
    upper = np.asarray(np.linalg.qr(rows, mode="r"))
    if upper.shape[0] == dim and np.linalg.svd(upper, compute_uv=False)[-1] > RANK_TOLERANCE * size:
        return np.arange(dim)
    found: list[int] = []
    left = upper.copy()
    for _ in range(min(upper.shape)):
        length = np.einsum("ij,ij->j", left, left)
        at = int(np.argmax(length > 0.99 * length.max()))
        if length[at] <= (RANK_TOLERANCE * size) ** 2:
            break
        found.append(at)
        unit = left[:, at] / np.sqrt(length[at])
        for _ in range(2):  # twice is enough (Kahan): what is left is orthogonal to rounding
            left -= np.outer(unit, unit @ left)
        left[:, found] = 0.0
    return np.sort(np.array(found, dtype=np.int64))


def solve_free(laid_out: Callable[[bool], RowLayout], columns: Codes) -> SolvedRows:
    """The fit without ridge, on the columns of the features that are determined."""
    before, dim = laid_out(False).before, laid_out(False).dim
    kept = np.concatenate([np.arange(before), before + columns])

    def rows(exact: bool) -> WeightedRows:
        whole = laid_out(exact).rows
        return whole if columns.size == dim else WeightedRows(whole.x.at((slice(None), kept)), *whole[1:])

    return solve(rows, np.zeros(kept.size))


def restricted(features: Floats, sums: Sums, deviation: float, columns: Codes) -> float:
    """The part of -2·log L that depends on pooled measurements: determinants, and what the fit leaves."""
    layouts: dict[bool, RowLayout] = {}

    def laid_out(exact: bool) -> RowLayout:
        if exact not in layouts:
            layouts[exact] = lay_out(features, sums, deviation, exact)
        return layouts[exact]

    free = solve_free(laid_out, columns)
    layout = laid_out(free.exact)
    weighted = np.sqrt(layout.rows.weight) * free.residuals
    return sums.within + float(weighted @ weighted) + free.log_det + layout.log_rest
