"""Limits of a mean from bets on items that come in random order, one after the other, or from a finite pool.

Values lie in [0, 1]. A player who thinks that the mean is above m puts, before every item, the share ℓ of
what he has on it, at odds that are fair if the mean is m:

    E_t(m) = mean over ℓ of  Π_{s<=t} (1 + ℓ·(x_s - m)/m)          ℓ = 0.95, 0.95/1.6, 0.95/1.6², …

If the mean is m, E is a martingale that begins with 1, and by Ville P(E_t >= 1/δ at any t) <= δ: so with
probability 1 - δ the mean is at every moment above the largest m with E_t(m) >= 1/δ. Nothing is lost by a
small variance: then a large ℓ wins. It is a function of how often each value was seen, not of their order.

**A finite pool** of N items is drawn without replacement, and the mean of what is left changes with every
draw. The order is cut at places that only N decides (`cuts`). Within a cut the bets are those on the mean of
what was left when it began, ``m_c = (N·m - sum so far)/(N - items so far)``: the expected product of B such
factors, of a random subset of numbers whose mean is 1, is the B-th symmetric mean of them and at most 1
(Maclaurin), so that E at the ends of cuts is a supermartingale. Besides, the items that were not seen have
values from 0 to 1, which limits the mean by itself; of a pool that was seen to its end it leaves one number.

**Scores** that are not 0, ½ or 1 are kept as weights at the two nearest of `SCORE_EDGES`, with the same mean:
``log(1 + ℓ(x - m)/m)`` is concave in x and lies above its chords, so that E only becomes smaller.

log E falls in m, and is convex in log m. Newton's steps from below therefore never pass the root: every one
of them is a limit that holds.
"""

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.core.blocks import Floats

#: Values of answers that are right or wrong, and of their differences, moved to [0, 1].
PLAIN_EDGES: Floats = np.array([0.0, 0.5, 1.0])
#: The same for scores.
SCORE_EDGES: Floats = np.linspace(0.0, 1.0, 33)
#: Every cut is at most this part of what was drawn before it, and of what is left.
CUT = 1.0 / 32.0
#: The largest stake, and the ratio of neighbours.
STAKE, RATIO = 0.95, 1.6
#: The smallest stake, in units of the difference that matters.
FINEST = 2.0
#: Newton's steps: the last ones change nothing that could be seen.
STEPS, CLOSE = 60, 1e-8
#: Means below it are not told apart from 0.
NEAR_ZERO = 1e-12
#: Numbers that one step may hold at a time.
ROOM = 2_000_000


class Tally(NamedTuple):
    """What was seen of some sequences of items; each is bet on by itself."""

    weights: Floats  # (sequences, cuts, edges): how often each value was seen in each cut that is complete
    total: Floats  # (sequences,): the sum of all values seen
    seen: Floats  # (sequences,): how many were seen
    edges: Floats  # (edges,)
    pool: int | None = None  # how many there are in all; None: no end


def stakes(resolution: float) -> Floats:
    """The shares ℓ that are bet side by side, for differences of about ``resolution`` in [0, 1]."""
    finest = min(max(FINEST * resolution, 1e-4), 0.1)
    return STAKE * RATIO ** -np.arange(1.0 + np.ceil(np.log(STAKE / finest) / np.log(RATIO)))


@functools.lru_cache(maxsize=16)
def cuts(pool: int | None) -> NDArray[np.int64]:
    """Where the order is cut, from 0 to the end of the pool; without an end there is one cut."""
    if pool is None:
        return np.zeros(1, dtype=np.int64)
    places = [0]
    while places[-1] < pool:
        done = places[-1]
        places.append(done + max(1, int(CUT * min(done, pool - done))))
    return np.array(places, dtype=np.int64)


