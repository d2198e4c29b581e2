"""Pooled sums, the least-squares fit behind estimates, certificate and check, and the level that is shown.

**Sums** have one row per distinct probe, the same to the last bit whatever the order of recording.

**The fit** is the same for every model. A value in a block is the option's value plus the block's offset,
which is unknown and has no prior. Nor have options, or the weights of features: what the measurements do not
determine has no estimate.

**The level.** Only differences between options mean something where blocks have offsets, so a level has to be
chosen, for display alone. It is that of the average block: a control whose daily shares average 0.11 is shown
at 0.11, whichever day the fit sets to 0, and however much more precise the days with small shares are.
Measurements without a block count as one block.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from noisewise.core.blocks import Floats, Mask, distinct, median
from noisewise.core.growing_order import GrowingOrder, Orders
from noisewise.study.log.measurements import NO_BLOCK, Codes, Columns
from noisewise.study.models.solver import (
    GROUND,
    RANGE,
    Gaussian,
    Layout,
    Observations,
    Targets,
    two_sum,
    undetermined,
)

#: The parts of `Sums` that have an entry per row.
ROWS = ("plus", "minus", "block", "value", "fine", "weight")


class Sums(NamedTuple):
    """What was measured: per probe (an option in a block, or a difference) its weighted mean and weight."""

    plus: Codes  # (rows,)
    minus: Codes  # (rows,): NOBODY unless a difference
    block: Codes  # (rows,): places in ``blocks``; differences cancel offsets and have NO_BLOCK's
    value: Floats  # (rows,): weighted means times the goal's sign, minus ``centre`` unless a difference
    weight: Floats  # (rows,)
    blocks: list[str]  # sorted; NO_BLOCK first
    centre: float
    within: float  # Σ weight·(value - mean of its probe)²
    n_measurements: int
    fine: Floats | None = None  # (rows,): what ``value`` lacks to be the exact weighted mean

    @property
    def has_border(self) -> bool:
        """Whether anything connects options: an offset or a difference."""
        return bool((self.minus >= 0).any() or (self.block > 0).any())

    def without_lone_blocks(self) -> "Sums":
        """The rows that say something about differences: a block with one probe says nothing."""
        level = self.minus < 0
        probes = np.bincount(self.block[level], minlength=len(self.blocks))
        alone = level & (probes[self.block] == 1)
        if level.all() and (probes[1:] < 2).all():
            alone &= self.block > 0  # nothing is connected: values without a block stand for themselves
        if not alone.any():
            return self
        return self.select(~alone)

    def row_of(self, columns: Columns) -> Codes:
        """The row that each of the measurements is in, (N,)."""
        high, low = np.maximum(columns.plus, columns.minus), np.minimum(columns.plus, columns.minus)
        block = np.where(columns.minus < 0, block_places(columns, self.blocks), 0)
        n = 1 + int(self.plus.max(initial=0))

        def probe(plus: Codes, minus: Codes, block: Codes) -> Codes:
            return (plus * (n + 1) + minus + 1) * len(self.blocks) + block

        return np.searchsorted(probe(self.plus, self.minus, self.block), probe(high, low, block))

    def select(self, kept: Any) -> "Sums":
        """Some of the rows, by a mask or a slice."""
        parts: Any = {name: getattr(self, name) for name in ROWS}
        some: Any = {name: None if part is None else part[kept] for name, part in parts.items()}
        return self._replace(**some)


def totals(codes: Codes, weights: Floats, size: int) -> Floats:
    """The sum of the weights of each code, (size,)."""
    return np.asarray(np.bincount(codes, weights, size), dtype=np.float64)


def block_places(columns: Columns, blocks: list[str]) -> Codes:
    """The block of every measurement as a place in the sorted list, (N,)."""
    if len(columns.blocks) == len(blocks) == 1:
        return columns.block
    place = {name: at for at, name in enumerate(blocks)}
    places: Codes = np.array([place[name] for name in columns.blocks], dtype=np.int64)
    return places[columns.block]


class Probes:
    """Measurements sorted by probe once, to be pooled with one standard error after the other.

    Args:
        columns: The measurements.
        sigma: Their standard errors; those to pool with must not change their order.
        sign: Of the goal: large values are good.
    """

    def __init__(self, columns: Columns, sigma: Floats, sign: float) -> None:
        self._blocks = [NO_BLOCK, *sorted(set(columns.blocks) - {NO_BLOCK})]
        plus, minus, block = columns.plus, columns.minus, block_places(columns, self._blocks)
        value, difference, levels = sign * columns.value, columns.minus >= 0, None
        if difference.any():
            levels = value[~difference]
            block = np.where(difference, 0, block)
            # A difference the other way round is the same probe.
            turned = difference & (minus > plus)
            plus, minus = np.where(turned, minus, plus), np.where(turned, plus, minus)
            value = np.where(turned, -value, value)
        # One number per probe; sorting by value and weight as well makes sums independent of the order told.
        n = 1 + int(plus.max(initial=0))
        probe = (plus * (n + 1) + minus + 1) * len(self._blocks) + block
        order = sorted_by(columns, "probes", probe, value)
        self._starts, self._of_row = order.starts, order.group_of_row
        self._order = order.places
        self._centre = order.median if levels is None else median(levels) if levels.size else 0.0
        if not order.is_settled(sigma):
            self._order = np.lexsort((sigma**-2.0, value, probe))
        self._value = value[self._order]
        rows = self._order[self._starts]
        self._plus, self._minus, self._block = plus[rows], minus[rows], block[rows]

    def pool(self, sigma: Floats) -> Sums:
        """The sums with these standard errors."""
        if not self._order.size:
            empty = np.zeros(0)
            names = self._plus, self._minus, self._block
            return Sums(*names, empty, empty, self._blocks, self._centre, 0.0, 0)
        weight = inverse_squares(sigma[self._order])
        weights = np.add.reduceat(weight, self._starts)
        means = np.add.reduceat(weight * self._value, self._starts) / weights
        apart = self._value - means[self._of_row]
        # The mean of what is left over has as many places as the mean itself, and begins where that ends.
        fine = np.add.reduceat(weight * apart, self._starts) / weights
        apart -= fine[self._of_row]
        within = float(np.sum(weight * apart * apart))
        # Pooled values are few: only they are centred, and what rounding loses is kept.
        means, lost = two_sum(means, np.where(self._minus < 0, -self._centre, 0.0))
        fine += lost
        return Sums(
            self._plus, self._minus, self._block, means, weights, self._blocks, self._centre, within,
            self._order.size, fine,
        )  # fmt: skip


def pool(columns: Columns, sigma: Floats, sign: float) -> Sums:
    """Pool the measurements with these standard errors."""
    return Probes(columns, sigma, sign).pool(sigma)


def inverse_squares(sigma: Floats) -> Floats:
    """``sigma**-2.0``, to the last bit; where neighbours are equal it is computed once: powers take long."""
    if sigma.size < 2:
        return np.asarray(sigma**-2.0)
    fresh = np.ones(sigma.size, dtype=bool)
    np.not_equal(sigma[1:], sigma[:-1], out=fresh[1:])
    starts = np.flatnonzero(fresh)
    if 2 * starts.size > sigma.size:
        return np.asarray(sigma**-2.0)
    return np.repeat(sigma[starts] ** -2.0, np.diff(starts, append=sigma.size))


def sorted_by(columns: Columns, name: str, group: Codes, value: Floats) -> GrowingOrder:
    """Measurements sorted by group and value, with what is known of the order that they had before.

    Args:
        columns: The measurements.
        name: What they are sorted for.
        group: Of each, (N,).
        value: Of each, (N,).
    """
    return (Orders() if columns.orders is None else columns.orders).of(name, group, value)


#: The group of an option that nothing was measured of, and nothing follows for.
UNMEASURED = -1
#: Means of many measurements are further apart than these, by this much at most.
POOLED = 100.0
#: Options that lie this close along what is undetermined, beside 1, can be compared.
SAME = 1e-6


class Fit(NamedTuple):
    """Estimates, and where options are connected the solution that they come from."""

    means: Floats  # (n,)
    fine: Floats  # (n,): what the means lack as doubles
    own: Floats  # (n,): squared standard errors against the reference; infinite without an estimate
    precision: Floats  # (n,): the precision of an option's own measurements
    group: Codes  # (n,): which options can be compared; UNMEASURED if never measured
    offsets: Floats  # (n_blocks,): 0 for those that were set to 0 or never measured
    offset_precision: Floats  # (n_blocks,): the precision of each offset were all else known
    residuals: Floats  # (rows of the sums,)
    left: float  # the weighted sum of their squares, with those of deviations
    rank: int  # how many unknowns were determined
    log_det: float  # of the precision of these
    slack: float = 0.0  # how far off estimates may be, in standard errors
    solved: Gaussian | None = None  # None where options share nothing
    connected: bool = False  # whether blocks or differences connect independent options
    weights: Floats | None = None  # (d,): of the features
    silent: Floats = np.zeros((0, 0))  # (n, s): how options move along undetermined weights
    level: float = 0.0  # what to add to the means to have values as in the reference block

    def differences(self, option: int) -> Floats:
        """By how much each option is estimated above this one, (n,): without the rounding of the means."""
        apart = (self.means - self.means[option]) + (self.fine - self.fine[option])
        return np.asarray(apart)

    def squares(self, sums: Sums) -> float:
        """What the fit leaves: chi-square on as many degrees of freedom as measurements exceed the rank."""
        return sums.within + self.left

    def variances(self) -> Floats:
        """Squared standard errors of the options, (n,)."""
        return self.own.copy()

    def variances_of_rows(self, sums: Sums) -> Floats:
        """Squared standard errors of what is fitted for each row of the sums, (rows,)."""
        if self.solved is None:
            return self.own[sums.plus]
        return np.asarray(self.solved.left_out(sums.plus.size).leverage / sums.weight)

    def comparable(self, option: int) -> Mask:
        """Which options have an estimated difference to this one, (n,)."""
        return np.asarray((self.group == self.group[option]) & (self.group >= 0))

    def variances_apart(self, option: int) -> Floats:
        """Squared standard errors of the differences to one option, (n,); infinite without an estimate."""
        solved = self.solved
        found = self.own + self.own[option] if solved is None else solved.variances_apart(option)
        found[~self.comparable(option)] = np.inf
        found[option] = 0.0
        return np.asarray(found)


def reference_place(precision: Floats) -> int:
    """The place of the block that others are compared with.

    It is the block without a name, if anything was measured there, else the one with the most precision.
    """
    return 0 if precision[0] > 0.0 else int(np.argmax(precision))


class Equations:
    """The rows of a model for some probes, whatever their weights and values.

    Nodes are the options, if they have a part of their own, and the blocks.

    Args:
        n: How many options there are.
        sums: Pooled measurements with these probes.
        features: ``(n, d)``; None for independent options.
        deviating: Whether options deviate from the weighted sums of their features.
    """

    def __init__(
        self, n: int, sums: Sums, features: Floats | None = None, *, deviating: bool = False
    ) -> None:
        level = sums.minus < 0
        #: Rows that say how large deviations are.
        self._n, self.ties = n, n if deviating else 0
        self.dim = 0 if features is None else features.shape[1]
        d = self.dim
        none, m = np.full(max(n, sums.plus.size), GROUND), sums.plus.size
        self.silent = np.zeros((n, 0))
        basis = np.eye(d)
        if features is not None:
            basis, null = undetermined(_contrasts(features, sums), float(np.abs(features).max(initial=0.0)))
            self.silent = features @ null
        if features is not None and not deviating:
            self.first = 0  # the node of the first block
            plus, minus = np.where(level, sums.block, GROUND), none[:m]
            dense = features[sums.plus] - np.where(level[:, None], 0.0, features[sums.minus])
            self._targets = Targets(none[:n], features)
        else:
            self.first = n
            plus, minus = sums.plus, np.where(level, n + sums.block, sums.minus)
            dense = np.zeros((m, d))
            self._targets = Targets(np.arange(n), np.zeros((n, d)))
        if deviating and features is not None:
            plus, minus = np.concatenate([plus, np.arange(n)]), np.concatenate([minus, none[:n]])
            dense = np.vstack([dense, -features])
        blocks = len(sums.blocks)
        precision = totals(sums.block[level], sums.weight[level], blocks)
        precision[0] = np.inf
        anchors = np.concatenate([self.first + np.argsort(-precision, kind="stable"), np.arange(self.first)])
        self._nodes = self.first + blocks
        self._ends, self._anchors = (plus, minus, dense), anchors
        self.layout = Layout(plus, minus, dense, self._nodes, anchors, basis)

    def solve(self, sums: Sums, deviation: float = 0.0) -> Gaussian:
        """The solution with these values and weights."""
        nothing = np.zeros(self.ties)
        fine = np.zeros(sums.plus.size) if sums.fine is None else sums.fine
        weight = sums.weight
        if self.ties:
            weight = np.concatenate([weight, np.full(self.ties, deviation**-2.0)])
        value, low = np.concatenate([sums.value, nothing]), np.concatenate([fine, nothing])
        return Gaussian(
            Observations(*self._ends, value, low, weight), self._targets, self._nodes, self.layout
        )


def _contrasts(features: Floats, sums: Sums) -> Floats:
    """What rows say about the weights with equal error bars: features less the mean of their block."""
    rows, level = features[sums.plus], sums.minus < 0
    rows[~level] -= features[sums.minus[~level]]
    if level.any():
        place = sums.block[level]
        count = np.bincount(place)
        sums_ = np.column_stack([np.bincount(place, column) for column in rows[level].T])
        rows[level] -= (sums_ / np.maximum(count, 1)[:, None])[place]
    return rows


def fit_independent(n: int, sums: Sums) -> Fit:
    """One unknown per option; offsets of blocks and measured differences connect options."""
    if sums.has_border:
        return solved_fit(n, sums, Equations(n, sums), 0.0)
    level = sums.minus < 0
    precision = totals(sums.plus, sums.weight, n)
    own, means, fine = np.full(n, np.inf), np.zeros(n), np.zeros(n)
    own[sums.plus] = 1.0 / sums.weight
    means[sums.plus] = sums.value
    fine[sums.plus] = 0.0 if sums.fine is None else sums.fine
    return Fit(
        means=means, fine=fine, own=own, precision=precision,
        group=np.where(precision > 0.0, 0, UNMEASURED), offsets=np.zeros(len(sums.blocks)),
        offset_precision=totals(sums.block[level], sums.weight[level], len(sums.blocks)),
        residuals=np.zeros(sums.plus.size), left=0.0, rank=sums.plus.size,
        log_det=float(np.log(sums.weight).sum()),
    )  # fmt: skip


def fit_features(features: Floats, sums: Sums, deviation: float = 0.0) -> Fit:
    """One weight per feature, an offset per block, and a deviation per option or none.

    Args:
        features: ``(n, d)``, whitened.
        sums: The pooled measurements.
        deviation: The size of the deviations; 0 for the linear model.
    """
    return solved_fit(
        len(features), sums, Equations(len(features), sums, features, deviating=deviation > 0.0), deviation
    )


def solved_fit(n: int, sums: Sums, equations: Equations, deviation: float) -> Fit:
    """The fit of some equations; deviations of size 0 are none."""
    solved, level = equations.solve(sums, deviation), sums.minus < 0
    first, blocks, count = equations.first, len(sums.blocks), sums.plus.size
    precision = totals(sums.plus, sums.weight, n)
    precision += totals(sums.minus[~level], sums.weight[~level], n)
    offset_precision = totals(sums.block[level], sums.weight[level], blocks)
    means, fine = solved.values()
    halves = solved.halves
    own = solved.own[solved.targets.node] + np.einsum("ij,ij->j", halves, halves)
    with_features = solved.layout.d > 0
    offsets = solved.high[first : first + blocks].copy()
    if first:
        offsets = -offsets
    if with_features:
        group = _comparable(equations.silent, precision > 0.0)
    else:
        group = _lowest(solved.layout.part[:n], precision > 0.0)
    own[group == UNMEASURED] = np.inf
    if not np.isfinite(solved.slack):
        means, fine, own = np.nan_to_num(means, posinf=0.0, neginf=0.0), np.zeros(n), np.full(n, np.inf)
    weight = sums.weight
    too_far = weight.size > 0 and bool(weight.max() > (POOLED * RANGE) ** 2 * weight.min())
    residuals = solved.residuals
    return Fit(
        means=means, fine=fine, own=own, precision=precision, group=group, offsets=offsets,
        offset_precision=offset_precision, residuals=residuals[:count], left=solved.squares,
        rank=solved.rank - equations.ties,
        log_det=solved.log_det, slack=math.inf if too_far else solved.slack, solved=solved,
        connected=not with_features, silent=equations.silent,
        weights=solved.high[solved.nodes :][: equations.dim] if with_features else None,
        level=float(offsets[reference_place(offset_precision)]) if level.any() else 0.0,
    )  # fmt: skip


def _lowest(labels: Codes, measured: Mask) -> Codes:
    """The lowest option of each option's part; UNMEASURED without a measurement, (n,)."""
    _, first, which = np.unique(labels, return_index=True, return_inverse=True)
    return np.where(measured, first[which], UNMEASURED)


