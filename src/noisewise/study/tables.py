"""Tables from wherever people keep them: files, data frames of any library, mappings, plain lists."""

from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

READERS: dict[str, Callable[[Any], pl.DataFrame]] = {
    ".csv": lambda path: pl.read_csv(path, infer_schema_length=None),
    ".tsv": lambda path: pl.read_csv(path, separator="\t", infer_schema_length=None),
    ".parquet": pl.read_parquet,
    ".arrow": pl.read_ipc,
    ".feather": pl.read_ipc,
}

#: What stands between the columns of a text.
SEPARATORS = {".csv": ",", ".tsv": "\t"}
CALLED = {";": "semicolons", "\t": "tabs", ",": "commas"}


def read_table(what: str, source: Any) -> pl.DataFrame:
    """A polars frame of a file, a frame (polars, pandas, pyarrow) or a mapping of columns."""
    if isinstance(source, pl.DataFrame):
        return source
    if isinstance(source, str | PathLike):
        return _read_file(what, Path(source))
    if isinstance(source, Mapping):
        return pl.DataFrame(dict(source), strict=False)
    import narwhals as nw

    try:
        table: pl.DataFrame = nw.from_native(source, eager_only=True).to_polars()
    except TypeError:
        raise TypeError(
            f"`{what}` must be a file (csv, tsv, parquet, arrow), a data frame, a mapping of columns or a "
            f"list; got {type(source).__name__}."
        ) from None
    return table


def is_plain_list(source: Any) -> bool:
    """Whether somebody handed in names instead of a table."""
    if isinstance(source, str | bytes | Mapping | PathLike) or not isinstance(source, Iterable):
        return False
    return isinstance(source, list | tuple | range | set)


def _read_file(what: str, path: Path) -> pl.DataFrame:
    if path.suffix.lower() not in READERS:
        known = ", ".join(READERS)
        raise ValueError(f"`{what}` must be a file that ends in one of {known}; got {str(path)!r}.")
    if not path.exists():
        raise FileNotFoundError(f"`{what}` must be a file that exists; there is no {str(path)!r}.")
    try:
        table = READERS[path.suffix.lower()](path)
    except pl.exceptions.PolarsError as problem:
        first_line = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise ValueError(f"`{what}` must be a readable table; {str(path)!r} is not: {first_line}") from None
    if (separator := SEPARATORS.get(path.suffix.lower())) is not None:
        check_separated(what, table, separator)
    return table


def check_separated(what: str, table: pl.DataFrame, separator: str) -> None:
    """Refuse a text whose only column is a whole row, because other characters stand between its columns."""
    if table.width != 1:
        return
    (header,) = table.columns
    between = next((sign for sign in CALLED if sign != separator and sign in header), None)
    if between is not None:
        way_out = " (or the file must end in .tsv)" if between == "\t" else ""
        raise ValueError(
            f"`{what}` must have {CALLED[separator]} between its columns{way_out}; its first line has "
            f"{CALLED[between]}: {header!r}. Save it with {CALLED[separator]}."
        )
