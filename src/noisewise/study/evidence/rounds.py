"""Paired rounds: how far options can differ where differences within a round scatter evenly to both sides.

For two options let ``D_t`` be the difference of their values in round t, large being good. What a round does
to all that is measured in it cancels. What is left scatters around the true difference θ: by how much is not
known, may change from round to round, and may be far too much now and then. All that is assumed is that
above and below are equally likely: given everything of earlier rounds, ``D_t - θ`` and ``θ - D_t`` have the
same law. Suppose somebody claims that θ = g. Then ``y_t = g - D_t`` is as likely to be y as -y, and for an
odd function ψ with values in [-1, 1] and a share ℓ < 1

    E_t(g) = mean over ℓ and c of  Π_{s <= t} (1 + ℓ·ψ(y_s/(c·r_s))),     ψ(u) = u in [-1, 1], else its sign,

is a martingale that begins with 1, whatever the scale ``r_s`` is, as long as it is known before round s: each
factor is at least 1 - ℓ > 0 and has mean 1. By Ville P(E_t(g) >= 1/α at any t) <= α. E rises with g, so that
with probability 1 - α, after every round at once, θ is below the smallest g with E_t(g) >= 1/α.

**Scales.** ``r_s`` is the median distance of earlier differences from their median. A difference that is
farther off than c of these counts with its sign alone, so that no single round can do more than multiply E by
1 - ℓ. Large c are best for normal differences. Small c are best where most differences are nearly right and
the others are far off: a machine that is at times half as fast. While there are fewer than two earlier
differences all count with their signs alone.

**Gross errors.** Signs alone need seven rounds to say anything at 1 %, even if an option takes a hundred
times as long as another. On a log scale one promise more is used: chance moves the ratio of two values of a
round by more than a factor `GROSS`, in a given direction, with probability `SELDOM` at most. Then the factor
``1 + ℓ·(1{y > log GROSS}/SELDOM - 1)`` has mean 1 at most, and its product is averaged with the others.

**The first round** decides how α is divided, and nothing else: given that round, everything above holds for
the rounds that follow. The best option j is one, though nobody knows which; the recommended option is one of
the n - 1 others, and most likely one that did well in the first round. The pair of j with the one that was in
place r there (j left out) has the share ``(1/r)/(1 + 1/2 + ... + 1/(n - 1))`` of α. A first round is often
slower than the rest besides.

**Ruled out.** While the n - 1 bounds on the best option hold, none of them says that it is worse than another
one. So an option that is certainly worse than any other is not the best, and whoever is recommended need not
be compared with it any more: it can leave the rounds.

As with other paired items, Ville holds for all rounds at once: how many rounds each option takes part in may
have been decided by anybody, for any reason.
"""

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from noisewise.core.blocks import Floats, Mask, median
from noisewise.study.evidence.items import Pair, PairedItems
from noisewise.study.log.items import ItemAnswers
from noisewise.study.log.measurements import Codes

#: The shares ℓ that are bet side by side, and the weight of each.
STAKES = np.array([0.92, 0.7, 0.45, 0.25, 0.12, 0.05])
WEIGHTS = np.array([0.4, 0.2, 0.15, 0.1, 0.08, 0.07])
#: The reaches c, and the weight of each: beyond so many scales a difference counts with its sign alone. A
#: scale is 1.4826 median distances: the standard deviation, of normal differences.
REACHES, REACH_WEIGHTS = (1.5, 0.5, 0.1), (0.5, 0.3, 0.2)
NORMAL_MEDIAN = 1.4826
#: More than any reach: what lies so many scales away has the weight of its sign.
FAR = 10.0
#: Gross errors: a factor, how often chance exceeds it in one direction, the share that is bet, its weight.
GROSS, SELDOM, GROSS_STAKE, GROSS_WEIGHT = 3.0, 0.1, 0.9, 0.15
#: Scales are computed anew every round, and later whenever there is this part more of them.
EVERY, GROWTH = 32, 1.0 / 16.0
#: Limits are found to this part of the scale, rather too large, in so many steps of bisection at most.
CLOSE, STEPS = 1e-5, 90
#: Rounds that do not count: see above.
FIRST = 1
#: Options that others are compared with to rule them out.
LEADERS = 12
#: An upper limit, in units of values, of how much better an option can be that is not the best.
NOT_THE_BEST = -1e-9


class SignedRounds(NamedTuple):
    """The differences of some pairs of options, round by round, without the first; short ones are filled."""

    apart: Floats  # (pairs, rounds)
    scale: Floats  # (pairs, rounds): 0 where only the sign counts
    counts: Floats  # (pairs, rounds): 1 where there is a round, else 0


