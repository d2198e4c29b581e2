"""Questions to all shards of a catalogue at once, with exact answers about the few rows that come back."""

import math
from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np

from noisewise.actions.catalogue.catalogue import Catalogue
from noisewise.actions.catalogue.files import evenly
from noisewise.actions.catalogue.passes import Indices, Norm
from noisewise.actions.catalogue.scores import (
    ScoreQuestion,
    best_places,
    exact_scores,
    first_scoring,
    highest_rows,
)
from noisewise.core.choice.selection import Mask
from noisewise.core.model.dense import Floats

#: Rows asked for at first, and how many times more if they do not settle it.
FIRST_MOST, MORE = 64, 32
SOME = 1000


class Highest(NamedTuple):
    """Rows with the largest scores, in float64."""

    numbers: Indices  # ascending
    rows: Floats
    scores: Floats
    cut: float  # what no other row exceeds

    @property
    def upper(self) -> float:
        """What no row exceeds."""
        return max(self.cut, float(self.scores.max(initial=-np.inf)))

    def narrowed(self, most: int) -> Self:
        """The same with fewer rows."""
        best, rest = best_places(self.scores, most)
        cut = max(self.cut, rest)
        return self._replace(
            numbers=self.numbers[best], rows=self.rows[best], scores=self.scores[best], cut=cut
        )


def highest(catalogue: Catalogue, question: ScoreQuestion) -> Highest:
    """The rows that score highest, about as many as the question says."""
    shares = evenly(question.most, catalogue.shards)
    answers = catalogue.each(highest_rows, [(question._replace(most=int(most)),) for most in shares])
    catalogue.returned += sum(found.rows.nbytes + found.numbers.nbytes for found in answers)
    rows = np.concatenate([np.asarray(found.rows, dtype=np.float64) for found in answers])
    index = np.concatenate([found.numbers for found in answers])
    return Highest(index, rows, exact_scores(rows, question), max(found.cut for found in answers))


class Best(NamedTuple):
    """The row with the largest score among some, of equal ones the first."""

    number: int
    vector: Floats
    top: float  # the largest score
    low: float  # what ties with it
    is_sure: bool  # whether no other row of the catalogue ties with it


def best_within(
    found: Highest, passes: Callable[[Floats], Mask], tolerance: Callable[[Floats, float], float]
) -> Best | None:
    """The best of some rows that pass; None if none of them does."""
    best = _best_where(found, np.ones(len(found.scores), np.bool_), tolerance)
    # Most often the best of all passes, and nobody else need be looked at.
    tied = found.scores >= best.low
    tied[tied] = passes(found.rows[tied])
    if not tied[int(np.argmax(found.scores))]:
        passing = passes(found.rows)
        return _best_where(found, passing, tolerance) if passing.any() else None
    first = int(np.argmax(tied))
    return best._replace(number=int(found.numbers[first]), vector=found.rows[first])


def _best_where(found: Highest, passing: Mask, tolerance: Callable[[Floats, float], float]) -> Best:
    winner = int(np.argmax(np.where(passing, found.scores, -np.inf)))
    top = float(found.scores[winner])
    low = top - tolerance(found.rows[winner], top)
    first = int(np.argmax(passing & (found.scores >= low)))
    return Best(int(found.numbers[first]), found.rows[first], top, low, low > found.cut)


def best_of(
    catalogue: Catalogue,
    question: ScoreQuestion,
    passes: Callable[[Floats], Mask],
    tolerance: Callable[[Floats, float], float],
) -> tuple[int, Floats, float]:
    """The row with the largest score among those that pass; of equal ones the first. Row, vector, and score.

    Args:
        catalogue: The rows.
        question: The score.
        passes: Which of some vectors are meant; at least one row of the catalogue is.
        tolerance: What of the winner's vector and score counts as equal.
    """
    most = FIRST_MOST
    while True:
        found = highest(catalogue, question._replace(most=most))
        best = best_within(found, passes, tolerance)
        if best is not None and best.is_sure:
            return best.number, best.vector, best.top
        if best is not None and best.top >= found.cut:
            return _first_tied(catalogue, question, passes, best.low, best.top)
        # Float32 cannot tell so many equal rows apart: from some number on all are looked at in float64.
        question = question._replace(exact=most > SOME)
        most *= MORE


def _first_tied(
    catalogue: Catalogue,
    question: ScoreQuestion,
    passes: Callable[[Floats], Mask],
    low: float,
    top: float,
) -> tuple[int, Floats, float]:
    """The first row that scores at least ``low`` and passes, where more rows tie than came back."""
    start = 0
    for shard in catalogue.shards:
        while start < shard.first + shard.count:
            row = catalogue.asked_alone(first_scoring, shard, question, low, start)
            if row < 0:
                break
            vector = catalogue.take([row])
            if passes(vector)[0]:
                return row, vector[0], max(top, float(exact_scores(vector, question)[0]))
            start = row + 1
        start = shard.first + shard.count
    raise ArithmeticError(
        f"no row scores {low!r}, although one did: the catalogue's files changed meanwhile."
    )


def width_of(vector: Floats, root: Floats) -> float:
    """``‖a‖ = |a·root|``."""
    return math.sqrt(float(np.square(vector @ root).sum()))


def largest_width(catalogue: Catalogue, root: Floats) -> float:
    """The largest ``|a·root|`` over all rows: one pass."""
    origin = np.zeros(catalogue.dim)
    norm = Norm(root, catalogue.max_norm, 1.0)
    return float(highest(catalogue, ScoreQuestion(origin, norm, 1.0, origin, FIRST_MOST)).scores.max())
