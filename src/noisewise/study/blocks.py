"""What is promised about blocks: how a study bounds differences within them, and signs of a broken promise.

``"contrasts"``: offsets are projected out, which costs nothing, and asks that what is measured next within a
block depends on contrasts only (`noisewise.study.contrasts`). ``"any"``: every offset is paid for, and
anybody may choose what to measure by anything.

The promise concerns whoever looks at the first value of a block and then leaves the block. Before a second
value there is no contrast, so a block that has one measurement was left by chance: there should be few of
them, and their values should be like the first values of blocks that went on. So should those of blocks in
which one option was measured again and again: whoever repeats a low value instead of comparing it leaves the
block as well. Where either is not so, the study falls back on the bound that holds for anybody.
"""

import math

import numpy as np

from noisewise.core.model import Floats
from noisewise.study.fit import Fit
from noisewise.study.measurements import NO_BLOCK, Codes, Columns
from noisewise.study.show import counted

#: The part of δ that is kept for the fall-back.
DOUBTED = 0.05
#: So many blocks may be left after one measurement, whatever their values: work under way, mishaps.
FEW = 4
#: And beyond these, at most this part of the blocks that went on.
SHARE = 0.1
#: Error probability of the comparison of first values.
LEVEL = 0.01


def doubt_about_blocks(columns: Columns, fit: Fit, sign: float) -> str | None:
    """Why blocks seem to have been left by looking at values; None if they do not.

    Args:
        columns: The measurements.
        fit: Their estimates.
        sign: Of the goal.
    """
    named = np.array([name != NO_BLOCK for name in columns.blocks], dtype=bool)
    rows = np.flatnonzero((columns.minus < 0) & named[columns.block])
    counts = np.bincount(columns.block[rows], minlength=named.size)
    left, went_on = int((counts == 1).sum()), int((counts > 1).sum())
    if left > FEW + SHARE * went_on and went_on:
        return f"{_left(left, went_on)}: more than chance explains"
    alone = (counts > 0) & (_distinct(columns.block[rows], columns.plus[rows], named.size) == 1)
    if alone.sum() <= FEW or not (counts > 0)[~alone].any():
        return None
    order = rows[np.lexsort((columns.number[rows], columns.block[rows]))]
    first = order[np.unique(columns.block[order], return_index=True)[1]]
    above = sign * columns.value[first] - fit.means[columns.plus[first]]
    stayed = alone[columns.block[first]]
    if not _differ(above[stayed], above[~stayed]):
        return None
    if left == alone.sum():
        return f"{_left(left, went_on)}, with other first values"
    compare = counted(int((~stayed).sum()), "block")
    return (
        f"{int(alone.sum())} blocks hold one option alone, with other first values than {compare} of several"
    )


def _left(left: int, went_on: int) -> str:
    return f"{left} blocks were left after one measurement, and {went_on} went on"


def _distinct(blocks: Codes, options: Codes, size: int) -> Codes:
    """How many options were measured in each block, (size,)."""
    pairs = np.unique(np.column_stack([blocks, options]), axis=0)
    return np.bincount(pairs[:, 0], minlength=size)


def _differ(some: Floats, others: Floats) -> bool:
    """Whether two sets of values differ in rank (Wilcoxon, with ties and the normal approximation)."""
    both = np.concatenate([some, others])
    _, which, counts = np.unique(both, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2.0)[which]
    n, m = some.size, others.size
    total = n + m
    ties = float(np.sum(counts**3.0 - counts)) / (total * (total - 1.0))
    variance = n * m / 12.0 * (total + 1.0 - ties)
    if variance <= 0.0:
        return False
    apart = abs(float(ranks[:n].sum()) - n * (total + 1.0) / 2.0)
    return math.erfc(apart / math.sqrt(2.0 * variance)) < LEVEL
