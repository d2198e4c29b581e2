"""The rows of the linear models: which unknowns a measurement touches, and which are eliminated beforehand.

**Linear.** Unknowns are the weights θ of the features; the rows of a block share its offset, which is
eliminated as the unknown of a group (`exact/weighted_rows.py`). A block with one row says nothing.

**With deviations** of size τ an option's value ``s = <θ, z> + d`` is an unknown of its own, tied to its
features by ``d = 0 ± τ``. Either the options are eliminated or the blocks, whichever are more; a **seat**
is an unknown s that stays.

*Blocks are eliminated*: every measured option has a seat, and a row ``s - <θ, z> = 0 ± τ``.

*Options are eliminated*: offsets of blocks stay. The rows of an option are their differences to its weighted
mean, which touch offsets alone, and that mean itself, which is its features give or take τ: independent
parts, all weights positive,

    mean of values = <mean of offset rows, b> + <θ, z>      with variance 1/W + τ².

Compared options (ends of a measured difference) have seats there as well.

The unknowns stand in the order seats, offsets, θ, so that the last part of the factor is what is known of
the weights when all else is unknown.
"""

from typing import NamedTuple

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.study.models.exact import twofold as tf
from noisewise.study.models.exact.twofold import Twofold
from noisewise.study.models.exact.weighted_rows import Codes, SolvedRows, WeightedRows, product
from noisewise.study.models.sums import Sums, totals


class Merged(NamedTuple):
    """Options that were eliminated: each has one row that ties its mean to its features."""

    options: Codes  # (k,)
    first: int  # where their rows begin
    share: Twofold  # (k, offsets): what part of the option's weight lies in each block
    value: Twofold  # (k,): weighted means
    weight: Floats  # (k,)
    kept: Twofold  # (k,): 1/(1 + τ²·weight), the part of the features in the option's value
    seen: Twofold  # (k,): 1 - kept, the part of its measurements


class RowLayout(NamedTuple):
    """WeightedRows, and what their unknowns are."""

    rows: WeightedRows
    seats: Codes  # (seats,): options
    offsets: Codes  # (offsets,): blocks whose offset is an unknown
    blocks: Codes  # (groups,): blocks whose offset is eliminated; empty if options are
    data: Codes  # the rows of the sums that are the first rows here
    merged: Merged | None
    dim: int
    deviation: float
    exact: bool  # whether rows have their low parts
    log_rest: float  # what eliminated unknowns and priors add to the logarithm of the determinant

    @property
    def before(self) -> int:
        """How many unknowns come before the weights."""
        return self.seats.size + self.offsets.size


def values_of(sums: Sums) -> Twofold:
    """The pooled values with their low parts."""
    return tf.twofold(sums.value, sums.fine)


def feature_rows(features: Floats, sums: Sums, exact: bool) -> Twofold:
    """The features of every row, (rows, dim)."""
    rows, difference = features[sums.plus], np.flatnonzero(sums.minus >= 0)
    if not exact or not difference.size:
        rows[difference] -= features[sums.minus[difference]]
        return tf.plainly(rows)
    whole = tf.twofold(rows)
    whole.put(difference, tf.sum_of(rows[difference], -features[sums.minus[difference]]))
    return whole


def lay_out(
    features: Floats, sums: Sums, deviation: float, exact: bool, *, keep_offsets: bool = False
) -> RowLayout:
    """The rows of pooled measurements.

    Args:
        features: ``(n, dim)``, whitened.
        sums: The pooled measurements.
        deviation: τ; 0 for the linear model.
        exact: Whether low parts will be needed.
        keep_offsets: In the model with deviations, whether every block's offset must be an unknown.
    """
    if deviation == 0.0:
        return _linear(features, sums, exact)
    level = sums.minus < 0
    size = np.bincount(sums.block[level], minlength=len(sums.blocks))
    alone = level & (size[sums.block] == 1) & (not keep_offsets)
    compared = np.unique(np.concatenate([sums.plus[~level], sums.minus[~level]]))
    used = level & ~alone
    options = np.unique(sums.plus[used])
    blocks = np.unique(sums.block[used])
    lonely = float(np.log(sums.weight[alone]).sum())
    others = np.setdiff1d(options, compared, assume_unique=True)
    if keep_offsets or blocks.size <= others.size:
        data = np.flatnonzero(~alone)
        return _options_eliminated(features, sums, deviation, exact, data, compared, others, blocks, lonely)
    return _blocks_eliminated(features, sums, deviation, exact, np.flatnonzero(~alone), blocks, lonely)


def _linear(features: Floats, sums: Sums, exact: bool) -> RowLayout:
    level = sums.minus < 0
    blocks, place = np.unique(sums.block[level], return_inverse=True)
    group = np.full(sums.plus.size, -1)
    group[level] = place
    rows = WeightedRows(feature_rows(features, sums, exact), values_of(sums), sums.weight, group, blocks.size)
    none = np.empty(0, dtype=np.int64)
    log_rest = float(np.log(totals(place, sums.weight[level], blocks.size)).sum())
    data = np.arange(sums.plus.size)
    return RowLayout(rows, none, none, blocks, data, None, features.shape[1], 0.0, exact, log_rest)