def log_evidence(rounds: SignedRounds, claim: Floats, *, gross: bool) -> Floats:
    """``log E`` against "the difference is at least this", (pairs,)."""
    y = claim[:, None] - rounds.apart
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        scaled = np.where(rounds.scale > 0.0, np.clip(y / rounds.scale, -FAR, FAR), FAR * np.sign(y))
    scaled = scaled * rounds.counts
    logs = np.concatenate(
        [
            np.log1p(STAKES * np.clip(scaled / reach, -1.0, 1.0)[:, :, None]).sum(axis=1)
            + np.log(WEIGHTS * weight)
            for reach, weight in zip(REACHES, REACH_WEIGHTS, strict=True)
        ],
        axis=1,
    )
    if gross:
        odds = GROSS_STAKE * ((y > math.log(GROSS)) / SELDOM - 1.0) * rounds.counts
        # One round after the other: the rounds of longer pairs beside it must not change the sum.
        far = np.add.accumulate(np.log1p(odds), axis=1)[:, -1] + math.log(GROSS_WEIGHT)
        logs = np.column_stack([logs + math.log1p(-GROSS_WEIGHT), far])
    return np.asarray(np.logaddexp.reduce(logs, axis=1))


def upper_limits(rounds: SignedRounds, level: Floats, *, gross: bool) -> Floats:
    """Above which differences cannot be, (pairs,); infinite where nothing is ruled out.

    Args:
        rounds: What was seen of each pair.
        level: log(1/α) of each, (pairs,).
        gross: Whether gross errors are promised to be rare.
    """
    limits = np.full(level.size, np.inf)
    if not rounds.apart.shape[1]:
        return limits
    here = rounds.counts > 0.0
    least = np.where(here, rounds.apart - REACHES[0] * rounds.scale, np.inf).min(axis=1)
    most = np.where(here, rounds.apart + REACHES[0] * rounds.scale, -np.inf).max(axis=1)
    wide = (most - least) + (math.log(GROSS) if gross else 0.0)
    low, high = least - wide, most + wide * (1.0 + 1e-9) + 1e-300
    some = np.flatnonzero(log_evidence(rounds, high, gross=gross) >= level)
    if not some.size:
        return limits
    part, low, high, level = (
        SignedRounds(*(column[some] for column in rounds)),
        low[some],
        high[some],
        level[some],
    )
    usual = part.scale.max(axis=1)
    close = CLOSE * np.where(usual > 0.0, usual, high - low)
    for _ in range(STEPS):
        going = high - low > close  # each pair by itself, whatever is looked at beside it
        if not going.any():
            break
        middle = 0.5 * (low + high)
        over = log_evidence(part, middle, gross=gross) >= level
        low, high = np.where(going & ~over, middle, low), np.where(going & over, middle, high)
    limits[some] = high  # where the evidence was computed, and is enough
    return limits


class PairRounds:
    """The differences of two options, and the scale that each was bet with; it goes on as rounds come."""

    def __init__(self) -> None:
        self._due, self._now = 2, 0.0
        self.apart: list[float] = []  # the first option minus the second
        self.scale: list[float] = []

    def extend(self, differences: Floats) -> "PairRounds":
        """Go on to these differences, of which the first are known."""
        for difference in differences[len(self.apart) :].tolist():
            self.scale.append(self._now)
            self.apart.append(difference)
            count = len(self.apart)
            if count >= self._due:
                self._now = NORMAL_MEDIAN * median_distance(np.array(self.apart))
                self._due = count + (1 if count < EVERY else max(1, int(GROWTH * count)))
        return self


def median_distance(values: Floats) -> float:
    """The median distance of values from their median."""
    return median(np.abs(values - median(values)))


def shares_by_place(first: Floats, best: Codes, other: Codes) -> Floats:
    """``log(1/share)`` of pairs, by how well the other did in the first round.

    The shares of all pairs with one best option add up to 1.

    Args:
        first: The options' values in the first round, (n,), large being good.
        best: The one that may be the best, (pairs,).
        other: The other one, (pairs,).
    """
    place = np.empty(first.size)
    place[np.argsort(-first, kind="stable")] = np.arange(first.size)
    harmonic = float((1.0 / np.arange(1.0, first.size)).sum())
    return np.asarray(np.log((place[other] + 1.0 - (place[other] > place[best])) * harmonic))


