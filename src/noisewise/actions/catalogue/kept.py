"""What a shard keeps for a run of a policy: bounds on each row's squared width, now and at first, 8 bytes.

V only grows while measurements come in, so widths only fall, and **an old width stays an upper bound**.
Bounds are lowered by what the measurements since then took off: as many products per row as there were
measurements, where a width from nothing takes one per feature. What else is to be known of all rows (means,
covariances with some vectors) is read off in the same pass.
Bounds are a cache: where they are missing (a fresh worker, another process) they are computed, and the
answer is as good.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.actions.catalogue.passes import (
    ROOM,
    Indices,
    Norm,
    Singles,
    lower_bounds,
    lowering_slack,
    read_along,
    width_bounds,
    width_slack,
)
from noisewise.actions.catalogue.shards import Shard
from noisewise.core.support.blocks import Floats

#: Bounds are lowered by steps while these are fewer than this share of the dimension, and the widest row has
#: kept this share of its squared width since they were computed: what float32 leaves open does not fall.
FEW_STEPS, WORN = 0.8, 0.02
#: Steps after which bounds are computed anew: each rounds a bound by 2⁻²⁴ of it, and ROOM covers 300 of them.
MOST_STEPS = 250
#: Bounds kept in one process, over all runs and shards; they take 8 bytes per row.
MOST_KEPT = 256
#: What float32 may take off a sum of some numbers, as a share of the largest, and more.
ROUNDED = 1e-6
#: Means that are smaller than this share of the largest width there was are nothing beside it.
HARDLY_ANY = 1e-20
EVERYBODY = slice(None)
#: Values that are sampled to find a level.
SAMPLED = 16_384


class Course(NamedTuple):
    """How far a run has come."""

    norm: Norm
    steps: Floats  # (measurements, dim): widths lost <s, a>² by each
    begin: int  # how many measurements of the run came before these
    top: float  # about the largest squared width there is
    run: str  # whose bounds these are
    keep: bool  # whether the run goes on from this norm


class Kept(NamedTuple):
    """The bounds of a shard's rows."""

    bounds: Singles  # in the unit of the norm
    number: int  # after how many measurements of the run they were computed or lowered
    lowered: int  # by how many of them
    top: float  # the largest when they were computed
    firsts: Singles  # the bounds when they were computed
    slack: float  # of float32, in the unit of the norm

    def least(self, some: slice = EVERYBODY) -> Singles:
        """What squared widths are at least, in the unit of the norm, for a range of rows."""
        # Of the first bound: 4·ROOM for it, 2·ROOM for what was taken off, which is no more, and rounding.
        found = self.firsts[some] * np.float32(-8.0 * ROOM)
        found += self.bounds[some]
        found -= np.float32(self.slack)
        return np.asarray(np.maximum(found, np.float32(0.0), out=found))


#: What is kept, a range of rows, and the products of each direction with them.
Look = Callable[[Kept, slice, NDArray[Any]], None]

_kept: OrderedDict[tuple[str, Shard], Kept] = OrderedDict()
_turn = threading.Lock()


def forget(run: str) -> None:
    """Let go of what is kept here for a run."""
    with _turn:
        for key in [key for key in _kept if key[0] == run]:
            del _kept[key]


def recall(run: str, shard: Shard) -> Kept | None:
    """What is kept of a shard for a run, if anything is."""
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


def brought_up(shard: Shard, course: Course, along: Floats | None = None, look: Look | None = None) -> Kept:
    """The bounds of all rows after all measurements, and what is to be seen along some directions.

    Args:
        shard: Whose rows.
        course: How far the run has come.
        along: Directions, (dim, directions).
        look: Called with what is kept, a range of rows for which it is brought up, and the products of each
            direction with them, in float32 if the norm is for that; the products are its own.
    """
    found = recall(course.run, shard)
    if found is not None and not course.keep:
        found = found._replace(bounds=found.bounds.copy())
    kept, steps = _lowerable(shard, course, found)
    # Twice what was allowed for rounding when bounds were lowered: once for them, once for the widths.
    slack = kept.slack + 3.0 * lowering_slack(steps, course.norm)
    number, lowered = course.begin + len(course.steps), kept.lowered + len(steps)
    kept = kept._replace(number=number, lowered=lowered, slack=slack)
    if along is not None and look is not None:
        show = look
        read_along(
            shard, kept.bounds, steps, course.norm, along, lambda some, products: show(kept, some, products)
        )
    elif len(steps):
        lower_bounds(shard, kept.bounds, steps, course.norm)
    if course.keep:
        _keep(course.run, shard, kept)
    return kept


def _lowerable(shard: Shard, course: Course, kept: Kept | None) -> tuple[Kept, Floats]:
    """Bounds, and the steps by which they are to be lowered still."""
    if kept is not None and course.begin <= kept.number and course.norm.is_single:
        steps = course.steps[kept.number - course.begin :]
        worn = course.top / course.norm.scale < WORN * kept.top
        many = len(steps) > FEW_STEPS * shard.dim or kept.lowered + len(steps) > MOST_STEPS
        if not (worn or many):
            return kept, steps
    bounds = width_bounds(shard, None, course.norm)
    slack = 3.0 * width_slack(course.norm)
    return Kept(bounds, 0, 0, float(bounds.max()), bounds.copy(), slack), course.steps[:0]


def level_of(values: NDArray[Any], count: int) -> float:
    """A level that about ``count`` values reach, or more."""
    step = max(1, len(values) // SAMPLED)
    sample = values[::step]
    place = len(sample) - min(len(sample), -(-count // step))
    return float(np.partition(sample, place)[place]) if place else -np.inf


def largest_of(values: NDArray[Any], rows: Indices, wanted: int, level: float) -> tuple[Indices, float]:
    """The rows of the ``wanted`` largest values, ascending, and what no other value exceeds."""
    if len(rows) <= wanted:
        return rows, level
    found = values[rows]
    order = np.argpartition(found, len(rows) - wanted - 1)
    left_out = float(found[order[len(rows) - wanted - 1]])
    return np.sort(rows[order[len(rows) - wanted :]]), max(level, left_out)


def places_of_largest(values: NDArray[Any], wanted: int) -> Indices:
    """The rows of the ``wanted`` largest values, ascending."""
    level = level_of(values, wanted) if wanted < len(values) else -np.inf
    return largest_of(values, np.flatnonzero(values >= level), wanted, level)[0]


def bound_on_others(top: float, off: float) -> float:
    """What a sum is at most if it came out as ``top`` or less in float32, in a unit that no mean exceeds.

    Args:
        top: The largest of some; -inf if there is none, and nothing is to be allowed for.
        off: What rounding may do to a mean.
    """
    return top if top == -np.inf else top + off + ROUNDED * (1.0 + abs(top))


def unit_of_means(norm: Norm, thetas: Floats) -> float:
    """What no mean exceeds, nor widths by far: in it, float32 neither over- nor underflows."""
    size = float(norm.longest * np.sqrt(np.square(thetas).sum(axis=-1).max()))
    return max(size, HARDLY_ANY * float(np.sqrt(norm.scale)))
