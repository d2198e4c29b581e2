"""How far out means can lie: where the evidence against them reaches a level.

The evidence is computed at a few places between two ends, dense around the data and wide far out. Between the
neighbours of a level Newton's steps follow, each kept between two ends. What is returned is the outer end:
the evidence there was computed, and is at least the level. It need not be convex.
"""

from collections.abc import Sequence

import numpy as np

from noisewise.core.blocks import Floats, Mask
from noisewise.study.evidence.kind import Kind, LogEvidence
from noisewise.study.log.measurements import Codes

#: Places that are looked at first, and the part of the usual reach within which they lie evenly; the usual
#: reach is no less than this part of the largest distance that a mean can have.
NODES, UNIT, SMALL, TINY = 33, 0.2, 1e-6, 1e-290
#: How often the first of them may be moved outwards, or inwards, each time twice as far.
DOUBLINGS = 60
#: Steps after that, at most; a step below this part of the distance is the last.
STEPS, CLOSE = 80, 1e-12


def reaches(kinds: Sequence[Kind], options: Codes, levels: Floats, side: float) -> Floats:
    """Return the largest distance whose evidence is below each level, (options, levels).

    It is -inf where the evidence exceeds a level wherever a mean can lie, and infinite where nothing is
    excluded.

    Args:
        kinds: The evidence, whose logarithms are added.
        options: Those to look at, (k,); each has measurements of one kind at least.
        levels: Of log E, (levels,).
        side: UP or DOWN.
    """
    total = Total(kinds, options, side)
    levels = np.broadcast_to(levels, (options.size, levels.size))
    nearest, farthest = total.ends()
    guess = total.guess(levels)
    ends = np.nan_to_num(np.maximum(-nearest, farthest), posinf=0.0)
    unit = UNIT * np.maximum(np.sort(np.abs(guess), axis=1)[:, [guess.shape[1] // 2]], SMALL * ends + TINY)
    high = np.minimum(np.maximum(guess.max(axis=1, keepdims=True), unit), farthest)
    low = np.maximum(np.minimum(guess.min(axis=1, keepdims=True), -unit), nearest)
    most, least = levels.max(axis=1, keepdims=True), levels.min(axis=1, keepdims=True)
    for count in range(DOUBLINGS):
        short = (total(high).value < most) & (high < farthest)
        early = (total(low).value >= least) & (low > nearest)
        if not (short | early).any():
            break
        high = np.where(short, np.minimum(high + unit * 2.0**count, farthest), high)
        low = np.where(early, np.maximum(low - unit * 2.0**count, nearest), low)
    nodes = _between(low, high, unit, np.linspace(0.0, 1.0, NODES))
    nodes[:, [0]], nodes[:, [-1]] = low, high
    values = np.maximum.accumulate(total(nodes).value, axis=1)
    after = (values[:, :, None] < levels[:, None, :]).sum(axis=1)
    nowhere, beyond = after == 0, after == NODES
    after = np.clip(after, 1, NODES - 1)
    low, high = (np.take_along_axis(nodes, at, axis=1) for at in (after - 1, after))
    one, two = (np.take_along_axis(values, at, axis=1) for at in (after - 1, after))
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.clip(np.nan_to_num((levels - one) / (two - one), nan=0.5), 0.0, 1.0)
    found = _closer(total, levels, low, high, _between(low, high, unit, part), unit, nowhere | beyond)
    return np.where(nowhere, -np.inf, np.where(beyond, farthest, found))


def _between(low: Floats, high: Floats, unit: Floats, part: Floats | float) -> Floats:
    """Places between two ends, in even steps within the unit and in even factors beyond."""
    inner, outer = np.arcsinh(low / unit), np.arcsinh(high / unit)
    return np.asarray(unit * np.sinh(inner + (outer - inner) * part))


def _closer(
    total: "Total", levels: Floats, low: Floats, high: Floats, z: Floats, unit: Floats, done: Mask
) -> Floats:
    """The outer ends, after Newton's steps that begin in z."""
    some = np.arange(levels.shape[1])  # levels of which any is not found yet
    for _ in range(STEPS):
        here, wanted = z[:, some], levels[:, some]
        found = total(here)
        over = found.value >= wanted
        high[:, some] = np.where(over & ~done[:, some], here, high[:, some])
        low[:, some] = np.where(over | done[:, some], low[:, some], here)
        with np.errstate(divide="ignore", invalid="ignore"):
            back = (found.value - wanted) / found.slope
        near = CLOSE * np.maximum(np.abs(low[:, some]), np.abs(high[:, some]))
        done[:, some] |= (over & (back <= 4.0 * near)) | (high[:, some] - low[:, some] <= near)
        step = here - back + near  # a little beyond the end
        inside = np.isfinite(step) & (step > low[:, some]) & (step < high[:, some])
        row, column = np.nonzero(~inside)
        ends = low[row, some[column]], high[row, some[column]]
        step[row, column] = _between(*ends, unit[row, 0], 0.5)
        z[:, some] = step
        some = np.flatnonzero(~done.all(axis=0))
        if not some.size:
            break
    return high


class Total:
    """The sum of all kinds for some options on one side."""

    def __init__(self, kinds: Sequence[Kind], options: Codes, side: float) -> None:
        self._options, self._side = options, side
        held = [(kind, np.flatnonzero(kind.holds()[options])) for kind in kinds]
        self._parts = [(kind, rows) for kind, rows in held if rows.size]

    def __call__(self, z: Floats) -> LogEvidence:
        """At distances from the estimates, (k, levels)."""
        if len(self._parts) == 1 and self._parts[0][1].size == self._options.size:
            return self._parts[0][0].log_e(self._options, z, self._side)
        value, slope = np.zeros(z.shape), np.zeros(z.shape)
        for kind, rows in self._parts:
            found = kind.log_e(self._options[rows], z[rows], self._side)
            value[rows] += found.value
            slope[rows] += found.slope
        return LogEvidence(value, slope)

    def guess(self, levels: Floats) -> Floats:
        """The nearest that any kind guesses: others only add where it is far enough out."""
        far = np.full(levels.shape, np.inf)
        for kind, rows in self._parts:
            far[rows] = np.minimum(far[rows], kind.guess(self._options[rows], levels[rows], self._side))
        return far

    def ends(self) -> tuple[Floats, Floats]:
        """Between which distances a mean may lie at all, (k, 1) each."""
        nearest, farthest = np.full(self._options.size, -np.inf), np.full(self._options.size, np.inf)
        for kind, rows in self._parts:
            low, high = kind.ends(self._options[rows], self._side)
            nearest[rows], farthest[rows] = np.maximum(nearest[rows], low), np.minimum(farthest[rows], high)
        return nearest[:, None], farthest[:, None]
