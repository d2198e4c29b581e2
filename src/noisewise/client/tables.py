"""Tables of results for a study on a server: tried on a copy of its log here, then told there.

The server takes a table only if its log is still the one that was copied. So every refusal, note and number
is what a study in a file says.
"""

import time
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from noisewise.operations.table import load_table
from noisewise.study.stores.address import PATIENCE
from noisewise.study.stores.protocol import LogMovedOnError
from noisewise.study.tables.sheet import as_texts
from noisewise.study.telling.roles import NAME, ROLE
from noisewise.study.telling.table_rows import Taken

if TYPE_CHECKING:
    from noisewise.client.study import RemoteStudy
    from noisewise.study.telling.understanding import Understood


def tell_table(
    study: "RemoteStudy",
    measurements: Any,
    *,
    match: bool = False,
    repeat: Any = False,
    amend: str | None = None,
    unknown: Any = "refuse",
    dry_run: bool = False,
    watch: Any = None,
    **reading: Any,
) -> Taken:
    """Tell a table; see `Study.tell_many`.

    Args:
        study: The study.
        measurements: The table.
        match: As in `tell_many`.
        repeat: As in `tell_many`.
        amend: As in `tell_many`.
        unknown: As in `tell_many`.
        dry_run: As in `tell_many`.
        watch: As in `tell_many`.
        reading: How it is read.
    """
    how: dict[str, Any] = {"match": match, "repeat": repeat, "amend": amend, "unknown": unknown}
    give_up = time.monotonic() + PATIENCE
    copy, source = study._copy(), measurements
    while True:
        taken = copy.tell_many(source, **how, dry_run=True, watch=watch, **reading)
        if dry_run:
            return taken
        source, reading = cast("Understood", taken.understood), {}  # it is read once
        try:
            # Of rows that were recorded before, the dry run has warned.
            study.change(
                load_table()["import"], _said(source, how), only_at=copy._log.state.n_events, warns=False
            )
            return taken
        except LogMovedOnError:
            if time.monotonic() > give_up:
                raise TimeoutError(
                    f"others wrote to study {study.name!r} faster than this could be decided, for "
                    f"{PATIENCE:g} s. Nothing was written; run again."
                ) from None


def _said(understood: "Understood", how: dict[str, Any]) -> dict[str, Any]:
    """A table as it was understood, so that nothing is guessed again."""
    columns = {name: _cells(understood.frame[name]) for name in understood.frame.columns}
    said: dict[str, Any] = {"columns": columns, "match": how["match"], "amend": how["amend"]}
    said |= {"again": how["repeat"] == "others", "repeat": how["repeat"] is True}
    said |= {name: how["unknown"] == name for name in ("add", "skip")}
    said |= {name: understood.layout == name for name in ("network", "arms")}
    said |= {"allow_missing_se": understood.allow_missing_se}
    return {name: part for name, part in said.items() if part is not None}


def _cells(column: pl.Series) -> list[Any]:
    """A column as JSON has it."""
    if ROLE[column.name].kind == NAME and column.dtype != pl.Boolean:
        column = as_texts("measurements", column)
    elif column.dtype.is_float():
        column = column.fill_nan(None)  # an empty cell
    return column.to_list()
