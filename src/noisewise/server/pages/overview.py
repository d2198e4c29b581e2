"""The first page of a study: how the bound fell, what is under way, what to measure next and why."""

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import polars as pl

from noisewise.core.text import counted
from noisewise.server.pages.parts import SentencePart, emphasised, short_time
from noisewise.study.certificates.certificate import Certificate
from noisewise.study.certificates.check import degrees_of_freedom
from noisewise.study.log.jobs import Job
from noisewise.study.models.analysis import Analysis
from noisewise.study.planning.worth import QUIET, bound_after
from noisewise.study.report.figures import drawn_course, options_figure, residuals_figure
from noisewise.study.report.intervals import View, view_of
from noisewise.study.study import Study

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
        """What is known by now: columns measurement, bound, quiet, as `report.figures.course_of` gives them.

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


#: Suggestions that are shown, and options in the chart of intervals.
SUGGESTED, DRAWN = 3, 15
#: Options from which on only some are looked at for the chart, and from which on suggestions come later.
MANY, SLOW = 200, 2000
Made = TypeVar("Made")


class Remembering(Protocol):
    """Makes something, or finds it under its name."""

    def __call__(self, what: str, make: Callable[[], Made]) -> Made:
        """What was made before, or now."""


class JobRow(NamedTuple):
    """A suggestion, under way or to come."""

    id: str
    why: list[SentencePart]
    where: str
    until: str
    by: str | None
    option: str


class Overview(NamedTuple):
    """What the page shows below the certificate."""

    course: str  # SVG, or empty
    unfinished: bool  # whether the next look will draw more of it
    no_course: str  # why there is no chart
    residuals: str  # SVG, where the certificate is withheld
    intervals: str  # a table with pictures
    left_out: int  # options that are not in it
    under_way: list[JobRow]
    suggested: list[JobRow]
    none_suggested: str  # why
    suggested_later: bool  # whether they take long, and are asked for when the rest is shown
    policy: str


def at_once(what: str, make: Callable[[], Made]) -> Made:
    """Remember nothing."""
    return make()


def overview_of(
    study: Study,
    certificate: Certificate,
    course: CourseSoFar,
    remembered: Remembering = at_once,
    *,
    suggest: bool = True,
) -> Overview:
    """Everything from one moment of a study.

    Args:
        study: The study.
        certificate: Of this moment.
        course: How its bound fell, as far as that was computed.
        remembered: Makes what follows from the log alone, or finds what was made before.
        suggest: Whether to look for what to measure next, which takes long where there are many options.
    """
    analysis = study.analysis()
    known = course.brought_up(analysis, certificate)
    fallen = _course(known, certificate, course.begins_at)
    jobs, why_none = (
        remembered(suggested_as(study), lambda: suggestions(study, certificate)) if suggest else ([], "")
    )
    intervals = remembered("intervals", lambda: _intervals(study, certificate, remembered))
    misfit = bool(certificate.withheld) and degrees_of_freedom(analysis) > 0
    return Overview(
        course=fallen,
        unfinished=course.unfinished,
        no_course="" if fallen else _no_course(certificate),
        residuals=residuals_figure(analysis) if misfit else "",
        intervals=intervals,
        left_out=max(0, len(study.options) - DRAWN) if intervals else 0,
        under_way=[job_row(job) for job in study.pending],
        suggested=[job_row(job) for job in jobs],
        none_suggested=why_none,
        suggested_later=not suggest,
        policy=study.policy,
    )


def suggested_as(study: Study) -> str:
    """Under which name suggestions are remembered: they depend on what is under way, which may expire."""
    return f"suggested beside {len(study.pending)}"


def _intervals(study: Study, certificate: Certificate, remembered: Remembering) -> str:
    if not certificate.may_show_bounds or certificate.n_options < 2:
        return ""
    view = remembered("view", lambda: view_of(study.analysis(), certificate))
    frame = remembered("options", lambda: study.frame("options"))
    return options_figure(_drawn(frame, view, certificate), view, certificate, DRAWN, table_too=False)


def _drawn(frame: pl.DataFrame, view: View | None, certificate: Certificate) -> pl.DataFrame:
    """The rows that the chart may show, since making one of each of 100,000 takes long."""
    if view is None or len(frame) <= MANY:
        return frame
    column = next((name for name in ("difference", "ratio") if name in frame.columns), "estimate")
    bars = pl.col("option").is_in(view.table["option"].implode())
    best = frame.filter(bars).sort(column, descending=certificate.goal == "max", nulls_last=True)
    parts = [best.head(DRAWN), frame.filter(pl.col("recommended")), frame.filter(~bars).head(DRAWN)]
    return pl.concat(parts).unique("option", maintain_order=True)


def suggestions(study: Study, certificate: Certificate) -> tuple[list[Job], str]:
    """What `ask` would suggest now, and why if there is nothing; reserves nothing."""
    if certificate.reached:
        return [], "The bound is small enough: nothing needs to be measured."
    if certificate.n_options < 2:
        return [], "There is nothing to compare: add options, or take some back in."
    told = study.analysis().state.told
    goes_on = bool(len(told)) and "block" in told[-1]  # several would be meant for a new block
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return study.ask(1 if goes_on else min(SUGGESTED, certificate.n_options), dry_run=True), ""
        except ValueError as problem:
            said = str(problem)
            return [], f"{said[:1].upper()}{said[1:]}"


def job_row(job: Job) -> JobRow:
    """A suggestion as it is shown."""
    where = ", ".join(part for part in (job.on_items, job.where) if part)
    why = job.why if job.option in job.why else f"{job.what}: {job.why}"
    return JobRow(job.id, emphasised(why, [job.option]), where, short_time(job.expires), job.by, job.what)


def _course(known: pl.DataFrame, certificate: Certificate, begins_at: int | None) -> str:
    if len(known) < 2 or not (known["bound"] > 0.0).any():
        return ""
    scale = replace(certificate.value_scale, unit=certificate.unit)
    return drawn_course(
        known, scale, certificate.eps, _not_drawn(len(known), certificate.n_measurements, begins_at)
    )


def _not_drawn(drawn: int, count: int, begins_at: int | None) -> str:
    """What a chart of bounds leaves out: before the first there is none, and of many some are computed."""
    before = f"There is no bound before measurement {begins_at:,}." if begins_at and begins_at > 1 else ""
    of = count + 1 - (begins_at or 1)
    since = " since then" if before else ""
    some = f"It was computed after {drawn:,} of {of:,} measurements{since}." if drawn < of else ""
    return " ".join(part for part in (before, some) if part)


def _no_course(certificate: Certificate) -> str:
    if certificate.withheld:
        return "No bound is drawn while the certificate is withheld."
    if certificate.once:
        return "This study is looked at once: there is one bound, and no course."
    if certificate.n_options < 2:
        return "There is nothing to compare with, and so no bound."
    if certificate.n_measurements and certificate.bound < float("inf"):
        return "The line is drawn from the second bound on."
    if not certificate.n_measurements:
        return "There is no bound yet: nothing was measured."
    return f"There is no bound yet, after {counted(certificate.n_measurements, 'measurement')}."
