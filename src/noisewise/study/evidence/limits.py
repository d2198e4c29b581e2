"""Tables of how far every option's mean can lie out, at all levels; only those of changed options are new.

A look at a study of a thousand options needs the reach of every option at every level. They depend on an
option's own measurements alone, so a measurement changes two rows: one on either side.

**Interpolation** where error bars are known. With z in units of one standard error, the reach at a level is a
smooth function of ``log(N·resolution²)`` alone. So it is searched at a few precisions in every cell of that
axis that a study meets, and interpolated by Chebyshev polynomials between them: a study of 10^5 options costs
no more searches than one of a hundred. What is found is widened by more than interpolation errs (`SAFETY`; a
test compares).
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial.chebyshev import chebvander

from noisewise.core.blocks import Floats, Mask, distinct
from noisewise.study.evidence.kind import DOWN, UP, Kind
from noisewise.study.evidence.known import KnownErrorBars
from noisewise.study.evidence.levels import Levels, above_idle, all_levels
from noisewise.study.evidence.own_scatter import OwnScatter
from noisewise.study.evidence.search import reaches
from noisewise.study.log.measurements import Codes

#: Options whose reaches are searched together: what fits a processor's cache.
TOGETHER = 256
#: In the place of a level of -inf, of which nothing is searched for.
FLOOR = -20.0


class Tables(NamedTuple):
    """Reaches of all options: -inf where a level leaves nothing possible, inf where nothing was measured."""

    up: Floats  # (n, levels): of rivals, at `Levels.left`
    down: Floats  # (n, levels): of the recommended option, at `Levels.spent`
    ends: Floats  # (n, 3): at level 0 upwards, at level 0 downwards, at the cap downwards
    limited: Mask  # (n,): whether scatter is known by an upper limit only
    concave: Mask  # (n,): whether a row is concave in the level, as that of a single kind is
    facts: Floats  # (n, …): what each row was made from
    made_for: tuple[object, ...]

    def of(self, options: Codes) -> "Tables":
        """The rows of some options."""
        if options.size == len(self.up) and (np.diff(options) == 1).all():
            return self
        parts: Any = (part[options] for part in self[:-1])
        return Tables._make((*parts, self.made_for))


def joined(rows: Sequence[Tables]) -> Tables:
    """Rows of several tables of the same form, one below the other."""
    parts: Any = (np.concatenate(part) for part in zip(*(some[:-1] for some in rows), strict=True))
    return Tables._make((*parts, rows[0].made_for))


def tabulate(kinds: Sequence[Kind], levels: Levels, before: Tables | None = None) -> Tables:
    """All reaches; rows of options that did not change are taken from earlier tables.

    Args:
        kinds: The evidence.
        levels: At which reaches are needed.
        before: Earlier tables of the same study.
    """
    facts = np.concatenate([kind.facts for kind in kinds], axis=1)
    signatures = tuple(kind.signature for kind in kinds)
    made_for = (signatures, levels.stacks, *(part.tobytes() for part in all_levels(levels)))
    n, width = facts.shape[0], levels.spent.size
    measured = np.any([kind.holds() for kind in kinds], axis=0)
    if before is not None and before.made_for == made_for and before.facts.shape == facts.shape:
        changed = (before.facts != facts).any(axis=1)
        if not changed.any():
            return before
        # Whole tables are copied faster than rows of them.
        up, down, ends = before.up.copy(), before.down.copy(), before.ends.copy()
        up[changed] = down[changed] = ends[changed] = np.inf
        measured &= changed
    else:
        up, down, ends = np.full((n, width), np.inf), np.full((n, width), np.inf), np.full((n, 3), np.inf)
    fresh = np.flatnonzero(measured)
    limited, several = _limited(kinds, n), np.sum([kind.holds() for kind in kinds], axis=0) > 1
    rows = functools.partial(_rows, kinds, levels=levels, limited=limited)
    convex = all(kind.convex for kind in kinds)
    concave = ~(limited & several) & convex
    if not convex:
        rows = functools.partial(_idling, kinds, levels=levels, limited=limited)
    if levels.stacks is not None:
        rows = functools.partial(_weighed, kinds, levels=levels, limited=limited)
        concave = np.zeros(n, dtype=bool)
    simple = _simple(kinds, fresh) if levels.stacks is None else fresh[:0]
    if simple.size:
        up[simple], down[simple], ends[simple] = rows(simple, interpolate=True)
        fresh = np.setdiff1d(fresh, simple, assume_unique=True)
    one_each, like = _alike(facts, fresh)
    for first in range(0, one_each.size, TOGETHER):
        some = one_each[first : first + TOGETHER]
        up[some], down[some], ends[some] = rows(some)
    for part in (up, down, ends):
        part[fresh] = part[like]
    return Tables(up, down, ends, limited, concave, facts, made_for)


def _alike(facts: Floats, options: Codes) -> tuple[Codes, Codes]:
    """One option for each different row of facts, and for every option the one that it is like.

    Among very many options that were tried equally often, most are like others.
    """
    if options.size <= TOGETHER:
        return options, options
    _, first, inverse = np.unique(facts[options], axis=0, return_index=True, return_inverse=True)
    return options[first], options[first[inverse.reshape(-1)]]


def _simple(kinds: Sequence[Kind], options: Codes) -> Codes:
    """Those that have known error bars and nothing else."""
    if len(kinds) != 1 or not isinstance(kinds[0], KnownErrorBars):
        return options[:0]
    return np.asarray(options[kinds[0].facts[options, 1] == 0.0])


def _rows(
    kinds: Sequence[Kind],
    options: Codes,
    *,
    levels: Levels,
    limited: Mask,
    interpolate: bool = False,
) -> tuple[Floats, Floats, Floats]:
    """The rows of some options; interpolated, if one kind of known error bars is all there is."""
    if interpolate and isinstance(kinds[0], KnownErrorBars):
        up, down = interpolated(kinds[0].facts[options, 0], kinds[0].resolution, levels)
    else:
        rivals, spent = all_levels(levels)
        up, down = reaches(kinds, options, rivals, UP), reaches(kinds, options, spent, DOWN)
    for kind in (kind for kind in kinds if kind.limited):
        if len(kinds) == 1:  # what level 0 leaves is there already
            up, down = np.maximum(up, up[:, -1:]), np.maximum(down, down[:, -2:-1])
        else:
            _not_below(up, kind, options, UP)
            _not_below(down, kind, options, DOWN)
    ends = np.column_stack([up[:, -1], down[:, -2:]])
    # No evidence is below the first level.
    up, down = up[:, :-1].copy(), np.column_stack([np.full(options.size, -np.inf), down[:, :-2]])
    limited = limited[options]
    up[np.ix_(limited, levels.left < 0.0)] = -np.inf
    down[np.ix_(limited, levels.spent < 0.0)] = -np.inf
    return up, down, ends


def _weighed(
    kinds: Sequence[Kind], options: Codes, *, levels: Levels, limited: Mask
) -> tuple[Floats, Floats, Floats]:
    """The rows of some options, where own stacks and the rest of the evidence each have their weight.

    An option's mean is within reach where neither of both reaches its level.
    """
    assert levels.stacks is not None
    up, down = (np.full((options.size, levels.spent.size), np.inf) for _ in range(2))
    down[:, 0] = -np.inf
    ends = np.full((options.size, 3), np.inf)
    for kind in kinds:
        if isinstance(kind, OwnScatter):
            rows = np.flatnonzero(kind.holds()[options])
            spent = levels.stacks.own_level(np.append(levels.spent[1:], levels.cap))
            left = levels.stacks.own_level(levels.left)
            up[rows] = kind.reaches(options[rows], left, UP)
            found = kind.reaches(options[rows], spent, DOWN)
            down[rows, 1:], ends[rows, 2] = found[:, :-1], found[:, -1]
    rest = [kind for kind in kinds if not kind.own_stack]
    rows = np.flatnonzero(np.any([kind.holds()[options] for kind in rest], axis=0)) if rest else options[:0]
    if rows.size:
        others = _idling(
            rest, options[rows], levels=levels, limited=limited, above=levels.stacks.others_level
        )
        up[rows], down[rows] = np.minimum(up[rows], others[0]), np.minimum(down[rows], others[1])
        ends[rows] = np.minimum(ends[rows], others[2])
    return up, down, ends


def _idling(
    kinds: Sequence[Kind],
    options: Codes,
    *,
    levels: Levels,
    limited: Mask,
    above: Callable[[Floats], Floats] = above_idle,
) -> tuple[Floats, Floats, Floats]:
    """The rows of some options whose evidence is idle in part, so that low levels leave nothing possible.

    Where reaches are not concave, nothing else says what comes after the last level.
    """
    left, spent, cap = map(above, (levels.left, levels.spent, np.array(levels.cap)))
    no_less = Levels(np.maximum(spent, FLOOR), np.maximum(left, FLOOR), levels.axis, float(cap))
    up, down, ends = _rows(kinds, options, levels=no_less, limited=limited)
    up[:, left == -np.inf] = -np.inf
    down[:, spent == -np.inf] = -np.inf
    return up, down, ends


def _not_below(reach: Floats, kind: Kind, options: Codes, side: float) -> None:
    """Nothing is excluded where a limited kind has evidence below 1: the true scatter may give less."""
    rows = np.flatnonzero(kind.holds()[options])
    alone = reaches([kind], options[rows], np.zeros(1), side)
    reach[rows] = np.maximum(reach[rows], alone)


def _limited(kinds: Sequence[Kind], n: int) -> Mask:
    found = np.zeros(n, dtype=bool)
    for kind in kinds:
        if kind.limited:
            found |= kind.holds()
    return found


#: The width of a cell, and in how many points of it reaches are searched.
WIDTH, POINTS = 0.5, 12
#: By which part of themselves (and of one standard error) reaches are widened.
SAFETY = 2e-11
#: How many cells are kept for all studies of a process.
MOST_KEPT = 4000

_places = np.cos(np.pi * (np.arange(POINTS) + 0.5) / POINTS)
_to_series = np.linalg.inv(chebvander(_places, POINTS - 1))


def interpolated(precision: Floats, resolution: float, levels: Levels) -> tuple[Floats, Floats]:
    """Reaches upwards and downwards at `all_levels`.

    Args:
        precision: Of some options, (k,), all above 0.
        resolution: The difference that matters.
        levels: The levels.
    """
    log = np.log(precision) + 2.0 * math.log(resolution)
    cell = np.floor(log / WIDTH).astype(np.int64)
    place = 2.0 * (log / WIDTH - cell) - 1.0
    rivals, spent = all_levels(levels)
    scale = 1.0 / np.sqrt(precision)
    found = np.empty((precision.size, rivals.size + spent.size))
    for one, nodes in _nodes(distinct(cell).tolist(), rivals, spent).items():
        rows = np.flatnonzero(cell == one)
        reach = chebvander(place[rows], POINTS - 1) @ _to_series @ nodes
        found[rows] = (reach + SAFETY * (1.0 + np.abs(reach))) * scale[rows, None]
    return found[:, : rivals.size], found[:, rivals.size :]


_kept: dict[tuple[int, bytes, bytes], Floats] = {}


def _nodes(cells: list[int], rivals: Floats, spent: Floats) -> dict[int, Floats]:
    """Reaches in the points of some cells, in units of one standard error, (POINTS, levels) each."""
    names = rivals.tobytes(), spent.tobytes()
    known = {cell: _kept.get((cell, *names)) for cell in cells}
    found = {cell: nodes for cell, nodes in known.items() if nodes is not None}
    new = [cell for cell in cells if cell not in found]
    for first in range(0, len(new), TOGETHER // POINTS):
        some = new[first : first + TOGETHER // POINTS]
        precision = np.exp(WIDTH * np.add.outer(some, 0.5 * (1.0 + _places))).ravel()
        kind, options = KnownErrorBars(precision, np.zeros(precision.size), 1.0), np.arange(precision.size)
        both = [reaches([kind], options, rivals, UP), reaches([kind], options, spent, DOWN)]
        nodes = np.concatenate(both, axis=1) * np.sqrt(precision)[:, None]
        found |= zip(some, nodes.reshape(len(some), POINTS, -1), strict=True)
    if len(_kept) > MOST_KEPT:
        _kept.clear()
    _kept.update(((cell, *names), found[cell]) for cell in new)
    return found
