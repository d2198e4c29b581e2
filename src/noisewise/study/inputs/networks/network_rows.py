"""What tables of studies become: rows as `tell_many` takes them, each with a key of its study."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import polars as pl

from noisewise.study.inputs.networks.study_arms import Arm, Contrast
from noisewise.study.inputs.number_columns import read_column
from noisewise.study.inputs.tables import as_texts


class NetworkRows(NamedTuple):
    """Measurements, and what is to be said about how they were understood."""

    frame: pl.DataFrame
    studies: int
    several: int  # studies with more than two arms
    notes: tuple[str, ...]  # what was understood, and what was done about it
    unused: tuple[str, ...]  # columns
    rows: tuple[int, ...]  # of the table, from 1, that measurements come from, each from the first of its own


_COLUMNS: dict[str, Any] = {
    "option": pl.String, "plus": pl.String, "minus": pl.String, "value": pl.Float64, "se": pl.Float64,
    "successes": pl.Int64, "trials": pl.Int64, "block": pl.String, "arm": pl.Boolean, "key": pl.String,
}  # fmt: skip


class RowMaker:
    """Collects measurements; an arm's key names its study and option, a difference's both options."""

    def __init__(self) -> None:
        self._made: list[dict[str, Any]] = []
        self._often: Counter[str] = Counter()
        self.rows: list[int] = []

    def add_difference(self, study: str, row: Contrast) -> None:
        """A study of two arms, as its difference."""
        said = {"plus": row.one, "minus": row.other, "value": row.value, "se": row.se}
        self._add(row.row, f"{study}: {row.one} - {row.other}", said)

    def add_arms(self, study: str, arms: Iterable[Arm], rows: Sequence[Contrast]) -> None:
        """Arms with variances of their own, on the study's level, that are behind these rows."""
        for arm in arms:
            first = min(row.row for row in rows if arm.option in (row.one, row.other))
            self.add_arm(first, study, arm.option, value=arm.value, se=arm.variance**0.5)

    def add_arm(self, row: int, study: str, option: str, **said: Any) -> None:
        """One arm, with its value and error or its counts."""
        self._add(row, f"{study}: {option}", {"option": option, "block": study, "arm": True, **said})

    def _add(self, row: int, key: str, said: dict[str, Any]) -> None:
        self._often[key] += 1
        again = f" ({self._often[key]})" if self._often[key] > 1 else ""
        self._made.append({**said, "key": f"{key}{again}"})
        self.rows.append(row)

    def frame(self) -> pl.DataFrame:
        """All of them; columns that are empty throughout are left out."""
        table = pl.DataFrame(self._made, schema=_COLUMNS)
        return table.select([name for name in table.columns if table[name].null_count() < table.height])


def names_in(column: pl.Series) -> list[str | None]:
    """The texts of a column, None where a cell is empty or says that it is (NA)."""
    return as_texts("table", _without_gaps(column)).to_list()


def numbers_in(column: pl.Series) -> Sequence[float | int | None]:
    """The numbers of a column, likewise."""
    return read_column(_without_gaps(column))


def _without_gaps(column: pl.Series) -> pl.Series:
    if column.dtype != pl.String:
        return column
    column = column.str.strip_chars()
    return column.set(column.is_in(["", "NA"]), None)


def listed(numbers: Sequence[int]) -> str:
    """Rows 3 and 5; of many, the first few."""
    shown = [str(one) for one in numbers[:5]]
    more = f" and {len(numbers) - 5} more" if len(numbers) > 5 else ""
    return f"row{'' if len(numbers) == 1 else 's'} {', '.join(shown)}{more}"
