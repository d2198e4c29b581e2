"""Paired items: how far options can differ, by what they did on the same items in one random order.

For two options let ``D_t`` be the difference of their values at place t of the order, which lies in [-1, 1].
Difficulty, which both share, cancels in it. Items come in random order, so that given everything that *all*
options answer on items before t, the mean of ``D_t`` is the difference of the two options' values (or, with a
pool, what is left of it). Hence the bets of `noisewise.study.evidence.items` are a martingale **in the
order of items**, for every pair of options by itself.

Ville's inequality holds for all places at once, so that the bound holds at whatever place the two options
have been told so far, whoever decided that, and even if one option ran ahead and everybody saw its answers:
the common beginning of what both were told ends at *some* place. What it does not allow is to multiply or to
average the evidence of several pairs: in the time in which people measure, an option's answer on an item that
others answered before is no longer a fair bet. So δ is divided among the n - 1 pairs with the best option
(one option, though nobody knows which).

Answers after a gap (items that were voided, or are still being measured) wait until it is filled.

Limits of a mean from bets on items that come in random order, one after the other, or from a finite pool.

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

What two options' answers to the same items say about their difference: sums that go on as items come.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.core.blocks import Floats
from noisewise.study.evidence.half_widths import HalfWidths
from noisewise.study.log.items import ItemAnswers, Values
from noisewise.study.log.measurements import Codes

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


#: Limits that are kept, at most.
MOST_KEPT = 40_000


def counted(one: Values, other: Values, pool: int | None) -> Tally:
    """How often each value of ``(1 + x_one - x_other)/2`` was seen in every complete cut of the order.

    Args:
        one: The answers of one option to the first items, (N,).
        other: Those of the other one, (N,).
        pool: How many items there are in all; None: no end.
    """
    plain = one.dtype == other.dtype == np.int8  # 0 or 1
    edges, values = PLAIN_EDGES if plain else SCORE_EDGES, 0.5 * (1.0 + one.astype(np.float64) - other)
    end = complete(pool, values.size)
    weights = np.zeros((max(1, cuts(pool).size - 1), edges.size))
    if pool is None and plain:
        weights[0] = np.bincount((2.0 * values).astype(np.int64), minlength=edges.size)
    else:
        add_soft_counts(weights, values[:end], cut_of_places(pool, end)[:end])
    total = np.add.accumulate(np.append(0.0, values))[-1:]
    return Tally(weights[None], total, np.array([float(values.size)]), edges, pool)


def complete(pool: int | None, count: int) -> int:
    """How many of the first ``count`` items lie in cuts that are complete."""
    if pool is None:
        return count
    places = cuts(pool)
    return int(places[np.searchsorted(places, count, side="right") - 1])


@functools.lru_cache(maxsize=4)
def _cuts_of_pool(pool: int) -> NDArray[np.int64]:
    places = cuts(pool)
    return np.repeat(np.arange(places.size - 1), np.diff(places))


def cut_of_places(pool: int | None, count: int) -> NDArray[np.int64]:
    """The cut that each of the first places lies in, (count or more,)."""
    return np.zeros(count, dtype=np.int64) if pool is None else _cuts_of_pool(pool)


#: Pseudo-items that say that two options differ on half of them, until they have said otherwise themselves.
FIRST_GUESS = 2.0


class PairedItems(HalfWidths):
    """Half-widths of differences from paired items.

    Args:
        items: What was told.
        n: The number of options.
        sign: Of the goal: large values are good.
        differences: By how much each option is estimated above one, (n,), large being good.
        doubt: log(1/share of δ) of every pair with an option, (n,).
        resolution: The difference that matters, in the unit of the values.
        prefixes: How many items from the first on each option was told, if not all that it has.
    """

    def __init__(
        self,
        items: ItemAnswers,
        n: int,
        sign: float,
        *,
        differences: Callable[[int], Floats],
        doubt: Callable[[int], Floats],
        resolution: float,
        prefixes: Mapping[int, int] | None = None,
    ) -> None:
        self._items, self._n, self._sign = items, n, sign
        self._differences, self._doubt = differences, doubt
        self._width = items.width
        self._bets = stakes(resolution / self._width)
        self._told = np.zeros(n, dtype=np.int64)
        for option in items.options:
            self._told[option] = items.of(option).prefix if prefixes is None else prefixes.get(option, 0)

    @property
    def evidence(self) -> tuple[str, ...]:
        """Items that options share."""
        return ("paired items",)

    def half_widths(self, option: int) -> Floats:
        """By how much "j minus option" may be larger than estimated, for every j, (n,)."""
        return self._widths(option, self._differences(option), leads=True)

    def lead_widths(self, rival: int) -> Floats:
        """By how much "rival minus i" may be larger than estimated, for every i, (n,)."""
        return self._widths(rival, -self._differences(rival), leads=False)

    def common(self, option: int) -> Floats:
        """How many items each option has in common with this one, from the first on, (n,)."""
        return np.asarray(np.minimum(self._told, self._told[option]).astype(np.float64))

    def scatter(self, option: int) -> Floats:
        """The variance of one item's difference to this option, estimated, (n,)."""
        variances = np.full(self._n, 0.5)
        for other in self._compared(option).tolist():
            tally = self._tally(Pair(option, other, False))
            weights, apart = tally.weights[0].sum(axis=0), 2.0 * tally.edges - 1.0
            squares = float(weights @ (apart - (weights @ apart) / max(weights.sum(), 1.0)) ** 2)
            variances[other] = (squares + 0.5 * FIRST_GUESS) / (weights.sum() + FIRST_GUESS)
        return variances * self._width**2

    def _widths(self, option: int, estimated: Floats, *, leads: bool) -> Floats:
        """Upper limits of differences with this option, less what is estimated."""
        widths, others = np.full(self._n, np.inf), self._compared(option)
        if others.size:
            widths[others] = self._limits(option, others, leads=leads) - estimated[others]
        widths[option] = 0.0
        return widths

    def _compared(self, option: int) -> Codes:
        if self._told[option] == 0:
            return np.empty(0, dtype=np.int64)
        others = np.flatnonzero(self._told > 0)
        return np.asarray(others[others != option])

    def _limits(self, option: int, others: Codes, *, leads: bool) -> Floats:
        """Upper limits of "other minus option", or with ``leads=False`` of "option minus other", (others,).

        They are kept: only what went on since the last look is computed again.
        """
        pairs = [Pair(option, other, leads == (self._sign > 0.0)) for other in others.tolist()]
        levels = self._levels(option, others, leads=leads)
        kept: dict[Any, Any] = self._items.kept
        if len(kept) > MOST_KEPT:
            kept.clear()
        now = [
            (self._told[[pair.one, pair.other]].min(), self._version(pair), level)
            for pair, level in zip(pairs, levels.tolist(), strict=True)
        ]
        fresh = [at for at, pair in enumerate(pairs) if kept.get(pair, (None,))[0] != now[at]]
        for at, limit in zip(fresh, self._upper([pairs[at] for at in fresh], levels[fresh]), strict=True):
            kept[pairs[at]] = now[at], limit
        return np.array([kept[pair][1] for pair in pairs])

    def _levels(self, option: int, others: Codes, *, leads: bool) -> Floats:
        """``log(1/share)`` of each pair, (others,)."""
        return self._doubt(option)[others]

    def _upper(self, pairs: list["Pair"], levels: Floats) -> list[float]:
        """Upper limits of "other minus one", or of the opposite, for each pair."""
        found = np.zeros(levels.size)
        tallies = [self._tally(pair) for pair in pairs]
        for edges in (PLAIN_EDGES, SCORE_EDGES):
            some = [at for at, tally in enumerate(tallies) if tally.edges is edges]
            if some:
                weights, total, seen = (
                    np.concatenate([tallies[at][part] for at in some]) for part in range(3)
                )
                tally = Tally(weights, total, seen, edges, self._items.pool)
                # The mean of (1 + x_one - x_other)/2 is at least that.
                found[some] = self._width * (1.0 - 2.0 * lower_limits(tally, levels[some], self._bets))
        return list(map(float, found))

    def _tally(self, pair: "Pair") -> Tally:
        count = int(self._told[[pair.one, pair.other]].min())
        one, other = (self._items.of(option).values[:count] for option in (pair.one, pair.other))
        return (
            counted(one, other, self._items.pool) if pair.forward else counted(other, one, self._items.pool)
        )

    def _version(self, pair: "Pair") -> tuple[int, int]:
        return self._items.of(pair.one).version, self._items.of(pair.other).version


class Pair(NamedTuple):
    """Two options, and which of their differences is bounded from above: "other minus one" where forward."""

    one: int
    other: int
    forward: bool
