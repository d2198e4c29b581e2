"""What a reader made of a file, as a table of measurements that is understood already."""

from typing import Any

import numpy as np
import polars as pl

from noisewise.core.text import counted, printable
from noisewise.study.log.state import State
from noisewise.study.readers.readout import ROW_FIELDS, Readout
from noisewise.study.readers.registry import choose, given_files, read
from noisewise.study.tables.sheet import ReadTable
from noisewise.study.tables.wording import PYTHON, Wording
from noisewise.study.telling.roles import COUNT, NAME, NUMBER, READINGS, ROLE
from noisewise.study.telling.understanding import Understood

#: What cells of a kind are.
_KINDS = {COUNT: "a whole number", NAME: "a text", READINGS: "a list of numbers", NUMBER: "a number"}
#: How cells of a kind are kept.
_TYPES: dict[str, Any] = {COUNT: pl.Int64, NAME: pl.String, READINGS: pl.List(pl.Float64)}


def understood_of(readout: Readout, words: Wording = PYTHON) -> Understood:
    """The rows as columns under the names of their roles; messages name places in the file."""
    rows = [row.fields for row in readout.rows]
    for row in readout.rows:
        for name in row.fields:
            if name not in ROW_FIELDS:
                raise ValueError(
                    f"{row.place}: the reader {readout.reader!r} made a field {name!r}, which `tell` has "
                    f"not; it has {', '.join(ROW_FIELDS)}."
                )
    roles = [name for name in ROW_FIELDS if any(row.get(name) is not None for row in rows)]
    frame = pl.DataFrame([_column(readout, role) for role in roles]).with_columns(
        pl.col(pl.String).str.strip_chars()
    )
    several = len(readout.files) > 1
    places = [f"{row.file}: {row.place}" if several else row.place for row in readout.rows]
    name = readout.files[0] if len(readout.files) == 1 else counted(len(readout.files), "file")
    table = ReadTable(frame, repr(name), np.array(places, dtype=object), "at", words=words)
    unit = {} if readout.unit is None else {"value": readout.unit}
    guesses = [f"the reader {readout.reader}"] if readout.reader else []
    guesses += [] if readout.unit is None else [f"value in {readout.unit}"]
    return Understood(
        table, frame, {role: role for role in roles}, unit, [], guesses,
        allow_missing_se=True, words=words, remarks=tuple(readout.notes), reader=readout.reader,
        better=readout.better, of_items=readout.of_items,
    )  # fmt: skip


def read_for(
    unit: str | None, files: Any, reader: str, only: str | None, called: str | None, block: str | None,
    choices: dict[str, Any],
) -> Readout:  # fmt: skip
    """Read result files in the unit of a study; the other arguments are those of `Study.import_from`."""
    files = given_files(files)
    chosen, asked = choose(files, reader), choices.get("unit")
    if unit is not None and asked is not None and asked != unit:
        raise ValueError(f"`unit` must be {unit!r}, in which the values of this study are; got {asked!r}.")
    if unit is not None and "unit" in chosen.choices:
        choices["unit"] = unit
    readout = read(files, chosen.name, **choices)
    readout = readout if only is None else readout.about(only)
    readout = readout if called is None else readout.called(called)
    return readout if block is None else readout.in_block(block)


def check_fits(state: State, understood: Understood) -> None:
    """Refuse files that say the opposite of the study's goal, and answers that it has item by item."""
    goal = state.specification.goal
    if understood.better not in (None, goal):
        more, wanted = ("less", "largest") if goal == "max" else ("more", "smallest")
        raise ValueError(
            f"{understood.table.name} says that {more} is better, and this study looks for the {wanted} "
            f"value: make the study with `goal={understood.better!r}`, or choose another metric."
        )
    if understood.of_items and state.begins_with_items:
        raise ValueError(
            f"{understood.table.name} sums up answers to items, and this study compares options item by "
            "item: the same answers would count twice. Import the file that has them one by one."
        )


def _column(readout: Readout, role: str) -> pl.Series:
    """The cells of a role; one of another kind is refused with its place."""
    dtype = _TYPES.get(ROLE[role].kind, pl.Float64)
    cells = [row.fields.get(role) for row in readout.rows]
    try:
        return pl.Series(role, cells, dtype=dtype)
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError):
        at = next((at for at, cell in enumerate(cells) if not _fits(cell, dtype)), 0)
    raise ValueError(
        f"{readout.rows[at].place}: `{role}` must be {_KINDS[ROLE[role].kind]}; the reader "
        f"{readout.reader!r} made {printable(repr(cells[at])[:40])}."
    )


def _fits(cell: Any, dtype: Any) -> bool:
    try:
        pl.Series([cell], dtype=dtype)
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError):
        return False
    return True
