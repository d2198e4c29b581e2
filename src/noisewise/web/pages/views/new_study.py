"""A study that is about to be made: options typed or from a table, the question, and what would come of it.

The preview makes the study in memory, with everything that was said: what it shows is what there will be, and
what the study refuses is refused before anything is written.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import polars as pl

from noisewise.core.support.remarks import heard_warnings
from noisewise.core.support.text import check_text
from noisewise.core.support.words import counted
from noisewise.study.creation import create_study
from noisewise.study.stores.protocol import check_name
from noisewise.study.study import Study
from noisewise.web.pages.views.choices import question_in
from noisewise.web.pages.views.overview import suggestions
from noisewise.web.pages.views.studies import question_of
from noisewise.web.pages.views.tables.added import names_in
from noisewise.web.pages.views.tables.handed import (
    HandedIn,
    OneTable,
    ToolResults,
    choices_in,
    kept_with,
    read_handed,
)
from noisewise.web.pages.views.tables.pasted import (
    ROLES_OFFERED,
    SHOWN,
    Pasted,
    PastedRow,
    cells_of,
    reading_of,
)
from noisewise.web.pages.views.tables.table_columns import TableColumn, columns_of, still_open

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
    arguments = {**said, "options": found.table, "id": by_role[NAME][0], "features": features}
    arguments |= {"cost": by_role[COST][0]} if by_role[COST] else {}
    arguments |= {"decimal": form["decimal"]} if form.get("decimal") in (".", ",") else {}
    return AskedStudy(arguments, table)


def _of_tool(
    said: dict[str, Any], form: Mapping[str, str], found: ToolResults, table: Pasted, by: str | None
) -> AskedStudy:
    from noisewise.study.intake.columns.understanding import understand
    from noisewise.study.readers.registry import get, read

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
    from noisewise.study.intake.columns.understanding import understand

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
