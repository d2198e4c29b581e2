"""Bounds on differences between options: the form that every family of bounds has.

Half-widths of differences between options that share nothing, from the evidence about each of them.

For a pair, rival j and recommended option i, the half-width is the largest
``z_j + z_i`` that the evidence leaves possible: over all u, the reach of j at the level v(u) plus that of i
at u (`levels.py`). As a function of u this is concave: a reach is the inverse of a convex function, and v is
concave. So between two levels of the tables it lies below the chords of its neighbours, extrapolated: what
is found is never too small, and 0.2 % too large at most.

It is not symmetric: j over i is not i over j.

Half-widths as they will be after one more measurement that comes out as expected.

Options that share nothing are measured one at a time, and a measurement of one changes two rows of the
tables: its reaches upwards and downwards. They are computed from the evidence as it will be, so that the fall
of a half-width is what it is, and not what a standard error with a fixed multiplier would make of it: shares
near 0 or 1 have small variances, the recommended option pays for having been chosen, and what is paid for
the scale of a difference grows with precision.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from noisewise.core.blocks import Floats, Mask
from noisewise.study.evidence.kind import Kind
from noisewise.study.evidence.known import KnownErrorBars
from noisewise.study.evidence.levels import Levels
from noisewise.study.evidence.limits import Tables, joined, tabulate
from noisewise.study.log.measurements import Codes
from noisewise.study.telling.error_bars import KNOWN


class HalfWidths(ABC):
    """By how much estimated differences may be too small; j over i need not be as wide as i over j."""

    @property
    def evidence(self) -> tuple[str, ...]:
        """The kinds of evidence that it rests on, as a certificate names them."""
        return ()

    @abstractmethod
    def half_widths(self, option: int) -> Floats:
        """By how much "j minus option" may be larger than estimated, for every j, (n,)."""

    def lead_widths(self, rival: int) -> Floats:
        """By how much "rival minus i" may be larger than estimated, for every i, (n,)."""
        return self.half_widths(rival)


#: Options that are looked at together: what fits a processor's cache.
TOGETHER = 4096
#: So many half-widths are kept, those looked at last: who asks needs again what the certificate looked at.
REMEMBERED = 500_000


class SeparateOptions(HalfWidths):
    """Half-widths of all differences to one option.

    Args:
        kinds: The evidence, which multiplies.
        levels: How much of it rules a pair out.
        thresholds: For studies whose options changed: ``log(1/α)`` of all pairs with an option, (n,).
        before: Earlier tables of the same study.
    """

    def __init__(
        self,
        kinds: Sequence[Kind],
        levels: Levels,
        thresholds: Callable[[int], Floats] | None = None,
        before: Tables | None = None,
    ) -> None:
        self.kinds, self.levels, self.thresholds = tuple(kinds), levels, thresholds
        self.tables = tabulate(kinds, levels, before)
        self._measured = np.any([kind.holds() for kind in kinds], axis=0)
        self._looked: dict[tuple[int, bool], Floats] = {}

    @property
    def evidence(self) -> tuple[str, ...]:
        """The kinds that there are measurements of, each once."""
        return tuple(dict.fromkeys(kind.name for kind in self.kinds if kind.holds().any()))

    def half_widths(self, option: int) -> Floats:
        """By how much "j minus option" may be larger than estimated, for every j, (n,)."""
        return self._look(option, True)

    def lead_widths(self, rival: int) -> Floats:
        """By how much "rival minus i" may be larger than estimated, for every i, (n,)."""
        return self._look(rival, False)

    def variances(self) -> Floats:
        """Squared standard errors of the options' estimates, as each kind estimates its own, (n,)."""
        precision = np.sum([kind.precision for kind in self.kinds], axis=0)
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 / precision)

    def _look(self, option: int, as_recommended: bool) -> Floats:
        if (kept := self._looked.get((option, as_recommended))) is not None:
            return kept.copy()
        n = self._measured.size
        half = np.full(n, np.inf)
        if self._measured[option]:
            shifts = None if self.thresholds is None else self.thresholds(option)
            for first in range(0, n, TOGETHER):
                some = np.arange(first, min(n, first + TOGETHER))
                some = some[self._measured[some]]
                half[some] = self._widths(option, some, as_recommended, shifts)
        half[option] = 0.0
        while self._looked and (len(self._looked) + 1) * n > REMEMBERED:
            self._looked.pop(next(iter(self._looked)))
        self._looked[option, as_recommended] = half.copy()
        return half

    def _widths(self, option: int, others: Codes, as_recommended: bool, thresholds: Floats | None) -> Floats:
        one, many = self.tables.of(np.array([option])), self.tables.of(others)
        rivals, chosen = (many, one) if as_recommended else (one, many)
        return self.widest(rivals, chosen, None if thresholds is None else thresholds[others])

    def widest(self, rivals: Tables, chosen: Tables, thresholds: Floats | None) -> Floats:
        """The half-widths of pairs whose rows are given, (k,).

        Args:
            rivals: Rows of rivals, k or 1.
            chosen: Rows of recommended options, k or 1.
            thresholds: Of each pair, (k,); None as long as options are those of the beginning.
        """
        up = rivals.up if thresholds is None else self._left_of(thresholds, rivals.up)
        found = highest(up, chosen.down, self.levels.axis, rivals.concave & chosen.concave)
        if rivals.limited.any() or chosen.limited.any():
            # Where the true evidence about one of both is below 1: see `levels.py`.
            (zero_up, _, _), (_, zero_down, cap) = rivals.ends.T, chosen.ends.T
            found = np.where(rivals.limited, np.maximum(found, together(zero_up, cap)), found)
            found = np.where(chosen.limited, np.maximum(found, together(up[:, 0], zero_down)), found)
        return found

    def _left_of(self, thresholds: Floats, up: Floats) -> Floats:
        """Reaches of rivals at what is left of each pair's threshold, rounded up to a step of the ladder."""
        levels = self.levels
        size = levels.axis.size
        at = np.ceil((thresholds - levels.axis[0] - levels.left[0]) / levels.step - 1e-9).astype(np.int64)
        at = at[:, None] - np.arange(size)
        rows = np.arange(len(up))[:, None] if len(up) > 1 else np.zeros((1, 1), dtype=np.int64)
        found = up[rows, np.clip(at, 0, size - 1)]
        # Below the ladder: the lowest step leaves more than that.
        return np.where(at < size, found, np.inf)


