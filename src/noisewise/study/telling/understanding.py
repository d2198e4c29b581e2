"""How a table of measurements is understood: which reading it has, its columns by role, and what was guessed.

One table has one reading: declared, by the names of its columns or by a map, or found by `read_table`, which
looks at the table as a whole. Both end in columns under the names of roles, which are recorded row by row.
"""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, TypedDict

import polars as pl

from noisewise.core.checks import check_choice, nearest
from noisewise.core.text import printable
from noisewise.study.readers.readout import Readout
from noisewise.study.tables.cells import (
    SHORTENED,
    hint_for,
    is_spreadsheet_error,
    looks_numeric,
    read_numbers,
)
from noisewise.study.tables.columns import Column, Layout
from noisewise.study.tables.grid import ENDINGS, readings_of_options, split_sheet
from noisewise.study.tables.names import columns_called, key_of, split_unit
from noisewise.study.tables.numbers import split_cell
from noisewise.study.tables.readings import scale_of
from noisewise.study.tables.sheet import ReadTable, read_whole
from noisewise.study.tables.table import Reading, UndecidedError, level_said, read_table
from noisewise.study.tables.wording import PYTHON, Wording
from noisewise.study.telling.mapping import Mapped, map_columns, take_columns
from noisewise.study.telling.roles import (
    COUNT,
    ERROR_COLUMNS,
    FOR_PEOPLE,
    NAME,
    NO_ERROR,
    PROBES,
    READINGS,
    RESULTS,
    ROLE,
)  # fmt: skip

#: Rows that are shown of a table.
SHOWN = 5
#: Rows without an error bar that one message names beside the first.
NAMED = 5
#: Columns of names that a spreadsheet may have changed.
_NAMES = (*PROBES, "item", "key", "block")
#: Columns that say something about a measurement, and nothing about how a table is read.
BESIDE = ("key", "by", "note", "at", "cost", "job", "instrument")
#: What only cells of our own sheets hold.
LITERAL = ("values", "se_up", "se_down", "arm", "level", "job")


class HowToBegin(TypedDict, total=False):
    """How the table of a new study is read, besides its roles."""

    ignore: Sequence[str]
    decimal: str | None
    where: str | None
    n: int | None
    allow_missing_se: bool
    layout: str | None
    counts: str | None


class HowToRead(HowToBegin, total=False):
    """How a table is read."""

    roles: Mapping[str, Any] | None


def check_reading(reading: Mapping[str, Any], method: str) -> None:
    """Refuse arguments that a method which reads a table does not have."""
    known = tuple(HowToRead.__annotations__ | HowToBegin.__annotations__)
    for argument in reading:
        if argument not in known:
            raise TypeError(f"{method}() has no argument {argument!r}.{nearest(argument, known)}")


def _shown(cell: Any) -> str:
    """A cell for people; of many readings only how many, and between what."""
    if not isinstance(cell, list):
        return f"{cell:.12g}" if isinstance(cell, float) else str(cell)
    if len(cell) <= SHOWN:
        return f"[{', '.join(f'{one:.6g}' for one in cell)}]"
    return f"({len(cell)} from {min(cell):.6g} to {max(cell):.6g})"


