"""The rows of a shard with the largest ``|a·columns|²/(variance + ‖a‖²)``, what a measurement takes off."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.actions.catalogue.kept import Course, Kept, brought_up, largest_of, level_of
from noisewise.actions.catalogue.lowers import LowerAnswer, LowerQuestion, LowersSeen
from noisewise.actions.catalogue.passes import Indices, taken
from noisewise.actions.catalogue.scores import best_places
from noisewise.actions.catalogue.shards import Shard, Stored
from noisewise.core.support.blocks import Floats

#: What float32 may take off a sum, a root or a quotient, and more; and float64.
ROUNDED, HARDLY = 1e-5, 1e-9
#: How many times as many rows as are returned are looked at in float64.
LOOKED_AT = 16


class GainQuestion(NamedTuple):
    """Which rows gain most."""

    course: Course
    columns: Floats  # (dim, races)
    variance: float
    most: int  # rows to return at most
    lowers: LowerQuestion | None = None  # to be answered in the same pass


class GainAnswer(NamedTuple):
    """The rows that gain most, and what no other exceeds."""

    numbers: Indices
    rows: Stored
    cut: float
    lowers: LowerAnswer | None


def highest_gains(shard: Shard, question: GainQuestion) -> GainAnswer:
    """The rows of the shard that gain most, and a bound on the gains of all others.

    Of squared widths it is known what they are at least; with that one product for each
    race is all there is to compute, and the bounds are lowered on the way.
    """
    course, races = question.course, question.columns.shape[1]
    norm, size = course.norm, float(np.linalg.norm(question.columns)) or 1.0
    unit = norm.longest * size or 1.0
    kind: Any = np.float32 if norm.is_single else np.float64
    gains = np.empty(shard.count, kind)
    off, variance = kind((shard.dim + 8) * 2.0**-23), kind(question.variance / norm.scale)
    lowers = None if question.lowers is None else LowersSeen(shard, question.lowers, course)

    def look(kept: Kept, some: slice, seen: NDArray[Any]) -> None:
        if lowers is not None:
            lowers.look(kept, some, seen[races:])
        # In the units of the norm and of the products: only what is negligible is far from 1.
        products, above = seen[:races], gains[some]
        np.multiply(products, products, out=products)
        np.sum(products, axis=0, out=above)
        np.sqrt(above, out=above)
        above += off
        np.multiply(above, above, out=above)
        noise = kept.least(some).astype(kind, copy=False)
        noise += variance
        with np.errstate(over="ignore", divide="ignore"):
            # What float32 cannot hold is infinite, and bounds nothing.
            np.divide(above, noise, out=above)

    along = question.columns / unit
    brought_up(shard, course, along if lowers is None else np.hstack([along, lowers.along]), look)
    wanted = min(LOOKED_AT * question.most, shard.count)
    level = level_of(gains, wanted) if wanted < shard.count else -np.inf
    likely, cut = largest_of(gains, np.flatnonzero(gains >= level), wanted, level)
    exactly = _exact_gains(shard.block(likely), question)
    best, rest = best_places(exactly, question.most)
    cut = max(cut * (1.0 + ROUNDED) * unit * unit / norm.scale, rest * (1.0 + HARDLY))
    numbers, rows = likely[best] + shard.first, taken(shard, likely[best])
    return GainAnswer(numbers, rows, cut, None if lowers is None else lowers.answer())


def _exact_gains(rows: Stored, question: GainQuestion) -> Floats:
    vectors = np.asarray(rows, dtype=np.float64)
    squares = np.square(vectors @ question.columns).sum(axis=1)
    widths = np.square(vectors @ question.course.norm.root).sum(axis=1)
    return np.asarray(squares / (question.variance + widths))
