"""Measurements, the newest first, and the form that tells one."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from noisewise.core.checks import nearest
from noisewise.core.text import aligned, number
from noisewise.server.pages.parts import Pager, page_of
from noisewise.study.certificates.check import residuals_to_show
from noisewise.study.study import Study
from noisewise.study.telling.error_bars import BOUNDED, COUNTS, ITEMS, KNOWN, NONE, READINGS


class FormField(NamedTuple):
    """A field of one kind of error bar."""

    name: str  # as `tell` calls the argument
    title: str
    hint: str = ""
    long: bool = False


class KindOfError(NamedTuple):
    """A way to say how sure a value is."""

    name: str
    title: str
    hint: str
    fields: tuple[FormField, ...]
    said: str  # how it enters the study


VALUE = FormField("value", "Value")
ERROR_KINDS = (
    KindOfError(
        "se",
        "Standard error",
        "known from outside: a calibration, a noise model",
        (VALUE, FormField("se", "Standard error")),
        "It enters as it is. Is it computed from the readings of this very value? Then give the readings.",
    ),
    KindOfError(
        "ci",
        "Interval",
        "two ends and a level",
        (
            VALUE,
            FormField("lo", "From"),
            FormField("hi", "To"),
            FormField("level", "Level", "0.95 if left empty"),
        ),
        "It enters as the longer side, divided by the normal quantile of its level.",
    ),
    KindOfError(
        "values",
        "Readings",
        "the single readings, not their mean",
        (FormField("values", "Readings", "separated by blanks or semicolons", long=True),),
        "Their scatter is estimated apart from their mean.",
    ),
    KindOfError(
        "counts",
        "Counts",
        "successes out of trials",
        (FormField("successes", "Successes"), FormField("trials", "Trials")),
        "It enters with the largest standard error that such a share can have.",
    ),
    KindOfError(
        "sd",
        "Scatter of n readings",
        "their standard deviation and how many",
        (
            FormField("value", "Mean"),
            FormField("sd", "Standard deviation", "of single readings"),
            FormField("n", "Readings", "how many"),
        ),
        "The scatter is pooled with that of other measurements.",
    ),
    KindOfError(
        "var",
        "Variance",
        "the square of a standard error",
        (VALUE, FormField("var", "Variance")),
        "It enters as its root.",
    ),
    KindOfError(
        "written",
        "Written as 12.34(5)",
        "value and error in one",
        (FormField("value", "Value with its error", "such as 12.34(5) or 12.3±0.4"),),
        "The number in brackets is the standard error of the last digits.",
    ),
    KindOfError(
        "none",
        "Nothing is known",
        "no error bar at all",
        (VALUE,),
        "Its scatter is estimated from repeated measurements.",
    ),
)
#: In a study whose options are all measured on the same items, nothing else is told.
OF_ITEMS = KindOfError(
    "items",
    "Items",
    "a value for each question, input or seed",
    (FormField("items", "Items and their values", "one in each line, such as q17 = 1", long=True),),
    "They enter one by one, compared with those of other options on the same items.",
)
KINDS = (*ERROR_KINDS, OF_ITEMS)
KIND = {kind.name: kind for kind in KINDS}
#: Fields besides, and what they are for.
BESIDE = (
    FormField("block", "Block", "a day, a plate, a judge"),
    FormField("instrument", "Instrument", "if there are several"),
    FormField("key", "Key", "a repeat is harmless"),
    FormField("note", "Note", "for those who read it later"),
)
_WHOLE = ("n", "successes", "trials")


def arguments_of(
    form: Mapping[str, Any], *, options: Mapping[str, int], jobs: Mapping[str, Any]
) -> dict[str, Any]:
    """What `Study.tell` is called with; `ValueError` with one sentence if the form cannot be understood.

    Args:
        form: Its fields: ``what``, ``minus``, ``kind``, those of its kind such as ``ci.lo``, and `BESIDE`.
        options: The options of the study.
        jobs: Its suggestions.
    """
    given = {**measured_of(form), **_beside(form)}
    what, minus = _text(form, "what"), _text(form, "minus")
    if what is None:
        raise ValueError("say what was measured: an option, or a suggestion such as ask-12.")
    if what in options:
        given |= {"option": what} if minus is None else {"plus": what, "minus": minus}
    elif what in jobs and minus is None:
        given["job"] = what
    else:
        raise ValueError(
            f"{what!r} is neither an option nor a suggestion of this study.{nearest(what, list(options))}"
        )
    return given


def measured_of(form: Mapping[str, Any]) -> dict[str, Any]:
    """The value and its error bar, as arguments of `tell` and `amend`."""
    kind = KIND.get(_text(form, "kind") or "")
    if kind is None:
        raise ValueError("choose which number the error bar is: it decides how much the value counts.")
    strange = [
        f"{other.title}: {field.title}"
        for other in KINDS
        if other is not kind
        for field in other.fields
        if field.name != "value" and _text(form, f"{other.name}.{field.name}") is not None
    ]
    if strange:
        raise ValueError(
            f"the error bar is said to be {kind.title!r}, but {strange[0]!r} is filled in as well: empty the "
            "one that is not meant."
        )
    given = {field.name: _text(form, f"{kind.name}.{field.name}") for field in kind.fields}
    missing = [field.title for field in kind.fields if given[field.name] is None and field.name != "level"]
    if missing:
        raise ValueError(f"`{missing[0]}` is empty; {kind.title!r} needs it.")
    return _as_told(kind, {name: text for name, text in given.items() if text is not None})


def _as_told(kind: KindOfError, given: dict[str, str]) -> dict[str, Any]:
    if kind.name == "written":
        return {"value": given["value"]}
    if kind.name == "values":
        return {"values": [number_in("Readings", one) for one in given["values"].replace(";", " ").split()]}
    if kind.name == "items":
        return {"items": _items_in(given["items"])}
    told: dict[str, Any] = {}
    for name, text in given.items():
        title = next(field.title for field in kind.fields if field.name == name)
        told[name] = whole_in(title, text) if name in _WHOLE else number_in(title, text)
    if kind.name == "ci":
        told["ci"] = (told.pop("lo"), told.pop("hi"))
        if told.get("level", 0.0) > 1.0:
            told["level"] /= 100.0
    return told


def _items_in(text: str) -> dict[str, float]:
    """Items in lines, each with its value behind the last sign between them; those without one are open."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        name, sign, value = (part.strip() for part in line.rpartition("=" if "=" in line else "\t"))
        if sign and not value:
            continue
        if not name and line.strip():
            raise ValueError(f"an item must look like q17 = 1; got {line.strip()!r}.")
        if name in found:
            raise ValueError(f"the item {name!r} stands twice.")
        if name:
            found[name] = number_in(name, value)
    if not found:
        raise ValueError("no item has a value yet: write one behind each, such as q17 = 1.")
    return found


