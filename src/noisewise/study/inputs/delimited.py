"""Tables as text (csv, tsv): every cell is read as the text it is, rows must be whole, formulas stay texts.

No cell is guessed: "1.10" is not 1.1, "007" is not 7. Which columns hold numbers is known by their names, and
`numbers.py` reads them; the encoding, what stands between columns and lines above the header are found by the
modules in `dialects/`. A row with fewer or more cells than the header was cut or shifted, and is refused with
its number.

A text that begins with = + - @, a tab or a carriage return would be run as a formula by spreadsheets. When
written it gets an apostrophe in front, which is taken away when it is read; numbers are written as they are.
"""

import csv
import io
import re

import numpy as np
import polars as pl
from numpy.typing import NDArray

from noisewise.core.text import NAME_LENGTH, printable
from noisewise.study.inputs.dialects.encodings import as_utf8
from noisewise.study.inputs.dialects.layout import SAMPLE, Layout, find_layout
from noisewise.study.inputs.dialects.number_texts import NO_NUMBER, forms_of
from noisewise.study.inputs.read_table import ReadTable
from noisewise.study.inputs.table_limits import check_size

#: A text that a spreadsheet would run, behind any number of apostrophes.
_FORMULA = r"^'*[=+\-@\t\r]"
_PROTECTED = r"^''*[=+\-@\t\r]"
_NEWLINE, _RETURN, _QUOTE = b"\n"[0], b"\r"[0], b'"'[0]

#: Columns that are cleaned together.
COLUMNS_AT_ONCE = 256

Bytes = NDArray[np.uint8]
Numbers = NDArray[np.integer]


def read_delimited(what: str, content: bytes, usual: str, name: str) -> ReadTable:
    """A table of texts; rows that are wholly empty are left out.

    Args:
        what: The argument, for messages.
        content: The bytes of the file.
        usual: What stands between columns if the text itself does not say.
        name: What to call the file in messages.
    """
    content, encoding = as_utf8(what, content, name)
    if not content.strip():
        raise ValueError(f"`{what}` must be a table with a first line of column names; {name} is empty.")
    layout = find_layout(content, usual)
    rows, header, lines = _checked(what, content, layout, name)
    if not any(header):
        raise ValueError(f"`{what}` must have the names of its columns in its first line; {name} has none.")
    _check_blanks(what, content, header, name)
    guesses = [*layout.guesses, *([] if encoding is None else [encoding])]
    if not rows:
        table = pl.DataFrame(schema=dict.fromkeys(_places(header), pl.String))
        return _table(what, table, header, lines, layout.separator, guesses, name)
    try:
        table = pl.read_csv(rows, separator=layout.separator, infer_schema=False, has_header=False)
    except pl.exceptions.PolarsError as problem:
        first_line = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise ValueError(f"`{what}` must be a readable table; {name} is not: {first_line}") from None
    table.columns = places = _places(header)
    for at in range(0, len(places), COLUMNS_AT_ONCE):  # all at once, polars takes 40 kB for each
        some = table.select(_plain_text(pl.col(places[at : at + COLUMNS_AT_ONCE]).cast(pl.String)))
        table = table.with_columns(some.get_columns())
    filled = table.select(pl.any_horizontal(pl.all().is_not_null())).to_series()
    if not filled.all():
        table, lines = table.filter(filled), lines[filled.to_numpy()]
    return _table(what, table, header, lines, layout.separator, guesses, name)


def _table(
    what: str,
    frame: pl.DataFrame,
    header: list[str],
    lines: Numbers,
    separator: str,
    guesses: list[str],
    name: str,
) -> ReadTable:
    frame = _named(what, frame, header, guesses, lines)
    return ReadTable(frame, name, lines, separator=separator, guesses=guesses)


def write_delimited(table: pl.DataFrame) -> str:
    """A table as comma-separated text without formulas for spreadsheets; `read_delimited` reads it back."""
    texts = [column for column in table.columns if table.schema[column] == pl.String]
    protected = [
        pl.when(pl.col(column).str.contains(_FORMULA)).then("'" + pl.col(column)).otherwise(pl.col(column))
        .alias(column)
        for column in texts
    ]  # fmt: skip
    written: str = table.with_columns(protected).write_csv()
    return written


