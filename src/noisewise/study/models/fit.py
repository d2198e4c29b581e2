"""The least-squares fit behind estimates, certificate and check, the same for every model.

A value in a block is the option's value plus the block's offset, which is unknown and has no prior. Nor have
options, or the weights of features: what the measurements do not determine has no estimate.
"""

import math
from typing import NamedTuple

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.core.selection import Mask
from noisewise.study.log.measurements import Codes
from noisewise.study.models.solver import GROUND, RANGE, Gaussian, Layout, Observations, Targets, undetermined
from noisewise.study.models.sums import Sums, totals

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
    """Where the block stands that others are compared with.

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
        self._n, self._ties = n, n if deviating else 0
        d = 0 if features is None else features.shape[1]
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
        self._ends = plus, minus, dense
        self.layout = Layout(plus, minus, dense, self._nodes, anchors, basis)

    def solve(self, sums: Sums, deviation: float = 0.0) -> Gaussian:
        """The solution with these values and weights."""
        nothing = np.zeros(self._ties)
        fine = np.zeros(sums.plus.size) if sums.fine is None else sums.fine
        weight = sums.weight
        if self._ties:
            weight = np.concatenate([weight, np.full(self._ties, deviation**-2.0)])
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
        return _solved(n, sums, Equations(n, sums), 0.0)
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
    return _solved(
        len(features), sums, Equations(len(features), sums, features, deviating=deviation > 0.0), deviation
    )


def _solved(n: int, sums: Sums, equations: Equations, deviation: float) -> Fit:
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
    rank = solved.rank - (n if deviation > 0.0 else 0)
    return Fit(
        means=means, fine=fine, own=own, precision=precision, group=group, offsets=offsets,
        offset_precision=offset_precision, residuals=residuals[:count], left=solved.squares, rank=rank,
        log_det=solved.log_det, slack=math.inf if too_far else solved.slack, solved=solved,
        connected=not with_features, silent=equations.silent,
        weights=solved.high[solved.nodes :] if with_features else None,
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
