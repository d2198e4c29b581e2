"""The rows of a shard that may lead, now or soon, and those that may be furthest above one that does.

Widths are those that the shard keeps (`kept`), so that a mean takes one product a row, and the width of a
difference ``‖a - b‖² = ‖a‖² + ‖b‖² - 2·aᵀV⁻¹b`` one more.
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
from noisewise.actions.catalogue.passes import Indices, taken
from noisewise.actions.catalogue.scores import ScoreAnswer
from noisewise.actions.catalogue.shards import Shard, Stored
from noisewise.core.support.blocks import Floats, row_blocks

#: Of the rows that are asked for, one in this many is there for its mean alone.
FOR_MEANS = 8


class LeadingQuestion(NamedTuple):
    """Which rows have the largest ``mean + reach·width``, and what the others have for several reaches."""

    course: Course
    theta: Floats  # (dim,)
    reach: float
    levels: Floats  # reaches
    most: int  # rows to return at most


class LeadingAnswer(NamedTuple):
    """Rows, and for each level what no other row's ``mean + reach·width`` exceeds; -inf if there is none."""

    numbers: Indices
    rows: Stored
    cuts: Floats
    widest: float  # a width that no row exceeds


class ContrastQuestion(NamedTuple):
    """Which rows have the largest ``<θ, a - b> + reach·‖a - b‖``."""

    course: Course
    theta: Floats  # (dim,)
    reach: float
    leader: Floats  # b
    step: Floats  # V⁻¹b
    most: int  # rows to return at most


def leading_rows(shard: Shard, question: LeadingQuestion) -> LeadingAnswer:
    """The rows of the shard that may lead."""
    norm, unit = question.course.norm, unit_of_means(question.course.norm, question.theta)
    kind: Any = np.float32 if norm.is_single else np.float64
    means, widths, scores = (np.empty(shard.count, kind) for _ in range(3))
    in_unit, reach = kind(math.sqrt(norm.scale) / unit), kind(question.reach)

    def look(kept: Kept, some: slice, seen: NDArray[Any]) -> None:
        means[some] = seen[0]
        np.sqrt(kept.bounds[some], out=widths[some])
        widths[some] *= in_unit
        np.multiply(widths[some], reach, out=scores[some])
        scores[some] += means[some]

    brought_up(shard, question.course, question.theta[:, None] / unit, look)
    widest = float(widths.max()) * (1.0 + ROUNDED)
    few = max(1, question.most // FOR_MEANS)
    best = np.union1d(places_of_largest(scores, max(1, question.most - few)), places_of_largest(means, few))
    means[best] = -np.inf
    tops = np.full(len(question.levels), -np.inf)
    for block in row_blocks(shard.count):
        others, wide = means[block], widths[block]
        np.maximum(tops, [(others + kind(level) * wide).max() for level in question.levels], out=tops)
    cuts = tops + _off(question) + ROUNDED * question.levels * widest
    return LeadingAnswer(best + shard.first, taken(shard, best), cuts * unit, widest * unit)


def highest_contrasts(shard: Shard, question: ContrastQuestion) -> ScoreAnswer:
    """The rows of the shard that may be furthest above the leader, and a bound on all others."""
    norm, unit = question.course.norm, unit_of_means(question.course.norm, question.theta)
    scale, kind = norm.scale, np.float32 if norm.is_single else np.float64
    scores, own = np.empty(shard.count, kind), float(question.leader @ question.step) / scale
    reach = kind(question.reach * math.sqrt(scale) / unit)
    # Rounding of products with the step, and of sums that cancel.
    length = float(norm.longest * np.linalg.norm(question.step)) / scale
    above = (1.0 + 2.0 * ROUNDED) * own + 2.0 * length * (shard.dim + 8) * 2.0**-23

    def look(kept: Kept, some: slice, seen: NDArray[Any]) -> None:
        squares = np.multiply(kept.bounds[some], kind(1.0 + 2.0 * ROUNDED), dtype=kind)
        squares += kind(above)
        squares -= seen[1]
        np.maximum(squares, kind(0.0), out=squares)
        np.sqrt(squares, out=squares)
        squares *= reach
        np.add(squares, seen[0], out=scores[some])

    both = np.column_stack([question.theta / unit, 2.0 * question.step / scale])
    brought_up(shard, question.course, both, look)
    wanted = min(question.most, shard.count)
    best = places_of_largest(scores, wanted)
    scores[best] = -np.inf
    cut = bound_on_others(float(scores.max()), _off(question)) * unit
    cut -= float(question.leader @ question.theta)
    return ScoreAnswer(best + shard.first, taken(shard, best), cut)


def _off(question: LeadingQuestion | ContrastQuestion) -> float:
    """What rounding may do to a mean, in that unit."""
    return (len(question.theta) + 16) * 2.0**-23
