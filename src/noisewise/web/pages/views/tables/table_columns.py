"""Columns of a table that was handed in: what each is taken for, and what has to be said about them first.

Nothing is guessed about error bars: a column counts as one only if it is called so, or if somebody says so.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl

from noisewise.core.support.text import some_of
from noisewise.study.inputs.dialects.headers import key_of
from noisewise.study.intake.columns.error_columns import find_error_columns
from noisewise.study.intake.roles import ERROR_COLUMNS, PROBES, RESULTS, ROLE, column_for

#: Roles that are proposed for a column that is called otherwise; none of them says an error bar.
PROPOSED = ("option", "item", "value", "block", "instrument", "by", "note")
LAYOUTS = ("network", "arms")
#: The role of a column that looks like an error bar: somebody has to say which it is, or leave it out.
OPEN = "?"


class TableColumn(NamedTuple):
    """A column, and what it is taken for."""

    title: str
    example: str
    role: str


def columns_of(
    frame: pl.DataFrame, chosen: Mapping[str, str] | None, proposed: Sequence[str] = PROPOSED
) -> list[TableColumn]:
    """Columns with their roles: as chosen, or as they are called.

    Args:
        frame: The table.
        chosen: Fields ``role.0``, ``role.1``, ... of the form; None: nobody has chosen yet.
        proposed: Roles that are proposed for columns that are called otherwise.
    """
    titles, roles = frame.columns, {}
    if chosen is None:
        roles = {title: key_of(title) for title in titles if key_of(title) in ROLE}
        for role in proposed:
            found = column_for([title for title in titles if title not in roles], role)
            if found is not None and role not in roles.values():
                roles[found] = role
        if not set(PROBES) & set(roles.values()) and (first := _first_text(frame, roles)) is not None:
            roles[first] = "option"
        roles |= dict.fromkeys(_like_errors(frame, roles), OPEN)
    found_columns = []
    for place, title in enumerate(titles):
        role = roles.get(title, "") if chosen is None else chosen.get(f"role.{place}", "")
        first_cell = next(
            (str(cell) for cell in frame[title].head(20).to_list() if cell not in (None, "")), ""
        )
        example = f"such as {first_cell[:24]}" if first_cell else "empty"
        found_columns.append(TableColumn(title, example, role))
    return found_columns


def _like_errors(frame: pl.DataFrame, taken: Mapping[str, str]) -> tuple[str, ...]:
    """Columns that are called like an error bar, where no column is one: they must not be lost unnoticed."""
    if set(taken.values()) & set(ERROR_COLUMNS):
        return ()
    value = next((title for title, role in taken.items() if role == "value"), None)
    found = find_error_columns(frame, value, taken)
    return () if found is None else found.columns


def _first_text(frame: pl.DataFrame, taken: Mapping[str, str]) -> str | None:
    """The first column whose cells are no numbers: it names what was measured, more often than not."""
    for title in frame.columns:
        if title in taken:
            continue
        cells = [str(cell) for cell in frame[title].head(20).to_list() if cell not in (None, "")]
        if cells and not any(re.fullmatch(r"[-+−]?[\d.,'\s]+(e[-+]?\d+)?%?", cell) for cell in cells):
            return title
    return None


def still_open(columns: Sequence[TableColumn], texts: Mapping[str, str]) -> str:
    """What has to be said before a table can be read; empty if nothing has."""
    roles = {column.role for column in columns}
    if texts.get("layout") in LAYOUTS:
        return ""
    wanted = [] if roles & set(PROBES) else ["the option"]
    wanted += [] if roles & set(RESULTS) else ["the value"]
    said = f"Say which column is {' and which is '.join(wanted)}, and look again." if wanted else ""
    return " ".join(part for part in (said, _unsaid(columns)) if part)


def _unsaid(columns: Sequence[TableColumn]) -> str:
    """The sentence about columns of which somebody has to say which error bar they are."""
    names = [column.title for column in columns if column.role == OPEN]
    if not names:
        return ""
    looks = "looks like an error bar" if len(names) == 1 else "look like an error bar"
    it = "it is" if len(names) == 1 else "each of them is"
    return f"{some_of(list(map(repr, names)))} {looks}: say what {it}, or leave it out, and look again."
