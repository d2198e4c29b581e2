"""Tables of how far every option's mean can lie out, at all levels; only those of changed options are new.

A look at a study of a thousand options needs the reach of every option at every level. They depend on an
option's own measurements alone, so a measurement changes two rows: one on either side.
"""

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from noisewise.core.choice.selection import Mask
from noisewise.core.model.dense import Floats
from noisewise.study.evidence.kind import DOWN, UP, Kind
from noisewise.study.evidence.known import KnownErrorBars
from noisewise.study.evidence.levels import Levels
from noisewise.study.evidence.precision_cells import interpolated
from noisewise.study.evidence.reach import reaches
from noisewise.study.log.measurements import Codes

#: With more options than this, reaches are interpolated where they can be.
PAYS = 40
#: Options whose reaches are searched together: what fits a processor's cache.
TOGETHER = 256


class Tables(NamedTuple):
    """Reaches of all options: -inf where a level leaves nothing possible, inf where nothing was measured."""

    up: Floats  # (n, levels): of rivals, at `Levels.left`
    down: Floats  # (n, levels): of the recommended option, at `Levels.spent`
    concave: Mask  # (n,): whether a row is concave in the level, as that of a single kind is
    facts: Floats  # (n, …): what each row was made from
    made_for: tuple[object, ...]


def tabulate(kinds: Sequence[Kind], levels: Levels, before: Tables | None) -> Tables:
    """All reaches; rows of options that did not change are taken from earlier tables.

    Args:
        kinds: The evidence.
        levels: At which reaches are needed.
        before: Earlier tables of the same study.
    """
    facts = np.concatenate([kind.facts for kind in kinds], axis=1)
    made_for = (tuple(kind.signature for kind in kinds), levels.spent.tobytes(), levels.left.tobytes())
    n, width = facts.shape[0], levels.spent.size
    up, down = np.full((n, width), np.inf), np.full((n, width), np.inf)
    measured = np.any([kind.holds() for kind in kinds], axis=0)
    if before is not None and before.made_for == made_for and before.facts.shape[1] == facts.shape[1]:
        old = min(n, before.facts.shape[0])
        same = np.zeros(n, dtype=bool)
        same[:old] = (before.facts[:old] == facts[:old]).all(axis=1)
        if same.all() and old == before.facts.shape[0]:
            return before
        kept = np.flatnonzero(same)
        up[kept], down[kept] = before.up[kept], before.down[kept]
        measured &= ~same
    fresh = np.flatnonzero(measured)
    limited, several = _limited(kinds, n), np.sum([kind.holds() for kind in kinds], axis=0) > 1
    rows = functools.partial(_rows, kinds, levels=levels, limited=limited)
    simple = _simple(kinds, fresh)
    if simple.size > PAYS:
        up[simple], down[simple] = rows(simple, quickly=True)
        fresh = np.setdiff1d(fresh, simple, assume_unique=True)
    for first in range(0, fresh.size, TOGETHER):
        some = fresh[first : first + TOGETHER]
        up[some], down[some] = rows(some)
    return Tables(up, down, ~(limited & several), facts, made_for)


def _simple(kinds: Sequence[Kind], options: Codes) -> Codes:
    """Those that have known error bars and nothing else."""
    if len(kinds) != 1 or not isinstance(kinds[0], KnownErrorBars):
        return options[:0]
    return np.asarray(options[kinds[0].facts[options, 1] == 0.0])


def _rows(
    kinds: Sequence[Kind], options: Codes, *, levels: Levels, limited: Mask, quickly: bool = False
) -> tuple[Floats, Floats]:
    """The rows of some options; quickly, if one kind of known error bars is all there is."""
    if quickly and isinstance(kinds[0], KnownErrorBars):
        up, down = interpolated(kinds[0].facts[options, 0], kinds[0].resolution, levels)
    else:
        up = reaches(kinds, options, levels.left, UP)
        down = _never_at_first(reaches(kinds, options, levels.spent[1:], DOWN))
    limited = limited[options]
    if limited.any():
        # Evidence below 1 counts as 1: levels below 0 leave nothing.
        up[np.ix_(limited, levels.left < 0.0)] = -np.inf
        down[np.ix_(limited, levels.spent < 0.0)] = -np.inf
        for kind in (kind for kind in kinds if kind.limited):
            _not_below(up, kind, options, UP)
            _not_below(down, kind, options, DOWN)
    return up, down


def _never_at_first(down: Floats) -> Floats:
    """Reaches at all levels, of which the first is -inf: no evidence is below that."""
    return np.column_stack([np.full(len(down), -np.inf), down])


def _not_below(reach: Floats, kind: Kind, options: Codes, side: float) -> None:
    """Nothing is excluded where a limited kind has evidence below 1: the true scatter may give less."""
    rows = np.flatnonzero(kind.holds()[options])
    alone = reaches([kind], options[rows], np.zeros(1), side)
    reach[rows] = np.where(reach[rows] > -np.inf, np.maximum(reach[rows], alone), -np.inf)


def _limited(kinds: Sequence[Kind], n: int) -> Mask:
    found = np.zeros(n, dtype=bool)
    for kind in kinds:
        if kind.limited:
            found |= kind.holds()
    return found
