"""What each measurement taught when it came: its part of the growth of the log-determinant.

With V the precision of all unknowns (a prior as wide as half the span included), a measurement of row x with
standard error σ raises ``log det V`` by ``log(1 + xᵀV⁻¹x/σ²)``. In any order these add up to the same total.

Everything an option has for itself is its own part; everything shared (the features' weights, offsets of
blocks, options that were compared) is the border u, kept as a square root S of its covariance (Potter's
form, which does not lose digits when sigmas differ by many decades):

    value_k = own part (variance ``own_k``) + ``<load_k, u>``,     u with covariance SSᵀ.
"""

import math

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.study.asking.chooser import unit_of
from noisewise.study.log.measurements import NO_BLOCK
from noisewise.study.models.analysis import Analysis


class _Books:
    """What is known of every option while the measurements come in; in units of half the span."""

    def __init__(self, analysis: Analysis) -> None:
        columns = analysis.columns
        level = columns.minus < 0
        named = [code for code in np.unique(columns.block[level]) if columns.blocks[code] != NO_BLOCK]
        compared = np.unique(np.concatenate([columns.plus[~level], columns.minus[~level]]))
        # What an option has for itself: all of its value, its deviation, or nothing.
        alone, self._shared = analysis.model.prior_parts(analysis.sizes.deviation / unit_of(analysis))
        self.own = np.full(analysis.n, alone**2)
        self.own[compared] = 0.0  # these sit in the border
        shared = self._shared.shape[1]
        seats = compared.size if alone > 0.0 else 0
        self.size = shared + len(named) + seats
        self._alone = alone
        self._seats = {
            int(option): self.size - seats + place for place, option in enumerate(compared[:seats])
        }
        self.places = {int(code): shared + place for place, code in enumerate(named)}
        self.root = np.eye(self.size)
        self.loads: dict[int, Floats] = {}

    def load(self, option: int) -> Floats:
        """How an option depends on what is shared, (size,)."""
        if option not in self.loads:
            load = np.zeros(self.size)
            load[: self._shared.shape[1]] = self._shared[option]
            if option in self._seats:
                load[self._seats[option]] = self._alone
            self.loads[option] = load
        return self.loads[option]

    def learn(self, plus: int, minus: int, block: int, sigma: float) -> float:
        """Take in one measurement; returns by how much the log-determinant grew."""
        if self.size == 0:
            return self._learn_alone(plus, sigma)
        row, place = self.load(plus), None
        if minus >= 0:
            row = row - self.load(minus)
        elif (place := self.places.get(block)) is not None:
            row = row.copy()
            row[place] += 1.0
        noise, own = sigma * sigma, float(self.own[plus])
        along = row @ self.root
        shared, alone = float(along @ along), noise + own
        share = 1.0 / (shared + alone)
        step = share / (1.0 + math.sqrt(alone * share))
        self.root -= np.outer(step * (self.root @ along), along)
        if own > 0.0:
            # Given u, the own part was measured at value - <row, u>: u now explains less of the option.
            kept = noise / alone
            load = kept * self.loads[plus]
            if place is not None:
                load[place] -= 1.0 - kept
            self.loads[plus] = load
            self.own[plus] = own * kept
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


def information_of_last(analysis: Analysis) -> float:
    """What the measurement that was told last taught, in nats; equal probes before it are taken together.

    Where options share nothing, only those of the same option matter.
    """
    columns = analysis.columns
    sigma = analysis.sigmas.estimated / unit_of(analysis)
    books = _Books(analysis)
    rows = np.column_stack([columns.plus, columns.minus, columns.block])
    last, before = rows[-1], np.ones(len(rows), dtype=bool)
    before[-1] = False
    if books.size == 0:
        before &= rows[:, 0] == last[0]
    probes, place = np.unique(rows[before], axis=0, return_inverse=True)
    weights = np.bincount(place.ravel(), sigma[before] ** -2.0, minlength=len(probes))
    for (plus, minus, block), weight in zip(probes.tolist(), weights.tolist(), strict=True):
        books.learn(plus, minus, block, weight**-0.5)
    plus, minus, block = last.tolist()
    return books.learn(plus, minus, block, float(sigma[-1]))
