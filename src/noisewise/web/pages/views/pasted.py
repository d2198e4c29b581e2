"""A table that was pasted, or files that were uploaded: what columns are, and what would be told of each row.

Nothing is guessed about error bars: a column counts as one only if it is called so, or if somebody says so.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import polars as pl

from noisewise.core.support.text import some_of
from noisewise.core.support.words import counted
from noisewise.study.inputs.dialects.headers import key_of
from noisewise.study.intake.roles import PROBES, RESULTS, ROLE, ROLES, column_for
from noisewise.study.study import Study
from noisewise.web.pages.views.handed import (
    HandedIn,
    OneTable,
    ToolResults,
    choices_in,
    kept_with,
    read_handed,
)

#: Rows of the preview.
SHOWN = 50
#: Roles that a person can choose.
ROLES_OFFERED = [(role.name, role.meaning) for role in ROLES]
#: Roles that are proposed for a column that is called otherwise; none of them says an error bar.
PROPOSED = ("option", "item", "value", "block", "instrument", "by", "note")
#: What may become of options that the study does not have.
UNKNOWN = ("refuse", "skip", "add")
LAYOUTS = ("network", "arms")
_ROW = re.compile(r"\b(?:row|line) (\d+)")
REFUSALS = (ValueError, KeyError, TypeError)


class TableColumn(NamedTuple):
    """A column, and what it is taken for."""

    title: str
    example: str
    role: str


class PastedRow(NamedTuple):
    """A row of the preview."""

    place: int
    cells: list[str]
    fate: str
    bad: bool


class Pasted(NamedTuple):
    """What the page shows of a table."""

    text: str = ""
    kept: str = ""  # files, for the next time that the form is sent
    files: Sequence[str] = ()  # their names
    reader: str = ""  # that reads them
    columns: Sequence[TableColumn] = ()
    roles: Sequence[tuple[str, str]] = ()
    titles: Sequence[str] = ()
    rows: Sequence[PastedRow] = ()
    fated: bool = True  # whether rows say what becomes of each
    said: str = ""
    remarks: Sequence[str] = ()
    problem: str = ""
    ready: bool = False
    ready_words: str = ""
    equal: bool = False  # whether rows equal those of other tables


class HowTold(NamedTuple):
    """How rows are told, besides which column is what."""

    amend: str = ""
    unknown: str = "refuse"
    again: bool = False

    def arguments(self) -> dict[str, Any]:
        """Of `Study.tell_many`."""
        return {
            "amend": self.amend or None,
            "unknown": self.unknown,
            "repeat": "others" if self.again else False,
            "match": True,
        }


def how_told(texts: Mapping[str, str]) -> HowTold:
    """What a form says."""
    unknown = texts.get("unknown") or "refuse"
    if unknown not in UNKNOWN:
        raise ValueError(f"unknown options are refused, skipped or added; got {unknown!r}.")
    return HowTold(texts.get("amend", "").strip(), unknown, bool(texts.get("again")))


def columns_of(
    frame: pl.DataFrame, chosen: Mapping[str, str] | None, proposed: Sequence[str] = PROPOSED
) -> list[TableColumn]:
    """Columns with their roles: as chosen, or as they are called.

    Args:
        frame: The table.
        chosen: Fields ``role.0``, ``role.1``, ... of the form; None: nobody has chosen yet.
        proposed: Roles that are proposed for columns that are called otherwise.
    """
    titles, roles = frame.columns, {}
    if chosen is None:
        roles = {title: key_of(title) for title in titles if key_of(title) in ROLE}
        for role in proposed:
            found = column_for([title for title in titles if title not in roles], role)
            if found is not None and role not in roles.values():
                roles[found] = role
        if not set(PROBES) & set(roles.values()) and (first := _first_text(frame, roles)) is not None:
            roles[first] = "option"
    found_columns = []
    for place, title in enumerate(titles):
        role = roles.get(title, "") if chosen is None else chosen.get(f"role.{place}", "")
        first_cell = next(
            (str(cell) for cell in frame[title].head(20).to_list() if cell not in (None, "")), ""
        )
        example = f"such as {first_cell[:24]}" if first_cell else "empty"
        found_columns.append(TableColumn(title, example, role))
    return found_columns


def _first_text(frame: pl.DataFrame, taken: Mapping[str, str]) -> str | None:
    """The first column whose cells are no numbers: it names what was measured, more often than not."""
    for title in frame.columns:
        if title in taken:
            continue
        cells = [str(cell) for cell in frame[title].head(20).to_list() if cell not in (None, "")]
        if cells and not any(re.fullmatch(r"[-+−]?[\d.,'\s]+(e[-+]?\d+)?%?", cell) for cell in cells):
            return title
    return None


def reading_of(
    texts: Mapping[str, str], columns: Sequence[TableColumn], also: Sequence[str] = ()
) -> dict[str, Any]:
    """What `Study.tell_many` is told about a table; `ValueError` if two columns are the same.

    Args:
        texts: The form: ``decimal``, ``missing``, ``layout``, ``counts``.
        columns: With what each is.
        also: What columns can be besides roles of measurements.
    """
    how: dict[str, Any] = {}
    if texts.get("decimal") in (".", ","):
        how["decimal"] = texts["decimal"]
    if texts.get("missing"):
        how["allow_missing_se"] = True
    if texts.get("layout") in LAYOUTS:  # such tables have columns of their own, known by their titles
        how["layout"] = texts["layout"]
        return how | ({"counts": "shares"} if texts.get("counts") == "shares" else {})
    roles = [column.role for column in columns if column.role and column.role not in also]
    twice = next((role for role in roles if roles.count(role) > 1), None)
    if twice is not None:
        raise ValueError(f"two columns are said to be {twice!r}: choose one of them.")
    strange = next((role for role in roles if role not in ROLE), None)
    if strange is not None:
        raise ValueError(f"{strange!r} is nothing that a column can be.")
    return how | {
        "map": {column.role: column.title for column in columns if column.role in ROLE},
        "ignore": [column.title for column in columns if not column.role],
    }


def still_open(columns: Sequence[TableColumn], texts: Mapping[str, str]) -> str:
    """What has to be said before a table can be read; empty if nothing has."""
    roles = {column.role for column in columns}
    if texts.get("layout") in LAYOUTS:
        return ""
    wanted = [] if roles & set(PROBES) else ["the option"]
    wanted += [] if roles & set(RESULTS) else ["the value"]
    return f"Say which column is {' and which is '.join(wanted)}, and look again." if wanted else ""


def tell_handed(study: Study, handed: HandedIn, texts: Mapping[str, str], by: str | None) -> Any:
    """Tell what was handed in, as it was previewed; rows are by whoever does, if that is known."""
    from noisewise.study.intake.columns.understanding import understand

    found = read_handed(handed)
    if isinstance(found, ToolResults):
        wanted, choices = choices_in(texts)
        understood = understand(study.read_from(found.files, found.reader, **wanted, **choices))
    else:
        reading = reading_of(texts, columns_of(found.table.frame, texts))
        understood = understand(found.table, what="table", **reading)
    if by is not None and "item" not in understood.frame.columns:
        understood = replace(understood, frame=understood.frame.with_columns(pl.lit(by).alias("by")))
    return study.tell_many(understood, **how_told(texts).arguments())


def preview(study: Study, handed: HandedIn, texts: Mapping[str, str]) -> Pasted:
    """What would be told; nothing is."""
    page = Pasted(handed.text, kept_with(handed), handed.names)
    frame: pl.DataFrame | None = None
    try:
        found = read_handed(handed)
        if isinstance(found, OneTable):
            frame = found.table.frame
            # A table of which nobody has said what its columns are is one that was just handed in.
            chosen = texts if "role.0" in texts and not handed.files else None
            columns = columns_of(frame, chosen)
            page = Pasted(found.text, columns=columns, roles=ROLES_OFFERED, titles=frame.columns)
            source: Any = found.table
            reading = reading_of(texts, columns)
            if said := still_open(columns, texts):
                return page._replace(said=said, rows=_rows(frame, {}, set(), ""), fated=False)
        else:
            page = page._replace(reader=found.reader)
            wanted, choices = choices_in(texts)
            source, reading = study.read_from(found.files, found.reader, **wanted, **choices), {}
        taken: Any = study.tell_many(source, dry_run=True, **how_told(texts).arguments(), **reading)
    except REFUSALS as problem:
        said = str(problem.args[0]) if problem.args else str(problem)
        bad = {int(number) for number in _ROW.findall(said)} if frame is not None else set()
        rows = [] if frame is None else _rows(frame, {}, bad, said)
        sentence = f"{said[:1].upper()}{said[1:]} Nothing was told."
        return page._replace(problem=sentence, rows=rows, fated=bool(bad))
    return _as_taken(page, taken, taken.understood.frame if frame is None else frame)


def _as_taken(page: Pasted, taken: Any, frame: pl.DataFrame) -> Pasted:
    """What a dry run has found."""
    batch = getattr(taken, "batch", None)  # tables of items have none: their rows go together
    fates = {} if batch is None else batch.told.in_words(batch.parsed)
    new, amended = len(taken), len(taken.amended)
    on_items = f" with {counted(taken.items, 'item')}" if getattr(taken, "items", 0) else ""
    parts = [f"{counted(new, 'measurement')}{on_items} told"]
    parts += [f"{counted(amended, 'correction')}"] if amended else []
    parts += [f"{counted(taken.known, 'row')} told already"] if taken.known else []
    parts += [f"{counted(taken.empty, 'row')} without a result left for later"] if taken.empty else []
    left = len(frame) - SHOWN
    more = f" The first {SHOWN} of {len(frame):,} rows are shown." if left > 0 else ""
    understood = taken.understood
    remarks = [understood.sentence] if understood.sentence else []
    if taken.equal:
        pairs = some_of([f"row {row} = {id}" for row, id in taken.equal])
        remarks.append(f"Taken for measurements of other tables, which they equal: {pairs}.")
    if taken.missing:
        remarks.append(f"No longer in this table, and still counted until voided: {some_of(taken.missing)}.")
    return page._replace(
        titles=frame.columns,
        rows=_rows(frame, fates, set(), ""),
        fated=batch is not None,
        said=f"What will happen: {', '.join(parts)}.{more}",
        remarks=remarks,
        ready=bool(new or amended),
        ready_words=counted(new + amended, "measurement"),
        equal=bool(taken.equal),
    )


def _rows(frame: pl.DataFrame, fates: Mapping[int, str], bad: set[int], said: str) -> list[PastedRow]:
    found = []
    shown = sorted({*range(min(SHOWN, len(frame))), *(row - 1 for row in bad if 0 < row <= len(frame))})
    for place in shown:
        wrong = place + 1 in bad
        fate = said if wrong else "nothing: another row is wrong" if said else "told already: nothing changes"
        found.append(PastedRow(place + 1, cells_of(frame, place), fates.get(place + 1, fate), wrong))
    return found


def cells_of(frame: pl.DataFrame, place: int) -> list[str]:
    """The cells of a row as short texts."""
    return ["" if cell is None else _short(cell) for cell in frame.row(place)]


def _short(cell: Any) -> str:
    text = (
        ", ".join(f"{one:g}" if isinstance(one, float) else str(one) for one in cell[:20])
        if isinstance(cell, list)
        else str(cell)
    )
    return text if len(text) <= 80 else f"{text[:79]}…"
