"""How the bound fell: computed after some measurements, kept, and completed a little at every look.

A bound after k measurements takes long where there are many. So a page computes what it can in the time that
it has, the newest first; what was computed stays true as long as nothing before it is corrected.
"""

import math
import time
from typing import Any

import numpy as np
import polars as pl

from noisewise.study.certificate.certificate import Certificate
from noisewise.study.models.analysis import Analysis
from noisewise.study.planning.worth import QUIET, bound_after

#: Seconds that one look may take, and after how many measurements the bound is computed at most.
SECONDS, MOST = 0.1, 60


class CourseSoFar:
    """Bounds by the number of measurements after which they hold."""

    def __init__(self) -> None:
        self._known: dict[int, float] = {}
        self._stands_on: Any = None
        #: Whether the next look will know more.
        self.unfinished = False

    def brought_up(
        self, analysis: Analysis, certificate: Certificate, seconds: float = SECONDS
    ) -> pl.DataFrame:
        """What is known by now: columns measurement, bound, quiet, as `showing.plots.course_of` gives them.

        Args:
            analysis: The fits.
            certificate: Of the same moment.
            seconds: After how long to leave the rest for the next look.
        """
        count = int(analysis.columns.value.size)
        stands_on = _stands_on(analysis)
        if stands_on != self._stands_on:
            self._known, self._stands_on = {}, stands_on
        self.unfinished = False
        if not certificate.may_show_bounds or not count or certificate.once:
            return _frame({}, analysis)
        self._known[count] = certificate.bound
        until = time.monotonic() + seconds
        while (place := self._next(count)) is not None:
            self._known[place] = bound_after(analysis, place)
            if time.monotonic() > until:
                break
        self.unfinished = self._next(count) is not None
        self._thin()
        return _frame(self._known, analysis)

    @property
    def begins_at(self) -> int | None:
        """After how many measurements there is a bound for the first time; None: that is not known yet."""
        first = min((place for place, bound in self._known.items() if math.isfinite(bound)), default=None)
        return first if first is not None and (first == 1 or first - 1 in self._known) else None

    def _next(self, count: int) -> int | None:
        """After how many measurements to look next: first where bounds begin, then evenly from there on.

        There is no bound before every option was measured, or linked with the others. Halving finds the place
        in a few looks.
        """
        known = self._known
        bounded = [place for place, bound in known.items() if math.isfinite(bound)]
        if not bounded:
            return None
        first = min(bounded)
        none_at = max((place for place in known if place < first), default=0)
        if first - none_at > max(1, count // (4 * MOST)):
            return (first + none_at) // 2
        return next((place for place in _places(first, count) if not self._near(place, count)), None)

    def _near(self, place: int, count: int) -> bool:
        """Whether the bound is known after so many, or nearly: a study that goes on has other even steps."""
        reach = count // (4 * MOST)
        return any(near in self._known for near in range(place - reach, place + reach + 1))

    def _thin(self) -> None:
        """Forget every other early point where there are many more than can be drawn."""
        if len(self._known) > 10 * MOST:
            places = sorted(self._known)
            self._known = {place: self._known[place] for place in [*places[:-MOST:2], *places[-MOST:]]}


def _stands_on(analysis: Analysis) -> Any:
    """What all bounds so far depend on besides the measurements in their order."""
    state = analysis.state
    return (
        tuple(state.ids) if len(state.ids) < 1000 else len(state.ids),
        tuple(sorted(state.excluded)),
        tuple(state.voided),
        sum(map(len, state.superseded.values())),
        state.model,
        state.looks,
    )


def _places(first: int, count: int) -> list[int]:
    """Numbers of measurements to look after: coarse ones first, then those between."""
    many = min(count - first + 1, MOST)
    wanted = np.unique(np.linspace(first, count, many).round().astype(int))[::-1]
    order: list[int] = []
    step = 1 << max(0, int(wanted.size).bit_length() - 1)
    while step:
        order += [int(one) for one in wanted[::step] if int(one) not in order]
        step //= 2
    return order


def _frame(known: dict[int, float], analysis: Analysis) -> pl.DataFrame:
    places = sorted(place for place, bound in known.items() if math.isfinite(bound))
    sigma = analysis.sigmas.estimated
    quiet = sigma <= QUIET * np.median(sigma) if sigma.size else np.zeros(0, dtype=bool)
    return pl.DataFrame(
        {
            "measurement": places,
            "bound": [known[place] for place in places],
            "quiet": [bool(quiet[place - 1]) for place in places],
        },
        schema={"measurement": pl.Int64, "bound": pl.Float64, "quiet": pl.Boolean},
    )
