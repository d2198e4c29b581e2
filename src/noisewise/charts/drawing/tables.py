"""Tables as charts take them: checked, and refused where no chart could show them."""

from collections.abc import Mapping
from typing import Any

import narwhals as nw
import polars as pl

#: Significant digits of the numbers in a specification: finer than a pixel, and a small file.
DIGITS = 6


def read_table(frame: Any, *, text: tuple[str, ...] = (), numbers: tuple[str, ...] = ()) -> pl.DataFrame:
    """The named columns of a frame (polars, pandas, pyarrow) or of a mapping of arrays, checked.

    Text columns are returned as strings, numbers as finite float64.
    """
    table = _as_polars(frame)
    for column in (*text, *numbers):
        _check_present(table, column)
    if table.is_empty():
        raise ValueError("`frame` must have at least one row; got none.")
    for column in text:
        _check_no_missing(table[column])
    return table.select(
        *(pl.col(column).cast(pl.String) for column in text),
        *(_finite(table[column]) for column in numbers),
    )


def read_flags(frame: Any, column: str) -> pl.Series:
    """A column of booleans."""
    table = _as_polars(frame)
    _check_present(table, column)
    flags = table[column]
    if flags.dtype != pl.Boolean or flags.null_count():
        odd = next((value for value in flags if not isinstance(value, bool)), flags.dtype)
        raise ValueError(f"Column {column!r} must hold True or False; got {odd!r}.")
    return flags


def has_column(frame: Any, column: str) -> bool:
    """Whether a frame has an optional column."""
    return column in _as_polars(frame).columns


def check_unique(table: pl.DataFrame, column: str) -> None:
    """Refuse a table in which a name stands twice."""
    doubles = table.filter(pl.col(column).is_duplicated())
    if not doubles.is_empty():
        raise ValueError(f"Column {column!r} must name each row once; got {doubles[column][0]!r} twice.")


def check_order(table: pl.DataFrame) -> None:
    """Refuse intervals that do not contain their mean."""
    wrong = table.filter((pl.col("low") > pl.col("mean")) | (pl.col("mean") > pl.col("high")))
    if not wrong.is_empty():
        low, mean, high = wrong.select("low", "mean", "high").row(0)
        raise ValueError(
            "Columns 'low', 'mean' and 'high' must be in this order; "
            f"got low={low!r}, mean={mean!r}, high={high!r}."
        )


def least_of(numbers: pl.Series) -> float:
    """The smallest of some floats."""
    return float(numbers.to_numpy().min())


def most_of(numbers: pl.Series) -> float:
    """The largest of some floats."""
    return float(numbers.to_numpy().max())


def check_above_zero(table: pl.DataFrame, column: str, why: str) -> None:
    """Refuse numbers that are not above 0."""
    least = least_of(table[column])
    if not least > 0.0:
        raise ValueError(f"Column {column!r} must be above 0 {why}; got {least!r}.")


def to_rows(table: pl.DataFrame) -> list[dict[str, Any]]:
    """The rows for a specification, with numbers of `DIGITS` significant digits."""
    floats = [name for name, kind in table.schema.items() if kind == pl.Float64]
    return table.with_columns(pl.col(floats).round_sig_figs(DIGITS)).to_dicts()


def _as_polars(frame: Any) -> pl.DataFrame:
    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, Mapping):
        return pl.DataFrame(dict(frame), strict=False)
    try:
        table: pl.DataFrame = nw.from_native(frame, eager_only=True).to_polars()
    except TypeError:
        raise TypeError(
            f"`frame` must be a data frame or a mapping of columns; got {type(frame).__name__}."
        ) from None
    return table


def _finite(series: pl.Series) -> pl.Series:
    _check_no_missing(series)
    if not series.dtype.is_numeric():
        raise TypeError(f"Column {series.name!r} must hold numbers; got {series[0]!r}.")
    floats = series.cast(pl.Float64)
    odd = floats.filter(~floats.is_finite())
    if not odd.is_empty():
        raise ValueError(f"Column {series.name!r} must hold finite numbers; got {odd[0]!r}.")
    return floats


def _check_present(table: pl.DataFrame, column: str) -> None:
    if column not in table.columns:
        present = ", ".join(repr(name) for name in table.columns) or "none"
        raise ValueError(f"`frame` must have a column {column!r}; got the columns {present}.")


def _check_no_missing(series: pl.Series) -> None:
    if series.null_count():
        row = series.is_null().arg_max()
        raise ValueError(f"Column {series.name!r} must have a value in every row; got none in row {row}.")
