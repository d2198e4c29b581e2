"""The fit of independent options, with unknown offsets per block.

Offsets are unknowns without any prior, so only differences between options mean something, and only between
options that are connected: measured in a common block, compared directly, or through others. In every
connected group one node is set to 0; nothing that is reported depends on which.
"""

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.study.models.connected_parts import UNMEASURED, Component, find_components
from noisewise.study.models.fit import Fit, left_over, reference_place
from noisewise.study.models.sums import Sums, totals


def fit_independent(n: int, sums: Sums) -> Fit:
    """One unknown per option."""
    n_blocks = len(sums.blocks)
    level = sums.minus < 0
    precision = totals(sums.plus, sums.weight, n)
    precision += totals(sums.minus[~level], sums.weight[~level], n)
    offset_precision = totals(sums.block[level], sums.weight[level], n_blocks)
    own, means, fine = np.full(n, np.inf), np.zeros(n), np.zeros(n)
    offsets, fine_offsets = np.zeros(n_blocks), np.zeros(n_blocks)
    group = np.full(n, UNMEASURED)
    log_det, slack, components = 0.0, 0.0, []
    if not sums.has_border:
        own[sums.plus] = 1.0 / sums.weight
        means[sums.plus] = sums.value
        fine[sums.plus] = 0.0 if sums.fine is None else sums.fine
        group[precision > 0.0] = 0
        log_det, rank = float(np.log(sums.weight).sum()), sums.plus.size
    else:
        components = find_components(n, sums)
        rank = 0
        for part in components:
            root = root_of(part, offset_precision)
            values, last = part.values(root)
            grounded = part.grounded(root)
            count = part.options.size
            means[part.options], fine[part.options] = values.high[:count], values.low[:count]
            offsets[part.blocks], fine_offsets[part.blocks] = -values.high[count:], -values.low[count:]
            own[part.options] = part.variances(grounded, root)[:count]
            group[part.options] = part.options[0]
            log_det, slack, rank = log_det + grounded.log_det, max(slack, last), rank + part.size - 1
    residuals = left_over(sums, means, offsets, fine, fine_offsets)
    return Fit(
        means=means, own=own, precision=precision, group=group, offsets=offsets,
        offset_precision=offset_precision, residuals=residuals, rank=rank, fine=fine, slack=slack,
        log_det=log_det, components=tuple(components),
    )  # fmt: skip


def independent_rank(n: int, sums: Sums) -> int:
    """How many unknowns measurements of independent options determine: a matter of connections alone."""
    if not sums.has_border:
        return int(sums.plus.size)
    return sum(part.size - 1 for part in find_components(n, sums))


def root_of(part: Component, offset_precision: Floats) -> int:
    """The node set to 0: the block without a name, else the one with the most precision, else an option."""
    if not part.blocks.size:
        return 0
    return part.options.size + reference_place(offset_precision[part.blocks], part.blocks)