def _plain_text(cell: pl.Expr) -> pl.Expr:
    """Without blanks around it, without the apostrophe that protects from formulas; null if empty."""
    text = cell.str.strip_chars()
    text = pl.when(cell.str.contains(_PROTECTED)).then(cell.str.slice(1)).otherwise(text)
    return pl.when(text.str.len_bytes() > 0).then(text)


def _checked(what: str, content: bytes, layout: Layout, name: str) -> tuple[bytes, list[str], Numbers]:
    """The rows below the header, without empty ones, the cells of the header, and the line of each row."""
    data = np.frombuffer(content if content.endswith(b"\n") else content + b"\n", dtype=np.uint8)
    quoted = _quoted(what, data, layout.separator, name)
    breaks = _places_of(data == _NEWLINE)
    ends = breaks[~quoted[breaks]]
    starts = np.empty_like(ends)
    starts[:1], starts[1:] = 0, ends[:-1] + 1
    length = ends - starts
    length -= (length > 0) & (data[np.maximum(ends - 1, 0)] == _RETURN)
    full = length > 0
    first = int(np.flatnonzero(full)[layout.above])
    full[:first] = False
    header_end = int(ends[first])
    header = _header(what, bytes(data[starts[first] : header_end]).decode(), layout, name)
    there = np.flatnonzero(full)[1:]
    lines = np.searchsorted(breaks, starts[there]) + 1
    # Separators outside of quotation marks in each row; a count per byte would take 8 of it.
    separators = _places_of((data == ord(layout.separator)) & ~quoted)
    cells = np.searchsorted(separators, ends[there]) - np.searchsorted(separators, starts[there]) + 1
    header = _without_ends(header, data, ends[there], cells, layout.separator)
    wrong = cells != len(header)
    if wrong.any():
        at = int(np.argmax(wrong))
        row = bytes(data[starts[there[at]] : ends[there[at]]][:60]).decode(errors="replace").rstrip("\r")
        raise ValueError(
            f"`{what}`: row {at + 1} (line {lines[at]} of {name}) "
            f"{_why_wrong(row, int(cells[at]), len(header), layout.separator)}"
        )
    kept = data[header_end + 1 :]
    if not full[first:].all():
        sizes = np.diff(ends, prepend=-1)
        kept = kept[np.repeat(full, sizes)[header_end + 1 :]]
    return kept.tobytes(), header, lines


def _places_of(marked: NDArray[np.bool_]) -> Numbers:
    """The places of what is marked, in four bytes each where that is enough."""
    found = np.flatnonzero(marked)
    return found.astype(np.int32) if marked.size < 2**31 else found


def _header(what: str, line: str, layout: Layout, name: str) -> list[str]:
    # A carriage return would end the line for this reader.
    rows = csv.reader(io.StringIO(line.replace("\r", " "), newline=""), delimiter=layout.separator)
    try:
        header = [cell.strip() for cell in next(rows)]
    except csv.Error:  # longer than its reader takes
        header = [line]
    check_size(what, name, 0, len(header), 0)
    if long := next((cell for cell in header if len(cell) > NAME_LENGTH), None):
        raise ValueError(
            f"`{what}`: a name of a column may have {NAME_LENGTH:,} characters; {name} has one that begins "
            f"with {printable(long[:40])!r}."
        )
    return [header[0].lstrip("# "), *header[1:]] if layout.comment_header else header


def _without_ends(header: list[str], data: Bytes, ends: Numbers, cells: Numbers, separator: str) -> list[str]:
    """The header of rows that all end with one separator more, or less, than it does."""
    if not cells.size or (cells != cells[0]).any():
        return header
    if cells[0] == len(header) - 1 and not header[-1]:
        return header[:-1]
    last = ends - 1 - (data[np.maximum(ends - 1, 0)] == _RETURN)
    if cells[0] == len(header) + 1 and (data[last] == ord(separator)).all():
        return [*header, ""]
    return header


