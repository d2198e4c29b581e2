"""Sheets of Excel workbooks as tables: numbers stay numbers, dates and errors are marked, nothing is retyped.

A workbook holds more than a text does: numbers are exact, whatever they look like, and what looks like a
number may be a text. It also holds traps: dates that were made of "1-2", merged cells, formulas without
results.
"""

import datetime
import importlib.util
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from noisewise.core.text import printable
from noisewise.study.inputs.dialects.layout import header_at
from noisewise.study.inputs.dialects.workbook_file import (
    FilledCell,
    SheetCells,
    WorkbookFile,
    name_of,
    place_of,
)
from noisewise.study.inputs.read_table import ReadTable
from noisewise.study.inputs.table_limits import check_size

WORKBOOKS = (".xlsx", ".xlsm")
_DATES = (datetime.datetime, datetime.date, datetime.time, datetime.timedelta)
_ZEROS = re.compile(r"0{2,}")


def read_workbook(what: str, path: Path, sheet: str | None) -> ReadTable:
    """One sheet of a workbook; which, must be said if there are several."""
    name, page = _sheet(what, path, sheet)
    rows = page.rows
    full = sorted(rows)
    if not full:
        raise ValueError(f"`{what}` must be a table with a first line of column names; {name} is empty.")
    width = 1 + max(max(cells) for cells in rows.values())
    above = header_at(
        [[str(rows[at][c].value) if c in rows[at] else "" for c in range(width)] for at in full[:60]]
    )[0]
    first, there = full[above], full[above + 1 :]
    _check_merged(what, page, first, name)
    _check_formulas(what, page, there, name)
    guesses = [f"{above} line{'s' if above > 1 else ''} above the header left out"] if above else []
    hidden = [at for at in there if at in page.hidden]
    if hidden:
        guesses.append(f"hidden rows of the sheet too ({len(hidden)})")
    table = ReadTable(
        pl.DataFrame(), name, np.array([at + 1 for at in there], dtype=np.int64), "sheet row", None, guesses
    )
    header = {column: str(cell.value).strip() for column, cell in sorted(rows[first].items())}
    check_size(what, name, len(there), len(header), sum(len(cells) for cells in rows.values()))
    unnamed = [(column, at) for at in there for column in rows[at].keys() - header.keys()]
    if unnamed:
        raise ValueError(
            f"`{what}`: {table.place(there.index(min(unnamed)[1]))} of {name} has a cell in a column without "
            "a name: name it in the header; if other lines stand above the header, delete them."
        )
    names = list(header.values())
    if twice := next((one for one, many in Counter(names).items() if many > 1), None):
        raise ValueError(
            f"`{what}` must have different names of columns; {twice!r} stands twice: rename one."
        )
    empty = FilledCell(None, "General")
    series: list[pl.Series] = []
    for column, text in header.items():
        cells = [rows[at].get(column, empty) for at in there]
        series.append(_column(text, [one.value for one in cells], [one.form for one in cells], table))
    frame = pl.DataFrame(series) if series else pl.DataFrame()
    return replace(table, frame=frame)


def _sheet(what: str, path: Path, wanted: str | None) -> tuple[str, SheetCells]:
    """The sheet with this title, or the only one that is not empty, and what messages call it."""
    if importlib.util.find_spec("openpyxl") is None:
        raise ValueError(
            f"`{what}`: reading {path.name!r} needs openpyxl: pip install 'noisewise[excel]', or save the "
            "sheet as CSV."
        )
    try:
        with WorkbookFile(path) as book:
            titles = list(book.sheets)
            chosen = titles if wanted is None else _called(titles, wanted)
            sheets = {title: book.read(title) for title in chosen}
    except ValueError as problem:  # beyond the limits, or a cell that is not what it says
        raise ValueError(
            f"`{what}` must be a readable workbook; {path.name!r} is not: {printable(problem)}. Save the "
            "sheet as CSV."
        ) from None
    except Exception as problem:  # whatever a damaged or unusual file makes of its reader
        raise ValueError(
            f"`{what}` must be a readable workbook; {path.name!r} is not ({type(problem).__name__}): save it "
            "as .xlsx without a password, or as CSV."
        ) from None
    if wanted is not None:
        if len(sheets) != 1:
            listed = ", ".join(map(repr, titles))
            raise ValueError(f"`{what}`: {path.name!r} has no sheet {wanted!r}; its sheets are {listed}.")
        return repr(f"{path.name}#{chosen[0]}"), sheets[chosen[0]]
    filled = {title: page for title, page in sheets.items() if page.rows}
    if len(filled) > 1:
        listed = " or ".join(repr(f"{path.name}#{title}") for title in filled)
        raise ValueError(f"`{what}`: {path.name!r} has several sheets; say which: {listed}.")
    return repr(path.name), next(iter((filled or sheets or {"": SheetCells("")}).values()))


