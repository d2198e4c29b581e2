"""Tables from wherever people keep them: files, data frames of any library, mappings, plain lists."""

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from noisewise.core.text import check_text, composed, is_half
from noisewise.study.inputs.delimited import read_delimited
from noisewise.study.inputs.dialects.packed_tables import PACKED, read_packed
from noisewise.study.inputs.dialects.workbooks import WORKBOOKS, read_workbook
from noisewise.study.inputs.read_table import ReadTable

#: What usually stands between the columns of a text; the text itself is asked first.
SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": ",", ".tab": "\t", ".dat": ","}
ENDINGS = (*SEPARATORS, *PACKED, *WORKBOOKS)
#: Files that people take for tables, and that must be saved as something else first.
FOREIGN = (
    ".xls", ".xlsb", ".ods", ".numbers", ".json", ".jsonl", ".db", ".sqlite", ".pdf", ".png", ".jpg", ".jpeg",
    ".gif", ".svg", ".docx", ".doc", ".md", ".html", ".zip", ".gz", ".py", ".ipynb", ".rds", ".mat", ".pkl",
)  # fmt: skip
#: How files begin that are no texts, whatever they are called.
_BEGINNINGS = {
    b"SQLite format 3": "a database",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"%PDF": "a PDF",
    b"\x1f\x8b": "compressed",
    b"\xd0\xcf\x11\xe0": "an old workbook (.xls), or one with a password",
    b"<!DOCTYPE": "a web page",
    b"<html": "a web page",
    b"{": "JSON",
    b"\x80\x04": "a pickle",
}
_ZIP = b"PK\x03\x04"


def read_table(what: str, source: Any) -> pl.DataFrame:
    """A polars frame of a file, a frame (polars, pandas, pyarrow) or a mapping of columns.

    Texts (csv, tsv, txt) come as texts; everything else keeps the types it has.
    """
    return read_whole(what, source).frame


def read_whole(what: str, source: Any) -> ReadTable:
    """A table with what was guessed when it was read; see `read_table`."""
    if isinstance(source, ReadTable):
        return source
    if isinstance(source, pl.DataFrame):
        return ReadTable(source)
    if isinstance(source, str | PathLike):
        return _read_file(what, str(source))
    if isinstance(source, Mapping):
        return ReadTable(_of_columns(what, source))
    if isinstance(source, list | tuple) and source and all(isinstance(row, Mapping) for row in source):
        names = list(dict.fromkeys(name for row in source for name in row))
        return ReadTable(_of_columns(what, {name: [row.get(name) for row in source] for name in names}))
    import narwhals as nw

    try:
        table: pl.DataFrame = nw.from_native(source, eager_only=True).to_polars()
    except TypeError:
        raise TypeError(
            f"`{what}` must be a file (csv, tsv, txt, xlsx, parquet, arrow), a data frame, a mapping of "
            f"columns or a list of rows, each a mapping; got {_kind_of(source)}."
        ) from None
    return ReadTable(table)


def _of_columns(what: str, source: Mapping[Any, Any]) -> pl.DataFrame:
    columns = {}
    for name, values in source.items():
        typed = (
            getattr(getattr(values, "dtype", None), "kind", "O") in "biufcmM"
        )  # numbers and times of NumPy
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


def _kind_of(source: Any) -> str:
    """What was handed in, for a message."""
    if isinstance(source, list | tuple) and source:
        return f"a {type(source).__name__} of {type(source[0]).__name__}"
    return type(source).__name__


def is_plain_list(source: Any) -> bool:
    """Whether somebody handed in names instead of a table."""
    if isinstance(source, str | bytes | Mapping | PathLike) or not isinstance(source, Iterable):
        return False
    return isinstance(source, list | tuple | range | set)


def split_sheet(source: str) -> tuple[Path, str | None]:
    """The path of a file, and the sheet that is named behind it: results.xlsx#Monday."""
    for ending in WORKBOOKS:
        at = source.lower().find(ending + "#")
        if at >= 0:
            end = at + len(ending)
            return Path(source[:end]), source[end + 1 :]
    return Path(source), None


def _read_file(what: str, source: str) -> ReadTable:
    path, sheet = split_sheet(source)
    ending = path.suffix.lower()
    if ending not in ENDINGS and (ending in FOREIGN or not path.is_file()):
        _refuse_kind(what, path)
        raise ValueError(
            f"`{what}` must be a file that ends in one of {', '.join(ENDINGS)}; got {source!r}. Save it as "
            "one of them, for instance as CSV in UTF-8."
        )
    if not path.is_file():
        raise FileNotFoundError(f"`{what}` must be a file that exists; there is no {str(path)!r}.")
    if ending in PACKED:
        try:
            return ReadTable(read_packed(path), repr(path.name))
        except (pl.exceptions.PolarsError, ValueError, OSError) as problem:
            first_line = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
            raise ValueError(
                f"`{what}` must be a readable table; {str(path)!r} is not: {first_line}"
            ) from None
    if _beginning(path).startswith(_ZIP):
        return read_workbook(what, path, sheet)
    _refuse_kind(what, path, "no workbook" if ending in WORKBOOKS else None)
    return read_delimited(what, path.read_bytes(), SEPARATORS.get(ending, ","), repr(path.name))


def _beginning(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(16)


def _refuse_kind(what: str, path: Path, otherwise: str | None = None) -> None:
    """Refuse a file that begins as no text does, and say what it is."""
    start = _beginning(path) if path.is_file() else b""
    kind = next((kind for sign, kind in _BEGINNINGS.items() if start.startswith(sign)), otherwise)
    if kind is not None:
        raise ValueError(
            f"`{what}` must be a table; {path.name!r} is {kind}. Save the table as CSV, .xlsx or .parquet."
        )


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
