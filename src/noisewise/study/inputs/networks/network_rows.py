"""What tables of studies become: rows as `tell_many` takes them, each with a key of its study."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import polars as pl

from noisewise.study.inputs.networks.study_arms import Arm, Contrast
from noisewise.study.inputs.number_columns import read_column
from noisewise.study.inputs.tables import as_texts

#: An option's name as the study has it, given how a table spells it and where messages begin.
Named = Callable[[str, str], str]


class NetworkRows(NamedTuple):
    """Measurements, and what is to be said about how they were understood."""

    frame: pl.DataFrame
    studies: int
    several: int  # studies with more than two arms
    notes: tuple[str, ...]  # what was understood, and what was done about it
    unused: tuple[str, ...]  # columns


_COLUMNS: dict[str, Any] = {
    "option": pl.String, "plus": pl.String, "minus": pl.String, "value": pl.Float64, "se": pl.Float64,
    "successes": pl.Int64, "trials": pl.Int64, "block": pl.String, "arm": pl.Boolean, "key": pl.String,
}  # fmt: skip


class RowMaker:
    """Collects measurements; an arm's key names its study and option, a difference's both options."""

    def __init__(self) -> None:
        self._rows: list[dict[str, Any]] = []
        self._often: Counter[str] = Counter()

    def add_difference(self, study: str, row: Contrast) -> None:
        """A study of two arms, as its difference."""
        self._add(
            f"{study}: {row.one} - {row.other}",
            {"plus": row.one, "minus": row.other, "value": row.value, "se": row.se},
        )

    def add_arms(self, study: str, arms: Iterable[Arm]) -> None:
        """Arms with variances of their own, on the study's level."""
        for arm in arms:
            self.add_arm(study, arm.option, value=arm.value, se=arm.variance**0.5)

    def add_arm(self, study: str, option: str, **said: Any) -> None:
        """One arm, with its value and error or its counts."""
        self._add(f"{study}: {option}", {"option": option, "block": study, "arm": True, **said})

    def _add(self, key: str, row: dict[str, Any]) -> None:
        self._often[key] += 1
        again = f" ({self._often[key]})" if self._often[key] > 1 else ""
        self._rows.append({**row, "key": f"{key}{again}"})

    def frame(self) -> pl.DataFrame:
        """All of them; columns that are empty throughout are left out."""
        table = pl.DataFrame(self._rows, schema=_COLUMNS)
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


def as_spelt(name: str, where: str) -> str:
    """A name as the table spells it."""
    return name


def listed(numbers: Sequence[int]) -> str:
    """Rows 3 and 5; of many, the first few."""
    shown = [str(one) for one in numbers[:5]]
    more = f" and {len(numbers) - 5} more" if len(numbers) > 5 else ""
    return f"row{'' if len(numbers) == 1 else 's'} {', '.join(shown)}{more}"
