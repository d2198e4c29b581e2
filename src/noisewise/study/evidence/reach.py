"""How far out the mean of an option may lie before the evidence against it reaches a level."""

from collections.abc import Sequence

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.core.selection import Mask
from noisewise.study.evidence.kind import Kind, LogEvidence
from noisewise.study.log.measurements import Codes

#: Newton's steps outwards and back, at most.
OUTWARDS, STEPS = 200, 80
#: The longest step, in distances to where the search began.
FARTHEST = 1e3
#: Steps outwards after which they are doubled.
PATIENT = 6
#: A step below this part of the distance is the last; where evidence is not convex, below this one.
CLOSE, NEAR = 1e-12, 1e-8
#: Where evidence is not convex: places that are looked at first, and the part of the usual reach within which
#: they stand evenly.
NODES, UNIT = 33, 0.2
#: How often the first of them may be moved outwards, or inwards, each time twice as far.
DOUBLINGS = 14


def reaches(kinds: Sequence[Kind], options: Codes, levels: Floats, side: float) -> Floats:
    """The largest distance whose evidence is below each level, (options, levels).

    The evidence is convex and never falls, so Newton's steps from beyond come down to the end without passing
    it: wherever the search stops, the reach is not too small. A level that the evidence exceeds everywhere is
    reached nowhere: -inf.

    Args:
        kinds: The evidence, whose logarithms are added.
        options: Those to look at, (k,); each has measurements of one kind at least.
        levels: Of log E, (levels,) or (k, levels).
        side: UP or DOWN.
    """
    levels = np.broadcast_to(levels, (options.size, levels.shape[-1]))
    total = _Total(kinds, options, side)
    if not all(kind.convex for kind in kinds):
        return _between_ends(total, levels)
    nearest, farthest = total.ends()
    z = np.minimum(total.guess(levels), farthest)
    begun = z
    for count in range(OUTWARDS):
        found = total(z)
        short = (found.value < levels) & (z < farthest)
        if not short.any():
            break
        # From within, a step of Newton's on a convex function lands beyond the end, or on it.
        with np.errstate(divide="ignore", over="ignore"):
            step = (levels - found.value) / found.slope * (1.0 + CLOSE)
        step = np.maximum(np.where(np.isfinite(step), step, 0.0), CLOSE * np.abs(z) + np.finfo(float).tiny)
        step = np.minimum(step, FARTHEST * (np.abs(z) + np.abs(begun)) + 1e-300)
        step *= 2.0 ** max(0, count - PATIENT)  # where rounding keeps it from getting there
        z = np.where(short, np.minimum(z + step, farthest), z)
    else:
        return np.full(levels.shape, np.inf)
    nowhere = _nowhere(total, levels, nearest, z)
    moving, some = np.ones(z.shape, dtype=bool), np.arange(z.shape[1])  # levels at which any still moves
    for _ in range(STEPS):
        here, wanted = z[:, some], levels[:, some]
        over = moving[:, some] & (found.value > wanted)
        with np.errstate(divide="ignore", invalid="ignore"):
            back = np.where(over, (found.value - wanted) / found.slope, 0.0)
        back = np.where(np.isfinite(back), back, 0.0)
        after = np.maximum(here - back, nearest)
        moving[:, some] &= np.abs(here - after) > CLOSE * np.maximum(np.abs(here), np.abs(after))
        z[:, some] = after
        some = np.flatnonzero(moving.any(axis=0))
        if not some.size:
            break
        found = total(z[:, some])
    if nowhere is not None:
        z = np.where(nowhere, -np.inf, z)
    return z


def _nowhere(total: "_Total", levels: Floats, nearest: Floats, z: Floats) -> Mask | None:
    """Where the evidence is above a level wherever a mean can lie; None if means can lie anywhere."""
    ended = np.isfinite(nearest)
    if not ended.any():
        return None
    least = total(nearest if ended.all() else np.where(ended, nearest, z)).value
    return np.asarray(ended & (least >= levels))


