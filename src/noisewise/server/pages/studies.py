"""All studies of a store."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from noisewise.server.pages.parts import (
    GOING,
    HELD,
    STOP,
    Gauge,
    Light,
    gauge_of,
    light_of,
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