def highest(up: Floats, down: Floats, axis: Floats, concave: Mask) -> Floats:
    """An upper bound of the largest ``up + down`` over all levels, also between those of the tables, (k,).

    Args:
        up: Reaches of the rival, which fall from level to level, (k or 1, levels).
        down: Those of the recommended option, which rise from -inf, (k or 1, levels).
        axis: Where the levels stand.
        concave: Whether the sum of both is, (k,); if not, only that one falls and one rises is used.
    """
    total = together(up, down)
    rows, last = np.arange(total.shape[0]), axis.size - 1
    up, down = np.broadcast_to(up, total.shape), np.broadcast_to(down, total.shape)
    at = np.argmax(total, axis=1)
    peak = total[rows, at]
    after = _between(total, up, down, axis, rows, np.minimum(at, last - 1))
    before = _between(total, up, down, axis, rows, np.maximum(at - 1, 0))
    found = np.maximum(peak, np.maximum(after, before))
    if not concave.all():
        found = np.where(concave, found, together(up[:, :-1], down[:, 1:]).max(axis=1))
        # Beyond the last level nothing may be left, or nothing is known.
        found = np.where(concave | (up[:, -1] == -np.inf), found, np.inf)
    # A largest value at the last level says nothing about what comes after it.
    found = np.where(at == last, np.inf, found)
    # Contradictory evidence leaves nothing possible; it rules no more out than both sides alone.
    with np.errstate(invalid="ignore"):
        found = np.where(peak == -np.inf, up[:, 0] + down[:, -1], found)
    return np.where(np.isnan(found), np.inf, found)


def together(up: Floats, down: Floats) -> Floats:
    """The sum of two reaches: -inf where either leaves nothing, whatever the other leaves."""
    with np.errstate(invalid="ignore"):
        total = up + down
    return np.where(np.isnan(total), -np.inf, total)


def _between(total: Floats, up: Floats, down: Floats, axis: Floats, rows: Codes, at: Codes) -> Floats:
    """An upper bound between the levels ``at`` and ``at + 1``, (k,)."""
    last = axis.size - 1
    here, there = total[rows, at], total[rows, at + 1]
    corner = together(up[rows, at], down[rows, at + 1])  # both fall, or rise, from one level to the next
    one, two = np.maximum(at - 1, 0), np.minimum(at + 2, last)
    with np.errstate(invalid="ignore", divide="ignore"):
        rise = (here - total[rows, one]) / (axis[at] - axis[one])
        fall = (total[rows, two] - there) / (axis[two] - axis[at + 1])
        width = axis[at + 1] - axis[at]
        rise = np.where((at > 0) & np.isfinite(rise), rise, np.inf)
        fall = np.where((at + 1 < last) & np.isfinite(fall), fall, -np.inf)
        # Two lines: here + rise·s, and there + fall·(s - width).
        meet = np.clip((there - fall * width - here) / (rise - fall), 0.0, width)
        lines = np.where(np.isfinite(rise), here + rise * meet, np.inf)
        lines = np.where(np.isfinite(rise) & np.isfinite(fall), lines, np.inf)
        alone = np.where(np.isfinite(rise), here + np.maximum(rise, 0.0) * width, np.inf)
        other = np.where(np.isfinite(fall), there - np.minimum(fall, 0.0) * width, np.inf)
    bound = np.minimum(np.minimum(lines, alone), np.minimum(other, corner))
    bound = np.maximum(bound, np.maximum(here, there))
    return np.where(np.isnan(bound), corner, bound)


