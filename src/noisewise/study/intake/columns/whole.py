"""Tables whose columns are not called as `tell` calls them: understood as a whole, and made measurements."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from noisewise.core.text import printable
from noisewise.study.inputs.dialects.headers import columns_called, key_of
from noisewise.study.inputs.dialects.wording import Wording
from noisewise.study.inputs.numbers import hint_for
from noisewise.study.inputs.read_table import ReadTable
from noisewise.study.intake.columns.networks import SaidOfStudies, understand_network
from noisewise.study.intake.columns.understanding import Understood, units_of
from noisewise.study.intake.roles import COUNT, FOR_PEOPLE, PROBES, RESULTS, ROLE
from noisewise.study.tables.readings import scale_of
from noisewise.study.tables.table import Reading, UndecidedError, read_table

#: Columns that say something about a measurement, and nothing about how a table is read.
BESIDE = ("key", "by", "note", "at", "cost", "job", "instrument")
#: What only cells of our own sheets hold.
LITERAL = ("values", "se_up", "se_down", "arm", "level", "job")
#: How the arms and differences of trials are called by the tables that hold them.
_OF_TRIALS = {
    "arms of studies": (
        "arms",
        {"block": "study", "option": "treatment", "successes": "events", "trials": "n", "value": "mean"},
    ),
    "differences": (
        "network",
        {"block": "study", "plus": "treat1", "minus": "treat2", "value": "TE", "se": "seTE"},
    ),
}


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


def understand_whole(
    source: Any,
    plain: ReadTable | None,
    *,
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
    argument = "flags" if words.command else "map"
    table = read_table(
        source, roles=roles, where=where, n=n, decimal=decimal, ignore=[*left_out, *others, *beside.values()]
    )
    if table.kind != "read":
        raise UndecidedError(table, argument)
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
    _refuse_odd_cells(reading)
    kept = frame.select(
        pl.any_horizontal(pl.col(name).is_not_null() for name in frame.columns if name in (*PROBES, *RESULTS))
    ).to_series()
    sources = {role: _source(names) for role, names in reading.roles.items()} | beside
    frame, around = frame.filter(kept), around[origin.tolist()].filter(kept)
    if "item" in frame.columns and "plus" in frame.columns:  # battles: items are drawn, and say nothing
        frame = frame.drop("item")
    if "item" in frame.columns and not _is_complete(frame):  # items are told in one order to all options
        frame = frame.rename({"item": "block"})
    whole = [role for role in frame.columns if role in ROLE and ROLE[role].kind == COUNT]
    frame = frame.with_columns(pl.col(name).cast(pl.Int64) for name in whole if _is_whole(frame[name]))
    shown = frame
    layout: str | None = None
    remarks: tuple[str, ...] = ()
    if reading.kind in _OF_TRIALS and not {"item", "winner"} & {*reading.roles}:
        layout, names = _OF_TRIALS[reading.kind]
        made = _of_trials(frame, layout, names, words)
        frame, remarks = made.frame, made.remarks[1:]
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


def _of_trials(frame: pl.DataFrame, layout: str, names: Mapping[str, str], words: Wording) -> Understood:
    frame = frame.rename({old: new for old, new in names.items() if old in frame.columns})
    if "study" not in frame.columns:
        frame = frame.with_row_index("study", 1).with_columns(pl.col("study").cast(pl.String))
    keep = ("study", "treatment", "treat1", "treat2", "events", "n", "mean", "TE", "seTE", "se", "sd", "var")
    frame = frame.select([name for name in frame.columns if name in (*keep, "lo", "hi")])
    return understand_network(ReadTable(frame), layout, SaidOfStudies({}, (), None, None, None), words)


def _bounds(reading: Reading) -> tuple[float, float] | None:
    """The scale of ratings, which a study has to know."""
    if "item" not in reading.roles:
        return None
    scale = scale_of(reading.parts["value"][0])
    return None if scale is None or scale == (0, 1) else (float(scale[0]), float(scale[1]))


def _refuse_odd_cells(reading: Reading) -> None:
    """Refuse texts among the numbers of a result: a row must not be lost without a word."""
    for role, parts in reading.parts.items():
        for c in parts if role in RESULTS or role == "n" else ():
            odd = [at for at, x in enumerate(c.values) if math.isnan(x) and c.cells[at] is not None]
            if odd and c.kind == "number":
                text = str(c.cells[odd[0]])
                place = int(reading.layout.places[odd[0]]) + 1
                raise ValueError(
                    f"row {place}: {c.sources[0]!r} must be a number; got {printable(text[:60])!r}."
                    f"{hint_for(text)}"
                )
