"""The first page of a study: how the bound fell, what is under way, what to measure next and why."""

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, Protocol, TypeVar

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

#: Seconds for the course of the bound, and after how many measurements it is computed at most.
SECONDS, MOST = 0.2, 40


def course_so_far(analysis: Analysis, certificate: Certificate) -> pl.DataFrame:
    """Compute how the bound fell, after some of the measurements, for as long as a page may take.

    The columns are those of `report.figures.course_of`: measurement, bound, quiet.
    """
    known, count = {}, int(analysis.columns.value.size)
    if certificate.may_show_bounds and count and not certificate.once:
        known[count] = certificate.bound
        places = np.unique(np.linspace(1, count, min(count, MOST)).round().astype(int))[::-1].tolist()
        until = time.monotonic() + SECONDS
        for place in dict.fromkeys(place for step in (16, 4, 1) for place in places[::step]):
            if place not in known and time.monotonic() < until:
                known[place] = bound_after(analysis, place)
    finite = {place: known[place] for place in sorted(known) if math.isfinite(known[place])}
    sigma = analysis.sigmas.estimated
    quiet = sigma <= QUIET * np.median(sigma) if sigma.size else np.zeros(0, dtype=bool)
    return pl.DataFrame(
        {
            "measurement": list(finite),
            "bound": list(finite.values()),
            "quiet": [bool(quiet[place - 1]) for place in finite],
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
    remembered: Remembering = at_once,
    *,
    suggest: bool = True,
) -> Overview:
    """Everything from one moment of a study.

    Args:
        study: The study.
        certificate: Of this moment.
        remembered: Makes what follows from the log alone, or finds what was made before.
        suggest: Whether to look for what to measure next, which takes long where there are many options.
    """
    analysis = study.analysis()
    fallen = remembered("course", lambda: _course(course_so_far(analysis, certificate), certificate))
    jobs, why_none = (
        remembered(suggested_as(study), lambda: suggestions(study, certificate)) if suggest else ([], "")
    )
    intervals = remembered("intervals", lambda: _intervals(study, certificate, remembered))
    misfit = bool(certificate.withheld) and degrees_of_freedom(analysis) > 0
    return Overview(
        course=fallen,
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


def _course(known: pl.DataFrame, certificate: Certificate) -> str:
    if len(known) < 2 or not (known["bound"] > 0.0).any():
        return ""
    scale = replace(certificate.value_scale, unit=certificate.unit)
    some = f"Computed after {len(known):,} of {certificate.n_measurements:,} measurements."
    return drawn_course(
        known, scale, certificate.eps, some if len(known) < certificate.n_measurements else ""
    )


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