def _comparable(silent: Floats, measured: Mask) -> Codes:
    """Options that move alike along what is undetermined, (n,); UNMEASURED if none of them was measured."""
    n = len(silent)
    if not silent.shape[1]:
        return np.zeros(n, dtype=np.int64) if measured.any() else np.full(n, UNMEASURED)
    found, size = np.full(n, UNMEASURED), SAME * (1.0 + np.abs(silent).max())
    for option in np.flatnonzero(measured).tolist():
        if found[option] == UNMEASURED:
            found[(np.abs(silent - silent[option]) <= size).all(axis=1)] = option
    return found


#: A block with less than this part of the usual precision counts for less: its offset is hardly known.
HARDLY_KNOWN = 0.1


def block_votes(sums: Sums) -> Floats:
    """How much each block counts in the average one, (n_blocks,): 1, and less if it is hardly known.

    Not its precision: of shares, the small ones are the precise ones, and would pull the average down.
    """
    level = sums.minus < 0
    precision = totals(sums.block[level], sums.weight[level], len(sums.blocks))
    if not level.any():
        return precision
    usual = median(precision[precision > 0.0])
    return np.asarray(np.minimum(1.0, precision / (HARDLY_KNOWN * usual)))


def display_levels(fit: Fit, sums: Sums) -> Floats:
    """What to add to the means of the fit, (n,): the same for all options that are connected.

    ``Σ vote·offset / Σ vote`` over the blocks of a group, plus the centre; for a group of differences alone,
    minus the mean of its options.
    """
    names, group = np.unique(fit.group, return_inverse=True)
    level = sums.minus < 0
    blocks, first = np.unique(sums.block[level], return_index=True)
    of_block, vote = group[sums.plus[level][first]], block_votes(sums)[blocks]  # a block is in one group
    votes = totals(of_block, vote, names.size)
    offsets = totals(of_block, vote * fit.offsets[blocks], names.size)
    means = totals(group, fit.means, names.size) / totals(group, np.ones(group.size), names.size)
    with np.errstate(invalid="ignore", divide="ignore"):
        levels = np.where(votes > 0.0, sums.centre + offsets / votes, -means)
    levels[names < 0] = sums.centre  # never measured: there is nothing to show
    return np.asarray(levels[group])