def _plain(cell: Any) -> Any:
    return cell if isinstance(cell, str | int | float | bool | list) else str(cell)


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
    of_items: bool = False  # its rows sum up items that could be recorded one by one
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
    roles: Mapping[str, Any] | None = None,
    ignore: Sequence[str] = (),
    decimal: str | None = None,
    where: str | None = None,
    n: int | None = None,
    allow_missing_se: bool = False,
    words: Wording = PYTHON,
    others: Sequence[str] = (),
    layout: str | None = None,
    counts: str | None = None,
) -> Understood:
    """Read a table of measurements and settle which column is what.

    Args:
        source: A file, a frame, or a mapping of columns.
        what: The argument that it is, for messages.
        roles: Roles to columns; None: columns are called like roles.
        ignore: Columns that are not used, on purpose.
        decimal: The decimal sign, ``"."`` or ``","``, where the cells do not settle it.
        where: A column and one of its values; only these rows are read.
        n: The number of readings behind each value, if the table does not say.
        allow_missing_se: Rows without an error bar are taken as such.
        words: How messages call what a person can say.
        others: Columns that are read elsewhere: options' features and costs.
        layout: ``"network"``: rows are differences between two options in a study; ``"arms"``: rows are arms
            of studies. See `noisewise.study.telling.trials`.
        counts: What events out of n become, in a table of arms.
    """
    if isinstance(source, Understood):
        return source
    if isinstance(source, Readout):
        from noisewise.study.telling.readouts import understood_of

        return understood_of(source, words)
    if isinstance(source, Mapping) and (readings := readings_of_options(source)) is not None:
        source, allow_missing_se = pl.DataFrame(readings), True
    if decimal is not None:
        check_choice("decimal", decimal, (".", ","))
    ignore = [ignore] if isinstance(ignore, str) else ignore
    trials = layout is not None or counts is not None
    table: ReadTable | None = None
    problem: Exception | None = None
    try:
        table = read_whole(what, source)
    except ValueError as refusal:
        if trials or not isinstance(source, str | PathLike):
            raise
        problem = refusal
    if trials and table is not None:
        from noisewise.study.telling.trials import understand_trials

        gone = [*ignore, *others]
        return understand_trials(table, layout, dict(roles or {}), gone, decimal, counts, words)
    names = [] if table is None else [one for one in table.frame.columns if one not in (*ignore, *others)]
    if table is None or not is_sheet(names, roles):
        try:
            found = _as_a_whole(source, table, roles, ignore, decimal, where, n, words, others)
            stated = {*(roles or {})} & {*ERROR_COLUMNS} and not allow_missing_se
            if stated and table is not None and found.frame.height == table.frame.height:
                with table.placed():
                    _check_errors(found.frame, table, found.sources, words)
            if problem is not None and " cells " in str(problem) and len(found.guesses) == 1:
                raise problem  # a row was cut or shifted
            return found
        except UndecidedError:
            raise
        except ValueError as reason:
            if table is None:
                is_table = split_sheet(str(source))[0].suffix.lower() in ENDINGS
                raise (problem if is_table and problem else reason) from None
            lists = roles is not None and any(not isinstance(column, str) for column in roles.values())
            if lists or (roles is None and not has_names(table.frame.columns)):
                raise
    return _declared(table, roles, ignore, decimal, allow_missing_se, words, others)


def is_sheet(columns: Sequence[str], map: Mapping[str, Any] | None) -> bool:
    """Whether columns are called as `tell` calls them, or a map names what only our own sheets hold."""
    if map is not None:
        return bool(set(map) & {*LITERAL}) or any("{" in str(column) for column in map.values())
    roles = {key_of(name) for name in columns} - {*FOR_PEOPLE}
    return roles <= ROLE.keys() and has_names(columns)


def has_names(columns: Sequence[str]) -> bool:
    """Whether a column is called option, or as another thing that was measured, and one value or the like."""
    roles = {key_of(name) for name in columns}
    return bool(roles & {*PROBES}) and bool(roles & {*RESULTS, "ci", "item", "job"})


# Readings that are declared


def _declared(
    table: ReadTable, map: Any, ignore: Sequence[str], decimal: str | None, allow_missing_se: bool,
    words: Wording, others: Sequence[str],
) -> Understood:  # fmt: skip
    """The columns that are called like roles, or that a map names."""
    others = [column for name in others for column in columns_called(table.frame.columns, name)]
    with table.placed():
        mapped = map_columns(table.frame, map, [*ignore, *others], words)
        columns = take_columns(table.frame, mapped)
        table.refuse_dates(
            source for role, source in mapped.sources.items()
            if role in _NAMES and source in table.frame.columns
        )  # fmt: skip
        _check_names(columns)
        _check_second_header(columns)
        mapped, columns, numbers = _numbers(table, mapped, columns, decimal, words)
        sources = mapped.sources
        units = units_of(sources, numbers.percent)
        frame = pl.DataFrame([column.alias(role) for role, column in columns.items()])
        if not allow_missing_se:
            _check_errors(frame, table, sources, words)
    level = level_said([sources["lo"], sources["hi"]]) if {"lo", "hi"} <= sources.keys() else None
    levels = []
    if level is not None and level != 0.95 and "level" not in frame.columns:
        frame = frame.with_columns(pl.when(pl.col("lo").is_not_null()).then(level).alias("level"))
        levels = [f"level {level:g} from {sources['lo']!r}"]
    unused = [name for name in mapped.unused if name not in others]
    guesses = [*table.guesses, *mapped.guesses, *numbers.guesses, *levels]
    guesses += [f"{role} in {unit}" for role, unit in units.items() if role == "value"]
    percent = "value" in numbers.percent
    return Understood(
        table, frame, sources, units, unused, guesses, allow_missing_se, words, numbers.decimal,
        remarks=_about_shared_rows(frame, table.frame, unused, words), percent=percent,
    )  # fmt: skip


