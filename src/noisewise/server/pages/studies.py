"""All studies of a store, and two of them side by side."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import polars as pl

from noisewise.core.text import aligned
from noisewise.server.pages.measurements import signed
from noisewise.server.pages.parts import (
    GOING,
    HELD,
    STOP,
    Gauge,
    Headline,
    Light,
    Pager,
    gauge_of,
    light_of,
    page_of,
    since,
)
from noisewise.study.certificates.certificate import Certificate
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


class SharedRow(NamedTuple):
    """An option of both studies."""

    option: str
    one: str
    one_error: str
    other: str
    other_error: str
    apart: str  # how far the two estimates lie from each other, in their common standard error
    odd: bool


class Side(NamedTuple):
    """One of the two."""

    name: str
    headline: Headline
    measurements: int
    options: int
    unit: str | None


class TwoStudies(NamedTuple):
    """What the page shows."""

    sides: list[Side]
    rows: list[SharedRow]
    pager: Pager
    said: str


def compare(sides: list[Side], frames: list[pl.DataFrame], query: Mapping[str, str]) -> TwoStudies:
    """Both studies with their shared options, the best of the first one first."""
    one, other = (frame.select("option", "estimate", "se", "recommended") for frame in frames)
    joined = one.join(other, on="option", how="inner", suffix="_2", maintain_order="left")
    joined = joined.sort("estimate", descending=True, nulls_last=True)
    kept = {name: query.get(name, "") for name in ("a", "b")}
    pager = page_of(len(joined), query.get("page"), kept)
    shown = joined[pager.first : pager.last]
    firsts = aligned(shown["estimate"].to_list(), shown["se"].to_list())
    seconds = aligned(shown["estimate_2"].to_list(), shown["se_2"].to_list())
    rows = []
    for row, first, second in zip(shown.iter_rows(named=True), firsts, seconds, strict=True):
        apart = _apart(row["estimate"], row["se"], row["estimate_2"], row["se_2"])
        rows.append(
            SharedRow(
                row["option"],
                *_shown(first),
                *_shown(second),
                "" if apart is None else signed(apart),
                apart is not None and abs(apart) > 3.0,
            )
        )
    units = {side.unit for side in sides}
    said = f"{len(joined):,} option{' is' if len(joined) == 1 else 's are'} in both."
    if len(units) > 1:
        said += " Their values have different units: compare ranks, not numbers."
    return TwoStudies(sides, rows, pager, said)


def _shown(value: tuple[str, str] | None) -> tuple[str, str]:
    return ("", "") if value is None else (value[0].replace("-", "−"), value[1])


def _apart(one: float | None, se: float | None, other: float | None, se_other: float | None) -> float | None:
    if one is None or other is None or not (se and se_other):
        return None
    return float((other - one) / (se**2 + se_other**2) ** 0.5)
