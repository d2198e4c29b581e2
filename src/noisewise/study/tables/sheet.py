"""A table with its header, columns of texts or of the types that a frame has, and the line of each row."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import polars as pl
from numpy.typing import NDArray

from noisewise.core.text import NAME_LENGTH, check_text, composed, is_half, printable
from noisewise.study.tables.cells import DAY, SHORT_DATE
from noisewise.study.tables.grid import ENDINGS, Grid, as_polars, packed_table, read_grids, split_sheet
from noisewise.study.tables.numbers import is_number
from noisewise.study.tables.packed import PACKED
from noisewise.study.tables.wording import PYTHON, Wording

#: Where a message names a row, at the beginning of a sentence or in a list, and not yet with its line.
_ROW = re.compile(r"(?:^|(?<=[.:;] )|(?<=\()|(?<=, )|(?<=in ))row (\d+)(?: \(([^()]*)\))?(?=[:,;.) ]|$)")
#: Archives that are other tables than workbooks.
_ARCHIVES = (".xlsb", ".ods", ".numbers")
#: Rows among which the header is looked for.
_MOST_ABOVE = 30


@dataclass(frozen=True, eq=False)
class ReadTable:
    """A frame, and how it was read; a table that was a frame has neither lines nor guesses."""

    frame: pl.DataFrame
    name: str = ""  # of the file, in quotation marks
    lines: NDArray[Any] | None = None  # of the file, or of the sheet, for every row; or places in JSON
    of: str = "line"  # what these are called
    comma: bool = False  # whether numbers probably have decimal commas
    exact: bool = False  # whether numbers are those of a workbook
    guesses: list[str] = field(default_factory=list)
    words: Wording = PYTHON  # how messages call what a person can say about it
    grids: Sequence[Grid] = ()  # what the file holds, for understanding it as a whole

    def place(self, row: int) -> str:
        """A row, from 0, as messages call it: with its line in the file."""
        return f"row {row + 1}" + ("" if self.lines is None else f" ({self.of} {self.lines[row]})")

    def refuse_dates(self, columns: Iterable[str]) -> None:
        """Refuse a name that looks like a date among others: spreadsheets make 2-Sep of SEPT2."""
        for column in columns:
            cells = self.frame[column]
            if cells.dtype != pl.String:
                continue
            dates = cells.str.contains(SHORT_DATE) | cells.str.contains(f"^(?:{DAY})$")
            if dates.any() and not (dates | cells.is_null()).all():
                row = int(dates.arg_max() or 0)
                raise ValueError(
                    f"row {row + 1}: column {column!r} holds a date, {printable(cells[row])!r}; spreadsheets "
                    "make dates of texts such as 1-2 and SEPT2. Make the column text there, and type the "
                    "cell again; if it is a name, spell it otherwise."
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


def read_whole(what: str, source: Any, name: str = "") -> ReadTable:
    """Read a file, its bytes, a frame (polars, pandas, pyarrow), a mapping of columns or a list of rows.

    Texts stay texts; everything else keeps the types it has.

    Args:
        what: The argument that it is, for messages.
        source: The table.
        name: The name of bytes, for messages.
    """
    if isinstance(source, ReadTable):
        return source
    if isinstance(source, pl.DataFrame):
        return ReadTable(source)
    if isinstance(source, str | PathLike):
        path = split_sheet(str(source))[0]
        ending = path.suffix.lower()
        if ending not in ENDINGS and (ending in _ARCHIVES or not path.is_file()):
            raise ValueError(
                f"`{what}` must be a file that ends in one of {', '.join(ENDINGS)}; got {str(source)!r}. "
                "Save it as one of them, for instance as CSV in UTF-8."
            )
        if not path.is_file():
            raise FileNotFoundError(f"`{what}` must be a file that exists; there is no {str(path)!r}.")
        if ending in PACKED:
            return ReadTable(packed_table(path), repr(path.name))
        return _one_of(read_grids(source), path.name, split_sheet(str(source))[1])
    if isinstance(source, bytes):
        return _one_of(read_grids(source, name or "standard input"), name or "standard input")
    if isinstance(source, Mapping):
        return ReadTable(_of_columns(what, source))
    if isinstance(source, list | tuple) and source and all(isinstance(row, Mapping) for row in source):
        names = list(dict.fromkeys(name for row in source for name in row))
        return ReadTable(_of_columns(what, {name: [row.get(name) for row in source] for name in names}))
    try:
        return ReadTable(as_polars(source))
    except TypeError:
        kind = type(source).__name__
        if isinstance(source, list | tuple) and source:
            kind = f"a {kind} of {type(source[0]).__name__}"
        raise TypeError(
            f"`{what}` must be a file (csv, tsv, txt, xlsx, parquet), a data frame, a mapping of "
            f"columns or a list of rows, each a mapping; got {kind}."
        ) from None


def _one_of(grids: list[Grid], name: str, sheet: str | None = None) -> ReadTable:
    """The only table of a file, with its header."""
    filled = [grid for grid in grids if not grid.rows.is_empty()]
    if len(filled) > 1:
        listed = " or ".join(repr(f"{name}#{grid.name}") for grid in filled)
        raise ValueError(f"{name!r} has several sheets; say which: {listed}.")
    if not filled:
        raise ValueError(f"{name!r} is empty.")
    called = name if sheet is None else f"{name}#{filled[0].name}"
    return with_header(filled[0], repr(called), grids)


def with_header(grid: Grid, name: str, grids: Sequence[Grid] = ()) -> ReadTable:
    """Find the header of a grid; refuse what is not a whole table."""
    rows, lines, guesses = grid.rows, grid.lines, list(grid.notes)
    full = rows.select(pl.any_horizontal(pl.all().is_not_null())).to_series()
    kept = full.arg_true()
    at = _header_at(rows.head(_MOST_ABOVE + 20))
    above = int(full[:at].sum()) + grid.title.count("\n") + bool(grid.title)
    if above and "a header that begins with #" not in guesses:
        guesses.append(f"{above} line{'s' if above > 1 else ''} above the header left out")
    header = [(cell or "").strip() for cell in rows.row(at)]
    if any(len(cell) > NAME_LENGTH for cell in header):
        long = next(cell for cell in header if len(cell) > NAME_LENGTH)
        raise ValueError(
            f"a name of a column may have {NAME_LENGTH:,} characters; {name} has one that begins with "
            f"{printable(long[:40])!r}."
        )
    if header[0].startswith("#"):
        header[0] = header[0].lstrip("# ")
        guesses.append("a header that begins with #")
    kept = kept.filter(kept > at)
    body = rows[kept.to_list()] if len(kept) < rows.height - at - 1 else rows.slice(at + 1)
    lines = None if lines is None else lines[kept.to_numpy()]
    table = ReadTable(body, name, lines, grid.of, grid.comma, grid.exact, guesses, grids=grids)
    _check_widths(grid, table, at, kept, header)
    return ReadTable(
        _named(table, header), name, lines, grid.of, grid.comma, grid.exact, guesses, grids=grids
    )


def _header_at(rows: pl.DataFrame) -> int:
    """The first row of names that is as wide as the table, or nearly so."""
    texts = [[cell or "" for cell in row] for row in rows.iter_rows()]
    filled = [sum(map(bool, row)) for row in texts]
    most = max(filled, default=0)
    for least in dict.fromkeys((most, max(most - 1, 2), 1)):
        for at, row in enumerate(texts[:_MOST_ABOVE]):
            numbered = any(is_number(cell) for cell in row if cell)
            unnamed = not row[0] and filled[at] == most - 1 > 0  # the names of rows have no name
            if (filled[at] >= least or unnamed) and not numbered:
                return at
            if filled[at] >= max(2, most - 1) and numbered:
                break
    return next((at for at, many in enumerate(filled) if many), 0)


def _check_widths(grid: Grid, table: ReadTable, at: int, kept: pl.Series, header: list[str]) -> None:
    """Refuse a row that was cut or shifted; separators at the ends of lines do not matter."""
    if grid.widths is None:
        return
    widths = grid.widths[kept.to_numpy()]
    wanted = int(grid.widths[at])
    named = max((k + 1 for k, cell in enumerate(header) if cell), default=0)
    same = len(widths) and bool((widths == widths[0]).all()) and abs(int(widths[0]) - wanted) == 1
    if same and named <= widths[0]:
        return
    for row, width in enumerate(widths.tolist()):
        if width != wanted:
            cells = [cell or "" for cell in table.frame.row(row)][:width]
            shown = ",".join(cells)[:60]
            comma = width > wanted and re.search(r"\d,\d", shown)
            why = "is a number written with a decimal comma?" if comma else "does a cell hold a separator?"
            raise ValueError(
                f"{table.place(row)} of {table.name} has {width} cells where the header has {wanted}; "
                f"{'is it cut short?' if width < wanted else why} {printable(shown)!r}"
            )


def _named(table: ReadTable, header: list[str]) -> pl.DataFrame:
    """The body under the names of the header; columns without a name must be empty or count rows, and go."""
    kept: dict[str, str] = {}
    if not any(header):
        raise ValueError(f"{table.name} has no names of columns in its first line.")
    twice = next((name for name, many in Counter(filter(None, header)).items() if many > 1), None)
    if twice is not None:
        places = " and ".join(str(k) for k, name in enumerate(header, 1) if name == twice)
        raise ValueError(
            f"{table.name} must have different names of columns; {twice!r} appears twice (columns {places}): "
            "rename one."
        )
    for place, column in zip(table.frame.columns, header, strict=True):
        cells = table.frame[place]
        if column:
            kept[place] = column
        elif place == table.frame.columns[0] and _counts_rows(cells):
            table.guesses.append("a first column without a name that counts the rows left out")
        elif not cells.is_null().all():
            row = int(cells.is_not_null().arg_max() or 0)
            raise ValueError(
                f"{table.place(row)} has a cell in a column without a name: name it in the header; if other "
                "lines stand above the header, delete them."
            )
    return table.frame.select(list(kept)).rename(kept)


def _counts_rows(column: pl.Series) -> bool:
    """Whether a column holds 0, 1, 2, ... or 1, 2, 3, ..., as data frames are written."""
    n = column.len()
    return any(column.equals(pl.Series(column.name, range(k, n + k)).cast(pl.String)) for k in (0, 1))


def _of_columns(what: str, source: Mapping[Any, Any]) -> pl.DataFrame:
    columns = {}
    for name, values in source.items():
        # Numbers and times of NumPy keep their types.
        typed = getattr(getattr(values, "dtype", None), "kind", "O") in "biufcmM"
        cells = values.tolist() if hasattr(values, "tolist") and not typed else values
        if isinstance(cells, list | tuple) and any(isinstance(cell, str) for cell in cells):
            # Names among numbers: polars would drop one kind or spell it its own way.
            texts = [cell if cell is None or isinstance(cell, str) else str(cell) for cell in cells]
            if half := next((text for text in texts if text is not None and is_half(text)), None):
                check_text(str(name), half)
            columns[str(name)] = pl.Series(str(name), texts, dtype=pl.String)
        else:
            columns[str(name)] = values
    try:
        return pl.DataFrame(columns, strict=False)
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError) as problem:
        lengths = {name: len(cells) for name, cells in columns.items() if hasattr(cells, "__len__")}
        if len(set(lengths.values())) > 1:
            said = ", ".join(f"{name} has {length}" for name, length in lengths.items())
            raise ValueError(f"`{what}` must be columns of equal length; {said}.") from None
        first_line = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise ValueError(f"`{what}` must be columns of numbers and texts; {first_line}.") from None


def is_plain_list(source: Any) -> bool:
    """Whether the source is a list of names instead of a table."""
    return isinstance(source, list | tuple | range | set)


def as_texts(what: str, column: pl.Series) -> pl.Series:
    """A column of names or other texts: whole numbers become their digits, fractions are refused.

    A column of floats holds 7.0 where a person wrote 7, and 0.1 has many spellings: neither is a name.
    """
    kind = column.dtype
    if kind.is_float():
        first = column.drop_nulls().head(1).to_list()
        if not first:
            return column.cast(pl.String)
        raise ValueError(
            f"`{what}` must have names in column {column.name!r}; it holds numbers such as {first[0]!r}, "
            "which can be spelt in several ways: make the column text or whole numbers."
        )
    if kind.is_nested() or kind in (pl.Object, pl.Binary):
        raise ValueError(f"`{what}` must have names in column {column.name!r}; it holds {kind} instead.")
    texts = column.cast(pl.String).str.strip_chars()
    if (texts.str.len_bytes() != texts.str.len_chars()).any():
        cells = [None if text is None else composed(text) for text in texts.to_list()]
        texts = pl.Series(column.name, cells, dtype=pl.String)
    return texts.set(texts == "", None)
