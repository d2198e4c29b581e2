"""What is promised about blocks: how a study bounds differences within them, and signs of a broken promise.

``"contrasts"``: offsets are projected out, which costs nothing, and asks that what is measured next within a
block depends on contrasts only (`noisewise.study.models.networks.contrasts`). ``"any"``: every offset is paid
for, and what is measured may be chosen by anything.

The promise is broken by looking at the first value of a block and then leaving the block, repeating the
value, or picking the option to compare it with. Before a second option there is no contrast, so what comes
after the first value must not depend on it. Two signs of a breach are looked for: more blocks with one
measurement than chance explains; and first values that are higher or lower, by rank, where one thing came
next than where another did. Where either is found, the study falls back on the bound that holds whatever
decided what was measured.
"""

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.core.support.distributions import chi_square_tails
from noisewise.core.support.ranks import mean_ranks
from noisewise.study.log.measurements import NO_BLOCK, Codes, Columns
from noisewise.study.models.fit import Fit

#: The part of δ that is kept for the fall-back.
DOUBTED = 0.05
#: Blocks that may be left after one measurement, whatever their values: work under way, mishaps.
FEW = 4
#: And beyond these, at most this part of the blocks that went on.
SHARE = 0.1
#: Error probability of the comparison of first values.
LEVEL = 0.01
#: A second option with less than this part of the first one's precision says nothing: the block was left.
NEGLIGIBLE = 1e-3
#: Blocks before and after, whose first values say what is usual: offsets may drift.
AROUND = 5
#: The least number of times that the same option came second, after the same first one, to be compared.
OFTEN = 3
NOTHING = -1


def doubt_about_blocks(columns: Columns, sigma: Floats, fit: Fit, sign: float) -> str | None:
    """Why blocks seem to have been filled by looking at values; None if they do not.

    Args:
        columns: The measurements.
        sigma: Their standard errors.
        fit: Their estimates.
        sign: Of the goal.
    """
    named = np.array([name != NO_BLOCK for name in columns.blocks], dtype=bool)
    # Arms of one study are tried side by side: no value came before the choice of another.
    apart = True if columns.arm is None else ~columns.arm
    rows = np.flatnonzero((columns.minus < 0) & named[columns.block] & apart)
    counts = np.bincount(columns.block[rows], minlength=named.size)
    left, went_on = int((counts == 1).sum()), int((counts > 1).sum())
    if left > FEW + SHARE * went_on and went_on:
        return (
            f"{left} blocks were left after one measurement, and {went_on} went on: more than chance explains"
        )
    rows = rows[np.argsort(columns.number[rows], kind="stable")]
    first, second = _beginnings(columns.block[rows], columns.plus[rows], sigma[rows])
    if (second == NOTHING).all():
        return None
    above = sign * columns.value[rows[first]] - fit.means[columns.plus[rows[first]]]
    if _chance(_without_drift(above), columns.plus[rows[first]], second) >= LEVEL:
        return None
    lone = int((second == NOTHING).sum())
    left_alone = f" ({lone} of them were left with one option)" if lone else ""
    return f"what came second in {first.size} blocks{left_alone} went with how high their first values were"


def _beginnings(block: Codes, option: Codes, sigma: Floats) -> tuple[Codes, Codes]:
    """The place of each block's first row, in their order; and the option that came next, or NOTHING."""
    order = np.argsort(block, kind="stable")
    starts = np.flatnonzero(np.diff(block[order], prepend=-1))
    which = np.repeat(np.arange(starts.size), np.diff(np.append(starts, order.size)))
    first = order[starts]
    # A rough value beside a precise one says nothing about their difference.
    tells = (sigma[first][which] / sigma[order]) ** 2 >= NEGLIGIBLE
    other = tells & (option[order] != option[first][which])
    at = np.minimum.reduceat(np.where(other, np.arange(order.size), order.size), starts)
    second = np.where(at < order.size, option[order[np.minimum(at, order.size - 1)]], NOTHING)
    by_time = np.argsort(first)
    return first[by_time], second[by_time]


def _without_drift(above: Floats) -> Floats:
    """First values less the median of those of the blocks around them."""
    if above.size < 2:
        return np.zeros(above.size)
    padded = np.pad(above, AROUND, constant_values=np.nan)
    around = np.delete(np.lib.stride_tricks.sliding_window_view(padded, 2 * AROUND + 1), AROUND, axis=1)
    return np.asarray(above - np.nanmedian(around, axis=1))


def _chance(values: Floats, first: Codes, second: Codes) -> float:
    """How likely ranks that differ as much are if what came second does not depend on them.

    Kruskal and Wallis, within blocks that began with the same option, and summed up.
    """
    statistic, freedom = 0.0, 0
    for option in np.unique(first):
        here = np.flatnonzero(first == option)
        _, which, often = np.unique(second[here], return_inverse=True, return_counts=True)
        here, which = here[often[which] >= OFTEN], which[often[which] >= OFTEN]
        if np.unique(which).size < 2:
            continue
        ranks, ties = mean_ranks(values[here])
        count = here.size
        correction = 1.0 - float(np.sum(ties**3.0 - ties)) / (count**3.0 - count)
        if correction <= 0.0:
            continue
        middle = (count + 1.0) / 2.0
        spread = sum(
            (which == kind).sum() * (ranks[which == kind].mean() - middle) ** 2 for kind in np.unique(which)
        )
        statistic += 12.0 / (count * (count + 1.0)) * float(spread) / correction
        freedom += np.unique(which).size - 1
    return 1.0 if not freedom else chi_square_tails(freedom, statistic).upper