class SymmetricRounds(PairedItems):
    """Half-widths of differences from rounds: see above, and `PairedItems` for the arguments.

    Args:
        items: What was told; an item is a round.
        n: The number of options.
        sign: Of the goal.
        differences: By how much each option is estimated above one.
        doubt: log(1/share of δ) of every pair with an option, all pairs being alike.
        resolution: The difference that matters.
        prefixes: How many rounds each option was told, if not all that it has.
        gross: Whether gross errors are promised to be rare (on a log scale).
        changed: Whether the list of options changed; then shares do not depend on the first round.
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
        gross: bool,
        changed: bool,
    ) -> None:
        super().__init__(
            items, n, sign, differences=differences, doubt=doubt, resolution=resolution, prefixes=prefixes
        )
        self._gross, self._ordered = gross, not changed and n > 1
        self._complete = bool((self._told >= FIRST).all())

    @property
    def evidence(self) -> tuple[str, ...]:
        """Rounds that options share."""
        return ("paired rounds",)

    def scatter(self, option: int) -> Floats:
        """The variance of one round's difference to this option, estimated robustly, (n,)."""
        variances = np.full(self._n, self._width**2)
        for other in self._compared(option).tolist():
            apart = np.array(self._rounds(option, other).apart)
            if apart.size > 1:
                variances[other] = (self._width * NORMAL_MEDIAN * median_distance(apart)) ** 2
        return variances

    def _compared(self, option: int) -> Codes:
        if self._ordered and not self._complete:
            return np.empty(0, dtype=np.int64)
        return super()._compared(option)

    def _limits(self, option: int, others: Codes, *, leads: bool) -> Floats:
        """The same; what is certainly worse than another option is not the best."""
        limits = super()._limits(option, others, leads=leads)
        out = self._ruled_out[others] if leads else self._ruled_out[[option]]
        return np.where(out, np.minimum(limits, NOT_THE_BEST), limits)

    @functools.cached_property
    def _ruled_out(self) -> Mask:
        """Which options are certainly worse than another one, (n,); none if that were all of them."""
        told = np.flatnonzero(self._told > FIRST)
        out = np.zeros(self._n, dtype=bool)
        if told.size < 2:
            return out
        # Each option beside the best few: who is worse than any other is worse than one of these as well.
        leaders = told[np.argsort(-self._differences(int(told[0]))[told], kind="stable")[:LEADERS]].tolist()
        pairs = sorted({(min(i, j), max(i, j)) for i in leaders for j in told.tolist() if i != j})
        rounds = gathered([self._rounds(one, two) for one, two in pairs], np.ones(len(pairs)))
        nothing = np.zeros(len(pairs))
        for turned in (False, True):  # the first of the two, or the second, may be the best
            best, other = np.array(pairs)[:, :: -1 if turned else 1].T
            signs = self._sign * self._width * (-1.0 if turned else 1.0)
            seen = SignedRounds(signs * rounds.apart, abs(signs) * rounds.scale, rounds.counts)
            levels = self._levels_of(best, other)
            out[best[log_evidence(seen, nothing, gross=self._gross) >= levels]] = True
        return out if not out.all() else np.zeros(self._n, dtype=bool)

    def _levels(self, option: int, others: Codes, *, leads: bool) -> Floats:
        """``log(1/share)`` of each pair: the rival is the one that may be the best."""
        options = np.full(others.size, option)
        return self._levels_of(others, options) if leads else self._levels_of(options, others)

    def _levels_of(self, best: Codes, other: Codes) -> Floats:
        if not self._ordered:
            return np.array([self._doubt(j)[i] for j, i in zip(best.tolist(), other.tolist(), strict=True)])
        alike = self._doubt(0)[0] - math.log(max(1, self._n - 1))
        return np.asarray(alike + shares_by_place(self._first, best, other))

    @functools.cached_property
    def _first(self) -> Floats:
        """What the options did in the first round, (n,), large being good."""
        first = [float(self._items.of(option).values[0]) for option in range(self._n)]
        return np.asarray(self._sign * np.array(first))

    def _upper(self, pairs: list[Pair], levels: Floats) -> list[float]:
        """Upper limits of "other minus one", or of the opposite, for each pair."""
        if not pairs:
            return []
        # Rounds are kept as the option with the smaller number minus the other.
        signs = [self._width * (-1.0 if pair.forward == (pair.one < pair.other) else 1.0) for pair in pairs]
        rounds = gathered([self._rounds(pair.one, pair.other) for pair in pairs], np.array(signs))
        return list(map(float, upper_limits(rounds, levels, gross=self._gross)))

    def _rounds(self, option: int, other: int) -> PairRounds:
        """The differences of two options, the one with the smaller number first."""
        pair = Pair(min(option, other), max(option, other), True)
        count, version = int(self._told[[pair.one, pair.other]].min()), self._version(pair)
        kept: dict[Any, Any] = self._items.kept
        known = kept.get(("rounds", pair))
        if known is None or known[0] != version or len(known[1].apart) > max(0, count - FIRST):
            known = kept["rounds", pair] = version, PairRounds()
        one, two = (self._items.of(k).values[FIRST:count] for k in (pair.one, pair.other))
        pair_rounds: PairRounds = known[1]
        return pair_rounds.extend(np.asarray(one, dtype=float) - two)


def gathered(pairs: list[PairRounds], signs: Floats) -> SignedRounds:
    """Several pairs side by side, each in the unit and with the sign it is wanted in."""
    most = max(len(pair.apart) for pair in pairs)
    apart, scale, counts = (np.zeros((len(pairs), most)) for _ in range(3))
    for row, pair in enumerate(pairs):
        size = len(pair.apart)
        apart[row, :size] = signs[row] * np.array(pair.apart)
        scale[row, :size] = abs(signs[row]) * np.array(pair.scale)
        counts[row, :size] = 1.0
    return SignedRounds(apart, scale, counts)
