"""A table that was pasted, or files that were uploaded: what would be told of each row."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import polars as pl

from noisewise.core.support.text import some_of
from noisewise.core.support.words import counted
from noisewise.study.inputs.dialects.wording import FORM
from noisewise.study.inputs.error_bars import NONE
from noisewise.study.intake.columns.understanding import understand
from noisewise.study.intake.roles import ROLE, ROLES
from noisewise.study.study import Study
from noisewise.web.pages.views.tables.handed import (
    HandedIn,
    OneTable,
    ToolResults,
    choices_in,
    kept_with,
    read_handed,
)
from noisewise.web.pages.views.tables.table_columns import LAYOUTS, OPEN, TableColumn, columns_of, still_open
from noisewise.web.pages.views.tables.wrong_rows import REFUSALS, summed_up, wrong_rows

#: Rows of the preview.
SHOWN = 50
#: Roles that a person can choose.
ROLES_OFFERED = [(role.name, role.meaning) for role in ROLES]
#: What may become of options that the study does not have.
UNKNOWN = ("refuse", "skip", "add")


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
    roles = [column.role for column in columns if column.role and column.role not in (*also, OPEN)]
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


def tell_handed(study: Study, handed: HandedIn, texts: Mapping[str, str], by: str | None) -> Any:
    """Tell what was handed in, as it was previewed; rows are by whoever does, if that is known."""
    found = read_handed(handed)
    if isinstance(found, ToolResults):
        wanted, choices = choices_in(texts)
        understood = understand(study.read_from(found.files, found.reader, **wanted, **choices))
    else:
        columns = columns_of(found.table.frame, texts)
        if waiting := still_open(columns, texts):
            raise ValueError(waiting)
        reading = reading_of(texts, columns)
        understood = understand(found.table, what="table", words=FORM, **reading)
    if by is not None and "item" not in understood.frame.columns:
        understood = replace(understood, frame=understood.frame.with_columns(pl.lit(by).alias("by")))
    return study.tell_many(understood, **how_told(texts).arguments())


def preview(study: Study, handed: HandedIn, texts: Mapping[str, str]) -> Pasted:
    """What would be told; nothing is."""
    page = Pasted(handed.text, kept_with(handed), handed.names)
    frame: pl.DataFrame | None = None
    source: Any = None
    reading: dict[str, Any] = {}

    def rehearsed(part: Any) -> Any:
        # What a reader of another tool has read needs nothing to be said of it.
        understood = part if frame is None else understand(part, what="table", words=FORM, **reading)
        return study.tell_many(understood, dry_run=True, **how_told(texts).arguments())

    try:
        found = read_handed(handed)
        if isinstance(found, OneTable):
            frame = found.table.frame
            # A table of which nobody has said what its columns are is one that was just handed in.
            chosen = texts if "role.0" in texts and not handed.files else None
            columns = columns_of(frame, chosen)
            page = Pasted(found.text, columns=columns, roles=ROLES_OFFERED, titles=frame.columns)
            source = found.table
            reading = reading_of(texts, columns)
            if said := still_open(columns, texts):
                return page._replace(said=said, rows=_rows(frame, {}, {}), fated=False)
        else:
            page = page._replace(reader=found.reader)
            wanted, choices = choices_in(texts)
            source = study.read_from(found.files, found.reader, **wanted, **choices)
        taken: Any = rehearsed(source)
    except REFUSALS as problem:
        bad = wrong_rows(problem, None if frame is None else source, rehearsed)
        rows = [] if frame is None else _rows(frame, {}, bad)
        return page._replace(problem=summed_up(problem, bad), rows=rows, fated=bool(bad))
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
    if taken.missing:
        remarks.append(f"No longer in this table, and still counted until voided: {some_of(taken.missing)}.")
    if left_out := [column.title for column in page.columns if not column.role]:
        remarks.append(f"Left out: {some_of(list(map(repr, left_out)))}.")
    if new and all(one.kind == NONE for one in taken):
        remarks.append("None of these rows has an error bar.")
    return page._replace(
        titles=frame.columns,
        rows=_rows(frame, fates, {}),
        fated=batch is not None,
        said=f"What will happen: {', '.join(parts)}.{more}",
        remarks=remarks,
        ready=bool(new or amended),
        ready_words=counted(new + amended, "measurement"),
    )


def _rows(frame: pl.DataFrame, fates: Mapping[int, str], bad: Mapping[int, str]) -> list[PastedRow]:
    found = []
    shown = sorted({*range(min(SHOWN, len(frame))), *(row - 1 for row in bad if 0 < row <= len(frame))})
    for place in shown:
        usual = "nothing: another row is wrong" if bad else "told already: nothing changes"
        fate = bad.get(place + 1) or fates.get(place + 1, usual)
        found.append(PastedRow(place + 1, cells_of(frame, place), fate, place + 1 in bad))
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
