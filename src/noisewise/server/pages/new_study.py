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
from noisewise.operations.table import load_table
from noisewise.server.answers import name_in_path
from noisewise.server.auth.roles import Role, Visitor, needs
from noisewise.server.pages.changes import REFUSED, read_handed_in
from noisewise.server.pages.fields import fields_for, refuse_empty, said_in, sentence_of, text_in
from noisewise.server.pages.overview import question_of, suggestions
from noisewise.server.pages.rendering import rendered
from noisewise.server.pages.shown import studies_of
from noisewise.server.pages.tables import (
    OF_READERS,
    ROLES_OFFERED,
    SHOWN,
    HandedIn,
    OneTable,
    Pasted,
    PastedRow,
    ReadFiles,
    TableColumn,
    cells_of,
    choices_in,
    columns_of,
    formats,
    names_in,
    read_handed,
    reading_of,
    still_open,
    told_as_seen,
)
from noisewise.study.creation import create_study
from noisewise.study.stores.protocol import check_name
from noisewise.study.study import Study

#: What every study is asked, and what few studies need, by title: parameters of `init`.
QUESTION = ("goal", "eps", "unit", "confidence")
GROUPS = {
    title: tuple(load_table()["init"].groups[title].split())
    for title in ("What a measurement is", "Model and suggestions")
}


def question_in(form: Mapping[str, str]) -> dict[str, Any]:
    """Arguments of `create_study`; what was left empty is left out. A refusal names the field."""
    names = [name for group in (QUESTION, *GROUPS.values()) for name in group if name != "measure"]
    measure = text_in(form, "measure")  # at a shell, items:FILE would open a file
    return said_in("init", names, form) | ({"measure": measure} if measure else {})


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


def read_question(form: dict[str, str], handed: HandedIn, by: str | None = None) -> AskedStudy:
    """Everything that was said; `ValueError` in a sentence if it cannot be understood.

    Args:
        form: Its fields.
        handed: The table or files.
        by: Who tells the results, if that is known.
    """
    said = question_in(form)
    table = Pasted(handed.text)
    source = source_in(form, handed)
    if source == NAMES:
        names = names_in(handed.text)
        if not names:
            raise ValueError("there are no options: type their names, one in each line.")
        return AskedStudy({**said, "options": names}, table)
    found = read_handed(handed, _reader_for(said, form) if source == RESULTS else None)
    told_as_seen(form, found)
    frame = found.table.frame
    chosen = form if "role.0" in form and not handed.files else None
    columns = _columns(frame, chosen, source)
    offered = OF_OPTIONS if source == OPTIONS else OF_RESULTS
    table = Pasted(found.text, columns=columns, roles=offered, titles=frame.columns, fated=False)
    table = table._replace(remarks=[found.remark] if found.remark else [])
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
    """Where options come from: as chosen; a file is not a list of names."""
    said = form.get("source") or NAMES
    if said not in (NAMES, OPTIONS, RESULTS):
        raise ValueError(f"options come from names, or a table; got {said!r}.")
    return RESULTS if said == NAMES and handed.files else said


def look_at(form: dict[str, str], handed: HandedIn, taken: Sequence[str]) -> NewStudyPage:
    """What would be made; nothing is.

    Args:
        form: Its fields.
        handed: The table or files.
        taken: Names of studies that there are.
    """
    page = NewStudyPage(form.get("source") or NAMES, Pasted(handed.text))
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
        return page._replace(problem=sentence_of(problem))


def name_in_form(form: Mapping[str, str], taken: Sequence[str]) -> str:
    """The name of the new study, which must be a new one."""
    name = form.get("name", "").strip()
    if not name:
        raise refuse_empty("name", "say how the study is to be called")
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


def _reader_for(said: Mapping[str, Any], form: Mapping[str, str]) -> ReadFiles:
    """What reads files of another tool for a study that is not there yet."""

    def read(files: Any, reader: str) -> Any:
        from noisewise.study.readers.registry import get
        from noisewise.study.readers.registry import read as read_files

        wanted, choices = choices_in(form)
        own = {"unit": said["unit"]} if "unit" in said and "unit" in get(reader).choices else {}
        readout = read_files(files, reader, **(own | choices))
        readout = readout.about(wanted["only"]) if "only" in wanted else readout
        readout = readout.called(wanted["called"]) if "called" in wanted else readout
        return readout.in_block(wanted["block"]) if "block" in wanted else readout

    return read


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


MAKING = APIRouter(include_in_schema=False)
OWN = Depends(needs(Role.OWNER))


def new_page(request: Request, page: NewStudyPage, form: dict[str, str], status: int = 200) -> HTMLResponse:
    """The page on which a study is made."""
    groups = {title: fields_for("init", names) for title, names in GROUPS.items()}
    opened = [
        title for title, fields in groups.items()
        if any(form.get(one.name, one.usual) not in ("", one.usual) for one in fields)
    ]  # fmt: skip
    return rendered(
        request, "new.html", status, page=page, form=form, sources=SOURCES,
        question=fields_for("init", QUESTION), groups=groups,
        opened=opened, formats=formats(), of_readers=OF_READERS,
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
        return new_page(request, NewStudyPage(problem=sentence_of(refused)), {}, 422)
    return await run_in_threadpool(_made, request, form, handed, visitor)


def _made(request: Request, form: dict[str, str], handed: HandedIn, visitor: Visitor) -> Response:
    studies = studies_of(request)
    page = look_at(form, handed, studies.names())
    if form.get("do") == "make" and page.ready:
        try:
            name = name_in_form(form, studies.names())
            arguments: dict[str, Any] = read_question(form, handed, visitor.name).arguments
            with heard_warnings():  # the preview has shown what comes of it
                studies.create(name, **arguments)
            return RedirectResponse(f"./s/{quote(name_in_path(name), safe='')}/?made=1", 303)
        except REFUSED as problem:  # somebody was faster
            page = page._replace(problem=sentence_of(problem), ready=False)
    return new_page(request, page, form, 422 if page.problem else 200)
