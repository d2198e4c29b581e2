"""Tables of studies that compare options, as measurements: rows are differences, or arms.

Such a table is not told row by row: differences of a study with more than two arms have errors in common, and
become the arms behind them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from noisewise.core.checks import check_choice
from noisewise.study.inputs.dialects.headers import columns_called
from noisewise.study.inputs.dialects.wording import Wording
from noisewise.study.inputs.networks.arm_table import LOG_ODDS, arm_columns, read_arms
from noisewise.study.inputs.networks.column_roles import ARMS, DIFFERENCES
from noisewise.study.inputs.networks.column_roles import plain as same_name
from noisewise.study.inputs.networks.difference_table import difference_columns, read_differences
from noisewise.study.inputs.number_columns import plain_numbers
from noisewise.study.inputs.read_table import ReadTable
from noisewise.study.intake.columns.understanding import Understood, units_of

NETWORK, ARMS_LAYOUT = "network", "arms"
LAYOUTS = (NETWORK, ARMS_LAYOUT)
#: What a map may call a role besides its own name: as tables of measurements do.
ALIASES = {
    NETWORK: {"block": "study", "option": "plus"},
    ARMS_LAYOUT: {"block": "study", "successes": "events", "trials": "n", "mean": "value"},
}
ROLES_OF = {NETWORK: tuple(DIFFERENCES), ARMS_LAYOUT: tuple(ARMS)}
#: And what a table of measurements calls such a role.
_AS_MEASURED = {"study": "block", "pair": "plus", "events": "successes"}


_NAMES = ("plus", "minus", "pair", "option")


class SaidOfStudies(NamedTuple):
    """What a person says about such a table."""

    map: Mapping[str, str]
    ignore: Sequence[str]
    decimal: str | None
    counts: str | None
    cov: Any


def _check_percent(frame: pl.DataFrame, columns: Sequence[str]) -> None:
    """Refuse per cent signs in some columns of numbers and not in others: one of them would be misread."""
    texts = [name for name in columns if frame.schema[name] == pl.String]
    signed = [name for name in texts if frame[name].str.contains("%").any()]
    if signed and len(signed) < len(columns):
        bare = next(name for name in columns if name not in signed)
        raise ValueError(
            f"column {signed[0]!r} has per cent signs and {bare!r} has none: write both alike, without them."
        )


def _check_row_numbers(frame: pl.DataFrame, roles: Mapping[str, str], words: Wording) -> None:
    """Refuse a column "id" that numbers rows where several rows are a study."""
    study = roles.get("study", "")
    wide = roles.get("option", roles.get("plus", roles.get("pair"))) not in frame.columns
    if same_name(study) == "id" and not wide and frame.height > 1 and frame[study].is_unique().all():
        raise ValueError(
            f"column {study!r} is another one in every row, so it may number rows and not studies: say which "
            f"column names studies, for instance {words.map({'study': study})}."
        )


def understand_network(
    table: ReadTable, layout: str | None, told: SaidOfStudies, words: Wording
) -> Understood:
    """Settle which column is what, and make measurements of the rows.

    Args:
        table: The table.
        layout: ``"network"``, a row for each difference, or ``"arms"``.
        told: What is said about it.
        words: How messages call what a person can say.
    """
    if told.cov is not None and layout != NETWORK:
        raise ValueError(f"`cov` goes with {words.layout(NETWORK)}, a row for each difference.")
    if told.counts is not None and layout != ARMS_LAYOUT:
        raise ValueError(f"`counts` goes with {words.layout(ARMS_LAYOUT)}, a row for each arm.")
    layout = check_choice("layout", layout, LAYOUTS)
    gone = [column for name in told.ignore for column in columns_called(table.frame.columns, name)]
    frame = table.frame.drop(gone).with_columns(pl.col(pl.String).replace("NA", None))
    names = {ALIASES[layout].get(role, role): column for role, column in told.map.items()}
    of_layout: Callable[..., Any] = difference_columns if layout == NETWORK else arm_columns
    with table.placed():
        roles, numbers = of_layout(frame.columns, names, words)
        table.refuse_dates([*numbers, *(roles[role] for role in _NAMES if role in roles)])
        _check_percent(frame, numbers)
        plain = plain_numbers(replace(table, frame=frame), numbers, decimal=told.decimal, words=words)
        if "study" not in names:
            _check_row_numbers(plain.frame, roles, words)
        if layout == NETWORK:
            read = read_differences(plain.frame, roles, cov=told.cov, words=words)
        else:
            read = read_arms(plain.frame, roles, counts=told.counts or LOG_ODDS, words=words)
    sources = {_AS_MEASURED.get(role, role): column for role, column in roles.items()}
    sources = {role: column for role, column in sources.items() if not role.startswith("shared")}
    if "option" in read.frame.columns:
        sources.setdefault("option", sources.get("plus", "option"))
    # What is told below names measurements; people look for the row, or the line of the file.
    first = np.array(read.rows, dtype=np.int64)
    made = ReadTable(
        read.frame, table.name, first if table.lines is None else table.lines[first - 1],
        "row of the table" if table.lines is None else table.of,
    )  # fmt: skip
    return Understood(
        made, read.frame, sources, units_of(sources), list(read.unused), plain.guesses, True, words,
        told.decimal, layout, read.notes,
    )  # fmt: skip
