"""The rows of a shard with the largest ``|a·columns|²/(variance + ‖a‖²)``, what a measurement takes off."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.actions.catalogue.kept import Course, brought_up, largest_of, level_of
from noisewise.actions.catalogue.passes import Singles, taken
from noisewise.actions.catalogue.scores import ScoreAnswer, best_places
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


def highest_gains(shard: Shard, question: GainQuestion) -> ScoreAnswer:
    """The rows of the shard that gain most, and a bound on the gains of all others.

    Of squared widths it is known what they are at least; with that one product for each
    race is all there is to compute, and the bounds are lowered on the way.
    """
    course = question.course
    norm, size = course.norm, float(np.linalg.norm(question.columns)) or 1.0
    unit = norm.longest * size or 1.0
    off = (shard.dim + 8) * 2.0**-23
    kind: Any = np.float32 if norm.is_single else np.float64
    products, squares = np.empty(shard.count, kind), np.ones(question.columns.shape[1], kind)

    def look(some: slice, bounds: Singles, seen: NDArray[Any]) -> None:
        np.multiply(seen, seen, out=seen)
        products[some] = seen @ squares

    kept = brought_up(shard, course, question.columns / unit, look)
    # In the units of the norm and of the products: only what is negligible is far from 1.
    least = kept.least().astype(kind, copy=False)
    least += kind(question.variance / norm.scale)
    np.sqrt(products, out=products)
    products += kind(off)
    np.multiply(products, products, out=products)
    with np.errstate(over="ignore", divide="ignore"):
        # What float32 cannot hold is infinite, and bounds nothing.
        np.divide(products, least, out=products)
    wanted = min(LOOKED_AT * question.most, shard.count)
    level = level_of(products, wanted) if wanted < shard.count else -np.inf
    likely, cut = largest_of(products, np.flatnonzero(products >= level), wanted, level)
    gains = _exact_gains(shard.block(likely), question)
    best, rest = best_places(gains, question.most)
    cut = max(cut * (1.0 + ROUNDED) * unit * unit / norm.scale, rest * (1.0 + HARDLY))
    return ScoreAnswer(likely[best] + shard.first, taken(shard, likely[best]), cut)


def _exact_gains(rows: Stored, question: GainQuestion) -> Floats:
    vectors = np.asarray(rows, dtype=np.float64)
    squares = np.square(vectors @ question.columns).sum(axis=1)
    widths = np.square(vectors @ question.course.norm.root).sum(axis=1)
    return np.asarray(squares / (question.variance + widths))
