"""Paired items: how far options can differ, by what they did on the same items in one random order.

For two options let ``D_t`` be the difference of their values at place t of the order, which lies in [-1, 1].
Difficulty, which both share, cancels in it. Items come in random order, so that given everything that *all*
options answer on items before t, the mean of ``D_t`` is the difference of the two options' values (or, with a
pool, what is left of it). Hence the bets of `noisewise.study.evidence.item_bets` are a martingale **in the
order of items**, for every pair of options by itself.

Ville's inequality holds for all places at once, so that the bound holds at whatever place the two options
have been told so far, whoever decided that, and even if one option ran ahead and everybody saw its answers:
the common beginning of what both were told ends at *some* place. What it does not allow is to multiply or to
average the evidence of several pairs: in the time in which people measure, an option's answer on an item that
others answered before is no fair bet any more. So δ is divided among the n - 1 pairs with the best option
(one option, though nobody knows which).

Answers after a gap (items that were voided, or are still being measured) wait until it is filled.
"""

from collections.abc import Callable, Mapping

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.study.evidence.half_widths import HalfWidths
from noisewise.study.evidence.item_bets import Tally, lower_limits, stakes
from noisewise.study.evidence.pair_sums import PairSums, pair_sums
from noisewise.study.log.items import Items
from noisewise.study.log.measurements import Codes

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
        items: Items,
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
            sums = self._sums(option, other)
            weights = sums.weights.sum(axis=0)
            apart = 2.0 * sums.edges - 1.0
            squares = float(weights @ (apart - (weights @ apart) / max(weights.sum(), 1.0)) ** 2)
            variances[other] = (squares + 0.5 * FIRST_GUESS) / (weights.sum() + FIRST_GUESS)
        return variances * self._width**2

    def _widths(self, option: int, estimated: Floats, *, leads: bool) -> Floats:
        """Upper limits of differences with this option, less what is estimated."""
        widths = np.full(self._n, np.inf)
        others = self._compared(option)
        if others.size:
            lows = self._lows(option, others, forward=leads == (self._sign > 0.0))
            # The mean of (1 + x_leader - x_rival)/2 is at least `lows`.
            upper = self._width * (1.0 - 2.0 * lows)
            widths[others] = upper - estimated[others]
        widths[option] = 0.0
        return widths

    def _lows(self, option: int, others: Codes, *, forward: bool) -> Floats:
        """Lower limits of the mean of (1 + x_option - x_other)/2, or with the two exchanged."""
        found = [self._sums(option, other) for other in others.tolist()]
        levels = self._doubt(option)[others]
        # Only what went on since the last look is computed again.
        keys = [
            (forward == (option < other), level, self._bets.size)
            for other, level in zip(others.tolist(), levels.tolist(), strict=True)
        ]
        for plain in (True, False):
            some = [
                at for at, sums in enumerate(found) if sums.plain == plain and keys[at] not in sums.limits
            ]
            if some:
                tally = _tally([found[at] for at in some], [keys[at][0] for at in some], self._items.pool)
                for at, low in zip(some, lower_limits(tally, levels[some], self._bets).tolist(), strict=True):
                    found[at].limits[keys[at]] = low
        return np.array([sums.limits[key] for sums, key in zip(found, keys, strict=True)])

    def _compared(self, option: int) -> Codes:
        if self._told[option] == 0:
            return np.empty(0, dtype=np.int64)
        others = np.flatnonzero(self._told > 0)
        return np.asarray(others[others != option])

    def _sums(self, option: int, other: int) -> PairSums:
        count = int(min(self._told[option], self._told[other]))
        return pair_sums(self._items, min(option, other), max(option, other), count)


def _tally(sums: list[PairSums], as_told: list[bool], pool: int | None) -> Tally:
    """Several pairs together, each as it was summed or with its options exchanged."""
    weights = np.stack(
        [one.weights if same else one.weights[:, ::-1] for one, same in zip(sums, as_told, strict=True)]
    )
    count = np.array([float(one.count) for one in sums])
    total = np.array([one.total for one in sums])
    return Tally(weights, np.where(as_told, total, count - total), count, sums[0].edges, pool)