def _numbers(
    table: ReadTable, mapped: Mapped, columns: dict[str, pl.Series], decimal: str | None, words: Wording
) -> tuple[Mapped, dict[str, pl.Series], Any]:
    """The columns with their numbers, intervals as both of their ends, and values with their own errors."""
    called = {role: mapped.sources[role] for role in columns}
    sources = {role: source for role, source in mapped.sources.items() if role != "ci"}
    wanted = {role: column for role, column in columns.items() if ROLE[role].kind != NAME and role != "ci"}
    names = next((columns[role].to_list() for role in PROBES if role in columns), None)
    others = [table.frame[name] for name in mapped.unused]
    if "ci" in columns:
        others.append(columns["ci"])
    found = read_numbers(
        wanted, decimal=decimal, comma=table.comma, exact=table.exact, others=others, words=words,
        called=called, lists=[role for role in wanted if ROLE[role].kind == READINGS],
        own_errors=["value"], about=names,
    )  # fmt: skip
    for role in found.percent:
        if ROLE[role].kind == COUNT or role in ("var", "level"):
            raise ValueError(
                f"column {called[role]!r} must hold plain numbers to be {role}; it is in per cent."
            )
    scale = [role for role in wanted if ROLE[role].scale]
    bare = [role for role in scale if role not in found.percent]
    if bare and len(bare) < len(scale) and not table.exact:
        other = next(role for role in scale if role in found.percent)
        raise ValueError(
            f"column {called[other]!r} has per cent signs and {called[bare[0]]!r} has none: write both alike."
        )
    read = {role: found.columns.get(role, column) for role, column in columns.items() if role != "ci"}
    if "ci" in columns:
        if twice := [role for role in ("lo", "hi") if role in columns]:
            raise ValueError(
                f"the table has the interval twice, as ci from {called['ci']!r} and as {twice[0]} from "
                f"{called[twice[0]]!r}: leave one of them out."
            )
        read |= _ends(columns["ci"], called["ci"], found.decimal or decimal or ".")
        sources |= {"lo": called["ci"], "hi": called["ci"]}
    if "value" in found.errors:
        own = found.errors["value"]
        if "se" in read and (read["se"].is_not_null() & own.is_not_null()).any():
            row = int((read["se"].is_not_null() & own.is_not_null()).arg_max() or 0)
            raise ValueError(f"row {row + 1}: give exactly one error bar (got se, the value's own error).")
        read["se"] = own if "se" not in read else read["se"].zip_with(own.is_null(), own)
        sources.setdefault("se", called["value"])
    for role, column in read.items():
        if ROLE[role].error and column.dtype.is_float():
            read[role] = column.fill_nan(None)  # how many frames write an empty cell
        if ROLE[role].kind == COUNT and column.dtype.is_float():
            whole = (column.drop_nulls() % 1 == 0).all()
            read[role] = column.cast(pl.Int64, strict=False) if whole else column
    return mapped._replace(sources=sources), read, found


def _ends(cells: pl.Series, source: str, sign: str) -> dict[str, pl.Series]:
    """Both ends of intervals in one cell; one sentence about the first cell that is none."""
    ends: list[tuple[float | None, float | None]] = []
    for row, cell in enumerate(cells.cast(pl.String).to_list(), 1):
        text = "" if cell is None else cell.strip()
        parts = split_cell(text, sign) if text and text.casefold() != NO_ERROR else {"lo": None, "hi": None}
        if (
            parts.keys() != {"lo", "hi"}
            or (parts["lo"] is None) != (parts["hi"] is None)
            or (text and parts["lo"] is None and text.casefold() != NO_ERROR)
        ):
            raise ValueError(
                f"row {row}: column {source!r} must hold intervals, such as [11.5, 13.1] or 11.5 to 13.1, or "
                f"be two columns, lo and hi; got {printable(text)!r}."
            )
        ends.append((parts["lo"], parts["hi"]))
    return {
        role: pl.Series(role, [pair[at] for pair in ends], dtype=pl.Float64)
        for at, role in enumerate(("lo", "hi"))
    }


