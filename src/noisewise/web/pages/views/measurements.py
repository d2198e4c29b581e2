"""Measurements, the newest first: made for the rows that are shown, however many there are."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from noisewise.core.support.words import aligned, number
from noisewise.study.certificate.check import residuals_to_show
from noisewise.study.inputs.error_bars import BOUNDED, COUNTS, ITEMS, KNOWN, NONE, READINGS
from noisewise.study.study import Study
from noisewise.web.pages.views.paging import Pager, page_of

#: What an error bar rests on, for people.
KINDS_IN_WORDS = {
    KNOWN: "standard error",
    READINGS: "readings",
    COUNTS: "counts",
    NONE: "none",
    BOUNDED: "bounded readings",
    ITEMS: "items",
}
_SEARCHED = ("option", "minus", "block", "instrument", "key", "by", "job")


class MeasurementShown(NamedTuple):
    """One measurement as the page shows it."""

    id: str
    option: str
    value: str
    error: str
    enters: str
    kind: str
    block: str
    instrument: str
    key: str
    by: str
    residual: str
    odd: bool  # whether it lies far from the fit
    note: str
    voided: str  # why it does not count
    amended: int  # how often


class MeasurementsPage(NamedTuple):
    """One page of the table."""

    rows: list[MeasurementShown]
    pager: Pager
    query: Mapping[str, str]
    columns: set[str]  # those of block, instrument, key, by, note that have anything in them
    fixing: MeasurementShown | None  # the one that is being corrected


def measurements_page(study: Study, query: Mapping[str, str]) -> MeasurementsPage:
    """What an address asks for: ``q`` (an option, block, key, person or m-number), ``page``, ``fix``."""
    analysis = study.analysis()
    state = analysis.state
    kept = {"q": query.get("q", "")}
    numbers = _found(state.told, kept["q"].strip())
    fix = _number_of(query.get("fix", ""), len(state.told))
    asked = query.get("page")
    if fix is not None and asked is None and fix in numbers:  # the page that it is on
        asked = str(1 + numbers.index(fix) // 50)
    pager = page_of(len(numbers), asked, kept)
    shown = numbers[pager.first : pager.last]
    residual, enters = _residuals(study, shown), _entering(analysis, shown)
    rows = _aligned(analysis, [_row(analysis, place, residual, enters) for place in shown], shown)
    fixing = next((row for row in rows if fix is not None and row.id == f"m-{fix}"), None)
    used = {
        name
        for name in ("block", "instrument", "key", "by", "note")
        if any(getattr(row, name) for row in rows)
    }
    return MeasurementsPage(rows, pager, kept, used, fixing)


def _aligned(analysis: Any, rows: list[MeasurementShown], numbers: Sequence[int]) -> list[MeasurementShown]:
    """The same with as many decimals in every row, where that is not more than anybody can read."""
    told = [analysis.state.told[place - 1] for place in numbers]
    values = [body.get("value") for body in told]
    if not all(isinstance(value, int | float) for value in values):
        return rows
    written = aligned(values, [body.get("shown") for body in told])
    return [
        row._replace(value=one[0].replace("-", "−")) if one is not None else row
        for row, one in zip(rows, written, strict=True)
    ]


def _number_of(text: str, most: int) -> int | None:
    digits = text.removeprefix("m-")
    return int(digits) if digits.isdecimal() and len(digits) < 12 and 0 < int(digits) <= most else None


def _found(told: Any, wanted: str) -> "list[int] | range":
    """Numbers of measurements, the newest first."""
    everything = range(len(told), 0, -1)
    if not wanted:
        return everything
    if (one := _number_of(wanted, len(told))) is not None and wanted.startswith("m-"):
        return [one]
    low = wanted.lower()
    found = told.places_with(_SEARCHED, lambda text: low in text.lower())
    return [place + 1 for place in reversed(found)]


def _residuals(study: Study, shown: Sequence[int]) -> dict[int, float]:
    """Those of the measurements that are shown."""
    if not study.n_measurements:
        return {}
    columns, residuals = residuals_to_show(study.analysis())
    there = np.flatnonzero(np.isin(columns.number, np.asarray(shown, dtype=np.int64)))
    return dict(zip(columns.number[there].tolist(), residuals[there].tolist(), strict=True))


def _entering(analysis: Any, shown: Sequence[int]) -> dict[int, float]:
    """The standard errors with which measurements enter the estimates, as far as they are known.

    Readings and counts have none of their own: theirs is found from all that belong together.
    """
    numbers, sigma = analysis.columns.number, analysis.sigmas.estimated
    there = np.flatnonzero(np.isin(numbers, np.asarray(shown, dtype=np.int64)))
    found = zip(numbers[there].tolist(), sigma[there].tolist(), strict=True)
    return {number: one for number, one in found if 0.0 < one < float("inf")}


def _row(
    analysis: Any,
    place: int,
    residuals: dict[int, float],
    entering: dict[int, float],
) -> MeasurementShown:
    state = analysis.state
    body = state.told[place - 1]
    minus, shown, enters = body.get("minus"), body.get("shown"), entering.get(place, body.get("sigma"))
    residual = residuals.get(place)
    notes = [*body.get("notes", ()), *([body["note"]] if "note" in body else [])]
    return MeasurementShown(
        id=f"m-{place}",
        option=str(body.get("option", "")) + (f" − {minus}" if minus is not None else ""),
        value=_plain(body.get("value")),
        error="" if shown is None else f"± {number(shown)}",
        enters="" if enters is None else number(enters),
        kind=KINDS_IN_WORDS.get(body.get("kind", NONE), str(body.get("kind"))),
        block=_said(body.get("block")),
        instrument=_said(body.get("instrument")),
        key=_said(body.get("key")),
        by=_said(body.get("by")),
        residual="" if residual is None else signed(residual),
        odd=residual is not None and abs(residual) > 3.0,
        note="; ".join(map(str, notes)),
        voided=state.voided.get(place) or "",
        amended=len(state.superseded.get(place, ())),
    )


def signed(residual: float) -> str:
    """A residual with its sign; what is shown as 0 has none."""
    shown = f"{residual:+.1f}"
    return "0.0" if float(shown) == 0.0 else shown.replace("-", "−")


def _said(given: Any) -> str:
    return "" if given is None else str(given)


def _plain(value: Any) -> str:
    return f"{value:.6g}".replace("-", "−") if isinstance(value, int | float) else ""
