"""Tables of measurements: columns named like the arguments of `tell`, read once, by what each name means.

Names, keys and blocks are texts, and stay what they are; numbers are read strictly, with the row and column
in the message. An empty cell in a column of error bars is a mistake more often than not, and refused; a
measurement that has no error bar says so with the word ``none``.
"""

import math
from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

import polars as pl

from noisewise.core.text import NAME_LENGTH, NOTE_LENGTH, check_texts
from noisewise.study.inputs.dialects.wording import Wording
from noisewise.study.inputs.number_columns import cells_of, read_column
from noisewise.study.inputs.numbers import NUMBER, as_count, carries_error, read_number
from noisewise.study.inputs.tables import as_texts
from noisewise.study.intake.columns.understanding import understand
from noisewise.study.intake.roles import COUNT, ERROR_COLUMNS, NAME, NO_ERROR, PROBES, READINGS, RESULTS, ROLE

#: Rows without an error bar that one message names beside the first.
NAMED = 5
#: Texts that hardly repeat; equal ones of all other columns are kept once.
_OWN = ("key", "note", "job")


class Sheet(NamedTuple):
    """A table of measurements: a list per column, with None for empty cells, or an array of numbers."""

    columns: dict[str, Sequence[Any]]
    n_rows: int

    def given(self, row: int) -> dict[str, Any]:
        """One row as arguments of `tell`."""
        given = {name: cells[row] for name, cells in self.columns.items() if cells[row] is not None}
        if "lo" in given or "hi" in given:
            given["ci"] = (given.pop("lo", math.nan), given.pop("hi", math.nan))
        if "se_up" in given or "se_down" in given:
            given["se"] = (given.pop("se_down", math.nan), given.pop("se_up", math.nan))
        return given

    def is_empty(self, row: int) -> bool:
        """Whether a row has no result."""
        return all(self.columns[name][row] is None for name in RESULTS if name in self.columns)


def read_sheet(source: Any) -> Sheet:
    """Read a table of measurements: a file, a frame, a mapping of columns, or one that was understood."""
    understood = understand(source)
    table = understood.frame
    columns = {name: _read(table[name]) for name in table.columns}
    sheet = Sheet(columns, table.height)
    if not understood.allow_missing_se:
        _check_errors(sheet, _without_error(table), understood.words)
    return sheet


def _read(column: pl.Series) -> Sequence[Any]:
    name = column.name
    kind = ROLE[name].kind
    if name == "arm":
        return [_is_arm(cell, row) for row, cell in enumerate(column.to_list(), start=1)]
    if kind == NAME:
        texts = as_texts("measurements", column).to_list()
        check_texts(name, texts, most=NOTE_LENGTH if name == "note" else NAME_LENGTH)
        seen: dict[Any, Any] = {}
        return texts if name in _OWN else [seen.setdefault(text, text) for text in texts]
    if column.dtype == pl.String:
        column = column.str.strip_chars()
        column = column.set((column == "") | (column.str.to_lowercase() == NO_ERROR), None)
    if kind == READINGS:
        return [_readings(cell, row) for row, cell in enumerate(column.to_list(), start=1)]
    if name == "value":
        return _values(column)
    numbers = read_column(column)
    return [as_count(number) for number in numbers] if kind == COUNT else numbers


def _values(column: pl.Series) -> Sequence[Any]:
    """Numbers where all cells are; else as they are, because they may carry their own errors."""
    if column.dtype != pl.String:
        return cells_of(column)
    plain = column.str.contains(f"^{NUMBER}$").fill_null(True).all()
    return cells_of(column.cast(pl.Float64)) if plain else column.to_list()


def _readings(cell: Any, row: int) -> Any:
    if not isinstance(cell, str):
        return cell
    return [read_number("values", part, f"row {row}: ") for part in cell.split(";")]


def _is_arm(cell: Any, row: int) -> bool | None:
    """Whether a row is an arm of the study that its block names."""
    known = {"true": True, "yes": True, "1": True, "false": None, "no": None, "0": None}
    if cell is None or str(cell).casefold() in known:
        return None if cell is None else known[str(cell).casefold()]
    raise ValueError(f"row {row}: `arm` must be true or false; got {str(cell)!r}.")


def _without_error(table: pl.DataFrame) -> set[int]:
    """Rows that say that they have no error bar."""
    said: set[int] = set()
    for name in ERROR_COLUMNS:
        if name in table.columns and table.schema[name] == pl.String:
            said.update((table[name].str.strip_chars().str.to_lowercase() == NO_ERROR).arg_true().to_list())
    return said


def _check_errors(sheet: Sheet, purposely: set[int], words: Wording) -> None:
    """Refuse empty cells where the others have error bars."""
    present = [name for name in ERROR_COLUMNS if name in sheet.columns]
    values = sheet.columns.get("value")
    if not present or values is None:
        return
    bars = [sheet.columns[name] for name in present]
    if len(bars) == 1 and (isinstance(bars[0], array) or not any(bar is None for bar in bars[0])):
        return
    blank = []
    for row, cells in enumerate(zip(*bars, strict=True)):
        value = values[row]
        if value is None or row in purposely or any(cell is not None for cell in cells):
            continue
        if not carries_error(value):
            blank.append(row)
    if not blank:
        return
    what = next((sheet.columns[name][blank[0]] for name in PROBES if name in sheet.columns), None)
    said = f"row {blank[0] + 1}" + ("" if what is None else f" ({what})")
    others = "" if len(blank) == 1 else f" (nor in {_listed(blank[1:])})"
    raise ValueError(
        f"{said}: no error bar in {', '.join(present)}{others}. Fill it in, delete the row, or write "
        f"{NO_ERROR} if it is unknown; {words.allow_missing_se} takes all such rows without."
    )


def _listed(rows: list[int]) -> str:
    shown = ", ".join(f"row {row + 1}" for row in rows[:NAMED])
    return shown + (f" and {len(rows) - NAMED} more" if len(rows) > NAMED else "")
