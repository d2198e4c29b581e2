"""Columns of a table that are known by custom, or by what a person says; cells as numbers, by line."""

import math
from collections.abc import Mapping, Sequence

import polars as pl

from noisewise.core.text import printable
from noisewise.study.readers.result_file import ResultFile
from noisewise.study.tables.cells import read_numbers
from noisewise.study.tables.grid import ENDINGS, TEXTS
from noisewise.study.tables.names import columns_called
from noisewise.study.tables.numbers import is_number
from noisewise.study.tables.sheet import ReadTable, read_whole


def table_of(file: ResultFile) -> ReadTable:
    """A table of any kind from a file; a text from standard input."""
    path = file.path
    packed = path is not None and path.suffix.lower() in ENDINGS and path.suffix.lower() not in TEXTS
    try:
        return read_whole("table", path if packed else file.bytes(), "the file")
    except (ValueError, OSError) as problem:
        if str(problem).startswith(str(file.refuse(""))):
            raise
        why = str(problem).removeprefix("'the file' ").replace("'the file'", "the file")
        raise file.refuse(why if why[-1] in ".?" else f"{why}.") from None


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
        column, table = self.columns[role], self._table
        cells = table.frame[column]
        if cells.dtype == pl.String:
            cells = cells.set(cells.str.strip_chars().str.to_lowercase().is_in(_NOTHING), None)
            odd = next(
                (row for row, cell in enumerate(cells) if cell is not None and not is_number(cell)), None
            )
            if odd is not None:
                raise self._refuse(odd, column, cells[odd])
        try:
            numbers = read_numbers({column: cells}, comma=table.comma, exact=table.exact).columns[column]
        except ValueError as problem:
            raise self.file.refuse(str(problem)) from None
        found = numbers.cast(pl.Float64).fill_nan(None).to_list()
        for row, number in enumerate(found):
            if number is not None and not math.isfinite(number):
                raise self._refuse(row, column, number)
        return found

    def _refuse(self, row: int, column: str, cell: object) -> ValueError:
        shown = printable(str(cell)[:40])
        return self.file.refuse(f"{self.place(row)}: {column!r} must be a finite number; got {shown!r}.")
