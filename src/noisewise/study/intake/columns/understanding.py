"""How a table of measurements is understood: its dialect, its columns by role, and what was guessed.

What a table says must be known before anything is told. `understand` reads it, settles what its cells and the
person settle, refuses what stays ambiguous, and remembers every guess.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, TypedDict

import polars as pl

from noisewise.core.checks import check_choice, nearest
from noisewise.core.text import printable
from noisewise.study.inputs.dialects.decimals import NumberColumns, looks_numeric, read_numbers
from noisewise.study.inputs.dialects.headers import columns_called, split_unit
from noisewise.study.inputs.dialects.number_texts import COMMA, POINT
from noisewise.study.inputs.dialects.wording import PYTHON, Wording
from noisewise.study.inputs.networks.shared_rows import about_shared_rows
from noisewise.study.inputs.read_table import ReadTable
from noisewise.study.inputs.strange_cells import SHORTENED, is_spreadsheet_error
from noisewise.study.inputs.tables import ENDINGS, read_whole, split_sheet
from noisewise.study.intake.columns.interval_cells import with_ends, with_level
from noisewise.study.intake.columns.mapping import Mapped, map_columns, take_columns
from noisewise.study.intake.roles import COUNT, NAME, PROBES, READINGS, ROLE
from noisewise.study.readers.readout import Readout
from noisewise.study.tables.table import UndecidedError

#: Rows that are shown of a table.
SHOWN = 5
#: Names that a spreadsheet has made dates of; days of blocks may be dates.
_NEVER_DATES = (*PROBES, "item", "key")


class HowToRead(TypedDict, total=False):
    """What a person can say about a table."""

    map: Mapping[str, Any] | None
    ignore: Sequence[str]
    decimal: str | None
    where: str | None
    n: int | None
    allow_missing_se: bool
    layout: str | None
    counts: str | None
    cov: Any


def check_reading(reading: Mapping[str, Any], method: str) -> None:
    """Refuse arguments that a method which reads a table does not have."""
    known = tuple(HowToRead.__annotations__)
    for argument in reading:
        if argument not in known:
            raise TypeError(f"{method}() has no argument {argument!r}.{nearest(argument, known)}")


@dataclass(frozen=True, eq=False)
class Understood:
    """A table of measurements as it was understood; `str` shows it to a person."""

    table: ReadTable  # as it was read
    frame: pl.DataFrame  # columns under the names of their roles
    sources: dict[str, str]  # roles to the columns they come from
    units: dict[str, str]  # by role
    unused: list[str]
    guesses: list[str]
    allow_missing_se: bool
    words: Wording
    decimal: str | None = None  # the decimal sign, as it was said or settled
    layout: str | None = None  # of a table of studies
    remarks: tuple[str, ...] = ()  # on rows of studies, in sentences
    reader: str | None = None  # that read it, if it was the file of another tool
    better: str | None = None  # "max" or "min", if its files say which
    percent: bool = False  # its values were per cent, and are hundredths
    of_items: bool = False  # its rows sum up items that could be told one by one
    shown: pl.DataFrame | None = None  # rows as the table has them, if those of `frame` are made of them
    bounds: tuple[float, float] | None = None  # of ratings

    @property
    def sentence(self) -> str:
        """What was guessed, in one line; empty for a plain table."""
        guessed = [f"Read with {'; '.join(self.guesses)}."] if self.guesses else []
        return " ".join([*guessed, *self.remarks])

    def describe(self, rows: int = SHOWN) -> list[str]:
        """What a person should know before it is told, in lines."""
        name = self.table.name.strip("'") or "The table"
        dialect = "; ".join(self.guesses) or "nothing to guess"
        lines = [f"{name}: {self.frame.height} row{'' if self.frame.height == 1 else 's'}; {dialect}."]
        for role, source in self.sources.items() if self.reader is None else ():
            unit = f", in {self.units[role]}" if role in self.units else ""
            meaning = f" ({ROLE[role].meaning})" if role in ROLE else ""
            lines.append(f"  {role}{meaning}: {source!r}{unit}")
        lines += self.remarks
        if self.unused:
            lines.append(f"Not used: {', '.join(map(repr, self.unused))}.")
        lines.append("The first rows as they are understood:" if self.frame.height else "There are no rows.")
        lines += [f"  {line}" for line in self.first_rows(rows)]
        return [printable(line) for line in lines]

    def first_rows(self, rows: int = SHOWN) -> list[str]:
        """The first rows, a line for each."""
        return [
            f"{self.table.place(at)}: "
            + ", ".join(f"{k} {_shown(v)}" for k, v in row.items() if v is not None)
            for at, row in enumerate(self._rows.head(rows).iter_rows(named=True))
        ]

    @property
    def _rows(self) -> pl.DataFrame:
        return self.frame if self.shown is None else self.shown

    def to_plain(self) -> dict[str, Any]:
        """For programs."""
        return {
            "columns": dict(self.sources), "units": dict(self.units), "unused_columns": list(self.unused),
            "guesses": list(self.guesses), "remarks": list(self.remarks), "rows": self.frame.height,
            "first_rows": [
                {name: _plain(cell) for name, cell in row.items() if cell is not None}
                for row in self._rows.head(SHOWN).iter_rows(named=True)
            ],
        }  # fmt: skip

    def __str__(self) -> str:
        return "\n".join(self.describe())


def understand(
    source: Any,
    *,
    what: str = "measurements",
    map: Mapping[str, Any] | None = None,
    ignore: Sequence[str] = (),
    decimal: str | None = None,
    where: str | None = None,
    n: int | None = None,
    allow_missing_se: bool = False,
    words: Wording = PYTHON,
    others: Sequence[str] = (),
    layout: str | None = None,
    counts: str | None = None,
    cov: Any = None,
) -> Understood:
    """Read a table of measurements and settle which column is what.

    Args:
        source: A file, a frame, or a mapping of columns.
        what: The argument that it is, for messages.
        map: Roles to columns; None: columns are called like roles.
        ignore: Columns that are not used, on purpose.
        decimal: The decimal sign, ``"."`` or ``","``, where the cells do not settle it.
        where: A column and one of its values; only these rows are read.
        n: The number of readings behind each value, if the table does not say.
        allow_missing_se: Rows without an error bar are taken as such.
        words: How messages call what a person can say.
        others: Columns that somebody else reads: options' features and costs.
        layout: ``"network"``: rows are differences between two options in a study; ``"arms"``: rows are arms
            of studies. See `noisewise.study.intake.columns.networks`.
        counts: What events out of n become, in a table of arms.
        cov: The covariance of the rows' errors, in a table of differences.
    """
    if isinstance(source, Understood):
        return source
    if isinstance(source, Readout):
        from noisewise.study.intake.columns.readouts import understood_of

        return understood_of(source, words)
    if decimal is not None:
        check_choice("decimal", decimal, (POINT, COMMA))
    if isinstance(ignore, str):
        ignore = [ignore]
    studies = layout is not None or counts is not None or cov is not None
    try:
        table: ReadTable | None = read_whole(what, source)
    except ValueError as problem:
        if studies or not isinstance(source, str | PathLike):
            raise
        table, unread = None, problem
    from noisewise.study.intake.columns.whole import has_names, is_sheet, understand_whole

    wanted = table is None or not is_sheet(
        [n for n in table.frame.columns if n not in (*ignore, *others)], map
    )
    if not studies and wanted:
        try:
            found = understand_whole(
                source if table is None or isinstance(source, str | PathLike) else table.frame,
                table,
                map=map, ignore=ignore, decimal=decimal, where=where, n=n, words=words, others=others,
            )  # fmt: skip
            if table is None and " cells " in str(unread) and len(found.guesses) == 1:
                raise unread  # a row was cut or shifted
            return found
        except UndecidedError:
            raise
        except ValueError as reason:
            if table is None:
                raise (unread if split_sheet(str(source))[0].suffix.lower() in ENDINGS else reason) from None
            lists = map is not None and any(not isinstance(column, str) for column in map.values())
            if lists or (map is None and not has_names(table.frame.columns)):
                raise
    assert table is not None
    if studies:
        from noisewise.study.intake.columns.networks import SaidOfStudies, understand_network

        said = SaidOfStudies(dict(map or {}), [*ignore, *others], decimal, counts, cov)
        return understand_network(table, layout, said, words)
    others = [column for name in others for column in columns_called(table.frame.columns, name)]
    with table.placed():
        mapped = map_columns(table.frame, map, [*ignore, *others], words)
        mapped, columns = with_ends(mapped, take_columns(table.frame, mapped))
        _check_dates(table, mapped)
        _check_names(columns)
        _check_shortened(columns)
        _check_second_header(columns)
        numbers = _read_numbers(table, mapped, columns, decimal, words)
        units = units_of(mapped.sources, numbers.percent)
        percent = "value" in numbers.percent or mapped.sources.get("value") in table.percent
    frame = pl.DataFrame([numbers.columns.get(role, column).alias(role) for role, column in columns.items()])
    frame, levels = with_level(frame, mapped.sources)
    unused = [name for name in mapped.unused if name not in others]
    guesses = [*table.guesses, *mapped.guesses, *numbers.guesses, *levels]
    guesses += [f"{role} in {unit}" for role, unit in units.items() if role == "value"]
    return Understood(
        table, frame, mapped.sources, units, unused, guesses, allow_missing_se, words, numbers.decimal,
        remarks=about_shared_rows(frame, table.frame, unused, words), percent=percent,
    )  # fmt: skip


def _shown(cell: Any) -> str:
    """A cell for people; of many readings only how many, and between what."""
    if not isinstance(cell, list):
        return str(cell)
    if len(cell) <= SHOWN:
        return f"[{', '.join(f'{one:.6g}' for one in cell)}]"
    return f"({len(cell)} from {min(cell):.6g} to {max(cell):.6g})"


def _plain(cell: Any) -> Any:
    return cell if isinstance(cell, str | int | float | bool | list) else str(cell)


def _read_numbers(
    table: ReadTable, mapped: Mapped, columns: Mapping[str, pl.Series], decimal: str | None, words: Wording
) -> NumberColumns:
    roles = {role: column for role, column in columns.items() if ROLE[role].kind != NAME}
    exact = {role: table.exact[source] for role, source in mapped.sources.items() if source in table.exact}
    # Messages name columns as the table does; a column may have several roles.
    called = {role: mapped.sources[role] for role in roles}
    found = read_numbers(
        roles, decimal=decimal, separator=table.separator, others=[table.frame[n] for n in mapped.unused],
        exact=exact, words=words, called=called,
    )  # fmt: skip
    for role in found.percent:
        if ROLE[role].kind == COUNT or role in ("var", "level"):
            raise ValueError(
                f"column {called[role]!r} must hold plain numbers to be {role}; it is in per cent."
            )
    for role in found.plain:
        if ROLE[role].kind != READINGS:
            found.columns[role] = found.columns[role].str.strip_chars().cast(pl.Float64)
    for role, column in found.columns.items():
        if ROLE[role].error and column.dtype.is_float():
            found.columns[role] = column.fill_nan(None)  # how many frames write an empty cell
    scale = [role for role in roles if ROLE[role].scale]
    bare = [role for role in scale if role not in found.percent]
    if bare and len(bare) < len(scale):
        other = next(role for role in scale if role in found.percent)
        raise ValueError(
            f"column {called[other]!r} has per cent signs and {called[bare[0]]!r} has none: write both alike."
        )
    return found


def units_of(sources: Mapping[str, str], percent: Collection[str] = ()) -> dict[str, str]:
    """The units in the headers of columns on the scale of the values, which must be the same."""
    found: dict[str, str] = {}
    for role, source in sources.items():
        unit = split_unit(source)[1]
        if role in ROLE and ROLE[role].scale and unit is not None and role not in percent:
            found[role] = unit
    value = found.get("value")
    for role, unit in found.items():
        if value is not None and unit != value:
            raise ValueError(
                f"column {sources['value']!r} is in {value} and {sources[role]!r} in {unit}: "
                "the error bar must have the unit of the value."
            )
    return found


def _check_dates(table: ReadTable, mapped: Mapped) -> None:
    """Refuse dates where there should be none; the name of a block may be a day."""
    for role, source in mapped.sources.items():
        dates = table.dates.get(source)
        if dates is None:
            continue
        other = table.frame[source].is_not_null() & ~dates
        if ROLE[role].kind != NAME or role in _NEVER_DATES or other.any():
            table.refuse_dates([source])


def _check_names(columns: Mapping[str, pl.Series]) -> None:
    for role in (*PROBES, "item"):
        column = columns.get(role)
        if column is None or column.dtype != pl.String:
            continue
        marked = column.str.starts_with("#").fill_null(False)
        for row in marked.arg_true():
            if is_spreadsheet_error(column[row]):
                raise ValueError(
                    f"row {row + 1}: `{role}` is {column[row]!r}, the error of a spreadsheet's formula: "
                    "repair it there."
                )


def _check_shortened(columns: Mapping[str, pl.Series]) -> None:
    """Refuse names and keys that a spreadsheet shortened: different ones would be the same."""
    for role in _NEVER_DATES:
        column = columns.get(role)
        if column is None or column.dtype != pl.String:
            continue
        short = column.str.contains(SHORTENED).fill_null(False)
        if short.any():
            row = int(short.arg_max() or 0)
            raise ValueError(
                f"row {row + 1}: `{role}` is {column[row]!r}, a long number that a spreadsheet shortened: "
                "make the column text there, and save it again."
            )


def _check_second_header(columns: Mapping[str, pl.Series]) -> None:
    """Refuse a first row of words above numbers, such as a line of units below the header."""
    texts = [
        column for role, column in columns.items() if ROLE[role].kind != NAME and column.dtype == pl.String
    ]
    odd = [column for column in texts if column.len() > 1 and column[0] is not None and _is_word(column[0])]
    if odd and all(looks_numeric(column[1:]) for column in odd) and len(odd) == len(texts):
        raise ValueError(
            f"row 1: {printable(odd[0][0])!r} stands above numbers, like a second line of the header; "
            "units belong behind the names of columns, as in 'value (ms)': write them there, and delete it."
        )


def _is_word(text: str) -> bool:
    return text[:1].isalpha() or text[:1] in "([%µ°"
