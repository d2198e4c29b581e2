"""All studies, the first page of one, and its outlook: how the bound fell, what is next, how many more."""

import math
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import polars as pl

from noisewise.core.text import counted, percent
from noisewise.operations.table import load_table
from noisewise.operations.values import typed_value
from noisewise.server.pages.fields import said_in, text_in
from noisewise.server.pages.rendering import (
    GOING,
    HELD,
    STOP,
    Gauge,
    Light,
    SentencePart,
    emphasised,
    gauge_of,
    light_of,
    short_time,
    since,
)
from noisewise.study.certificates.certificate import Certificate
from noisewise.study.certificates.check import degrees_of_freedom
from noisewise.study.log.jobs import Job
from noisewise.study.models.analysis import Analysis
from noisewise.study.planning.plan import Plan
from noisewise.study.planning.worth import QUIET, Worth, bound_after
from noisewise.study.report.figures import (
    drawn_course,
    forecast_rows,
    groups_of,
    options_figure,
    plan_figure,
    residuals_figure,
    worth_figure,
)
from noisewise.study.report.intervals import View, view_of
from noisewise.study.study import Study

#: Orders of the table.
SORTS = ("last", "name", "state")


class StudyRow(NamedTuple):
    """Where one study stands."""

    name: str
    question: str
    light: Light
    leader: str | None
    leads: str  # what is said of it
    gauge: Gauge | None
    bound: str  # in place of a gauge
    options: int
    measurements: int
    last: float | None
    since: str
    problem: str = ""


class StudiesPage(NamedTuple):
    """The list, and a sentence about it."""

    rows: list[StudyRow]
    total: int
    sentence: str
    query: Mapping[str, str]


def question_of(study: Study, certificate: Certificate) -> str:
    """What is asked, in a few words."""
    word = "largest" if certificate.goal == "max" else "smallest"
    unit = f" ({certificate.unit})" if certificate.unit else ""
    n = len(study.options)
    return f"Which of {n:,} option{'' if n == 1 else 's'} has the {word} value{unit}?"


def study_row(study: Study, now: float) -> StudyRow:
    """The row of a study that can be read."""
    certificate = study.certificate()
    gauge = gauge_of(certificate)
    return StudyRow(
        name=study.name,
        question=question_of(study, certificate),
        light=light_of(certificate),
        leader=certificate.option,
        leads=_leads(certificate, bounded=gauge is not None),
        gauge=gauge,
        bound="" if gauge is not None else _instead(certificate),
        options=len(study.options),
        measurements=certificate.n_measurements,
        last=study.last_change,
        since=since(study.last_change, now),
    )


def unreadable_row(name: str, problem: str) -> StudyRow:
    """The row of a study that cannot be read, which must not hide the others."""
    return StudyRow(name, "", Light(HELD, "unreadable"), None, "", None, "", 0, 0, None, "", problem)


def busy_row(name: str, problem: str) -> StudyRow:
    """The row of a study on which others are at work: nothing is known of it now."""
    return StudyRow(name, "", Light(GOING, "busy"), None, "", None, "", 0, 0, None, "", problem)


def _leads(certificate: Certificate, *, bounded: bool) -> str:
    if certificate.option is None:
        return "nothing was measured" if not certificate.n_measurements else "nobody"
    return "" if bounded or certificate.bound < float("inf") else "leads, without a bound"


def _instead(certificate: Certificate) -> str:
    if certificate.withheld:
        return certificate.withheld[0].partition(": ")[0]
    if certificate.may_show_bounds and certificate.bound < float("inf"):
        return f"{certificate.bound_text}, no eps"
    return "no bound yet"


def studies_page(rows: Iterable[StudyRow], query: Mapping[str, str]) -> StudiesPage:
    """The rows that an address asks for: ``q`` (part of a name or a leader), ``sort``."""
    everything = list(rows)
    counts = {kind: sum(row.light.kind == kind for row in everything) for kind in (STOP, GOING, HELD)}
    kept = {name: query.get(name, "") for name in ("q", "sort")}
    wanted = kept["q"].lower()
    found = [row for row in everything if wanted in f"{row.name}\n{row.leader or ''}".lower()]
    if kept["sort"] == "name":
        found.sort(key=lambda row: row.name.lower())
    elif kept["sort"] == "state":
        order = {HELD: 0, STOP: 1, GOING: 2}
        found.sort(key=lambda row: (order[row.light.kind], -(row.last or 0.0)))
    else:
        found.sort(key=lambda row: -(row.last or 0.0))
    total = len(everything)
    said = [
        f"{counts[STOP]} may stop" if counts[STOP] else "",
        f"{counts[GOING]} {'goes' if counts[GOING] == 1 else 'go'} on" if counts[GOING] else "",
        f"{counts[HELD]} withheld" if counts[HELD] else "",
    ]
    parts = ", ".join(part for part in said if part)
    sentence = f"{total} in this store: {parts}." if total else "There are no studies in this store yet."
    return StudiesPage(found, total, sentence, kept)


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


#: Groups that are listed.
MOST_GROUPS = 20


def plan_in_pictures(plan: Plan) -> dict[str, Any]:
    """A plan: its sentence, further lines, and a figure in HTML."""
    first, *rest = str(plan).splitlines()
    return {"sentence": first, "lines": rest, "figure": plan_figure(plan) if forecast_rows(plan)[0] else ""}


def worth_in_pictures(worth: Worth) -> dict[str, Any]:
    """The ledger: its sentence, a figure in HTML, and tables by instrument, block and option."""
    reasons = "; ".join(worth.withheld)
    groups = [_group(worth, what) for what in ("instrument", "block", "option")]
    return {
        "sentence": worth.sentence,
        "figure": worth_figure(worth) if len(worth.ledger) > 1 else "",
        "groups": [group for group in groups if group is not None],
        "withheld": f"No bounds, since the certificate is withheld: {reasons}." if reasons else "",
    }


def _group(worth: Worth, what: str) -> dict[str, Any] | None:
    found = groups_of(worth, what)
    if found is None:
        return None
    rows = [
        [str(row[what]), f"{row['measurements']:,}", row["precision_share"], row["share"]]
        for row in found[:MOST_GROUPS].iter_rows(named=True)
    ]
    left = len(found) - len(rows)
    rest = max(0.0, 1.0 - sum(worth.by(what)["share"][: len(rows)].to_list()))
    said = f"{left:,} more hold {percent(rest, 1)} of what was learnt." if left else ""
    return {"what": what, "rows": rows, "left": said}


def plan_arguments(query: Mapping[str, str]) -> dict[str, Any]:
    """What an address says about a plan: ``noise``, ``eps``, ``span``; each may be empty."""
    levels = tuple(text_in(query, "noise").replace(",", " ").replace(";", " ").split())
    noise = {"noise": typed_value(load_table()["plan"].params["noise"], levels)} if levels else {}
    return noise | said_in("plan", ("eps", "span"), query)
