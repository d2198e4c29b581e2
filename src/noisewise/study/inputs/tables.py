"""Tables from wherever people keep them: files, data frames of any library, mappings, plain lists."""

from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from noisewise.core.support.text import check_text, is_half
from noisewise.study.inputs.delimited import read_delimited

READERS: dict[str, Callable[[Any], pl.DataFrame]] = {
    ".parquet": pl.read_parquet,
    ".arrow": pl.read_ipc,
    ".feather": pl.read_ipc,
}
#: What stands between the columns of a text.
SEPARATORS = {".csv": ",", ".tsv": "\t"}
ENDINGS = (*SEPARATORS, *READERS)
#: Files that people take for tables, and that must be saved as something else first.
FOREIGN = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers", ".txt", ".json", ".jsonl", ".db", ".sqlite")


def read_table(what: str, source: Any) -> pl.DataFrame:
    """A polars frame of a file, a frame (polars, pandas, pyarrow) or a mapping of columns.

    Texts (csv, tsv) come as texts; everything else keeps the types it has.
    """
    if isinstance(source, pl.DataFrame):
        return source
    if isinstance(source, str | PathLike):
        return _read_file(what, Path(source))
    if isinstance(source, Mapping):
        return _of_columns(what, source)
    import narwhals as nw

    try:
        table: pl.DataFrame = nw.from_native(source, eager_only=True).to_polars()
    except TypeError:
        raise TypeError(
            f"`{what}` must be a file (csv, tsv, parquet, arrow), a data frame, a mapping of columns or a "
            f"list; got {type(source).__name__}."
        ) from None
    return table


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
        first_line = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise ValueError(f"`{what}` must be columns of equal length; {first_line}") from None


def is_plain_list(source: Any) -> bool:
    """Whether somebody handed in names instead of a table."""
    if isinstance(source, str | bytes | Mapping | PathLike) or not isinstance(source, Iterable):
        return False
    return isinstance(source, list | tuple | range | set)


def _read_file(what: str, path: Path) -> pl.DataFrame:
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise ValueError(
            f"`{what}` must be a file that ends in one of {', '.join(ENDINGS)}; got {str(path)!r}. Save "
            "it as one of them, for instance as CSV in UTF-8."
        )
    if not path.is_file():
        raise FileNotFoundError(f"`{what}` must be a file that exists; there is no {str(path)!r}.")
    if ending in SEPARATORS:
        return read_delimited(what, path.read_bytes(), SEPARATORS[ending], repr(path.name))
    try:
        return READERS[ending](path)
    except (pl.exceptions.PolarsError, OSError) as problem:
        first_line = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise ValueError(f"`{what}` must be a readable table; {str(path)!r} is not: {first_line}") from None


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
    return texts.set(texts == "", None)
