"""What two options' answers to the same items say about their difference: sums that go on as items come."""

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise.core.blocks import Floats
from noisewise.study.evidence.item_bets import PLAIN_EDGES, SCORE_EDGES, add_soft_counts, cuts
from noisewise.study.log.items import Items

#: Pairs whose sums are kept, at most.
MOST_KEPT = 20_000


class PairSums:
    """How often each value of ``(1 + x_one - x_other)/2`` was seen, in every cut of the order.

    Args:
        items: The answers of all options.
        one: The first option. other: The second.
    """

    def __init__(self, items: Items, one: int, other: int) -> None:
        self._items, self._one, self._other = items, one, other
        self.version = _version(items, one, other)
        self.n_cuts = max(1, cuts(items.pool).size - 1)
        self.count = 0  # items that both were told, from the first on
        self.total = 0.0
        self._counted = 0  # of these, in cuts that are complete
        self.weights: Floats = np.zeros((self.n_cuts, PLAIN_EDGES.size))
        self.plain = True  # whether all values so far are 0 or 1
        #: Limits that were found for these sums, by what they depend on besides.
        self.limits: dict[Any, float] = {}

    def extend(self, count: int) -> "PairSums":
        """Go on to this number of items."""
        self.limits.clear()
        one, other = (self._items.of(option).values for option in (self._one, self._other))
        if self.plain and not one.dtype == other.dtype == np.int8:
            self.plain, self.count, self.total, self._counted = False, 0, 0.0, 0
            self.weights = np.zeros((self.n_cuts, SCORE_EDGES.size))
        fresh = slice(self.count, count)
        # One after the other: sums must not depend on how items came, together or one by one.
        apart = 0.5 * (1.0 + one[fresh].astype(np.float64) - other[fresh])
        self.total = float(np.add.accumulate(np.append(self.total, apart))[-1])
        self.count = count
        end = complete(self._items.pool, count)
        if end > self._counted:
            some = slice(self._counted, end)
            if self._items.pool is None and self.plain:
                lead = one[some] - other[some]
                wins, losses = np.count_nonzero(lead == 1), np.count_nonzero(lead == -1)
                self.weights[0] += (losses, lead.size - wins - losses, wins)
            else:
                values = 0.5 * (1.0 + one[some].astype(np.float64) - other[some])
                cut = cut_of_places(self._items.pool, end)[some]
                add_soft_counts(self.weights, values, cut)
            self._counted = end
        return self

    @property
    def edges(self) -> Floats:
        """The values that are told apart."""
        return PLAIN_EDGES if self.plain else SCORE_EDGES


def complete(pool: int | None, count: int) -> int:
    """How many of the first ``count`` items lie in cuts that are complete."""
    if pool is None:
        return count
    places = cuts(pool)
    return int(places[np.searchsorted(places, count, side="right") - 1])


def cut_of_places(pool: int | None, count: int) -> NDArray[np.int64]:
    """The cut that each of the first places lies in, (count or more,)."""
    return np.zeros(count, dtype=np.int64) if pool is None else _cuts_of_pool(pool)


@functools.lru_cache(maxsize=4)
def _cuts_of_pool(pool: int) -> NDArray[np.int64]:
    places = cuts(pool)
    return np.repeat(np.arange(places.size - 1), np.diff(places))


def pair_sums(items: Items, one: int, other: int, count: int) -> PairSums:
    """The sums of two options over their first ``count`` common items; ``one`` has the smaller number."""
    key = (one, other)
    kept: dict[Any, PairSums] = items.kept
    found = kept.get(key)
    if found is None or found.version != _version(items, one, other):
        if len(kept) >= MOST_KEPT:
            kept.clear()
        found = kept[key] = PairSums(items, one, other)
    if found.count > count:  # as it was some time ago
        return PairSums(items, one, other).extend(count)
    return found.extend(count) if found.count < count else found


def _version(items: Items, one: int, other: int) -> tuple[int, int]:
    return items.of(one).version, items.of(other).version
