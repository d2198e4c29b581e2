"""How values change as time goes on, in per cent, where values are on a log scale.

Timings drift: a machine warms up, another job begins. Options that are measured in rounds, each round a
block, are compared within rounds, and what a round has in common is taken off; here it is said how much that
is. Without blocks drift adds to the scatter, and no error bar tells of it.
"""

import math
from typing import NamedTuple

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.core.support.distributions import f_tails
from noisewise.core.support.words import number
from noisewise.study.log.measurements import KINDS, NO_BLOCK, Codes
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.sums import totals
from noisewise.study.telling.error_bars import ITEMS

#: Blocks from which on a drift can be told from blocks that merely differ; degrees of freedom without blocks.
FEWEST_BLOCKS, FEWEST = 6, 8
#: The probability with which chance makes a drift look as clear: of blocks, and where it does harm.
CHANCE_OF_BLOCKS, CHANCE = 0.01, 0.001


class Slope(NamedTuple):
    """A straight line through values in the order of telling."""

    rise: float  # from the first to the last, of logarithms
    chance: float  # that a line this steep is found where there is none


def about_time(analysis: Analysis) -> list[str]:
    """Notes on blocks and on drift; none where values are as they are, or nothing was measured."""
    columns = analysis.columns
    if not analysis.specification.value_scale.log or not columns.value.size:
        return []
    named = [code for code in np.unique(columns.block) if columns.blocks[code] != NO_BLOCK]
    return _about_blocks(analysis) if named else _without_blocks(analysis)


def _about_blocks(analysis: Analysis) -> list[str]:
    """How far blocks lie apart, and whether they drift."""
    offsets, names = block_offsets(analysis)
    if len(names) < 2:
        return []
    from_usual = offsets - np.median(offsets)
    low, high = int(np.argmin(from_usual)), int(np.argmax(from_usual))
    said = [
        f"Blocks lie from {_percent(from_usual[low])} ({names[low]}) to {_percent(from_usual[high])} "
        f"({names[high]}) around their median, which comparisons within blocks take off."
    ]
    if len(names) >= FEWEST_BLOCKS:
        order = np.arange(len(names), dtype=np.float64)
        slope = _line(order, offsets, np.ones(len(names)), np.zeros(len(names), dtype=np.int64))
        if slope.chance < CHANCE_OF_BLOCKS:
            said.append(
                f"They drift: values {_way(slope.rise)} by about {_size(slope.rise)} from the first block to "
                "the last. Blocks take it off as long as every option is measured in each."
            )
    return said


def block_offsets(analysis: Analysis) -> tuple[Floats, list[str]]:
    """What each named block adds to the logarithms of its values, in the order of telling, and their names.

    Of the largest group of connected options: only within one do offsets compare.
    """
    columns, fit, sums = analysis.columns, analysis.estimates, analysis.sums
    group = fit.group[columns.plus]
    largest = np.argmax(np.bincount(group[group >= 0])) if (group >= 0).any() else -1
    rows = np.flatnonzero((columns.minus < 0) & (group == largest))
    rows = rows[np.argsort(columns.number[rows])]
    blocks, first = np.unique(columns.block[rows], return_index=True)
    blocks = blocks[np.argsort(first)]
    names = [columns.blocks[code] for code in blocks if columns.blocks[code] != NO_BLOCK]
    places = [sums.blocks.index(name) for name in names]
    return np.asarray(analysis.specification.sign * fit.offsets[places]), names


def _without_blocks(analysis: Analysis) -> list[str]:
    """Whether values change with the order of telling, where nothing takes that off."""
    alone = analysis.columns.kind != KINDS.index(ITEMS)  # items are compared one by one, whenever they came
    columns, sigma = analysis.columns.select(alone), analysis.sigmas.estimated[alone]
    weight = np.where(np.isfinite(sigma) & (sigma > 0.0), sigma, 1.0) ** -2.0
    order = np.argsort(np.argsort(columns.number)).astype(np.float64)
    if columns.value.size - np.unique(columns.plus).size - 1 < FEWEST:
        return []
    slope = _line(order, columns.value, weight, columns.plus)
    if slope.chance >= CHANCE:
        return []
    return [
        f"Values drift: they {_way(slope.rise)} by about {_size(slope.rise)} from the first measurement to "
        "the last. Measure the options in rounds, and tell each round as a block=: then options are compared "
        "within rounds."
    ]


def _line(order: Floats, value: Floats, weight: Floats, option: Codes) -> Slope:
    """A common slope of values over their order, every option with a level of its own: an F test."""
    n = 1 + int(option.max())
    total = np.maximum(totals(option, weight, n), 1e-300)

    def around(column: Floats) -> Floats:
        return np.asarray(column - (totals(option, weight * column, n) / total)[option])

    across, up = around(order), around(value)
    freedom = value.size - np.unique(option).size - 1
    spread = float(weight @ across**2)
    if freedom < 1 or spread <= 0.0:
        return Slope(0.0, 1.0)
    slope = float(weight @ (across * up)) / spread
    left = float(weight @ (up - slope * across) ** 2)
    explained = slope * slope * spread
    rise = slope * float(np.ptp(order))
    if left <= 1e-24 * explained:
        return Slope(rise, 0.0 if explained > 0.0 else 1.0)
    return Slope(rise, f_tails(1.0, float(freedom), explained / left * freedom).upper)


def _percent(apart: float) -> str:
    side = "below" if apart < 0.0 else "above"
    return f"{number(abs(100.0 * math.expm1(apart)), 2)} % {side}"


def _size(rise: float) -> str:
    return f"{number(abs(100.0 * math.expm1(rise)), 2)} %"


def _way(rise: float) -> str:
    return "rise" if rise > 0.0 else "fall"
