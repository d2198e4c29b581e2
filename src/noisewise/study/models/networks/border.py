"""What independent options share, as a rule's model holds it: offsets of blocks, and compared options.

With more blocks than options the options are the border, and the offsets are eliminated.
"""

import numpy as np

from noisewise.study.log.measurements import Codes
from noisewise.study.models.exact.pooled_model import Border
from noisewise.study.models.sums import Sums, totals


def assemble_border(
    n: int, sums: Sums, blocks: Codes, compared: Codes, ridge: float, *, flat: bool = False
) -> Border:
    """The network of options and of what they share.

    Args:
        n: Number of options.
        sums: The pooled measurements.
        blocks: Blocks whose offset is an unknown.
        compared: Options that sit in the border, because they were compared with others.
        ridge: Prior precision of every unknown.
        flat: Whether offsets have no prior, so that contrasts alone count; every row must then be a
            difference or in one of the blocks.
    """
    level = sums.minus < 0
    measured = np.unique(np.concatenate([sums.plus, sums.minus[~level]]))
    if blocks.size > measured.size:
        return _options_as_border(n, sums, measured, ridge, blocks, flat)
    q = blocks.size + compared.size
    seat_of = np.full(n + 1, -1)  # the last entry serves NOBODY
    seat_of[compared] = blocks.size + np.arange(compared.size)
    place_of = np.full(len(sums.blocks), -1)
    place_of[blocks] = np.arange(blocks.size)
    place = np.where(level, place_of[sums.block], -1)
    seat, seated = seat_of[sums.plus], seat_of[sums.plus] >= 0
    alone = level & ~seated
    bare, coupled = alone & (place < 0), alone & (place >= 0)
    excess = np.where(seat_of[:n] < 0, ridge, 0.0) + totals(sums.plus[bare], sums.weight[bare], n)
    pull = sums.weight * sums.value
    touched = np.unique(np.concatenate([sums.plus[coupled], compared]))
    couplings, links = np.zeros((touched.size, q)), np.zeros((q, q))
    np.add.at(couplings, (np.searchsorted(touched, sums.plus[coupled]), place[coupled]), sums.weight[coupled])
    # Links between two shared nodes: a compared option in a block, or two compared options.
    other = np.where(level, place, seat_of[sums.minus])
    linked = seated & (other >= 0)
    for one, end in ((seat, other), (other, seat)):
        np.add.at(links, (one[linked], end[linked]), sums.weight[linked])
    loose = seated & level & (place < 0)
    prior = np.full(q, ridge)
    prior[: blocks.size] *= not flat
    shared_excess = prior + totals(seat[loose], sums.weight[loose], q)
    shared_values = totals(seat[seated], pull[seated], q)
    below = other >= 0  # the node that a value is measured above
    shared_values -= totals(other[below], pull[below], q)
    values = totals(sums.plus[alone], pull[alone], n)
    # Offsets without a prior are integrated out of the determinant: they gain nothing over it.
    inside = place >= 0
    whole = totals(place[inside], sums.weight[inside], blocks.size) if flat else np.ones(0)
    return Border(
        excess, values, touched, couplings, links, shared_excess, shared_values, seat_of[touched],
        gone=-whole.size, gone_log_det=-float(np.log(whole).sum()),
    )  # fmt: skip


def _options_as_border(
    n: int, sums: Sums, measured: Codes, ridge: float, with_offset: Codes, flat: bool
) -> Border:
    """Every measured option is a shared node. A block of weights w leaves links ``w_i·w_j/(Σw + prior)``."""
    q = measured.size
    level = sums.minus < 0
    seat, other = np.searchsorted(measured, sums.plus), np.searchsorted(measured, sums.minus)
    pull = sums.weight * sums.value
    links, excess, values = np.zeros((q, q)), np.full(q, ridge), np.zeros(q)
    apart = ~level
    for one, end in ((seat, other), (other, seat)):
        np.add.at(links, (one[apart], end[apart]), sums.weight[apart])
    values += totals(seat, pull, q) - totals(other[apart], pull[apart], q)
    bare = level & ~np.isin(sums.block, with_offset)
    excess += totals(seat[bare], sums.weight[bare], q)
    named = np.flatnonzero(level & ~bare)
    prior = 0.0 if flat else ridge
    blocks, place = np.unique(sums.block[named], return_inverse=True)
    weights = np.zeros((blocks.size, q))
    np.add.at(weights, (place, seat[named]), sums.weight[named])
    total = weights.sum(axis=1) + prior
    shares = weights / total[:, None]
    links += weights.T @ shares
    excess += prior * shares.sum(axis=0)
    values -= shares.T @ totals(place, pull[named], blocks.size)
    np.fill_diagonal(links, 0.0)
    excess_outside = np.where(np.isin(np.arange(n), measured), 0.0, ridge)
    return Border(
        excess_outside, np.zeros(n), measured, np.zeros((q, q)), links, excess, values, np.arange(q),
        gone=0 if flat else blocks.size, gone_log_det=0.0 if flat else float(np.log(total).sum()),
    )  # fmt: skip