def _check_errors(frame: pl.DataFrame, table: ReadTable, sources: Mapping[str, str], words: Wording) -> None:
    """Refuse empty cells where the others have error bars, unless they say "none"."""
    present = [role for role in ERROR_COLUMNS if role in frame.columns]
    if not present or "value" not in frame.columns:
        return
    blank = frame.select(
        pl.all_horizontal(pl.col(present).is_null()) & pl.col("value").is_not_null()
    ).to_series()
    for source in {sources[role] for role in present if role in sources}:
        if source in table.frame.columns and table.frame.schema[source] == pl.String and blank.any():
            on_purpose = table.frame[source].str.strip_chars().str.to_lowercase() == NO_ERROR
            blank &= ~on_purpose.fill_null(False)
    rows = blank.arg_true().to_list()
    if not rows:
        return
    what = next((frame[role][rows[0]] for role in PROBES if role in frame.columns), None)
    said = f"row {rows[0] + 1}" + ("" if what is None else f" ({what})")
    more = ", ".join(f"row {row + 1}" for row in rows[1 : NAMED + 1])
    more += f" and {len(rows) - 1 - NAMED} more" if len(rows) > NAMED + 1 else ""
    raise ValueError(
        f"{said}: no error bar in {', '.join(present)}{f' (nor in {more})' if more else ''}. Fill it in, "
        f"delete the row, or write {NO_ERROR} if it is unknown; {words.allow_missing_se} takes all such rows "
        "without."
    )


def _check_names(columns: Mapping[str, pl.Series]) -> None:
    """Refuse errors of formulas, and long numbers that a spreadsheet shortened, which made some equal."""
    for role in _NAMES:
        column = columns.get(role)
        if column is None or column.dtype != pl.String:
            continue
        for row in (column.str.starts_with("#") | column.str.contains(SHORTENED)).fill_null(False).arg_true():
            if is_spreadsheet_error(column[row]):
                why = "the error of a spreadsheet's formula: repair it there."
            elif column[row].startswith("#"):
                continue
            else:
                why = (
                    "a long number that a spreadsheet shortened: make the column text there, and save it "
                    "again."
                )
            raise ValueError(f"row {row + 1}: `{role}` is {column[row]!r}, {why}")


def _check_second_header(columns: Mapping[str, pl.Series]) -> None:
    """Refuse a first row of words above numbers, such as a line of units below the header."""
    texts = [
        column for role, column in columns.items() if ROLE[role].kind != NAME and column.dtype == pl.String
    ]
    odd = [column for column in texts if column.len() > 1 and column[0] is not None and _is_word(column[0])]
    if odd and all(looks_numeric(column[1:]) for column in odd) and len(odd) == len(texts):
        raise ValueError(
            f"row 1: {printable(odd[0][0])!r} is above numbers, like a second line of the header; "
            "units belong behind the names of columns, as in 'value (ms)': write them there, and delete it."
        )


def _is_word(text: str) -> bool:
    return text[:1].isalpha() or text[:1] in "([%µ°"


# Readings that are found


def _as_a_whole(
    source: Any,
    plain: ReadTable | None,
    map: Mapping[str, str | Sequence[str]] | None,
    ignore: Sequence[str],
    decimal: str | None,
    where: str | None,
    n: int | None,
    words: Wording,
    others: Sequence[str],
) -> Understood:
    """Take the reading of a table; `UndecidedError` if people have to choose."""
    said = {role: [one] if isinstance(one, str) else list(one) for role, one in (map or {}).items()}
    beside = {role: names[0] for role, names in said.items() if role in BESIDE}
    roles = {role: names for role, names in said.items() if role not in beside and names != ["-"]}
    left_out = [*ignore, *(name for role, names in said.items() if names == ["-"] for name in [role])]
    if plain is not None:
        source = plain.grids or plain.frame
    table = read_table(
        source, roles=roles, where=where, n=n, decimal=decimal, ignore=[*left_out, *others, *beside.values()]
    )
    if table.kind != "read":
        raise UndecidedError(table, flags=words.command)
    reading = table.only
    if sheets := [note for note in table.notes if note.startswith("other sheets")]:
        raise ValueError(f"The workbook has several sheets that may be meant ({sheets[0]}); say which.")
    frame = reading.whole
    origin = reading.layout.places
    around = pl.DataFrame({c.name: c.cells for c in table.columns if c.name})
    for role in BESIDE:
        name = beside.get(role) or next((name for name in around.columns if key_of(name) == role), None)
        if name is not None and role not in frame.columns and name not in reading.used:
            beside[role] = name
            frame = frame.with_columns(around[name].gather(origin).alias(role))
    refuse_odd_cells(reading.layout, reading.parts)
    kept = frame.select(
        pl.any_horizontal(pl.col(name).is_not_null() for name in frame.columns if name in (*PROBES, *RESULTS))
    ).to_series()
    sources = {role: _source(names) for role, names in reading.roles.items()} | beside
    frame, around = frame.filter(kept), around[origin.tolist()].filter(kept)
    if "item" in frame.columns and "plus" in frame.columns:  # battles: items are drawn, and say nothing
        frame = frame.drop("item")
    if "item" in frame.columns and not _is_complete(frame):  # items are recorded in one order for all options
        frame = frame.rename({"item": "block"})
    whole = [role for role in frame.columns if role in ROLE and ROLE[role].kind == COUNT]
    frame = frame.with_columns(pl.col(name).cast(pl.Int64) for name in whole if _is_whole(frame[name]))
    shown = frame
    layout: str | None = None
    remarks: tuple[str, ...] = ()
    if reading.kind in ("arms of studies", "differences") and not {"item", "winner"} & {*reading.roles}:
        from noisewise.study.telling.trials import trials_of

        layout = "arms" if reading.kind == "arms of studies" else "network"
        frame, notes = trials_of(frame, layout, words)
        remarks = tuple(notes)
    guesses = [f"{reading}", *table.notes]
    percent = [role for role, parts in reading.parts.items() if any("%" in cell for cell in parts[0].some)]
    units = units_of({role: one[0] for role, one in reading.roles.items() if len(one) == 1}, percent)
    unused = [name for name in reading.not_used if not columns_called(list(others), name)]
    lines = None
    if plain is not None and plain.lines is not None and len(table.columns[0].cells) == len(plain.lines):
        lines = plain.lines[origin][kept.to_numpy()]
    name = "" if plain is None else plain.name
    described = ReadTable(around, name, lines, words=words)
    return Understood(
        described, frame, sources, units, unused, guesses, True, words, decimal, layout, remarks=remarks,
        shown=shown, bounds=_bounds(reading), percent="value" in percent,
    )  # fmt: skip


