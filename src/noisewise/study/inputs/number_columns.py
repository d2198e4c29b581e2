"""Columns of numbers: texts are read as strictly as single numbers are, by row."""

from array import array
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from noisewise.study.inputs.dialects.decimals import looks_numeric, read_numbers
from noisewise.study.inputs.dialects.wording import Wording
from noisewise.study.inputs.numbers import CODE, NUMBER, read_number
from noisewise.study.inputs.read_table import ReadTable


def read_column(column: pl.Series) -> Sequence[float | int | None]:
    """The numbers of a column, None where a cell is empty; texts are read strictly, by row."""
    if column.dtype != pl.String:
        return cells_of(column)
    strange = (~column.str.contains(f"^{NUMBER}$")).fill_null(False)
    if strange.any():
        texts = column.to_list()
        # A few such as "nan" have sentences of their own.
        for row in strange.arg_true():
            read_number(column.name, texts[row], f"row {row + 1}: ")
        return [None if text is None else read_number(column.name, text) for text in texts]
    return cells_of(column.cast(pl.Float64))


def cells_of(column: pl.Series) -> Sequence[Any]:
    """The cells as a list, with None for empty ones; as an array if all are floats, a quarter of the size."""
    if column.dtype != pl.Float64 or column.null_count():
        return column.to_list()
    return array("d", column.to_numpy().tobytes())


def are_numbers(column: pl.Series) -> bool:
    """Whether every text of a column is a number, and none a code such as 007."""
    numbers = column.str.contains(f"^{NUMBER}$") & ~column.str.contains(f"^{CODE}")
    return bool(numbers.fill_null(True).all())


def plain_numbers(
    table: ReadTable, columns: Sequence[str], *, decimal: str | None = None, words: Wording | None = None
) -> ReadTable:
    """A table whose columns of numbers are plain, whatever their dialect was; others stay as they are.

    Args:
        table: The table.
        columns: Those that may hold numbers; the others may settle the decimal sign.
        decimal: The decimal sign as a person said it; None: the cells settle it.
        words: How messages call what a person can say; default: as the table says.
    """
    frame = table.frame
    numeric = {name: frame[name] for name in columns if looks_numeric(frame[name])}
    found = read_numbers(
        numeric, decimal=decimal, separator=table.separator, exact=table.exact, words=words or table.words,
        others=[frame[name] for name in frame.columns if name not in numeric],
    )  # fmt: skip
    guesses = [*table.guesses, *found.guesses]
    return replace(table, frame=frame.with_columns(found.columns.values()), guesses=guesses)
