"""On which level estimates are shown: offsets of blocks make any level as true as another.

Only differences between options mean something where blocks have offsets, so a level has to be chosen, for
display alone. It is that of the average block: a control whose daily shares average 0.11 is shown at 0.11,
whichever day the fit sets to 0, and however much more precise the days with small shares are. Measurements
without a block count as one block.
"""

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.study.log.measurements import Codes
from noisewise.study.models.fit import Fit
from noisewise.study.models.sums import Sums, totals

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
    usual = float(np.median(precision[precision > 0.0]))
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
    for name in np.unique(fit.group[fit.group >= 0]).tolist():
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
    blocks = np.unique(sums.block[level])
    if level.all():
        return blocks.size > 1
    return not np.array_equal(blocks, [0])


def difference_errors(fit: Fit, option: int) -> Floats:
    """The standard errors of all options' differences to this one, (n,): 0 for itself, NaN if not linked."""
    errors = np.sqrt(fit.variances_apart(option))
    errors[~np.isfinite(errors)] = np.nan
    return np.asarray(errors)
