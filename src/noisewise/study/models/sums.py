"""Pooled sums: one row per distinct probe, the same to the last bit whatever the order of telling."""

from typing import Any, NamedTuple

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.core.growing_order import GrowingOrder, Orders
from noisewise.study.log.measurements import NO_BLOCK, Codes, Columns
from noisewise.study.models.solver import two_sum

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
        self._centre = order.median if levels is None else float(np.median(levels)) if levels.size else 0.0
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
