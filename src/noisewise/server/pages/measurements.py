"""Measurements, the newest first, and the form that tells one."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from noisewise.core.checks import nearest
from noisewise.core.refusals import RefusedError
from noisewise.core.text import aligned, number
from noisewise.server.pages.fields import FormField, fields_for, refuse_empty, said_in, text_in
from noisewise.server.pages.rendering import Pager, page_of
from noisewise.study.certificates.check import residuals_to_show
from noisewise.study.study import Study
from noisewise.study.telling.error_bars import BOUNDED, COUNTS, ITEMS, KNOWN, NONE, READINGS
from noisewise.study.telling.numbers import read_number


class ErrorKind(NamedTuple):
    """A way to say how sure a value is: parameters of `tell` that go together."""

    name: str
    title: str
    hint: str
    params: tuple[str, ...]

    @property
    def fields(self) -> tuple[FormField, ...]:
        """Its fields."""
        return fields_for("tell", self.params)


ERROR_KINDS = (
    ErrorKind("se", "Standard error", "known from outside, not from these readings", ("value", "se")),
    ErrorKind("ci", "Interval", "two ends and a level", ("value", "ci", "level")),
    ErrorKind("values", "Readings", "the single readings, not their mean", ("values",)),
    ErrorKind("counts", "Counts", "successes out of trials", ("successes", "trials")),
    ErrorKind("sd", "Scatter of n readings", "mean, standard deviation, number", ("value", "sd", "n")),
    ErrorKind("var", "Variance", "the square of a standard error", ("value", "var")),
    ErrorKind("none", "Value alone", "no error bar, or one in it: 12.34(5)", ("value",)),
)
#: In a study whose options are all measured on the same items, nothing else is recorded.
OF_ITEMS = ErrorKind("items", "Items", "a value for each, one in each line: q17 = 1", ("items",))
KINDS = (*ERROR_KINDS, OF_ITEMS)
KIND = {kind.name: kind for kind in KINDS}
#: Fields besides.
BESIDE = ("block", "instrument", "key", "note")


def arguments_of(
    form: Mapping[str, Any], *, options: Mapping[str, int], jobs: Mapping[str, Any]
) -> dict[str, Any]:
    """What `Study.tell` is called with; `ValueError` with one sentence if the form cannot be understood.

    Args:
        form: Its fields: ``what``, ``minus``, ``kind``, those of its kind such as ``se.value``, and `BESIDE`.
        options: The options of the study.
        jobs: Its suggestions.
    """
    given = {**measured_of(form), **said_in("tell", BESIDE, form)}
    what, minus = text_in(form, "what"), text_in(form, "minus")
    if not what:
        raise ValueError("say what was measured: an option, or a suggestion such as ask-12.")
    if what in options:
        given |= {"plus": what, "minus": minus} if minus else {"option": what}
    elif what in jobs and not minus:
        given["job"] = what
    else:
        raise ValueError(
            f"{what!r} is neither an option nor a suggestion of this study.{nearest(what, list(options))}"
        )
    return given


def measured_of(form: Mapping[str, Any]) -> dict[str, Any]:
    """The value and its error bar, as arguments of `tell` and `amend`."""
    kind = KIND.get(text_in(form, "kind"))
    if kind is None:
        raise ValueError("choose which number the error bar is: it decides how much the value counts.")
    for other in KINDS:
        for name in other.params:
            if other is not kind and name != "value" and text_in(form, f"{other.name}.{name}"):
                raise ValueError(
                    f"the error bar is said to be {kind.title!r}, but {other.title!r} is filled in as well: "
                    "empty the one that is not meant."
                )
    if kind is OF_ITEMS:
        return {"items": _items_in(text_in(form, "items.items"))}
    given = said_in("tell", kind.params, form, f"{kind.name}.")
    for name in kind.params:
        if name not in given and name != "level":
            raise refuse_empty(name, f"{kind.title!r} needs it")
    return given


def _items_in(text: str) -> dict[str, float]:
    """The values of items, one in each line; those without a value are not measured yet."""
    lines = [line for line in text.splitlines() if line.strip() and not line.rstrip().endswith("=")]
    found: dict[str, float] = {}
    for line in lines:
        name, equals, value = (part.strip() for part in line.rpartition("="))
        if not (name and equals):
            raise RefusedError("items", "must look like q17 = 1, one in each line", got=line.strip())
        if name in found:
            raise RefusedError("items", "must name each item once; got {name!r} twice", name=name)
        found[name] = read_number("items", value)
    if not found:
        raise RefusedError("items", "has no value yet: write one behind each item, such as q17 = 1")
    return found


def kinds_for(study: Study) -> tuple[ErrorKind, ...]:
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