def _called(titles: list[str], wanted: str) -> list[str]:
    same = [title for title in titles if title == wanted]
    return same or [title for title in titles if title.casefold().strip() == wanted.casefold().strip()]


def _check_merged(what: str, page: SheetCells, first: int, name: str) -> None:
    for span in page.merged:
        if place_of(span.rpartition(":")[2])[0] >= first:
            raise ValueError(
                f"`{what}`: cells {span} of {name} are merged, and only the first of them has its "
                "value: unmerge them and fill every cell."
            )


def _check_formulas(what: str, page: SheetCells, there: list[int], name: str) -> None:
    """Refuse formulas whose results are not in the file: their cells would be taken for empty ones."""
    rows = set(there)
    for (row, column), formula in page.bare.items():
        if row in rows:
            raise ValueError(
                f"`{what}`: cell {name_of(row, column)} of {name} holds a formula without its result, "
                f"{printable(formula)!r}: open the workbook in a spreadsheet and save it."
            )


def _column(name: str, cells: list[Any], formats: list[str], table: ReadTable) -> pl.Series:
    there = [cell for cell in cells if cell is not None]
    kinds = {type(cell) for cell in there}
    if kinds == {bool}:
        return pl.Series(name, cells, dtype=pl.Boolean)
    zeros = any(_ZEROS.fullmatch(str(form)) for form in formats)
    if kinds and kinds <= {int, float} and not zeros:
        if any("%" in str(form) for form in formats):
            _check_percent(name, cells, formats, table)
            table.percent.append(name)
            table.guesses.append(f"per cent cells of {name!r} as hundredths")
        whole = kinds == {int} and all(abs(cell) < 1 << 62 for cell in there)
        return pl.Series(name, cells, dtype=pl.Int64 if whole else pl.Float64, strict=False)
    if any(isinstance(cell, _DATES) for cell in there):
        table.dates[name] = pl.Series([isinstance(cell, _DATES) for cell in cells], dtype=pl.Boolean)
    if not zeros:
        exact = [type(cell) in (int, float) for cell in cells]
        if any(exact):
            table.exact[name] = pl.Series(exact, dtype=pl.Boolean)
    return pl.Series(name, [_text(*pair) for pair in zip(cells, formats, strict=True)], dtype=pl.String)


def _check_percent(name: str, cells: list[Any], formats: list[str], table: ReadTable) -> None:
    """Refuse 13 among per cent cells, of which 12 % is kept as 0.12; 0.13 is understood."""
    for row, (cell, form) in enumerate(zip(cells, formats, strict=True)):
        if cell is not None and "%" not in str(form) and abs(cell) > 1:
            raise ValueError(
                f"{table.place(row)}: column {name!r} holds {cell:g} among per cent cells, which are "
                "hundredths: give all its cells one format."
            )


def _text(cell: Any, form: str) -> str | None:
    """A cell as it is seen, as far as that is settled: 3 in the format 00 is 03."""
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, int | float):
        whole = isinstance(cell, int) or cell.is_integer()
        digits = str(int(cell)) if whole and abs(cell) < 1e15 else repr(cell)
        return digits.zfill(len(form)) if whole and _ZEROS.fullmatch(str(form)) else digits
    if isinstance(cell, datetime.datetime) and not (cell.hour or cell.minute or cell.second):
        return cell.date().isoformat()
    return cell.isoformat(" ") if isinstance(cell, datetime.datetime) else str(cell)
