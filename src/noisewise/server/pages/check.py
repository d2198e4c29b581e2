"""Whether the measurements fit: what speaks against it, what would help, which rows to look at."""

import math
import re
from typing import NamedTuple

from noisewise.core.text import counted, number
from noisewise.server.pages.measurements import signed
from noisewise.study.certificates.check import Check
from noisewise.study.models.analysis import Analysis
from noisewise.study.report.figures import residuals_figure

#: With more measurements than this the page comes first, and what would help when it was found.
LONG = 5000
#: What no number of a study can show; said on every check, also on those where all is well.
UNSEEN = (
    ("error bars that were computed from the readings they belong to", "give the readings"),
    ("results that were left out because of how they came out", "tell everything, and void with a reason"),
    ("an error that all measurements share, such as a calibration", "measure with another instrument"),
    ("an option that is used in another way than it was measured", "measure what will be used"),
)
_MEASUREMENT = re.compile(r"\bm-\d+\b")


class ChiSquare(NamedTuple):
    """The reduced chi-square beside where it should be, in per cent of an axis."""

    value: str
    place: float
    low: float
    high: float
    one: float
    over: bool


class WhatWouldHelp(NamedTuple):
    """Something that would help."""

    words: str
    measurement: str  # to amend or void
    switch: dict[str, str]  # arguments of `Study.switch`


class WorstRow(NamedTuple):
    """What lies far from the fit."""

    what: str
    name: str
    residual: str
    measurement: str
    odd: bool


class CheckPage(NamedTuple):
    """What the page shows."""

    ok: bool
    verdict: str
    problems: list[str]
    remedies: list[WhatWouldHelp]
    notes: list[str]
    worst: list[WorstRow]
    chi: ChiSquare | None
    summary: str
    facts: dict[str, str]
    residuals: str  # SVG
    causes_later: bool = False  # whether causes are still to be looked for
    unseen: tuple[tuple[str, str], ...] = UNSEEN


def check_page(check: Check, analysis: Analysis) -> CheckPage:
    """The check of one moment."""
    lines = str(check).splitlines()
    known = analysis.columns.value.size
    if check.problems:
        verdict = "Certificate withheld"
    else:
        verdict = "Nothing speaks against the certificate" if check.freedom else "It cannot be checked yet"
    worst = [
        WorstRow(
            row["what"],
            row["name"],
            signed(row["residual"]),
            _first_measurement(row["name"]) if row["what"] == "measurement" else "",
            abs(row["residual"]) > 3.0,
        )
        for row in check.worst
    ]
    return CheckPage(
        ok=check.ok,
        verdict=verdict,
        problems=[f"{one[:1].upper()}{one[1:]}." for one in check.problems],
        remedies=_remedies(check),
        notes=[*check.notes],
        worst=worst,
        chi=_chi(check),
        summary=lines[0],
        facts=_facts(check, known, analysis),
        residuals=residuals_figure(analysis) if check.freedom > 0 else "",
        causes_later=not check.explained,
    )


def _remedies(check: Check) -> list[WhatWouldHelp]:
    found = []
    for place, words in enumerate(check.remedies):
        cause = next((one for one in check.causes if one.words == words or one.unsure == words), None)
        rows = [row for row in getattr(cause, "rows", ()) if "id" in row]
        measurement = str(rows[0]["id"]) if rows else _first_measurement(words)
        switch = dict(cause.switch) if cause is not None else {}
        if not switch and place == 0 and cause is None:
            switch = dict(check.advice)
        found.append(WhatWouldHelp(words, measurement, switch))
    return found


def _first_measurement(words: str) -> str:
    found = _MEASUREMENT.search(words)
    return found[0] if found else ""


def _chi(check: Check) -> ChiSquare | None:
    if check.freedom <= 0 or not math.isfinite(check.reduced) or check.far_off is not None:
        return None
    low, high = check.expected
    most = max(2.0, 1.15 * high, min(1.1 * check.reduced, 10.0))
    place = 100.0 * check.reduced / most
    return ChiSquare(
        number(check.reduced),
        round(min(100.0, place), 2),
        round(100.0 * low / most, 2),
        round(100.0 * high / most, 2),
        round(100.0 / most, 2),
        place > 100.0,
    )


def _facts(check: Check, known: int, analysis: Analysis) -> dict[str, str]:
    facts = {"Model": analysis.state.model.in_words(analysis.specification.value_scale)}
    facts["Measurements"] = f"{known:,}"
    if check.freedom > 0:
        facts["Degrees of freedom"] = f"{check.freedom:,}"
        facts["A chi-square this large by chance"] = number(check.p_value)
    if check.unbarred:
        facts["Without an error bar"] = counted(check.unbarred, "measurement")
    return facts
