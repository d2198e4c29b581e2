"""Sheets of Excel workbooks as tables: numbers stay numbers, dates and errors are marked, nothing is retyped.

A workbook holds more than a text does: numbers are exact, whatever they look like, and what looks like a
number may be a text. It also holds traps: dates that were made of "1-2", merged cells, formulas without
results.
"""

import datetime
import io
import re
import warnings
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from noisewise.core.support.text import printable
from noisewise.study.inputs.dialects.layout import header_at
from noisewise.study.inputs.read_table import ReadTable

WORKBOOKS = (".xlsx", ".xlsm")
_DATES = (datetime.datetime, datetime.date, datetime.time, datetime.timedelta)
_ZEROS = re.compile(r"0{2,}")


def read_workbook(what: str, path: Path, sheet: str | None) -> ReadTable:
    """One sheet of a workbook; which, must be said if there are several."""
    book = _opened(what, path, results=True)
    name, page = _sheet(what, book, path, sheet)
    rows = [[_value(cell) for cell in row] for row in page.iter_rows()]
    full = [at for at, row in enumerate(rows) if any(cell is not None for cell in row)]
    if not full:
        raise ValueError(f"`{what}` must be a table with a first line of column names; {name} is empty.")
    above = header_at([["" if cell is None else str(cell) for cell in rows[at]] for at in full[:60]])[0]
    first, there = full[above], full[above + 1 :]
    _check_merged(what, page, first, name)
    _check_formulas(what, path, page, rows, there, name)
    guesses = [f"{above} line{'s' if above > 1 else ''} above the header left out"] if above else []
    hidden = [at for at in there if page.row_dimensions[at + 1].hidden]
    if hidden:
        guesses.append(f"hidden rows of the sheet too ({len(hidden)})")
    table = ReadTable(
        pl.DataFrame(), name, np.array([at + 1 for at in there], dtype=np.int64), "sheet row", None, guesses
    )
    series: list[pl.Series] = []
    for column, header in enumerate(rows[first]):
        cells = [rows[at][column] for at in there]
        if header is None or not str(header).strip():
            if any(cell is not None for cell in cells):
                row = next(at for at, cell in enumerate(cells) if cell is not None)
                raise ValueError(
                    f"`{what}`: {table.place(row)} of {name} has a cell in a column without a name: name it "
                    "in the header; if other lines stand above the header, delete them."
                )
            continue
        text = str(header).strip()
        if any(one.name == text for one in series):
            raise ValueError(
                f"`{what}` must have different names of columns; {text!r} stands twice: rename one."
            )
        formats = [page.cell(at + 1, column + 1).number_format for at in there]
        series.append(_column(text, cells, formats, table))
    frame = pl.DataFrame(series) if series else pl.DataFrame()
    return replace(table, frame=frame)


def _opened(what: str, path: Path, results: bool) -> Any:
    try:
        import openpyxl
    except ModuleNotFoundError:
        raise ValueError(
            f"`{what}`: reading {path.name!r} needs openpyxl: pip install 'noisewise[excel]', or save the "
            "sheet as CSV."
        ) from None
    try:
        with warnings.catch_warnings():
            # It warns of what it does not show, such as validations of cells.
            warnings.simplefilter("ignore")
            # By its content: the file may be called otherwise.
            return openpyxl.load_workbook(io.BytesIO(path.read_bytes()), data_only=results)
    except Exception as problem:  # whatever a damaged or unusual file makes of its reader
        raise ValueError(
            f"`{what}` must be a readable workbook; {path.name!r} is not ({type(problem).__name__}): save it "
            "as .xlsx without a password, or as CSV."
        ) from None


def _sheet(what: str, book: Any, path: Path, wanted: str | None) -> tuple[str, Any]:
    sheets = {page.title: page for page in book.worksheets}
    if wanted is not None:
        same = [title for title in sheets if title == wanted]
        same = same or [title for title in sheets if title.casefold().strip() == wanted.casefold().strip()]
        if len(same) == 1:
            return repr(f"{path.name}#{same[0]}"), sheets[same[0]]
        listed = ", ".join(map(repr, sheets))
        raise ValueError(f"`{what}`: {path.name!r} has no sheet {wanted!r}; its sheets are {listed}.")
    filled = {title: page for title, page in sheets.items() if not _is_empty(page)}
    if len(filled) > 1:
        listed = " or ".join(repr(f"{path.name}#{title}") for title in filled)
        raise ValueError(f"`{what}`: {path.name!r} has several sheets; say which: {listed}.")
    return repr(path.name), next(iter((filled or sheets).values()))


def _is_empty(page: Any) -> bool:
    return all(cell.value is None for row in page.iter_rows() for cell in row)


def _value(cell: Any) -> Any:
    value = cell.value
    if isinstance(value, str):
        return value.strip() or None
    return value


def _check_merged(what: str, page: Any, first: int, name: str) -> None:
    for span in page.merged_cells.ranges:
        if span.max_row > first:
            raise ValueError(
                f"`{what}`: cells {span.coord} of {name} are merged, and only the first of them has its "
                "value: unmerge them and fill every cell."
            )


def _check_formulas(
    what: str, path: Path, page: Any, rows: list[list[Any]], there: list[int], name: str
) -> None:
    """Refuse formulas whose results are not in the file: their cells would be taken for empty ones."""
    empty = [(at, column) for at in there for column, cell in enumerate(rows[at]) if cell is None]
    if not empty:
        return
    with zipfile.ZipFile(path) as archive:
        parts = [part for part in archive.namelist() if part.startswith("xl/worksheets/")]
        if not any(b"<f" in archive.read(part) for part in parts):
            return
    formulas = _opened(what, path, results=False)[page.title]
    for at, column in empty:
        cell = formulas.cell(at + 1, column + 1)
        if cell.data_type == "f":
            raise ValueError(
                f"`{what}`: cell {cell.coordinate} of {name} holds a formula without its result, "
                f"{printable(str(cell.value)[:40])!r}: open the workbook in a spreadsheet and save it."
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
