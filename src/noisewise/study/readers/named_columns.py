"""Columns of a table that are known by custom, or by what a person says; cells as numbers, by line."""

import math
from collections.abc import Mapping, Sequence

import polars as pl

from noisewise.core.text import printable
from noisewise.study.inputs.delimited import read_delimited
from noisewise.study.inputs.dialects.headers import columns_called
from noisewise.study.inputs.number_columns import plain_numbers
from noisewise.study.inputs.read_table import ReadTable
from noisewise.study.inputs.tables import ENDINGS, SEPARATORS, read_whole
from noisewise.study.readers.result_file import ResultFile


def table_of(file: ResultFile) -> ReadTable:
    """A table of any kind from a file; a text from standard input."""
    try:
        return _read(file, file.bytes())
    except (ValueError, OSError) as problem:
        if str(problem).startswith(str(file.refuse(""))):
            raise
        why = str(problem).removeprefix("`table`: ").replace("`table`", "it")
        raise file.refuse(why if why[-1] in ".?" else f"{why}.") from None


def _read(file: ResultFile, content: bytes) -> ReadTable:
    ending = "" if file.path is None else file.path.suffix.lower()
    if file.path is not None and ending in ENDINGS and ending not in SEPARATORS:
        return read_whole("table", file.path)
    file.text()  # refuses what is none
    return read_delimited("table", content, SEPARATORS.get(ending, ","), "the file")


#: How R and others write a cell without a number.
_NOTHING = ("na", "nan", "null", "none", "")


class NamedColumns:
    """A table, and which of its columns is what."""

    def __init__(
        self, file: ResultFile, custom: Mapping[str, Sequence[str]], said: Mapping[str, str | None]
    ) -> None:
        """Find the columns.

        Args:
            file: A table.
            custom: What each column is usually called.
            said: What a person says it is called here; None: nothing.
        """
        self.file = file
        self._table = table_of(file)
        self.columns: dict[str, str] = {}
        self._several: dict[str, list[str]] = {}  # columns that could all be one thing
        for role, names in custom.items():
            wanted = said.get(role)
            found = self._called(names if wanted is None else [wanted])
            if wanted is not None and len(found) != 1:
                many = "no column" if not found else "more than one column"
                raise file.refuse(f"there is {many} {wanted!r} for {role}; there are {self._columns()}.")
            if found:
                self.columns[role] = found[0]
                self._several |= {role: found} if len(found) > 1 else {}

    def _called(self, names: Sequence[str]) -> list[str]:
        found = (column for name in names for column in columns_called(self._table.frame.columns, name))
        return list(dict.fromkeys(found))

    def need(self, *roles: str) -> None:
        """Refuse a table without these columns."""
        for role in roles:
            if role not in self.columns:
                there = self._columns()
                raise self.file.refuse(
                    f"{role} is no known column of {there}; name it by choosing {role}=COLUMN."
                )
            if role in self._several:
                first, second, *_ = self._several[role]
                raise self.file.refuse(
                    f"{first!r} and {second!r} could both be {role}; name it by choosing {role}=COLUMN."
                )

    def unused(self) -> list[str]:
        """A note on columns that are nothing here, if there are any."""
        known = set(self.columns.values())
        rest = [printable(name) for name in self._table.frame.columns if name not in known]
        return [f"Columns not used: {', '.join(rest)}."] if rest else []

    def _columns(self) -> str:
        names = [printable(name) for name in self._table.frame.columns]
        return ", ".join(repr(name if len(name) <= 40 else f"{name[:40]}…") for name in names[:12])

    def __len__(self) -> int:
        return self._table.frame.height

    def place(self, row: int) -> str:
        """Where a row stands."""
        return self._table.place(row) if self._table.lines is None else f"line {self._table.lines[row]}"

    def texts(self, role: str) -> list[str]:
        """The cells of a column of names, none of which is empty."""
        cells = self._table.frame[self.columns[role]].cast(pl.String).to_list()
        for row, cell in enumerate(cells):
            if cell is None or not cell.strip():
                raise self.file.refuse(f"{self.place(row)}: {self.columns[role]!r} must not be empty.")
        return [cell.strip() for cell in cells]

    def numbers(self, role: str) -> list[float | None]:
        """The cells of a column of numbers; None where there is none."""
        column = self.columns[role]
        frame = self._table.frame
        if frame.schema[column] == pl.String:
            cleared = frame[column].str.strip_chars()
            cleared = cleared.set(cleared.str.to_lowercase().is_in(_NOTHING), None)
            frame = frame.with_columns(cleared.alias(column))
        try:
            plain = plain_numbers(ReadTable(frame, separator=self._table.separator), [column]).frame[column]
        except ValueError as problem:
            raise self.file.refuse(str(problem)) from None
        return [self._number(cell, row, column) for row, cell in enumerate(plain.to_list())]

    def _number(self, cell: object, row: int, column: str) -> float | None:
        if cell is None or (isinstance(cell, float) and math.isnan(cell)):
            return None
        try:
            number = float(str(cell))
        except ValueError:
            number = math.nan
        if isinstance(cell, bool) or not math.isfinite(number):
            raise self.file.refuse(
                f"{self.place(row)}: {column!r} must be a finite number; got {printable(str(cell)[:40])!r}."
            )
        return number