def _blocks_eliminated(
    features: Floats, sums: Sums, deviation: float, exact: bool, data: Codes, blocks: Codes, lonely: float
) -> RowLayout:
    level = sums.minus[data] < 0
    plus, minus = sums.plus[data], sums.minus[data]
    seats = np.unique(np.concatenate([plus, minus[~level]]))
    m, dim = data.size, features.shape[1]
    x = np.zeros((m + seats.size, seats.size + dim))
    _seat(x, np.arange(m), seats, plus, minus)
    _tie(x, m, seats, features)
    group = np.full(len(x), -1)
    group[:m][level] = place = np.searchsorted(blocks, sums.block[data][level])
    value, weight = _with_priors(sums, data, seats.size, deviation)
    rows = WeightedRows(tf.plainly(x), value, weight, group, blocks.size)
    log_rest = float(np.log(totals(place, sums.weight[data][level], blocks.size)).sum())
    log_rest += lonely + 2.0 * seats.size * float(np.log(deviation))
    return RowLayout(rows, seats, blocks[:0], blocks, data, None, dim, deviation, exact, log_rest)


def _options_eliminated(
    features: Floats,
    sums: Sums,
    deviation: float,
    exact: bool,
    data: Codes,
    seats: Codes,
    options: Codes,
    blocks: Codes,
    lonely: float,
) -> RowLayout:
    dim = features.shape[1]
    q, place = seats.size + blocks.size + dim, np.searchsorted(blocks, sums.block)
    seated = np.zeros(len(features), dtype=bool)
    seated[seats] = True
    # WeightedRows of compared options, then those of others that have several, then ties and means.
    count = np.bincount(sums.plus[data], minlength=len(features))
    other = ~seated[sums.plus[data]]
    first, several = data[~other], data[other & (count[sums.plus[data]] > 1)]
    data = np.concatenate([first, several])
    x = np.zeros((data.size + seats.size, q))
    _seat(x, np.arange(first.size), seats, sums.plus[first], sums.minus[first])
    there = np.flatnonzero(sums.minus[data] < 0)
    x[there, seats.size + place[data[there]]] = 1.0
    _tie(x, data.size, seats, features)
    own, members = np.unique(sums.plus[several], return_inverse=True)
    group = np.full(len(x) + options.size, -1)
    group[first.size : data.size] = members
    every = np.flatnonzero(np.isin(sums.plus, options) & (sums.minus < 0) & np.isin(sums.block, blocks))
    merge = _merge_exactly if exact else _merge
    merged = merge(sums, every, options, place[every], blocks.size, deviation, len(x))
    tied = np.zeros((options.size, q))
    tied[:, seats.size + blocks.size :] = features[options]
    tied[:, seats.size : seats.size + blocks.size] = merged.share.high
    whole = tf.plainly(np.vstack([x, tied]))
    if exact:
        whole = tf.twofold(whole.high)
        whole.low[len(x) :, seats.size : seats.size + blocks.size] = merged.share.low
    value, weight = _with_priors(sums, data, seats.size, deviation)
    value = _joined(value, merged.value)
    weight = np.concatenate([weight, merged.weight / (1.0 + deviation**2 * merged.weight)])
    rows = WeightedRows(whole, value, weight, group, own.size)
    log_rest = lonely + float(np.log1p(deviation**2 * merged.weight).sum())
    log_rest += 2.0 * seats.size * float(np.log(deviation))
    return RowLayout(rows, seats, blocks, blocks[:0], data, merged, dim, deviation, exact, log_rest)


def _merge(
    sums: Sums, every: Codes, options: Codes, place: Codes, offsets: int, deviation: float, first: int
) -> Merged:
    """Weighted means over the blocks of each option; `every` are their rows, `place` the columns of these."""
    owner, weight, value = np.searchsorted(options, sums.plus[every]), sums.weight[every], sums.value[every]
    total = totals(owner, weight, options.size)
    share = np.zeros((options.size, offsets))
    share[owner, place] = weight / total[owner]
    mean = totals(owner, weight * value, options.size) / total
    fine = value - mean[owner] if sums.fine is None else (value - mean[owner]) + sums.fine[every]
    mean_of_rest = totals(owner, weight * fine, options.size) / total
    ratio = deviation**2 * total
    kept = 1.0 / (1.0 + ratio)
    whole = tf.twofold(mean, mean_of_rest)
    return Merged(options, first, tf.plainly(share), whole, total, tf.plainly(kept), tf.plainly(ratio * kept))