def add_soft_counts(counts: Floats, values: Floats, cut: NDArray[np.int64]) -> None:
    """Add how often each value was seen in each cut to (cuts, edges); one between edges counts for both.

    Values are added one after the other, so that it does not matter how many come at a time.
    """
    size = counts.shape[1]
    position = values * (size - 1)
    below = np.minimum(position.astype(np.int64), size - 2)
    part = position - below
    flat = cut * size + below
    np.add.at(
        counts.reshape(-1), np.stack([flat, flat + 1], 1).ravel(), np.stack([1.0 - part, part], 1).ravel()
    )


def lower_limits(tally: Tally, level: Floats, bets: Floats) -> Floats:
    """Below which the means cannot be, (sequences,).

    Args:
        tally: What was seen.
        level: log(1/δ) of every sequence, (sequences,).
        bets: The stakes, from `stakes`.
    """
    used = 1 + int(np.flatnonzero(tally.weights.any(axis=(0, 2))).max(initial=0))
    tally = tally._replace(weights=tally.weights[:, :used])
    n_cuts, n_edges = tally.weights.shape[1:]
    limits = np.empty(level.size)
    step = max(1, ROOM // (n_cuts * n_edges * bets.size))
    for first in range(0, level.size, step):
        some = slice(first, first + step)
        part = Tally(tally.weights[some], tally.total[some], tally.seen[some], tally.edges, tally.pool)
        limits[some] = _limits(part, level[some], bets)
    return limits


def _limits(tally: Tally, level: Floats, bets: Floats) -> Floats:
    least, most = np.zeros(level.size), np.ones(level.size)
    if tally.pool is not None:  # what was not seen is at least 0 and at most 1
        least = tally.total / tally.pool
        most = (tally.total + (tally.pool - tally.seen)) / tally.pool
    mean = np.maximum(least, NEAR_ZERO)
    going = np.arange(level.size)
    for _ in range(STEPS):
        part = Tally(tally.weights[going], tally.total[going], tally.seen[going], tally.edges, tally.pool)
        log_e, slope = log_evidence(part, mean[going], bets)
        above = log_e - level[going]
        with np.errstate(divide="ignore", invalid="ignore"):
            move = np.where((above > 0.0) & (slope < 0.0), -above / (slope * mean[going]), 0.0)
        mean[going] = np.minimum(mean[going] * np.exp(np.minimum(move, 30.0)), 1.0)
        going = going[move > CLOSE]
        if not going.size:
            break
    return np.minimum(np.where(mean > NEAR_ZERO, mean, least), most)


def log_evidence(tally: Tally, mean: Floats, bets: Floats) -> tuple[Floats, Floats]:
    """``log E`` against these means, and its derivative, (sequences,) each."""
    places = cuts(tally.pool)
    if tally.pool is None:
        left, growth = mean[:, None], np.ones((1, 1))
    else:
        rest = (tally.pool - places[: tally.weights.shape[1]]).astype(np.float64)
        sums = np.einsum(
            "pce,e->pc", tally.weights, tally.edges
        )  # the same for each, whatever the others are
        before = np.cumsum(sums, axis=1) - sums
        left = (tally.pool * mean[:, None] - before) / rest
        growth = (tally.pool / rest)[None, :]
    left = np.maximum(left, NEAR_ZERO)  # (sequences, cuts)
    # With o = ℓ·x/m_c: each factor is 1 - ℓ + o, and its derivative with respect to m_c is -o/m_c.
    odds = bets * (tally.edges[:, None] / left[:, :, None, None])
    factor = (1.0 - bets) + odds  # (sequences, cuts, edges, bets)
    logs = np.einsum("pce,pceb->pb", tally.weights, np.log(factor))
    falls = np.einsum("pce,pceb->pcb", tally.weights, odds / factor)
    slopes = -np.einsum("pcb,pc->pb", falls, growth / left)
    top = logs.max(axis=1)
    shares = np.exp(logs - top[:, None])
    total = shares.sum(axis=1)
    return top + np.log(total / bets.size), np.asarray((shares * slopes).sum(axis=1) / total)
