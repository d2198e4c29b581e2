"""The rows of a shard with the largest ``<direction, a - origin> + reach·‖a - origin‖``.

Means (reach 0), upper and lower bounds (reach above and below 0) and contrasts (an origin) are all such
scores.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from noisewise.actions.catalogue.passes import TOGETHER, Indices, Norm, taken
from noisewise.actions.catalogue.shards import Shard, Stored
from noisewise.core.support.blocks import Floats, map_rows


class ScoreQuestion(NamedTuple):
    """Which rows score highest."""

    direction: Floats  # (dim,)
    norm: Norm
    reach: float
    origin: Floats  # (dim,)
    most: int  # rows to return at most
    exact: bool = False  # whether all rows are looked at in float64


class ScoreAnswer(NamedTuple):
    """The rows that score highest, and what no other exceeds."""

    numbers: Indices
    rows: Stored
    cut: float  # -inf if no row is left


def score_slack(question: ScoreQuestion) -> float:
    """What float32 may have taken off a score, or added to it."""
    norm = question.norm
    further = norm.longest + float(np.linalg.norm(question.origin))
    roundings = (len(question.direction) + 8) * 2.0**-24
    along = further * float(np.linalg.norm(question.direction))
    across = abs(question.reach) * further * float(np.linalg.norm(norm.root)) if question.reach else 0.0
    return 2.0 * roundings * (along + across)


def exact_scores(rows: Stored, question: ScoreQuestion) -> Floats:
    """The scores of some rows, in float64."""
    away = np.asarray(rows, dtype=np.float64) - question.origin
    scores = away @ question.direction
    if question.reach:
        scores += question.reach * np.linalg.norm(away @ question.norm.root, axis=1)
    return np.asarray(scores)


def highest_rows(shard: Shard, question: ScoreQuestion) -> ScoreAnswer:
    """The rows of the shard that score highest, and a bound on all others."""
    if question.exact or not question.norm.is_single:
        return _highest(shard, question, lambda block: exact_scores(block, question), 0.0)
    unit = question.norm.unit if question.reach else 1.0
    root = (question.norm.root / unit).astype(np.float32)
    size = float(np.abs(question.direction).max()) or 1.0
    direction = (question.direction / size).astype(np.float32)
    moved = question.origin.any()
    origin = question.origin.astype(np.float32)

    def roughly(block: Stored) -> Floats:
        near = np.asarray(block, dtype=np.float32)
        if moved:
            near = near - origin
        scores = (near @ direction).astype(np.float64) * size
        if question.reach:
            image = near @ root
            scores += question.reach * unit * np.sqrt(np.einsum("ij,ij->i", image, image).astype(np.float64))
        return scores

    return _highest(shard, question, roughly, score_slack(question))


def _highest(
    shard: Shard, question: ScoreQuestion, score: Callable[[Stored], Floats], slack: float
) -> ScoreAnswer:
    found_rows, found_scores, left_out = [], [], []

    def look(part: slice) -> tuple[Indices, Floats, float]:
        """The best of a part: as many as may be among the best of all."""
        scores = np.empty(part.stop - part.start)
        for start in range(part.start, part.stop, TOGETHER):
            some = slice(start, min(start + TOGETHER, part.stop))
            scores[start - part.start : some.stop - part.start] = score(shard.block(some))
        best, rest = best_places(scores, question.most)
        return best + part.start, scores[best], rest

    for rows, scores, rest in map_rows(look, shard.count):
        found_rows.append(rows)
        found_scores.append(scores)
        left_out.append(rest)
    rows, scores = np.concatenate(found_rows), np.concatenate(found_scores)
    best, rest = best_places(scores, question.most)
    cut = max(rest, *left_out) + slack
    return ScoreAnswer(rows[best] + shard.first, taken(shard, rows[best]), cut)


def best_places(scores: Floats, most: int) -> tuple[Indices, float]:
    """The places of the largest scores, ascending, and the largest of the others."""
    if len(scores) <= most:
        return np.arange(len(scores)), -np.inf
    order = np.argpartition(scores, len(scores) - most - 1)
    return np.sort(order[len(scores) - most :]), float(scores[order[len(scores) - most - 1]])


def first_scoring(shard: Shard, question: ScoreQuestion, low: float, start: int) -> int:
    """The first row, from row ``start`` of the catalogue on, that scores ``low``; -1 if none does."""
    slack = score_slack(question)
    for first in range(max(0, start - shard.first), shard.count, TOGETHER):
        some = slice(first, min(first + TOGETHER, shard.count))
        block = shard.block(some)
        if question.reach == 0.0 and question.norm.is_single and not question.origin.any():
            # One product in float32 shows most blocks to hold nothing.
            rough = np.asarray(block, dtype=np.float32) @ question.direction.astype(np.float32)
            if float(rough.max()) + slack < low:
                continue
        reached = exact_scores(block, question) >= low
        if reached.any():
            return shard.first + first + int(np.argmax(reached))
    return -1
