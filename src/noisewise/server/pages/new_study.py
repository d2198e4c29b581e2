"""A new study: its form, what would come of it, and making it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import quote

import polars as pl
from fastapi import APIRouter, Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response

from noisewise.core.remarks import heard_warnings
from noisewise.core.text import check_text, counted
from noisewise.server.answers import name_in_path
from noisewise.server.auth.roles import Role, Visitor, needs
from noisewise.server.pages.changes import REFUSED, read_handed_in, said_by
from noisewise.server.pages.measurements import number_in, whole_in
from noisewise.server.pages.overview import suggestions
from noisewise.server.pages.rendering import rendered
from noisewise.server.pages.shown import studies_of
from noisewise.server.pages.studies import question_of
from noisewise.server.pages.tables import (
    OF_READERS,
    ROLES_OFFERED,
    SHOWN,
    HandedIn,
    OneTable,
    Pasted,
    PastedRow,
    TableColumn,
    ToolResults,
    cells_of,
    choices_in,
    columns_of,
    formats,
    is_as_seen,
    kept_with,
    mark_of,
    names_in,
    read_handed,
    reading_of,
    still_open,
)
from noisewise.study.creation import create_study
from noisewise.study.stores.protocol import check_name
from noisewise.study.study import Study

TEXT, AMOUNT, NUMBER, WHOLE, PART, CHOICE = "text", "amount", "number", "whole", "part", "choice"


class StudyChoice(NamedTuple):
    """One argument of `create_study`."""

    name: str
    title: str
    hint: str = ""
    kind: str = TEXT
    options: tuple[tuple[str, str], ...] = ()  # values and their words; the first is the usual one
    placeholder: str = ""


class ChoiceGroup(NamedTuple):
    """Choices that belong together; shown when somebody wants them."""

    title: str
    choices: tuple[StudyChoice, ...]


#: What every study is asked.
QUESTION = (
    StudyChoice(
        "goal",
        "Which is the best?",
        "",
        CHOICE,
        (("max", "the largest value"), ("min", "the smallest value")),
    ),
    StudyChoice("eps", "Good enough", "within this of the best", AMOUNT, (), "0.5"),
    StudyChoice("unit", "Unit", "of the values", TEXT, (), "ms"),
    StudyChoice("confidence", "Confidence", "in per cent", PART, (), "95"),
)
#: What few studies need.
GROUPS = (
    ChoiceGroup(
        "How values behave",
        (
            StudyChoice(
                "scale",
                "What matters between values",
                "",
                CHOICE,
                (("linear", "differences: 12 is 2 more than 10"), ("log", "ratios: 12 is 20 % more than 10")),
            ),
            StudyChoice(
                "measure",
                "A measurement is",
                "",
                CHOICE,
                (
                    ("", "as the first one suggests"),
                    ("error bars", "a value with its error bar"),
                    ("counts", "successes out of trials"),
                    ("readings", "a reading, or several"),
                    ("ratings", "a rating, or another reading within bounds"),
                    ("items", "values of items that all options are measured on"),
                    ("rounds", "a round in which every option is measured"),
                ),
            ),
            StudyChoice("bounds", "Ratings lie between", "or values of items or rounds", TEXT, (), "1 and 5"),
            StudyChoice("items", "Items", "how many, or names", TEXT, (), "500"),
            StudyChoice(
                "tails",
                "Errors",
                "",
                CHOICE,
                (("normal", "usual tails"), ("heavy", "any tails: single ones may be far off")),
            ),
            StudyChoice(
                "scatter",
                "Repeated readings scatter",
                "",
                CHOICE,
                (
                    ("", "as the first measurement suggests"),
                    ("own", "for each option in its own way"),
                    ("pooled", "alike for all options, or those of an instrument"),
                ),
            ),
            StudyChoice("floor", "Least standard error", "smaller ones are raised to it", AMOUNT),
            StudyChoice(
                "extra", "What every error bar lacks", 'a number, or "estimate"; added in squares', AMOUNT
            ),
        ),
    ),
    ChoiceGroup(
        "What options have in common",
        (
            StudyChoice(
                "model",
                "Options",
                "",
                CHOICE,
                (
                    ("independent", "each on its own: always right"),
                    ("linear", "a weighted sum of their features"),
                    ("linear+deviation", "such a sum, plus a deviation of each"),
                    ("smooth", "such a sum, plus a smooth surface"),
                ),
            ),
            StudyChoice("deviation", "Deviation", 'its size, or "estimate", the usual', AMOUNT),
        ),
    ),
    ChoiceGroup(
        "How it is measured",
        (
            StudyChoice("budget", "Measurements there will be", "if that is fixed beforehand", WHOLE),
            StudyChoice(
                "final",
                "Looks at the result",
                "",
                CHOICE,
                (
                    ("", "as often as you like, and stop any time"),
                    ("final", "one, at a finished table: smaller bounds"),
                ),
            ),
        ),
    ),
    ChoiceGroup(
        "Suggestions",
        (
            StudyChoice("policy", "Rule", "by its name; the usual one suits nearly always", TEXT, (), "race"),
            StudyChoice(
                "seed", "Seed", "of random choices and of the order of items; drawn if left empty", WHOLE
            ),
        ),
    ),
)


def touched(group: ChoiceGroup, form: Mapping[str, str]) -> bool:
    """Whether somebody has said something in a group; then it is shown open."""
    usual = {one.name: one.options[0][0] if one.options else "" for one in group.choices}
    return any(form.get(name, usual[name]).strip() not in ("", usual[name]) for name in usual)


def question_in(form: Mapping[str, str]) -> dict[str, Any]:
    """Arguments of `create_study`; what was left empty is left out. `ValueError` names the field."""
    said: dict[str, Any] = {}
    for one in (*QUESTION, *(choice for group in GROUPS for choice in group.choices)):
        text = form.get(one.name, "").strip()
        if text:
            said[one.name] = _read(one, text)
    errors = {part: said.pop(part) for part in ("tails", "scatter", "floor", "extra") if part in said}
    deviation, final = said.pop("deviation", None), said.pop("final", None)
    said |= _measure(said.pop("measure", None), said.pop("bounds", None), said.pop("items", None))
    said |= {"errors": errors} if set(errors) - {"tails"} or errors.get("tails") == "heavy" else {}
    said |= {"model": f"{said['model']}:{deviation}"} if deviation is not None else {}
    return said | ({"final": True} if final else {})


def _measure(measure: str | None, bounds: str | None, items: str | None) -> dict[str, Any]:
    """What a measurement is; bounds or items alone say it as well."""
    limits = None if bounds is None else list(_limits(bounds))
    measure = measure or ("items" if items is not None else "ratings" if limits is not None else None)
    if measure in ("ratings", "items", "rounds"):
        if measure == "items":
            if items is None:
                raise ValueError("`Items` is empty: say how many there are, or their names.")
            return {"measure": {"items": _items(items) if limits is None else [_items(items), limits]}}
        if measure == "ratings" and limits is None:
            raise ValueError("`Ratings lie between` is empty: say both bounds, such as 1 and 5.")
        return {"measure": measure if limits is None else {measure: limits}}
    return {} if measure is None else {"measure": measure}


def _read(choice: StudyChoice, text: str) -> Any:
    if choice.kind == NUMBER:
        return number_in(choice.title, text)
    if choice.kind == WHOLE:
        return whole_in(choice.title, text)
    if choice.kind == PART:
        part = number_in(choice.title, text.removesuffix("%").strip())
        return part / 100.0 if part > 1.0 or text.endswith("%") else part
    if choice.kind == AMOUNT and text != "estimate" and text[-1] not in "%x":
        return number_in(choice.title, text)
    return text


def _limits(text: str) -> tuple[float, float]:
    parts = text.replace(" and ", " ").replace(" to ", " ").replace(";", " ").replace(",", " ").split()
    if len(parts) != 2:
        raise ValueError(f"`Ratings lie between` must be two numbers, such as 1 and 5; got {text!r}.")
    low, high = (number_in("Ratings lie between", part) for part in parts)
    return low, high


def _items(text: str) -> Any:
    if text.isdecimal() and len(text) < 10:
        return int(text)
    between = "\n" if "\n" in text else ";" if ";" in text else ","
    return [name.strip() for name in text.split(between) if name.strip()]


#: Where options come from.
NAMES, OPTIONS, RESULTS = "names", "options", "results"
SOURCES = (
    (NAMES, "Names", "one in each line"),
    (OPTIONS, "A table of options", "with their features or costs"),
    (RESULTS, "A table of results", "or files of another tool: options and first measurements"),
)
NAME, FEATURE, COST = "name", "feature", "cost"
OF_OPTIONS = [
    (NAME, "what the option is called"),
    (FEATURE, "a number or category that describes it"),
    (COST, "what measuring it costs"),
]
OF_RESULTS = [*ROLES_OFFERED, (FEATURE, "a number or category that describes the option")]
#: Names that a preview lists.
NAMED = 12


class NewStudyPage(NamedTuple):
    """What the page shows."""

    source: str = NAMES
    table: Pasted = Pasted()
    facts: Sequence[tuple[str, str]] = ()  # of the study that would be made
    problem: str = ""
    ready: bool = False


class AskedStudy(NamedTuple):
    """What `create_study` is called with, and how the table was understood."""

    arguments: dict[str, Any]
    table: Pasted
    waiting: str = ""  # what has to be said before


def read_question(form: Mapping[str, str], handed: HandedIn, by: str | None = None) -> AskedStudy:
    """Everything that was said; `ValueError` in a sentence if it cannot be understood.

    Args:
        form: Its fields.
        handed: The table or files.
        by: Who tells the results, if that is known.
    """
    said = question_in(form)
    table = Pasted(handed.text, kept_with(handed), handed.names)
    source = source_in(form, handed)
    if source == NAMES:
        names = names_in(handed.text)
        if not names:
            raise ValueError("there are no options: type their names, one in each line.")
        return AskedStudy({**said, "options": names}, table)
    found = read_handed(handed if source == RESULTS else handed._replace(format="table"))
    if isinstance(found, ToolResults):
        return _of_tool(said, form, found, table._replace(reader=found.reader), by)
    frame = found.table.frame
    chosen = form if "role.0" in form and not handed.files else None
    columns = _columns(frame, chosen, source)
    offered = OF_OPTIONS if source == OPTIONS else OF_RESULTS
    table = Pasted(found.text, columns=columns, roles=offered, titles=frame.columns, fated=False)
    table = table._replace(
        rows=[PastedRow(at + 1, cells_of(frame, at), "", False) for at in range(min(SHOWN, len(frame)))]
    )
    features = [column.title for column in columns if column.role == FEATURE]
    if source == OPTIONS:
        return _of_options(said, form, found, columns, features, table)
    reading = reading_of(form, columns, also=(FEATURE,))
    waiting = still_open(columns, form)
    arguments = dict(said)
    if not waiting:
        arguments |= {"results": _by(_understood(found.table, features, reading), by), "features": features}
    return AskedStudy(arguments, table, waiting)


def source_in(form: Mapping[str, str], handed: HandedIn) -> str:
    """Where options come from: as chosen; a file is no list of names."""
    said = form.get("source") or NAMES
    if said not in (NAMES, OPTIONS, RESULTS):
        raise ValueError(f"options come from names, or a table; got {said!r}.")
    return RESULTS if said == NAMES and handed.files else said


def look_at(form: Mapping[str, str], handed: HandedIn, taken: Sequence[str]) -> NewStudyPage:
    """What would be made; nothing is.

    Args:
        form: Its fields.
        handed: The table or files.
        taken: Names of studies that there are.
    """
    page = NewStudyPage(form.get("source") or NAMES, Pasted(handed.text, kept_with(handed), handed.names))
    try:
        page = page._replace(source=source_in(form, handed))
        question = read_question(form, handed)
        page = page._replace(table=question.table)
        if question.waiting:
            return page._replace(table=question.table._replace(said=question.waiting))
        name = name_in_form(form, taken)
        with heard_warnings():
            study = create_study(name=name, **question.arguments)
        return page._replace(facts=_facts(study), ready=True)
    except (ValueError, KeyError, TypeError) as problem:
        said = str(problem.args[0]) if problem.args else str(problem)
        return page._replace(problem=f"{said[:1].upper()}{said[1:]}")


def name_in_form(form: Mapping[str, str], taken: Sequence[str]) -> str:
    """The name of the new study, which must be a new one."""
    name = form.get("name", "").strip()
    if not name:
        raise ValueError("`Name` is empty: say how the study is to be called.")
    if name in taken:
        raise ValueError(f"there is a study {name!r} already: choose another name.")
    return check_text("name", check_name(name))


def _columns(frame: pl.DataFrame, chosen: Mapping[str, str] | None, source: str) -> list[TableColumn]:
    columns = columns_of(frame, chosen)
    if source == RESULTS or chosen is not None:
        return columns
    # A table of options: the name comes first or is called so; what else describes it is a feature.
    named = next((one.title for one in columns if one.role == "option"), frame.columns[0])
    roles = {one.title: COST if one.role == "cost" else FEATURE for one in columns} | {named: NAME}
    return [one._replace(role=roles[one.title]) for one in columns]


def _of_options(
    said: dict[str, Any], form: Mapping[str, str], found: OneTable, columns: Sequence[TableColumn],
    features: list[str], table: Pasted,
) -> AskedStudy:  # fmt: skip
    by_role = {role: [one.title for one in columns if one.role == role] for role in (NAME, COST)}
    if len(by_role[NAME]) != 1 or len(by_role[COST]) > 1:
        which = "the name" if len(by_role[NAME]) != 1 else "the cost"
        return AskedStudy(said, table, f"Say which column is {which}: one of them, and look again.")
    arguments = {**said, "options": found.table, "features": features}
    arguments["roles"] = {"option": by_role[NAME][0], **({"cost": by_role[COST][0]} if by_role[COST] else {})}
    arguments |= {"decimal": form["decimal"]} if form.get("decimal") in (".", ",") else {}
    return AskedStudy(arguments, table)


def _of_tool(
    said: dict[str, Any], form: Mapping[str, str], found: ToolResults, table: Pasted, by: str | None
) -> AskedStudy:
    from noisewise.study.readers.registry import get, read
    from noisewise.study.telling.understanding import understand

    wanted, choices = choices_in(form)
    unit = said.get("unit")
    own = {"unit": unit} if unit and "unit" in get(found.reader).choices else {}
    readout = read(found.files, found.reader, **(own | choices))
    readout = readout.about(wanted["only"]) if "only" in wanted else readout
    readout = readout.called(wanted["called"]) if "called" in wanted else readout
    readout = readout.in_block(wanted["block"]) if "block" in wanted else readout
    understood = understand(readout)
    frame = understood.frame
    rows = [PastedRow(at + 1, cells_of(frame, at), "", False) for at in range(min(SHOWN, len(frame)))]
    remarks = [understood.sentence] if understood.sentence else []
    table = table._replace(titles=frame.columns, rows=rows, fated=False, remarks=remarks)
    return AskedStudy({**said, "results": _by(understood, by)}, table)


def _understood(table: Any, features: list[str], reading: dict[str, Any]) -> Any:
    from noisewise.study.telling.understanding import understand

    return understand(table, what="results", others=features, **reading)


def _by(understood: Any, by: str | None) -> Any:
    if by is None or "item" in understood.frame.columns:
        return understood
    return replace(understood, frame=understood.frame.with_columns(pl.lit(by).alias("by")))


def _facts(study: Study) -> list[tuple[str, str]]:
    """The study that would be made, in a few lines."""
    certificate, specification = study.certificate(), study.specification
    names, more = study.options[:NAMED], len(study.options) - NAMED
    listed = ", ".join(name if len(name) <= 40 else f"{name[:39]}…" for name in names)
    facts = [
        ("Question", question_of(study, certificate)),
        ("Options", listed + (f" and {more:,} more" if more > 0 else "")),
    ]
    if specification.catalogue.features:
        facts.append(("Features", ", ".join(one.name for one in specification.catalogue.features)))
    if specification.catalogue.costs is not None:
        facts.append(("Cost", specification.catalogue.cost_column))
    eps = "not said: it will never say that one may stop"
    if certificate.eps is not None:
        eps = f"{certificate.value_scale.close(certificate.eps)} from the best"
    facts.append(("Good enough", eps))
    facts.append(("Model", study.analysis().state.model.in_words(specification.value_scale)))
    if study.n_measurements:
        facts.append(("Measurements", counted(study.n_measurements, "measurement")))
        facts.append(("Result so far", certificate.sentence))
    else:
        jobs, why_none = suggestions(study, certificate)
        facts.append(("First suggestion", jobs[0].why if jobs else why_none))
    return facts


#: What is said to whoever changed the form after looking.
LOOKED_CHANGED = (
    "Nothing was made yet: the form was changed after you looked. This is what it would make now."
)
MAKING = APIRouter(include_in_schema=False)
OWN = Depends(needs(Role.OWNER))


def new_page(request: Request, page: NewStudyPage, form: dict[str, str], status: int = 200) -> HTMLResponse:
    """The page on which a study is made."""
    opened = [group.title for group in GROUPS if touched(group, form)]
    return rendered(
        request, "new.html", status, page=page, form=form, sources=SOURCES, question=QUESTION, groups=GROUPS,
        opened=opened, formats=formats(), of_readers=OF_READERS,
        seen=mark_of({**form, "source": page.source}, page.table),
    )  # fmt: skip


@MAKING.get("/new", dependencies=[OWN])
def new(request: Request) -> HTMLResponse:
    """An empty form."""
    studies_of(request).check_writable()
    return new_page(request, NewStudyPage(), {})


@MAKING.post("/new")
async def make(request: Request, visitor: Visitor = OWN) -> Response:
    """A study: shown as it would be, and made if that was asked for."""
    studies = studies_of(request)
    studies.check_writable()
    try:
        form, handed = await read_handed_in(request)
    except ValueError as refused:
        return new_page(request, NewStudyPage(problem=said_by(refused)), {}, 422)
    return await run_in_threadpool(_made, request, form, handed, visitor)


def _made(request: Request, form: dict[str, str], handed: HandedIn, visitor: Visitor) -> Response:
    studies = studies_of(request)
    page = look_at(form, handed, studies.names())
    changed = form.get("do") == "make" and not is_as_seen(form)
    if changed and page.ready:
        page = page._replace(problem=LOOKED_CHANGED)
    elif form.get("do") == "make" and page.ready:
        try:
            name = name_in_form(form, studies.names())
            arguments: dict[str, Any] = read_question(form, handed, visitor.name).arguments
            with heard_warnings():  # the preview has shown what comes of it
                studies.create(name, **arguments)
            return RedirectResponse(f"./s/{quote(name_in_path(name), safe='')}/?made=1", 303)
        except REFUSED as problem:  # somebody was faster
            page = page._replace(problem=said_by(problem), ready=False)
    return new_page(request, page, form, 422 if page.problem else 200)
