"""A table that was pasted or uploaded: which column is what, and what would be told of each row.

Nothing is guessed about error bars: a column counts as one only if it is called so, or if somebody says so.
"""

import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, NamedTuple, cast

import polars as pl

from noisewise.core.support.words import counted
from noisewise.study.inputs.dialects.headers import key_of
from noisewise.study.inputs.read_table import ReadTable
from noisewise.study.inputs.tables import ENDINGS, SEPARATORS, read_whole
from noisewise.study.intake.batch import Taken
from noisewise.study.intake.roles import COLUMNS, ROLE
from noisewise.study.study import Study

#: Rows of the preview.
SHOWN = 50
#: Roles that a person can choose; items have pages of their own elsewhere.
ROLES_OFFERED = [(name, ROLE[name].meaning) for name in COLUMNS]
_ROW = re.compile(r"\b(?:row|line) (\d+)")


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
    columns: Sequence[TableColumn] = ()
    roles: Sequence[tuple[str, str]] = ()
    titles: Sequence[str] = ()
    rows: Sequence[PastedRow] = ()
    said: str = ""
    remarks: Sequence[str] = ()
    problem: str = ""
    ready: bool = False
    ready_words: str = ""
    amend: str = ""


def read_pasted(text: str, name: str = "", content: bytes = b"") -> tuple[ReadTable, str]:
    """The table of a text, or of a file that was uploaded; and what the text field shows from now on."""
    ending = PurePath(name).suffix.lower() if content else ".csv"
    if ending not in ENDINGS:
        raise ValueError(f"a table must be one of {', '.join(ENDINGS)}; got {PurePath(name).name!r}.")
    if not content and not text.strip():
        raise ValueError("there is no table: paste one with a line of titles, or choose a file.")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table{ending}"
        path.write_bytes(content or text.replace("\r\n", "\n").encode("utf-8"))
        table = read_whole("table", path)
        shown = text
        if content and ending in SEPARATORS:
            shown = content.decode("utf-8-sig", "replace")
        elif content:  # a workbook or a frame: its cells as text, every digit of them
            shown = table.frame.write_csv()
    return table, shown


def columns_of(frame: pl.DataFrame, chosen: Mapping[str, str] | None) -> list[TableColumn]:
    """Columns with their roles: as chosen, or as they are called.

    Args:
        frame: The table.
        chosen: Fields ``role.0``, ``role.1``, ... of the form; None: nobody has chosen yet.
    """
    found = []
    for place, title in enumerate(frame.columns):
        called = key_of(title)
        role = (called if called in COLUMNS else "") if chosen is None else chosen.get(f"role.{place}", "")
        first = next((str(cell) for cell in frame[title].head(20).to_list() if cell not in (None, "")), "")
        found.append(TableColumn(title, f"such as {first[:24]}" if first else "empty", role))
    return found


def reading_of(columns: Sequence[TableColumn]) -> dict[str, Any]:
    """What `Study.tell_many` is told about a table; `ValueError` if two columns are the same."""
    roles = [column.role for column in columns if column.role]
    twice = next((role for role in roles if roles.count(role) > 1), None)
    if twice is not None:
        raise ValueError(f"two columns are said to be {twice!r}: choose one of them.")
    strange = next((role for role in roles if role not in COLUMNS), None)
    if strange is not None:
        raise ValueError(f"{strange!r} is nothing that a column can be.")
    return {
        "map": {column.role: column.title for column in columns if column.role},
        "ignore": [column.title for column in columns if not column.role],
    }


def preview(
    study: Study, table: ReadTable, shown: str, chosen: Mapping[str, str] | None, amend: str
) -> Pasted:
    """What would be told; nothing is."""
    columns = columns_of(table.frame, chosen)
    page = Pasted(shown, columns, ROLES_OFFERED, table.frame.columns, amend=amend)
    try:
        reading = reading_of(columns)
        taken = cast(Taken, study.tell_many(table, dry_run=True, amend=amend or None, **reading))
    except (ValueError, KeyError, TypeError) as problem:
        said = str(problem.args[0]) if problem.args else str(problem)
        bad = {int(found) for found in _ROW.findall(said)}
        return page._replace(problem=f"{said} Nothing was told.", rows=_rows(table.frame, {}, bad, said))
    fates = taken.batch.told.in_words(taken.batch.parsed)
    new, amended, known = len(taken), len(taken.amended), taken.known
    parts = [f"{counted(new, 'measurement')} told"]
    parts += [f"{counted(amended, 'correction')}"] if amended else []
    parts += [f"{known:,} told already"] if known else []
    left = len(table.frame) - SHOWN
    more = f" The first {SHOWN} of {len(table.frame):,} rows are shown." if left > 0 else ""
    remarks = [taken.understood.sentence] if taken.understood.sentence else []
    return page._replace(
        rows=_rows(table.frame, fates, set(), ""),
        said=f"What will happen: {', '.join(parts)}.{more}",
        remarks=remarks,
        ready=bool(new or amended),
        ready_words=counted(new + amended, "measurement"),
    )


def _rows(frame: pl.DataFrame, fates: Mapping[int, str], bad: set[int], said: str) -> list[PastedRow]:
    found = []
    shown = sorted({*range(min(SHOWN, len(frame))), *(row - 1 for row in bad if 0 < row <= len(frame))})
    for place in shown:
        cells = ["" if cell is None else str(cell)[:80] for cell in frame.row(place)]
        wrong = place + 1 in bad
        fate = said if wrong else "nothing: another row is wrong" if said else "told already: nothing changes"
        found.append(PastedRow(place + 1, cells, fates.get(place + 1, fate), wrong))
    return found