class MoreEvidence(NamedTuple):
    """A coming measurement, as evidence."""

    told: str  # what its error bar will rest on, see `inputs/error_bars.py`
    precision: Floats  # (n,): one over its squared standard error, for each option
    readings: Floats  # (n,): or trials
    resolution: float  # the difference that matters

    def amount(self, kind: Kind) -> Floats:
        """What it brings to evidence of this kind, (n,)."""
        return self.readings if kind.by_readings else self.precision


class Foreseen:
    """The races of one leader after one more measurement.

    Args:
        now: The half-widths as they are.
        leader: The recommended option.
        more: The coming measurement.
    """

    def __init__(self, now: SeparateOptions, leader: int, more: MoreEvidence) -> None:
        self._now, self._leader, self._more = now, leader, more
        self._kinds, self._at = _kinds(now, more)
        self._rows: dict[int, Tables] = {}

    def after(self, options: Codes, races: Codes) -> Floats:
        """The half-widths of some races after a measurement of each of these options, (options, races)."""
        leader = self._leader
        after = np.tile(self._now.half_widths(leader)[races], (options.size, 1))
        self._imagine(options[np.isin(options, np.append(races, leader))])
        place = {int(rival): at for at, rival in enumerate(races.tolist())}
        rows = [at for at, option in enumerate(options.tolist()) if option in place and option != leader]
        if rows:
            ends = options[rows]
            after[rows, [place[int(end)] for end in ends]] = self._as_rivals(ends)
        for at in np.flatnonzero(options == leader):
            after[at] = self._against(races)
        return after

    def _against(self, races: Codes) -> Floats:
        """Half-widths of rivals as they are over the leader as it will be."""
        now = self._now
        return now.widest(now.tables.of(races), self._rows[self._leader], self._thresholds(races))

    def _as_rivals(self, options: Codes) -> Floats:
        """Half-widths of rivals as they will be, each measured by itself, over the leader as it is."""
        now, rivals = self._now, joined([self._rows[int(option)] for option in options])
        return now.widest(rivals, now.tables.of(np.array([self._leader])), self._thresholds(options))

    def _thresholds(self, options: Codes) -> Floats | None:
        doubts = self._now.thresholds
        return None if doubts is None else doubts(self._leader)[options]

    def _imagine(self, options: Codes) -> None:
        """Keep the rows of these options as they will be."""
        new = np.array([option for option in options.tolist() if option not in self._rows], dtype=np.int64)
        if not new.size:
            return
        coming, nothing = self._more.amount(self._kinds[self._at])[new], np.zeros(new.size)
        kinds = [
            kind.imagined(new, coming if place == self._at else nothing)
            for place, kind in enumerate(self._kinds)
        ]
        found = tabulate(kinds, self._now.levels)
        for row, option in enumerate(new.tolist()):
            self._rows[option] = found.of(np.array([row]))


def _kinds(now: SeparateOptions, more: MoreEvidence) -> tuple[list[Kind], int]:
    """All kinds of evidence, and which of them the coming measurement belongs to.

    Of several pools of scatter it is the one that there is most of.
    """
    kinds = list(now.kinds)
    for told in (more.told, KNOWN):
        fitting = [at for at, kind in enumerate(kinds) if told in kind.told]
        if len(fitting) == 1:
            return kinds, fitting[0]
        if fitting:
            return kinds, max(fitting, key=lambda at: math.fsum(kinds[at].precision))
    nothing = np.zeros(more.precision.size)
    return [*kinds, KnownErrorBars(nothing, nothing, more.resolution)], len(kinds)


def expected_above(now: SeparateOptions, more: MoreEvidence) -> Floats:
    """How far above its estimate a coming measurement of each option is expected to lie, (n,)."""
    kinds, at = _kinds(now, more)
    return kinds[at].above