def _quoted(what: str, data: Bytes, separator: str, name: str) -> NDArray[np.bool_]:
    """Which bytes stand in quotation marks; marks in the middle of a cell are refused."""
    marks = data == _QUOTE
    if not marks.any():
        return np.zeros(data.size, dtype=bool)
    # Parity survives the overflow of a byte.
    inside = (np.cumsum(marks, dtype=np.uint8) & 1).astype(bool)
    opening, closing = np.flatnonzero(marks & inside), np.flatnonzero(marks & ~inside)
    if opening.size > closing.size:
        line = int((data[: opening[-1]] == _NEWLINE).sum()) + 1
        raise ValueError(f"`{what}`: the quotation mark in line {line} of {name} is never closed.")
    edges = np.array([ord(separator), _NEWLINE, _RETURN, _QUOTE], dtype=np.uint8)
    # A carriage return stands behind a cell, never before one.
    ahead = np.isin(data[np.maximum(opening - 1, 0)], edges[edges != _RETURN]) | (opening == 0)
    behind = np.isin(data[np.minimum(closing + 1, data.size - 1)], edges)
    if not (ahead & behind).all():
        at = int(opening[np.argmin(ahead & behind)])
        line = int((data[:at] == _NEWLINE).sum()) + 1
        raise ValueError(
            f"`{what}`: line {line} of {name} has a quotation mark in the middle of a cell; put the whole "
            "cell in quotation marks and write its own twice."
        )
    return inside


def _why_wrong(row: str, found: int, wanted: int, separator: str) -> str:
    shown = printable(row)
    comma = separator == "," and found > wanted and re.search(r"\d,\d", shown)
    why = "is a number written with a decimal comma?" if comma else "does a cell hold a separator?"
    why = "is it cut short?" if found < wanted else why
    return f"has {found} cells where the header has {wanted}; {why} {shown!r}"


def _check_blanks(what: str, content: bytes, header: list[str], name: str) -> None:
    """Refuse a text whose columns are set apart by blanks: names may hold blanks as well."""
    many = len(header[0].split())
    if len(header) > 1 or many < 2:
        return
    rows = [
        line.split() for line in content[:SAMPLE].decode(errors="ignore").splitlines()[1:-1] if line.strip()
    ]
    if rows and all(len(row) == many and forms_of(row[-1]) is not NO_NUMBER for row in rows):
        raise ValueError(
            f"`{what}` must have commas, semicolons or tabs between its columns; {name} has blanks: "
            f"{printable(header[0][:60])!r}. Save it as CSV."
        )


def _places(header: list[str]) -> list[str]:
    return [f"column {k}" for k in range(len(header))]


def _named(
    what: str, table: pl.DataFrame, header: list[str], guesses: list[str], lines: Numbers
) -> pl.DataFrame:
    """The table with the names of its header; columns without a name must be empty or count rows, and go."""
    kept: dict[str, str] = {}
    seen: set[str] = set()
    for place, column in zip(_places(header), header, strict=True):
        if not column:
            if table[place].is_null().all():
                continue
            if place == _places(header)[0] and _counts_rows(table[place]):
                guesses.append("a first column without a name that counts the rows left out")
                continue
            row = int(table[place].is_not_null().arg_max() or 0)
            raise ValueError(
                f"`{what}`: row {row + 1} (line {lines[row]}) has a cell in a column without a name: name it "
                "in the header; if other lines stand above the header, delete them."
            )
        if column in seen:
            places = [str(at) for at, name in enumerate(header, start=1) if name == column]
            raise ValueError(
                f"`{what}` must have different names of columns; {column!r} stands twice (columns "
                f"{' and '.join(places)}): rename one."
            )
        seen.add(column)
        kept[place] = column
    return table.select(list(kept)).rename(kept)


def _counts_rows(column: pl.Series) -> bool:
    """Whether a column holds 0, 1, 2, ... or 1, 2, 3, ..., as data frames are written."""
    n = column.len()
    return any(column.equals(pl.Series(column.name, range(k, n + k)).cast(pl.String)) for k in (0, 1))
