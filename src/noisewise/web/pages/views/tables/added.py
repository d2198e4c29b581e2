"""Options that are added to a study: names in lines, or a table with the columns of the first ones."""

from typing import Any, NamedTuple

from noisewise.core.support.words import counted
from noisewise.study.intake.changes import added_options as body_of
from noisewise.study.study import Study
from noisewise.web.pages.views.tables.handed import HandedIn, OneTable, kept_with, read_handed

#: Names that a preview lists.
NAMED = 50


class Added(NamedTuple):
    """What the page shows."""

    columns: list[str]  # that a table must have; empty: names are enough
    text: str = ""
    kept: str = ""
    files: tuple[str, ...] = ()
    names: tuple[str, ...] = ()  # that would be added: the first of them
    more: int = 0
    problem: str = ""
    ready: bool = False
    ready_words: str = ""


def names_in(text: str) -> list[str]:
    """Names in lines; or in one line, with commas or semicolons between them."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) == 1:
        between = ";" if ";" in lines[0] else ","
        lines = [name.strip() for name in lines[0].split(between) if name.strip()]
    return lines


def added_options(study: Study, handed: HandedIn) -> Added:
    """What would be added; nothing is."""
    page = Added(_columns(study), handed.text, kept_with(handed), tuple(handed.names))
    if not handed.files and not handed.text.strip():
        return page
    try:
        body = body_of(study.analysis().state, _source(study, handed), None)
    except (ValueError, KeyError, TypeError) as problem:
        said = str(problem.args[0]) if problem.args else str(problem)
        return page._replace(problem=f"{said[:1].upper()}{said[1:]}")
    names = body["ids"]
    return page._replace(
        names=tuple(names[:NAMED]),
        more=max(0, len(names) - NAMED),
        ready=bool(names),
        ready_words=counted(len(names), "option"),
    )


def add_named(study: Study, handed: HandedIn) -> list[str]:
    """Add them."""
    return study.add_options(_source(study, handed))


def _columns(study: Study) -> list[str]:
    catalogue = study.specification.catalogue
    described = [feature.name for feature in catalogue.features]
    described += [] if catalogue.costs is None else [catalogue.cost_column]
    return [catalogue.id_column, *described] if described else []


def _source(study: Study, handed: HandedIn) -> Any:
    if not handed.files and not _columns(study):
        return names_in(handed.text)
    found = read_handed(handed._replace(format="table"))
    assert isinstance(found, OneTable)
    if _columns(study):
        return found.table
    column = study.specification.catalogue.id_column
    frame = found.table.frame
    return [str(cell) for cell in frame[column if column in frame.columns else frame.columns[0]].to_list()]
