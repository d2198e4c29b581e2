"""Tables as text (csv, tsv): every cell is read as the text it is, rows must be whole, formulas stay texts.

Nothing is guessed: "1.10" is not 1.1, "007" is not 7. Which columns hold numbers is known by their names, and
`numbers.py` reads them. A row with fewer or more cells than the first line was cut or shifted,
and is refused with its number.

A text that begins with = + - @, a tab or a carriage return would be run as a formula by spreadsheets. When
written it gets an apostrophe in front, which is taken away when it is read; numbers are written as they are.
"""

import codecs
import csv
import io
import re
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from noisewise.core.support.text import printable

#: What stands between columns, and how messages call it.
CALLED = {";": "semicolons", "\t": "tabs", ",": "commas"}
#: A text that a spreadsheet would run, behind any number of apostrophes.
_FORMULA = r"^'*[=+\-@\t\r]"
_PROTECTED = r"^''*[=+\-@\t\r]"
_NEWLINE, _RETURN, _QUOTE = b"\n"[0], b"\r"[0], b'"'[0]

Bytes = NDArray[np.uint8]


def read_delimited(what: str, content: bytes, separator: str, name: str) -> pl.DataFrame:
    """A table of texts, with null for empty cells; rows that are wholly empty are left out.

    Args:
        what: The argument, for messages.
        content: The bytes of the file.
        separator: What stands between columns.
        name: What to call the file in messages.
    """
    content = _as_utf8(what, content, name)
    if not content.strip():
        raise ValueError(f"`{what}` must be a table with a first line of column names; {name} is empty.")
    rows, header = _checked(what, content, separator, name)
    if not rows:
        return _named(what, pl.DataFrame(schema=dict.fromkeys(_places(header), pl.String)), header)
    try:
        table = pl.read_csv(rows, separator=separator, infer_schema=False, has_header=False)
    except pl.exceptions.PolarsError as problem:
        first_line = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise ValueError(f"`{what}` must be a readable table; {name} is not: {first_line}") from None
    table = table.cast(pl.String).rename(dict(zip(table.columns, _places(header), strict=True)))
    table = table.with_columns(_plain_text(pl.all()))
    table = table.filter(pl.any_horizontal(pl.all().is_not_null()))
    return _named(what, table, header)


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


def _as_utf8(what: str, content: bytes, name: str) -> bytes:
    """The content in UTF-8, without a mark at its beginning, with line feeds at the end of lines."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            content = content.decode("utf-16").encode()
        except UnicodeError:
            raise ValueError(f"`{what}` must be text; {name} is cut UTF-16: save it as UTF-8.") from None
    content = content.removeprefix(codecs.BOM_UTF8)
    if not content.isascii():
        try:
            content.decode("utf-8")
        except UnicodeDecodeError as problem:
            line = content.count(b"\n", 0, problem.start) + 1
            raise ValueError(
                f"`{what}` must be text in UTF-8; line {line} of {name} is in another encoding: save it as "
                "UTF-8."
            ) from None
    if b"\0" in content:
        line = content.count(b"\n", 0, content.index(b"\0")) + 1
        raise ValueError(f"`{what}` must be text; line {line} of {name} holds a byte 0.")
    return content.replace(b"\r", b"\n") if b"\r" in content and b"\n" not in content else content


def _checked(what: str, content: bytes, separator: str, name: str) -> tuple[bytes, list[str]]:
    """The rows below the first line, without empty ones, and the cells of that line; rows must be whole."""
    data = np.frombuffer(content if content.endswith(b"\n") else content + b"\n", dtype=np.uint8)
    quoted = _quoted(what, data, separator, name)
    ends = np.flatnonzero((data == _NEWLINE) & ~quoted)
    starts = np.concatenate([[0], ends[:-1] + 1])
    # Separators outside of quotation marks before the end of each row; a count per byte would take 8 of it.
    before = np.searchsorted(np.flatnonzero((data == ord(separator)) & ~quoted), ends)
    cells = np.diff(before, prepend=0) + 1
    length = ends - starts - ((ends > starts) & (data[np.maximum(ends - 1, 0)] == _RETURN))
    full = length > 0
    first = int(np.argmax(full))
    head = bytes(data[starts[first] : ends[first]]).decode()
    header = [cell.strip() for cell in next(csv.reader(io.StringIO(head, newline=""), delimiter=separator))]
    _check_separator(what, head, header, separator)
    wrong = full & (cells != cells[first])
    if wrong.any():
        _refuse_row(what, name, data, starts, ends, cells, full, int(np.argmax(wrong)), first, separator)
    below = ends[first] + 1
    if not full[first:].all():
        kept = np.repeat(full, np.diff(np.concatenate([[0], ends + 1])))
        return data[below:][kept[below:]].tobytes(), header
    return data[below:].tobytes(), header


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
    ahead = np.isin(data[np.maximum(opening - 1, 0)], edges) | (opening == 0)
    behind = np.isin(data[np.minimum(closing + 1, data.size - 1)], edges)
    if not (ahead & behind).all():
        at = int(opening[np.argmin(ahead & behind)])
        line = int((data[:at] == _NEWLINE).sum()) + 1
        raise ValueError(
            f"`{what}`: line {line} of {name} has a quotation mark in the middle of a cell; put the whole "
            "cell in quotation marks and write its own twice."
        )
    return inside


def _check_separator(what: str, head: str, header: list[str], separator: str) -> None:
    """Refuse a text whose only column is a whole row, because other characters stand between its columns."""
    if len(header) != 1:
        return
    between = next((sign for sign in CALLED if sign != separator and sign in head), None)
    if between is not None:
        way_out = " (or the file must end in .tsv)" if between == "\t" else ""
        commas = ", and points in its numbers" if between == ";" else ""
        raise ValueError(
            f"`{what}` must have {CALLED[separator]} between its columns{way_out}; its first line has "
            f"{CALLED[between]}: '{printable(header[0])}'. Save it with {CALLED[separator]} between "
            f"columns{commas}."
        )


def _refuse_row(
    what: str, name: str, data: Bytes, starts: Any, ends: Any, cells: Any, full: Any, at: int, first: int,
    separator: str,
) -> None:  # fmt: skip
    row = int(full[first + 1 : at + 1].sum())
    line = int((data[: starts[at]] == _NEWLINE).sum()) + 1
    found, wanted = int(cells[at]), int(cells[first])
    shown = printable(bytes(data[starts[at] : ends[at]][:60]).decode(errors="replace").rstrip("\r"))
    comma = separator == "," and found > wanted and re.search(r"\d,\d", shown)
    why = "is a number written with a decimal comma?" if comma else "does a cell hold a separator?"
    why = "is it cut short?" if found < wanted else why
    raise ValueError(
        f"`{what}`: row {row} (line {line} of {name}) has {found} cells where the first line has {wanted}; "
        f"{why} {shown!r}"
    )


def _places(header: list[str]) -> list[str]:
    return [f"column {k}" for k in range(len(header))]


def _named(what: str, table: pl.DataFrame, header: list[str]) -> pl.DataFrame:
    """The table with the names of its first line; columns without a name must be empty, and go."""
    kept: dict[str, str] = {}
    for place, column in zip(_places(header), header, strict=True):
        if not column:
            if not table[place].is_null().all():
                row = int(table[place].is_not_null().arg_max() or 0) + 1
                raise ValueError(f"`{what}`: row {row} has a cell in a column without a name.")
        elif column in kept.values():
            raise ValueError(f"`{what}` must have different names of columns; {column!r} stands twice.")
        else:
            kept[place] = column
    return table.select(list(kept)).rename(kept)
