"""Pooled sums: one row per distinct probe, the same to the last bit whatever the order of telling."""

from typing import NamedTuple

import numpy as np

from noisewise.core.model import Floats
from noisewise.core.twofold import add, subtract, twofold
from noisewise.study.measurements import NO_BLOCK, Codes, Columns


#: The parts of `Sums` that have an entry per row.
ROWS = ("plus", "minus", "block", "value", "fine", "weight")


class Sums(NamedTuple):
    """What was measured: per probe (an option in a block, or a difference) its weighted mean and weight."""

    plus: Codes  # (rows,)
    minus: Codes  # (rows,): NOBODY unless a difference
    block: Codes  # (rows,): places in ``blocks``; differences cancel offsets and have NO_BLOCK's
    value: Floats  # (rows,): weighted means times the goal's sign, minus ``centre`` unless a difference
    fine: Floats  # (rows,): what these values lack as doubles; see `noisewise.core.twofold`
    weight: Floats  # (rows,)
    blocks: list[str]  # sorted; NO_BLOCK first
    centre: float
    within: float  # Σ weight·(value - mean of its probe)²
    n_measurements: int

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
        return self._replace(**{name: getattr(self, name)[~alone] for name in ROWS})


def totals(codes: Codes, weights: Floats, size: int) -> Floats:
    """The sum of the weights of each code, (size,)."""
    return np.asarray(np.bincount(codes, weights, size), dtype=np.float64)


def block_places(columns: Columns, blocks: list[str]) -> Codes:
    """The block of every measurement as a place in the sorted list, (N,)."""
    place = {name: at for at, name in enumerate(blocks)}
    places: Codes = np.array([place[name] for name in columns.blocks], dtype=np.int64)
    return places[columns.block]


def pool(columns: Columns, sigma: Floats, sign: float) -> Sums:
    """Pool the measurements with these standard errors."""
    blocks = [NO_BLOCK, *sorted(set(columns.blocks) - {NO_BLOCK})]
    difference = columns.minus >= 0
    block = np.where(difference, 0, block_places(columns, blocks))
    # A difference the other way round is the same probe.
    turned = difference & (columns.minus > columns.plus)
    plus, minus = np.where(turned, columns.minus, columns.plus), np.where(turned, columns.plus, columns.minus)
    value = np.where(turned, -sign, sign) * columns.value
    levels = value[~difference]
    centre = float(np.median(levels)) if levels.size else 0.0
    weight = sigma**-2.0
    # One number per probe; sorting by value and weight, too, makes the sums independent of the order told.
    n = 1 + int(plus.max(initial=0))
    probe = (plus * (n + 1) + minus + 1) * len(blocks) + block
    order = _order(probe, value, weight)
    value, weight, probe = value[order], weight[order], probe[order]
    if not order.size:
        return Sums(plus, minus, block, value, value, weight, blocks, centre, 0.0, 0)
    fresh = np.ones(order.size, dtype=bool)
    fresh[1:] = np.diff(probe) != 0
    starts, which = np.flatnonzero(fresh), np.cumsum(fresh) - 1
    weights = np.add.reduceat(weight, starts)
    base = value[_heaviest(weight, starts, which)]
    # The heaviest value and the mean deviation from it: values of 1e6 keep the digits of error bars of 1e-6.
    mean_apart = np.add.reduceat(weight / weights[which] * (value - base[which]), starts)
    rows = order[starts]
    zero = np.where(difference[rows], 0.0, centre)
    means = add(twofold(base), twofold(mean_apart))
    apart = subtract(twofold(value), means.at(which)).plain
    means = subtract(means, twofold(zero))
    within = float(np.sum(weight * apart * apart))
    return Sums(
        plus[rows], minus[rows], block[rows], means.high, means.low, weights, blocks, centre, within,
        order.size,
    )  # fmt: skip


def _heaviest(weight: Floats, starts: Codes, which: Codes) -> Codes:
    """The place of the heaviest measurement of each probe, the first of several."""
    top = weight == np.maximum.reduceat(weight, starts)[which]
    places = np.where(top, np.arange(weight.size), weight.size)
    return np.asarray(np.minimum.reduceat(places, starts))


def _order(probe: Codes, value: Floats, weight: Floats) -> Codes:
    """Places sorted by probe, then value, then weight; who is equal in all three is interchangeable.

    Three stable sorts take most of the time of a question to a large study. Ties in the value are rare, and
    few probes fit 16 bits, which NumPy sorts by counting.
    """
    few = int(probe.max(initial=0)) < 2**16
    by_value = np.argsort(value)
    order = by_value[np.argsort(probe[by_value].astype(np.uint16 if few else np.int64), kind="stable")]
    tied = (np.diff(probe[order]) == 0) & (np.diff(value[order]) == 0.0)
    if (np.diff(weight[order])[tied] != 0.0).any():
        return np.lexsort((weight, value, probe))
    return order
