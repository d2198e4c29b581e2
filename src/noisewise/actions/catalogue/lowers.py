"""The rows of a shard that had the largest lower ends ``mean - radius·width`` in the last rounds.

The largest among those not ruled out is the floor of a round's test (`replay`). Means take one product a row
for each round; widths are those that the shard keeps, and for rounds before the last one more product each
gives back what was lost since. So it is found in a pass that reads all rows for another reason, and where few
rows are left that may be the best, the same pass brings them.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.actions.catalogue.kept import (
    ROUNDED,
    Course,
    Kept,
    bound_on_others,
    brought_up,
    places_of_largest,
    unit_of_means,
)
from noisewise.actions.catalogue.passes import ROOM, Indices, lowering_slack, taken
from noisewise.actions.catalogue.shards import Shard, Stored
from noisewise.core.support.blocks import Floats


class LowerQuestion(NamedTuple):
    """Which rows had the largest lower ends in some rounds, one after the other up to the present."""

    thetas: Floats  # (rounds, dim)
    radii: Floats  # (rounds,)
    steps: Floats  # (rounds - 1, dim): widths lost <s, a>² after each but the last
    most: int  # rows to return for each
    floor: float  # rows whose upper end is below it now are not left
    few: int  # if no more rows may be left than this, they are returned as well


class LowerAnswer(NamedTuple):
    """Rows, and for each round what no other row's lower end exceeds; -inf if there is none."""

    numbers: Indices
    rows: Stored
    cuts: Floats  # (rounds,)
    has_all_left: bool  # whether all rows that may be left are among them


class LowersSeen:
    """What a pass sees of lower ends.

    Args:
        shard: Whose rows are read.
        question: What is asked.
        course: How far the run has come; to the last of the rounds, or further.
    """

    def __init__(self, shard: Shard, question: LowerQuestion, course: Course) -> None:
        norm = course.norm
        self._shard, self._question = shard, question
        self._unit, self._rounds = unit_of_means(norm, question.thetas), len(question.radii)
        self._kind: Any = np.float32 if norm.is_single else np.float64
        self.along = np.column_stack(
            [question.thetas.T / self._unit, question.steps.T / math.sqrt(norm.scale)]
        )
        self._roots = [self._kind(radius * math.sqrt(norm.scale) / self._unit) for radius in question.radii]
        self._slack = self._kind(lowering_slack(question.steps, norm))
        self._lowers = np.empty((self._rounds, shard.count), self._kind)
        self._left = np.empty(shard.count, np.bool_)
        #: What rounding may do to a mean, in its unit.
        self._off = (shard.dim + 16) * 2.0**-23

    def look(self, kept: Kept, some: slice, products: NDArray[Any]) -> None:
        """Take in the products of `along` with some rows."""
        rounds, kind = self._rounds, self._kind
        self._look_who_is_left(kept, some, products[rounds - 1])
        squares = kept.least(some).astype(kind, copy=False)
        # From the present backwards: each round is as wide as the next, and what was lost after it.
        for number in reversed(range(rounds)):
            if number < rounds - 1:
                gone = products[rounds + number]
                np.multiply(gone, gone, out=gone)
                gone *= kind(1.0 - ROOM)
                gone -= self._slack
                np.maximum(gone, kind(0.0), out=gone)
                squares += gone
            reaches = np.sqrt(squares)
            reaches *= self._roots[number]
            np.subtract(products[number], reaches, out=self._lowers[number, some])

    def _look_who_is_left(self, kept: Kept, some: slice, means: NDArray[Any]) -> None:
        """Who is not ruled out by the floor in the present round, and perhaps some that are."""
        uppers = np.sqrt(kept.bounds[some]).astype(self._kind, copy=False)
        uppers *= self._roots[-1] * self._kind(1.0 + ROUNDED)
        uppers += means
        lowest = self._question.floor / self._unit
        allowed = self._off + ROUNDED * (1.0 + abs(lowest)) if math.isfinite(lowest) else 0.0
        np.greater_equal(uppers, self._kind(lowest - allowed), out=self._left[some])

    def answer(self) -> LowerAnswer:
        """The rows, once all were read."""
        shard, wanted = self._shard, min(self._question.most, self._shard.count)
        best = np.unique(np.concatenate([places_of_largest(lower, wanted) for lower in self._lowers]))
        has_all = int(np.count_nonzero(self._left)) <= self._question.few
        if has_all:
            best = np.union1d(best, np.flatnonzero(self._left))
        self._lowers[:, best] = -np.inf
        cuts = np.array([bound_on_others(float(lower.max()), self._off) for lower in self._lowers])
        return LowerAnswer(best + shard.first, taken(shard, best), cuts * self._unit, has_all)


def highest_lowers(shard: Shard, question: LowerQuestion, course: Course) -> LowerAnswer:
    """The same by a pass of its own."""
    seen = LowersSeen(shard, question, course)
    brought_up(shard, course, seen.along, seen.look)
    return seen.answer()