def _between_ends(total: "_Total", levels: Floats) -> Floats:
    """The same for evidence that is not convex: Newton's steps, each kept between two ends.

    What is returned is the outer end: the evidence there was computed, and is at least the level. A level
    that the evidence still exceeds far inwards is given the place that was looked at; where it does not come
    up to a level far outwards, nothing is excluded.
    """
    nearest, farthest = total.ends()
    usual = np.abs(total.guess(levels)).max(axis=1, keepdims=True) + np.finfo(float).tiny
    high, low = np.minimum(usual, farthest), np.maximum(-usual, nearest)
    for count in range(DOUBLINGS):
        short = (total(high).value < levels.max(axis=1, keepdims=True)) & (high < farthest)
        if not short.any():
            break
        high = np.where(short, np.minimum(high + usual * 2.0**count, farthest), high)
    for count in range(DOUBLINGS):
        above = (total(low).value >= levels.min(axis=1, keepdims=True)) & (low > nearest)
        if not above.any():
            break
        low = np.where(above, np.maximum(low - usual * 2.0**count, nearest), low)
    # Dense around 0, wide far out.
    inner, outer = np.arcsinh(low / (UNIT * usual)), np.arcsinh(high / (UNIT * usual))
    nodes = UNIT * usual * np.sinh(inner + (outer - inner) * np.linspace(0.0, 1.0, NODES))
    nodes[:, [0]], nodes[:, [-1]] = low, high
    at_nodes = np.maximum.accumulate(total(nodes).value, axis=1)
    after = (at_nodes[:, :, None] < levels[:, None, :]).sum(axis=1)
    # Beyond: where no mean can lie, or more than the evidence ever says.
    nowhere, beyond = after == 0, after == NODES
    after = np.clip(after, 1, NODES - 1)
    low, high = np.take_along_axis(nodes, after - 1, axis=1), np.take_along_axis(nodes, after, axis=1)
    one, two = (np.take_along_axis(at_nodes, at, axis=1) for at in (after - 1, after))
    with np.errstate(divide="ignore", invalid="ignore"):
        z = low + (high - low) * np.clip(np.nan_to_num((levels - one) / (two - one), nan=0.5), 0.0, 1.0)
    z = np.where(nowhere | beyond, high, z)
    found = _closer(total, np.where(nowhere | beyond, -np.inf, levels), low, high, z)
    return np.where(nowhere, nodes[:, :1], np.where(beyond, farthest, found))


def _closer(total: "_Total", levels: Floats, low: Floats, high: Floats, z: Floats) -> Floats:
    """The outer end, after Newton's steps that begin in z and are kept between both ends."""
    done = np.zeros(levels.shape, dtype=bool)
    for _ in range(STEPS):
        found = total(z)
        over = found.value >= levels
        high, low = np.where(over & ~done, z, high), np.where(over | done, low, z)
        with np.errstate(divide="ignore", invalid="ignore"):
            back = (found.value - levels) / found.slope
        done |= (over & (back <= 4.0 * NEAR * np.abs(z))) | (high - low <= NEAR * np.abs(high))
        if done.all():
            break
        step = z - back + NEAR * np.abs(z)  # a little beyond the end
        inside = np.isfinite(step) & (step > low) & (step < high)
        z = np.where(done, high, np.where(inside, step, 0.5 * (low + high)))
    return high


class _Total:
    """The sum of all kinds for some options on one side."""

    def __init__(self, kinds: Sequence[Kind], options: Codes, side: float) -> None:
        self._options, self._side = options, side
        self._parts: list[tuple[Kind, Codes]] = []
        for kind in kinds:
            rows = np.flatnonzero(kind.holds()[options])
            if rows.size:
                self._parts.append((kind, rows))

    def __call__(self, z: Floats) -> LogEvidence:
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
