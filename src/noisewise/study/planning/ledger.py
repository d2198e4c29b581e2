"""What each measurement taught when it came: its part of the growth of the log-determinant.

With V the precision of all unknowns (a prior as wide as half the span included), a measurement of row x with
standard error σ raises ``log det V`` by ``log(1 + xᵀV⁻¹x/σ²)``. In any order these add up to the same total.

Unknowns that only meet in measurements by way of others are leaves, kept one by one; everything else is the
border u, kept as a square root S of its covariance (Potter's form, which does not lose digits when sigmas
differ by many decades). A measurement has one leaf at most:

    value = leaf + <rest, u>,     leaf = own part (variance ``own``) + <load, u>,     u with covariance SSᵀ.

The border holds the features' weights and the options that were compared. Options and blocks meet in
measurements: the smaller group joins the border, the other one becomes leaves. So a measurement costs the
square of the smaller number, however many there are of the other.
"""

import math

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.study.asking.policy import unit_of
from noisewise.study.log.measurements import NO_BLOCK
from noisewise.study.models.analysis import Analysis


class _Books:
    """What is known of every option while the measurements come in; in units of half the span."""

    def __init__(self, analysis: Analysis) -> None:
        columns, n = analysis.columns, analysis.n
        level = columns.minus < 0
        names = [columns.blocks[code] != NO_BLOCK for code in range(len(columns.blocks))]
        in_block = level & np.array(names, dtype=bool)[columns.block]
        blocks = np.unique(columns.block[in_block])
        seated = np.unique(np.concatenate([columns.plus[~level], columns.minus[~level]]))
        # What an option has for itself: all of its value, its deviation, or nothing.
        alone, self._shared = analysis.model.prior_parts(analysis.sizes.deviation / unit_of(analysis))
        with_blocks = np.union1d(seated, columns.plus[in_block])
        #: Whether blocks are leaves; else the options are.
        self._block_leaves = alone == 0.0 or with_blocks.size - seated.size < blocks.size
        if self._block_leaves:
            seated = with_blocks
        shared = self._shared.shape[1]
        if alone == 0.0:
            seated = seated[:0]
        self.own = np.full(n + len(columns.blocks), alone**2)
        self.own[seated] = 0.0
        self.own[n:] = 1.0
        self._n, self._alone = n, alone
        self._seats = {int(option): shared + place for place, option in enumerate(seated)}
        self.places = {int(block): shared + seated.size + place for place, block in enumerate(blocks)}
        self.size = shared + seated.size + (0 if self._block_leaves else blocks.size)
        self.root = np.eye(self.size)
        self.loads: dict[int, Floats] = {}  # of the leaves that were measured, and of options

    def load(self, option: int) -> Floats:
        """How an option depends on the border, (size,)."""
        if option not in self.loads:
            load = np.zeros(self.size)
            load[: self._shared.shape[1]] = self._shared[option]
            if option in self._seats:
                load[self._seats[option]] = self._alone
            self.loads[option] = load
        return self.loads[option]

    def learn(self, plus: int, minus: int, block: int, sigma: float) -> float:
        """Take in one measurement; returns by how much the log-determinant grew."""
        if self.size == 0 and not self.places:
            return self._learn_alone(plus, sigma)
        leaf, rest = plus, np.zeros(self.size)
        if minus >= 0:
            rest = -self.load(minus)
        elif (place := self.places.get(block)) is not None:
            if self._block_leaves:
                leaf, rest = self._n + block, self.load(plus)
            else:
                rest[place] = 1.0
        load = self.load(leaf) if leaf < self._n else self.loads.get(leaf, np.zeros(self.size))
        row = load + rest
        noise, own = sigma * sigma, float(self.own[leaf])
        along = row @ self.root
        shared, alone = float(along @ along), noise + own
        share = 1.0 / (shared + alone)
        step = share / (1.0 + math.sqrt(alone * share))
        self.root -= np.outer(step * (self.root @ along), along)
        if own > 0.0:
            # Given u, the own part was measured at value - <row, u>: u now explains less of the leaf.
            kept = noise / alone
            self.loads[leaf] = kept * load - (1.0 - kept) * rest
            self.own[leaf] = own * kept
        return math.log1p((shared + own) / noise)

    def _learn_alone(self, option: int, sigma: float) -> float:
        """The same where nothing is shared: to the last bit what empty arrays would give, and sooner."""
        noise, own = sigma * sigma, float(self.own[option])
        if own > 0.0:
            self.own[option] = own * (noise / (noise + own))
        return math.log1p(own / noise)


def information(analysis: Analysis) -> Floats:
    """What each measurement taught, in nats, in the order of telling, (N,)."""
    columns = analysis.columns
    sigma = analysis.sigmas.estimated / unit_of(analysis)
    books = _Books(analysis)
    rows = zip(
        columns.plus.tolist(), columns.minus.tolist(), columns.block.tolist(), sigma.tolist(), strict=True
    )
    return np.array([books.learn(*row) for row in rows])