def _source(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else "".join(f"{{{name}}}" for name in names)


def _is_complete(frame: pl.DataFrame) -> bool:
    """Whether all options have all items."""
    told = frame.drop_nulls("value")
    return told.height == told["option"].n_unique() * told["item"].n_unique()


def _is_whole(column: pl.Series) -> bool:
    return column.dtype.is_numeric() and bool((column.drop_nulls() % 1 == 0).all())


def _bounds(reading: Reading) -> tuple[float, float] | None:
    """The scale of ratings, which a study has to know."""
    if "item" not in reading.roles:
        return None
    scale = scale_of(reading.parts["value"][0])
    return None if scale is None or scale == (0, 1) else (float(scale[0]), float(scale[1]))


def refuse_odd_cells(layout: Layout, columns: Mapping[str, Sequence[Column]]) -> None:
    """Refuse texts among the numbers of a result: a row must not be lost without a word."""
    for role, parts in columns.items():
        for c in parts if role in (*RESULTS, "n", "events", "shared_se", "shared_var") else ():
            odd = [at for at, x in enumerate(c.values) if math.isnan(x) and c.cells[at] is not None]
            if odd and c.kind == "number":
                text = str(c.cells[odd[0]])
                place = int(layout.places[odd[0]]) + 1
                raise ValueError(
                    f"row {place}: {c.sources[0]!r} must be a number; got {printable(text[:60])!r}."
                    f"{hint_for(text)}"
                )


def _about_shared_rows(
    frame: pl.DataFrame, table: pl.DataFrame, unused: Sequence[str], words: Wording
) -> tuple[str, ...]:
    """A sentence on differences that share an option and a block or study: they count as independent."""
    if not {"plus", "minus"} <= set(frame.columns):
        return ()
    study = next(
        (table[name] for name in unused if re.fullmatch(r"stud(y|lab|y_?id)|trial(_?id)?", key_of(name))),
        None,
    )
    labels = frame["block"] if "block" in frame.columns else study
    if labels is None:
        return ()
    found: dict[tuple[str, str], dict[str, list[int]]] = {}
    sides = (column.cast(pl.String).to_list() for column in (frame["plus"], frame["minus"], labels))
    for row, (one, other, block) in enumerate(zip(*sides, strict=True), start=1):
        if None not in (one, other, block):
            for option, beside in ((one, other), (other, one)):
                found.setdefault((block, option), {}).setdefault(beside, []).append(row)
    for (block, option), others in found.items():
        if len(others) > 1:  # repeats of one difference share both options
            what = "block" if "block" in frame.columns else "study"
            rows = [str(row) for row in sorted(row for some in others.values() for row in some)]
            listed = ", ".join(rows[:5]) + (f" and {len(rows) - 5} more" if len(rows) > 5 else "")
            return (
                f"In {what} {printable(block)}, rows {listed} share {printable(option)} and count as "
                f"independent: if one measured {printable(option)} is in all of them, give the table as one "
                f"of studies ({words.layout('network')}), or their arms ({words.layout('arms')}).",
            )
    return ()


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
