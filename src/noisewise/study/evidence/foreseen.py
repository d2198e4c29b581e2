"""Half-widths as they will be after one more measurement that comes out as expected.

Options that share nothing are measured one at a time, and a measurement of one changes two rows of the
tables: its reaches upwards and downwards. They are computed from the evidence as it will be, so that the fall
of a half-width is what it is, and not what a standard error with a fixed multiplier would make of it: shares
near 0 or 1 have small variances, the recommended option pays for having been chosen, and what is paid for
the scale of a difference grows with precision.
"""

import math
from typing import NamedTuple

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.study.evidence.kind import Kind
from noisewise.study.evidence.known import KnownErrorBars
from noisewise.study.evidence.separate import TOGETHER, SeparateOptions
from noisewise.study.evidence.tables import Tables, joined, tabulate
from noisewise.study.log.measurements import Codes
from noisewise.study.telling.error_bars import KNOWN


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

    def all_after(self, option: int, races: Codes | None = None) -> Floats:
        """Half-widths of the differences of all options to the leader after a measurement of one, (n,).

        Args:
            option: What is measured.
            races: Those that are needed; default: all.
        """
        half = self._now.half_widths(self._leader)
        self._imagine(np.array([option]))
        if option != self._leader:
            half[option] = self._as_rivals(np.array([option]))[0]
            return half
        some = np.flatnonzero(np.isfinite(half)) if races is None else races
        some = some[some != option]
        for first in range(0, some.size, TOGETHER):
            part = some[first : first + TOGETHER]
            half[part] = self._against(part)
        return half

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
        found = tabulate(kinds, self._now.levels, pays=0)
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


def expected_variance(now: SeparateOptions, more: MoreEvidence) -> Floats:
    """The variance of a coming measurement of each option, as the evidence so far lets expect, (n,)."""
    kinds, at = _kinds(now, more)
    return np.asarray(1.0 / (kinds[at].of_one * more.amount(kinds[at])))
