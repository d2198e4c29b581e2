"""Intervals: those that stand in one cell as two columns, and the level that the columns' names say."""

from collections.abc import Mapping

import polars as pl

from noisewise.core.text import printable
from noisewise.study.inputs.dialects.interval_texts import ends_of, level_among
from noisewise.study.inputs.error_bars import USUAL_LEVEL
from noisewise.study.intake.columns.mapping import Mapped
from noisewise.study.intake.roles import NO_ERROR


def with_ends(mapped: Mapped, columns: Mapping[str, pl.Series]) -> tuple[Mapped, dict[str, pl.Series]]:
    """Columns with the ends of intervals in their place; one sentence about the first bad cell."""
    if "ci" not in columns:
        return mapped, dict(columns)
    source = mapped.sources["ci"]
    if twice := [role for role in ("lo", "hi") if role in columns]:
        raise ValueError(
            f"the table has the interval twice, as ci from {source!r} and as {twice[0]} from "
            f"{mapped.sources[twice[0]]!r}: leave one of them out."
        )
    pairs: list[tuple[str | None, str | None]] = []
    for row, cell in enumerate(columns["ci"].to_list(), 1):
        ends = (cell, cell) if cell is None or _says_none(cell) else ends_of(str(cell))
        if ends is None:
            raise ValueError(
                f"row {row}: column {source!r} must hold intervals, such as [11.5, 13.1] or 11.5 to 13.1, or "
                f"be two columns, lo and hi; got {printable(str(cell))!r}."
            )
        pairs.append(ends)
    ends_by_role = {
        role: pl.Series(role, [pair[at] for pair in pairs], dtype=pl.String)
        for at, role in enumerate(("lo", "hi"))
    }
    sources = {role: name for role, name in mapped.sources.items() if role != "ci"}
    others = {role: column for role, column in columns.items() if role != "ci"}
    return mapped._replace(sources=sources | dict.fromkeys(ends_by_role, source)), others | ends_by_role


def with_level(frame: pl.DataFrame, sources: Mapping[str, str]) -> tuple[pl.DataFrame, list[str]]:
    """The table with the level that the names of its columns say, as in `90% CI`, and what was guessed."""
    level = level_among(sources).get("level")
    if level in (None, USUAL_LEVEL) or "level" in frame.columns:
        return frame, []
    there = pl.when(pl.col("lo").is_not_null()).then(level).alias("level")
    return frame.with_columns(there), [f"level {level:g} from {sources['lo']!r}"]


def _says_none(cell: object) -> bool:
    """Whether a cell says on purpose that there is no error bar."""
    return str(cell).strip().lower() == NO_ERROR