def _merge_exactly(
    sums: Sums, every: Codes, options: Codes, place: Codes, offsets: int, deviation: float, first: int
) -> Merged:
    """The same in twofold numbers."""
    owner, weight = np.searchsorted(options, sums.plus[every]), sums.weight[every]
    total = tf.group_totals(tf.twofold(weight), owner, options.size)
    part = tf.divide(tf.twofold(weight), total.at(owner))
    share = Twofold(np.zeros((options.size, offsets)), np.zeros((options.size, offsets)))
    share.put((owner, place), part)
    value = tf.group_totals(tf.multiply(part, values_of(sums).at(every)), owner, options.size)
    one, size = tf.twofold(np.ones(options.size)), np.full(options.size, deviation)
    ratio = tf.multiply(tf.product_of(size, size), total)
    kept = tf.divide(one, tf.add(one, ratio))
    return Merged(options, first, share, value, total.high, kept, tf.multiply(ratio, kept))


def _seat(x: Floats, rows: Codes, seats: Codes, plus: Codes, minus: Codes) -> None:
    x[rows, np.searchsorted(seats, plus)] = 1.0
    compared = np.flatnonzero(minus >= 0)
    x[rows[compared], np.searchsorted(seats, minus[compared])] = -1.0


def _tie(x: Floats, first: int, seats: Codes, features: Floats) -> None:
    """WeightedRows ``s - <θ, z> = 0``."""
    at = np.arange(seats.size)
    x[first + at, at] = 1.0
    x[first + at, x.shape[1] - features.shape[1] :] = -features[seats]


def _with_priors(sums: Sums, data: Codes, seats: int, deviation: float) -> tuple[Twofold, Floats]:
    value = _joined(values_of(sums).at(data), tf.twofold(np.zeros(seats)))
    return value, np.concatenate([sums.weight[data], np.full(seats, deviation**-2.0)])


def _joined(one: Twofold, other: Twofold) -> Twofold:
    return Twofold(np.concatenate([one.high, other.high]), np.concatenate([one.low, other.low]))


class Values(NamedTuple):
    """The options' values: ``base + <loads, u>``, and a part of their own, independent of all else."""

    base: Twofold  # (n,)
    loads: Twofold  # (n, q)
    own: Floats  # (n,): its variance


def option_values(layout: RowLayout, features: Floats) -> Values:
    """What the unknowns say about each option."""
    n, q, before = len(features), layout.rows.x.shape[1], layout.before
    loads = tf.plainly(np.zeros((n, q)))
    loads.high[:, before:] = features
    base, own = tf.twofold(np.zeros(n)), np.full(n, layout.deviation**2)
    loads.high[layout.seats] = 0.0
    loads.high[layout.seats, np.arange(layout.seats.size)] = 1.0
    own[layout.seats] = 0.0
    if layout.merged is None:
        return Values(base, loads, own)
    options, kept = layout.merged.options, layout.merged.kept
    seen = layout.merged.seen
    own[options] *= kept.high
    offsets = slice(layout.seats.size, before)
    if not layout.exact:
        loads.high[options, offsets] = -layout.merged.share.high * seen.high[:, None]
        loads.high[options, before:] *= kept.high[:, None]
        base.high[options] = seen.high * layout.merged.value.high
        return Values(base, loads, own)
    loads = tf.twofold(loads.high)
    loads.put((options, offsets), tf.multiply(layout.merged.share, seen.at((slice(None), None))).negative())
    scaled = tf.multiply(tf.twofold(features[options]), kept.at((slice(None), None)))
    loads.put((options, slice(before, q)), scaled)
    base.put(options, tf.multiply(seen, layout.merged.value))
    return Values(base, loads, own)


def means_of(values: Values, solved: SolvedRows) -> Twofold:
    """The options' estimated values, (n,)."""
    along = product(values.loads, solved.solution, solved.exact)
    return tf.add(values.base, along) if solved.exact else tf.plainly(values.base.high + along.high)


def left_in_rows(layout: RowLayout, solved: SolvedRows, rows: int) -> tuple[Floats, float]:
    """Residuals of the rows of the sums, and ``Σ (deviation/τ)²``; 0 for a row that is alone in its block."""
    residuals, left = np.zeros(rows), solved.residuals
    residuals[layout.data] = left[: layout.data.size]
    seats = left[layout.data.size : layout.data.size + layout.seats.size]
    penalty = float(np.sum((seats / layout.deviation) ** 2)) if seats.size else 0.0
    return residuals, penalty


def spread_merged(
    layout: RowLayout, solved: SolvedRows, sums: Sums, residuals: Floats, penalty: float
) -> tuple[Floats, float]:
    """The same with what the means of eliminated options leave: part is noise, part the deviation."""
    merged = layout.merged
    if merged is None:
        return residuals, penalty
    left = solved.residuals[merged.first :]
    kept = np.zeros(int(sums.plus.max(initial=0)) + 1)
    kept[merged.options] = left * merged.kept.high
    mine = np.isin(sums.plus, merged.options) & (sums.minus < 0) & np.isin(sums.block, layout.offsets)
    residuals = residuals + np.where(mine, kept[sums.plus], 0.0)
    away = left * merged.seen.high / layout.deviation
    return residuals, penalty + float(np.sum(away * away))
