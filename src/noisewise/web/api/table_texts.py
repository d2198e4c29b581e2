"""Tables that come as text in a request, read like a file."""

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noisewise.study.study import Study

if TYPE_CHECKING:
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


def table_of(study: Study, text: str, reading: Mapping[str, Any], by: str | None) -> "Understood":
    """A table for a study; its rows are told by whoever sends it, if that is known."""
    import polars as pl

    from noisewise.study.table_entries import described_columns

    settled = reading.get("map") or reading.get("layout")
    found = understood_text(text, () if settled else described_columns(study.specification), **reading)
    if by is None or "item" in found.frame.columns:
        return found
    return replace(found, frame=found.frame.with_columns(pl.lit(by).alias("by")))
