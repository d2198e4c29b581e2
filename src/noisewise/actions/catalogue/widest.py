"""The widest rows of a shard, without looking at all of them every time: see `kept`."""

import math
from typing import NamedTuple

import numpy as np

from noisewise.actions.catalogue.kept import Course, brought_up, largest_of, level_of, recall
from noisewise.actions.catalogue.passes import Indices, Norm, taken, width_bounds
from noisewise.actions.catalogue.shards import Shard, Stored
from noisewise.core.choice.selection import TIE
from noisewise.core.support import blas
from noisewise.core.support.blocks import Floats

#: A level is sought that this many times the wanted rows reach: a sample may be off.
GENEROUS = 1.5
#: Rows solved together in float64.
SOLVED = 4096


class WidestQuestion(NamedTuple):
    """Which rows are the widest, beside those that are known already."""

    course: Course  # its top: the largest among the known
    known: Indices  # row numbers of the catalogue, ascending
    most: int  # rows to return at most


class WidestAnswer(NamedTuple):
    """Rows that are wider than the cut, and a cut that nothing else exceeds but the known."""

    numbers: Indices
    rows: Stored
    cut: float  # a squared width; -inf if no row is left


def widest_rows(shard: Shard, question: WidestQuestion) -> WidestAnswer:
    """The widest rows of the shard that are not known, and a bound on all others."""
    known = _local(shard, question.known)
    wanted = min(question.most, shard.count - len(known))
    if wanted <= 0:
        return WidestAnswer(np.empty(0, np.int64), taken(shard, np.empty(0, np.int64)), -np.inf)
    bounds = brought_up(shard, question.course).bounds
    level = level_of(bounds, math.ceil(GENEROUS * (wanted + len(known))))
    above = _without(np.flatnonzero(bounds >= level), known)
    chosen, cut = largest_of(bounds, above, wanted, level)
    return WidestAnswer(chosen + shard.first, taken(shard, chosen), cut * question.course.norm.scale)


class TieQuestion(NamedTuple):
    """Exact squared widths: ``V = UᵀDU`` itself instead of its root."""

    upper: Floats  # (dim, dim): U, its diagonal of ones not read
    reciprocals: Floats  # (dim,): 1/D
    norm: Norm
    low: float  # rows of smaller squared width do not matter
    run: str


def widest_exactly(shard: Shard, question: TieQuestion) -> float:
    """The largest squared width in the shard, in float64; -inf if it is below ``low``."""
    top = -np.inf
    for batch in _in_question(shard, question):
        top = max(top, float(exact_widths(shard.block(batch), question).max()))
    return top if top >= question.low else -np.inf


def first_exactly(shard: Shard, question: TieQuestion) -> int:
    """The first row of the shard whose squared width is at least ``low``; -1 if there is none."""
    for batch in _in_question(shard, question):
        reached = exact_widths(shard.block(batch), question) >= question.low
        if reached.any():
            return shard.first + int(batch[np.argmax(reached)])
    return -1


def _in_question(shard: Shard, question: TieQuestion) -> list[Indices]:
    kept = recall(question.run, shard)
    bounds = width_bounds(shard, None, question.norm) if kept is None else kept.bounds
    rows = np.flatnonzero(bounds >= question.low / question.norm.scale * (1.0 - TIE))
    return [rows[start : start + SOLVED] for start in range(0, len(rows), SOLVED)]


def exact_widths(rows: Stored, question: TieQuestion) -> Floats:
    """``‖D^(-1/2)·U⁻ᵀa‖²`` of some rows, as a model computes it."""
    vectors = np.array(rows, dtype=np.float64)
    solve = blas.routines().solve_many
    halves = solve(1.0, question.upper, vectors.T, trans_a=1, diag=1, overwrite_b=1).T
    return np.asarray(np.square(halves) @ question.reciprocals)


def _local(shard: Shard, index: Indices) -> Indices:
    """Those of ascending rows of the catalogue that are in the shard, counted from its first."""
    first, last = np.searchsorted(index, (shard.first, shard.first + shard.count))
    return index[first:last] - shard.first


def _without(rows: Indices, known: Indices) -> Indices:
    """Ascending rows without the known ones."""
    if not len(known):
        return rows
    places = np.searchsorted(known, rows)
    places[places == len(known)] = 0
    return np.asarray(rows[known[places] != rows])
