"""The blocks that coming measurements will be in, and how many are asked for at once."""

from datetime import date
from typing import NamedTuple

import numpy as np

from noisewise.core.checks import check_count
from noisewise.study.asking.pending import DIFFERENCE, block_going_on, usual_probe
from noisewise.study.log.measurements import NO_BLOCK
from noisewise.study.log.specification import RACE
from noisewise.study.models.analysis import Analysis


class ComingBlocks(NamedTuple):
    """How the study goes on: blocks of a size, one after the other."""

    size: int | None  # measurements in a block; None: all that come share the block of the last one
    batch: int  # how many are asked for at once, within a block
    name: str  # the block of the last measurement
    room: int  # how many more belong there, if blocks have a size
    as_so_far: bool  # whether the size was found, and not said
    days: bool  # whether all blocks are named by dates
    centre: float  # the mean offset of blocks so far
    spread: float  # its standard deviation

    @property
    def unit(self) -> str:
        """What a block is called."""
        return "day" if self.days else "block"

    def begun(self, count: float) -> float:
        """How many new blocks so many measurements begin; one begun counts."""
        if self.size is None or not np.isfinite(count):
            return count if self.size is not None else 0.0
        return float(-(-max(0, int(count) - self.room) // self.size))


def coming_blocks(analysis: Analysis, block: int | None, batch: int | None) -> ComingBlocks:
    """The blocks to come, as was said, or as they were so far.

    Args:
        analysis: What was measured.
        block: How many measurements a block will hold; None: as usual so far, if the last one is in a block.
        batch: How many are asked for at once; None: one.
    """
    name, sizes = block_going_on(analysis), _sizes(analysis)
    held = sizes.get(name, 0)
    differences = usual_probe(analysis) == DIFFERENCE and analysis.state.policy.name == RACE
    if block is not None:
        size: int | None = check_count("block", block)
        if size == 1:
            raise ValueError(
                "`block` must be at least 2: a block with one measurement says nothing about differences."
            )
        if differences:
            raise ValueError(
                "`block` must be left out: this study measures differences, which no block shifts."
            )
    elif name == NO_BLOCK:
        size = None
    else:
        others = [count for other, count in sizes.items() if other != name] or [held]
        size = int(np.sort(others)[len(others) // 2])
        size = size if size > 1 else None
    at_once = 1 if batch is None else check_count("batch", batch)
    if size is not None and at_once > size:
        raise ValueError(
            f"`batch` must be at most `block`, which is {size}: what is asked for at once is in one block."
        )
    centre, spread = _offsets(analysis)
    return ComingBlocks(
        size=size,
        batch=at_once,
        name=name,
        room=0 if size is None or name == NO_BLOCK else max(0, size - held),
        as_so_far=block is None,
        days=bool(sizes) and all(map(_is_date, sizes)),
        centre=centre,
        spread=spread,
    )


def _sizes(analysis: Analysis) -> dict[str, int]:
    """How many measurements each named block holds."""
    columns = analysis.columns
    level = (columns.minus < 0) & (True if columns.arm is None else ~columns.arm)
    counts = np.bincount(columns.block[level], minlength=len(columns.blocks))
    return {
        name: int(count)
        for name, count in zip(columns.blocks, counts, strict=True)
        if count and name != NO_BLOCK
    }


def _is_date(name: str) -> bool:
    try:
        date.fromisoformat(name)
    except ValueError:
        return False
    return True


def _offsets(analysis: Analysis) -> tuple[float, float]:
    """Mean and standard deviation of the estimated offsets of named blocks."""
    if not analysis.columns.value.size:
        return 0.0, 0.0
    fit = analysis.estimates
    offsets = fit.offsets[1:][fit.offset_precision[1:] > 0.0]
    return (float(offsets.mean()), float(offsets.std())) if offsets.size else (0.0, 0.0)
