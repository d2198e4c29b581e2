"""What a reader made of a file, as a table of measurements that is understood already."""

from typing import Any

import numpy as np
import polars as pl

from noisewise.core.support.words import counted
from noisewise.study.inputs.dialects.wording import PYTHON, Wording
from noisewise.study.inputs.read_table import ReadTable
from noisewise.study.intake.columns.understanding import Understood
from noisewise.study.intake.roles import COUNT, NAME, READINGS, ROLE
from noisewise.study.readers.readout import FIELDS, Readout

#: How cells of a kind are kept.
_TYPES: dict[str, Any] = {COUNT: pl.Int64, NAME: pl.String, READINGS: pl.List(pl.Float64)}


def understood_of(readout: Readout, words: Wording = PYTHON) -> Understood:
    """The rows as columns under the names of their roles; messages name places in the file."""
    rows = [row.fields for row in readout.rows]
    for row in readout.rows:
        for name in row.fields:
            if name not in FIELDS:
                raise ValueError(
                    f"{row.place}: the reader {readout.reader!r} made a field {name!r}, which `tell` has "
                    f"not; it has {', '.join(FIELDS)}."
                )
    roles = [name for name in FIELDS if any(row.get(name) is not None for row in rows)]
    columns = {role: pl.Series(role, [row.get(role) for row in rows], dtype=_type(role)) for role in roles}
    frame = pl.DataFrame(columns)
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
    )  # fmt: skip


def _type(role: str) -> Any:
    return _TYPES.get(ROLE[role].kind, pl.Float64)