def kinds_for(study: Study) -> tuple[KindOfError, ...]:
    """The kinds that a study takes: items, or everything else; both while nothing was told."""
    state = study.analysis().state
    if not len(state.told):
        return (OF_ITEMS,) if study.specification.items else KINDS
    return (OF_ITEMS,) if state.told[0].get("kind") == ITEMS else ERROR_KINDS


def filled_for(study: Study, what: str) -> dict[str, str]:
    """What a form says at first: the suggestion that is answered, with its items in their order."""
    job = next((one for one in study.pending if one.id == what), None)
    form = {"what": what}
    if job is not None and job.items:
        form |= {"kind": "items", "items.items": "".join(f"{item} = \n" for item in job.items)}
    elif len(kinds := kinds_for(study)) == 1:
        form["kind"] = kinds[0].name
    return form


def filled_with(body: Mapping[str, Any]) -> dict[str, str]:
    """What a form that corrects a measurement says at first: what was told, where one number says it."""
    value, kind = body.get("value"), body.get("kind")
    if kind == ITEMS:
        return {"kind": "items"}
    if not isinstance(value, int | float):
        return {}
    if kind == KNOWN and isinstance(body.get("shown"), int | float):
        return {"kind": "se", "se.value": f"{value:.12g}", "se.se": f"{body['shown']:.12g}"}
    return {"kind": "none", "none.value": f"{value:.12g}"} if kind == NONE else {}


def number_in(title: str, text: str) -> float:
    """A number that was typed; a decimal comma is refused, since it may separate thousands."""
    try:
        return float(text.replace("−", "-").replace("\u00a0", ""))
    except ValueError:
        comma = " Write a decimal point." if "," in text else ""
        raise ValueError(f"`{title}` must be a number; got {text!r}.{comma}") from None


def whole_in(title: str, text: str) -> int:
    """A whole number that was typed."""
    if not text.isdecimal() or len(text) > 15:
        raise ValueError(f"`{title}` must be a whole number; got {text!r}.")
    return int(text)


def _beside(form: Mapping[str, Any]) -> dict[str, Any]:
    return {field.name: text for field in BESIDE if (text := _text(form, field.name)) is not None}


def _text(form: Mapping[str, Any], name: str) -> str | None:
    given = form.get(name)
    return given.strip() or None if isinstance(given, str) else None


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
    analysis: Any, place: int, residuals: dict[int, float], entering: dict[int, float]
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