def display_errors(fit: Fit, sums: Sums) -> Floats:
    """The standard errors of the values shown, (n,): of each option against its group's level."""
    errors = np.sqrt(fit.variances())
    if not fit.connected:
        return np.asarray(errors)
    level = sums.minus < 0
    blocks, first = np.unique(sums.block[level], return_index=True)
    votes, group = block_votes(sums), fit.group[sums.plus[level][first]]
    for name in distinct(fit.group[fit.group >= 0]).tolist():
        errors[fit.group == name] = _errors(
            fit, np.flatnonzero(fit.group == name), blocks[group == name], votes
        )
    return np.asarray(errors)


def _errors(fit: Fit, options: Codes, blocks: Codes, votes: Floats) -> Floats:
    """Of ``option - Σ c·node``, c being the votes of a part's blocks, or equal for its options; Σ c = 1."""
    solved, n = fit.solved, fit.means.size
    assert solved is not None
    own, half = solved.own[options], solved.half[:, options]
    if blocks.size:
        c, nodes, mine = votes[blocks] / votes[blocks].sum(), n + blocks, np.zeros(options.size)
    else:
        c, nodes = np.full(options.size, 1.0 / options.size), options
        mine = c
    apart = half - (solved.half[:, nodes] @ c)[:, None]
    found = own * (1.0 - 2.0 * mine) + float(c**2 @ solved.own[nodes]) + np.einsum("ij,ij->j", apart, apart)
    return np.asarray(np.sqrt(np.maximum(found, 0.0)))


def only_differences(sums: Sums) -> bool:
    """Whether nothing but differences of options is known, so that their level is a convention.

    Values of one block, or without any, have a level; differences beside values without a block take theirs.
    """
    level = sums.minus < 0
    blocks = distinct(sums.block[level])
    if level.all():
        return blocks.size > 1
    return not np.array_equal(blocks, [0])


def difference_errors(fit: Fit, option: int) -> Floats:
    """The standard errors of all options' differences to this one, (n,): 0 for itself, NaN if not linked."""
    errors = np.sqrt(fit.variances_apart(option))
    errors[~np.isfinite(errors)] = np.nan
    return np.asarray(errors)
