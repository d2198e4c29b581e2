"""Tables that come in a request: as text, read like a file, or column by column."""

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noisewise.study.study import Study

if TYPE_CHECKING:
    import polars as pl

    from noisewise.study.intake.columns.understanding import Understood


def understood_text(text: str, others: Any = (), **reading: Any) -> "Understood":
    """A table that was sent as text."""
    from noisewise.study.inputs.tables import read_whole
    from noisewise.study.intake.columns.understanding import check_reading, understand

    check_reading(reading, "tell_many")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.csv"  # the text itself says what stands between its columns
        file.write_text(text, encoding="utf-8", newline="")
        table = replace(read_whole("table", file), name="table")
        return understand(table, what="table", others=others, **reading)


def understood_columns(columns: Mapping[str, list[Any]], reading: Mapping[str, Any]) -> "Understood":
    """A table that was understood where it came from: its columns are called like their roles."""
    import polars as pl

    from noisewise.study.inputs.dialects.wording import PYTHON
    from noisewise.study.inputs.read_table import ReadTable
    from noisewise.study.intake.columns.understanding import Understood

    if len({len(cells) for cells in columns.values()}) != 1:
        raise ValueError("`columns` must be at least one, and all of the same length.")
    frame = pl.DataFrame([_series(name, cells) for name, cells in columns.items()])
    missing, layout = bool(reading.get("allow_missing_se")), reading.get("layout")
    sources = {name: name for name in columns}
    return Understood(ReadTable(frame), frame, sources, {}, [], [], missing, PYTHON, ".", layout)


def _series(name: str, cells: list[Any]) -> "pl.Series":
    import polars as pl

    from noisewise.study.intake.roles import NAME, ROLE

    kinds = {type(cell) for cell in cells if cell is not None}
    if ROLE[name].kind == NAME and name != "arm" and not kinds <= {str}:
        raise ValueError(f"column {name!r} must be texts.")
    if not kinds:
        return pl.Series(name, cells, dtype=pl.String)
    return pl.Series(name, cells, strict=False) if kinds == {int, float} else pl.Series(name, cells)


def table_of(
    study: Study,
    text: str | None,
    columns: Mapping[str, list[Any]] | None,
    reading: Mapping[str, Any],
    by: str | None,
) -> "Understood":
    """A table for a study; its rows are told by whoever sends it, if that is known."""
    import polars as pl

    from noisewise.study.table_entries import described_columns

    if (text is None) == (columns is None):
        raise ValueError("say `table`, or `columns`: one of them.")
    settled = reading.get("map") or reading.get("layout")
    if columns is not None:
        found = understood_columns(columns, reading)
    else:
        others = () if settled else described_columns(study.specification)
        found = understood_text(text or "", others, **reading)
    if by is None or "item" in found.frame.columns:
        return found
    return replace(found, frame=found.frame.with_columns(pl.lit(by).alias("by")))
