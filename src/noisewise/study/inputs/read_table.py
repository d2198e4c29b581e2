"""A table as it was read from wherever it was kept, with what was guessed on the way."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from numpy.typing import NDArray

from noisewise.study.inputs.dialects.wording import PYTHON, Wording

#: Where a message names a row, at the beginning of a sentence or in a list, and not yet with its line.
_ROW = re.compile(r"(?:^|(?<=[.:;] )|(?<=\()|(?<=, )|(?<=in ))row (\d+)(?: \(([^()]*)\))?(?=[:,;.) ]|$)")


@dataclass(frozen=True, eq=False)
class ReadTable:
    """A frame, and how it was read; a table that was a frame has neither lines nor guesses."""

    frame: pl.DataFrame
    name: str = ""  # of the file, in quotation marks
    lines: NDArray[Any] | None = None  # of the file, or of the sheet, for every row; or places in JSON
    of: str = "line"  # what these are called
    separator: str | None = None  # what stood between columns
    guesses: list[str] = field(default_factory=list)
    exact: dict[str, pl.Series] = field(default_factory=dict)  # cells of text columns that were numbers
    dates: dict[str, pl.Series] = field(default_factory=dict)  # cells that were dates
    percent: list[str] = field(default_factory=list)  # columns of a workbook that show hundredths as per cent
    words: Wording = PYTHON  # how messages call what a person can say about it

    def place(self, row: int) -> str:
        """A row, from 0, as messages call it: with its line in the file."""
        return f"row {row + 1}" + ("" if self.lines is None else f" ({self.of} {self.lines[row]})")

    def refuse_dates(self, columns: Iterable[str]) -> None:
        """Refuse dates in these columns: spreadsheets make them of what is none."""
        for column in columns:
            if column in self.dates:
                row = int(self.dates[column].arg_max() or 0)
                raise ValueError(
                    f"row {row + 1}: column {column!r} holds a date, {self.frame[column][row]!r}; "
                    "spreadsheets make dates of texts such as 1-2 and 3.5. Make the column text there, and "
                    "type the cell again."
                )

    @contextmanager
    def placed(self) -> Iterator[None]:
        """Name the line in the file beside the row in every message."""
        try:
            yield
        except (ValueError, TypeError, KeyError) as problem:
            # A KeyError shows its message in quotes.
            said = str(problem.args[0] if problem.args else problem)
            if (placed := self.with_lines(said)) == said:
                raise
            raise type(problem)(placed) from None

    def with_lines(self, message: str) -> str:
        """A message about rows with the line of each where a sentence begins with it."""
        if self.lines is None:
            return message

        def placed(found: re.Match[str]) -> str:
            row, about = int(found[1]), found[2]
            if self.lines is None or not 0 < row <= len(self.lines) or f"{self.of} " in (about or ""):
                return found[0]
            return f"row {row} ({'' if about is None else about + ', '}{self.of} {self.lines[row - 1]})"

        return _ROW.sub(placed, message)
