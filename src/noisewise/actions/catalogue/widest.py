"""The widest rows of a shard, without looking at all of them every time.

V only grows while measurements come in, so widths only fall, and **an old width stays an upper bound**. A
shard keeps the last bound of each row for every run of a policy, and lowers them by what the measurements
since then took
off: as many products per row as there were measurements, where a width from nothing takes one per feature.
Bounds are a cache: where they are missing (a fresh worker, another process) they are computed, and the
answer is as good.
"""

import math
import threading
from collections import OrderedDict
from typing import NamedTuple

import numpy as np

from noisewise.actions.catalogue.passes import Indices, Norm, Singles, lower_bounds, taken, width_bounds
from noisewise.actions.catalogue.shards import Shard, Stored
from noisewise.core.choice.selection import TIE
from noisewise.core.support import blas
from noisewise.core.support.blocks import Floats

#: Bounds that are sampled to find a level.
SAMPLED = 16_384
#: A level is sought that this many times the wanted rows reach: a sample may be off.
GENEROUS = 1.5
#: Bounds are lowered by steps while these are fewer than this share of the dimension, and the widest row has
#: kept
#: this share of its squared width since they were computed: what float32 leaves open does not fall with them.
FEW_STEPS, WORN = 0.8, 0.002
#: Bounds kept in one process, over all runs and shards; each takes 4 bytes per row.
MOST_KEPT = 256
#: Rows solved together in float64.
SOLVED = 4096


class WidestQuestion(NamedTuple):
    """Which rows are the widest, beside those that are known already."""

    norm: Norm
    known: Indices  # row numbers of the catalogue, ascending
    most: int  # rows to return at most
    steps: Floats  # (measurements, dim): widths lost <s, a>² by each
    begin: int  # how many measurements of the run came before these
    top: float  # the largest squared width among the known; what is narrower is not in question
    run: str  # whose bounds these are
    keep: bool  # whether the run goes on from this norm


class WidestAnswer(NamedTuple):
    """Rows that are wider than the cut, and a cut that nothing else exceeds but the known."""

    numbers: Indices
    rows: Stored
    cut: float  # a squared width; -inf if no row is left


class Kept(NamedTuple):
    """The bounds of a shard's rows."""

    bounds: Singles  # in the unit of the norm
    number: int  # after how many measurements of the run they were computed or lowered
    top: float  # the largest when they were computed


_kept: OrderedDict[tuple[str, Shard], Kept] = OrderedDict()
_turn = threading.Lock()


def forget(run: str) -> None:
    """Let go of what is kept here for a run."""
    with _turn:
        for key in [key for key in _kept if key[0] == run]:
            del _kept[key]


def _recall(run: str, shard: Shard) -> Kept | None:
    with _turn:
        found = _kept.get((run, shard))
        if found is not None:
            _kept.move_to_end((run, shard))
        return found


def _keep(run: str, shard: Shard, kept: Kept) -> None:
    with _turn:
        _kept[run, shard] = kept
        _kept.move_to_end((run, shard))
        while len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)


def widest_rows(shard: Shard, question: WidestQuestion) -> WidestAnswer:
    """The widest rows of the shard that are not known, and a bound on all others."""
    known = _local(shard, question.known)
    wanted = min(question.most, shard.count - len(known))
    if wanted <= 0:
        return WidestAnswer(np.empty(0, np.int64), taken(shard, np.empty(0, np.int64)), -np.inf)
    kept = _recall(question.run, shard)
    if kept is not None and not question.keep:
        kept = kept._replace(bounds=kept.bounds.copy())
    kept = _all_anew(shard, question, kept)
    if question.keep:
        _keep(question.run, shard, kept)
    level = _level(kept.bounds, math.ceil(GENEROUS * (wanted + len(known))))
    above = _without(np.flatnonzero(kept.bounds >= level), known)
    chosen, cut = _largest(kept.bounds, above, wanted, level)
    return WidestAnswer(chosen + shard.first, taken(shard, chosen), cut * question.norm.scale)


def _all_anew(shard: Shard, question: WidestQuestion, kept: Kept | None) -> Kept:
    """The bounds of all rows after all measurements of the question."""
    number = question.begin + len(question.steps)
    if kept is not None and question.begin <= kept.number and question.norm.is_single:
        steps = question.steps[kept.number - question.begin :]
        worn = question.top / question.norm.scale < WORN * kept.top
        if len(steps) <= FEW_STEPS * shard.dim and not worn:
            if len(steps):
                lower_bounds(shard, kept.bounds, steps, question.norm)
            return kept._replace(number=number)
    bounds = width_bounds(shard, None, question.norm)
    return Kept(bounds, number, float(bounds.max()))


def _level(bounds: Singles, count: int) -> float:
    """A level that about ``count`` bounds reach, or more."""
    step = max(1, len(bounds) // SAMPLED)
    sample = bounds[::step]
    place = len(sample) - min(len(sample), -(-count // step))
    return float(np.partition(sample, place)[place]) if place else -np.inf


def _largest(bounds: Singles, rows: Indices, wanted: int, level: float) -> tuple[Indices, float]:
    """The rows of the ``wanted`` largest bounds, ascending, and what no other bound exceeds."""
    if len(rows) <= wanted:
        return rows, level
    values = bounds[rows]
    order = np.argpartition(values, len(rows) - wanted - 1)
    left_out = float(values[order[len(rows) - wanted - 1]])
    return np.sort(rows[order[len(rows) - wanted :]]), max(level, left_out)


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
    kept = _recall(question.run, shard)
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
