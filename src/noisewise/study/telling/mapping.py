"""A declared reading: from the columns of a table to roles, by their names, or as a person maps them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from noisewise.core.checks import nearest
from noisewise.study.tables.columns import said_by
from noisewise.study.tables.names import columns_called, key_of
from noisewise.study.tables.wording import Wording
from noisewise.study.telling.roles import ERROR_COLUMNS, FOR_PEOPLE, ROLE

#: In the place of a column: it is not used, on purpose.
LEFT_OUT = "-"
#: What was measured is read without being mapped, if the table calls it so.
NAMED = ("option", "plus", "minus", "job", "item")
#: Columns that change what a row says: a map that does not use them has to say so.
TELLING = (*NAMED, "block", "instrument", "key")
_FIELD = re.compile(r"\{([^{}]+)\}")


class Mapped(NamedTuple):
    """Columns by role."""

    sources: dict[str, str]  # a column, or a pattern with columns in braces
    unused: list[str]
    guesses: list[str]


def map_columns(
    frame: pl.DataFrame, wanted: Mapping[str, str] | None, ignore: Sequence[str], words: Wording
) -> Mapped:
    """Which column is what; one sentence about the first that is not clear.

    Args:
        frame: The table.
        wanted: Roles to columns, or to patterns with columns in braces; None: columns are called like roles.
        ignore: Columns that are not used, on purpose.
        words: How messages call what a person can say.
    """
    ignoring = "--ignore" if words.command else "`ignore`"
    left_out = [_called(frame.columns, name, ignoring) for name in ignore]
    columns = [name for name in frame.columns if name not in (*left_out, *FOR_PEOPLE)]
    if wanted is None:
        return _by_name(frame, columns, words)
    wanted = dict(wanted)
    for role in wanted:
        if role not in ROLE:
            raise ValueError(
                f"{words.called_map} knows {', '.join(ROLE)}; got {role!r}.{nearest(role, tuple(ROLE))}"
            )
    dropped = {role for role, column in wanted.items() if column == LEFT_OUT}
    sources = {
        role: _source(columns, column, words) for role, column in wanted.items() if role not in dropped
    }
    if not {"option", "plus", "job"} & set(sources):
        named = {role: found[0] for role in NAMED if len(found := columns_called(columns, role)) == 1}
        sources = {**{role: column for role, column in named.items() if role not in dropped}, **sources}
    used = {one for source in sources.values() for one in _columns_in(source, frame.columns)}
    left = [name for name in columns if name not in used and key_of(name) not in dropped]
    _check_telling(left, sources, words)
    _check_error_bar(left, sources, words)
    guesses = [
        f"{role} from {column!r}" for role, column in sources.items() if wanted.get(role, role) != column
    ]
    return Mapped(sources, [name for name in frame.columns if name in left or name in left_out], guesses)


def take_columns(frame: pl.DataFrame, mapped: Mapped) -> dict[str, pl.Series]:
    """The columns of a table by role, under the names of the roles."""
    return {
        role: (frame[source] if source in frame.columns else _filled(frame, source)).alias(role)
        for role, source in mapped.sources.items()
    }


def _by_name(frame: pl.DataFrame, columns: list[str], words: Wording) -> Mapped:
    sources: dict[str, str] = {name: name for name in columns if name in ROLE}
    guesses, unknown = [], []
    for column in columns:
        role = key_of(column)
        if column in sources:
            continue
        if role in ROLE and role in sources:
            raise ValueError(
                f"the table has two columns that may be {role}, {sources[role]!r} and {column!r}: say "
                f"{words.ignore(column)} to use the first."
            )
        if role not in ROLE:
            unknown.append(column)
            continue
        sources[role] = column
        guesses.append(f"{role} from {column!r}")
    ordered = {key_of(column): column for column in columns}
    left = [
        name for name in frame.columns if (name not in columns or name in unknown) and name not in FOR_PEOPLE
    ]
    if unknown:
        guesses.append(f"{', '.join(map(repr, unknown))} not used")
    return Mapped({role: sources[role] for role in ordered if role in sources}, left, guesses)


def _source(columns: Sequence[str], column: str, words: Wording) -> str:
    """A column, or a pattern, with columns as the table spells them."""
    if "{" not in column or column in columns:
        return _called(columns, column, words.called_map)
    return _FIELD.sub(lambda field: "{" + _called(columns, field[1], words.called_map) + "}", column)


def _called(columns: Sequence[str], name: str, said: str) -> str:
    found = columns_called(columns, name)
    if len(found) == 1:
        return found[0]
    listed = ", ".join(map(repr, columns))
    if found:
        raise ValueError(f"{said}: {name!r} may be {' or '.join(map(repr, found))}; write which.")
    raise ValueError(
        f"{said} must name columns of the table, which has {listed}; got {name!r}.{nearest(name, columns)}"
    )


def _columns_in(source: str, columns: Sequence[str]) -> list[str]:
    return [source] if source in columns else _FIELD.findall(source)


def _filled(frame: pl.DataFrame, pattern: str) -> pl.Series:
    """The texts of a pattern; a cell that is missing cannot be part of a key."""
    names = _FIELD.findall(pattern)
    for name in names:
        empty = frame[name].is_null()
        if empty.any():
            raise ValueError(
                f"row {int(empty.arg_max() or 0) + 1}: column {name!r} has an empty cell, which cannot be "
                f"part of {pattern!r}."
            )
    rows = zip(*(frame[name].to_list() for name in names), strict=True)
    texts = [_FIELD.sub(_next_of(iter(row)), pattern) for row in rows]
    return pl.Series(pattern, texts, dtype=pl.String)


def _next_of(cells: Any) -> Any:
    return lambda _: str(next(cells))


def _check_error_bar(left: Sequence[str], sources: Mapping[str, str], words: Wording) -> None:
    """Refuse to leave out what is called like the error bar of the value."""
    if set(sources) & {*ERROR_COLUMNS, "item"} or "value" not in sources:
        return
    value = said_by(sources["value"])[1]
    for name in left:
        says, stem = said_by(name)
        role = next((role for role in ("se", "sd", "var", "ci") if role in says), None)
        if role is not None and (not stem or stem & value):
            raise ValueError(
                f"the table has {name!r} that looks like the error bar of {sources['value']!r} and is not "
                f"used: say {words.map({**sources, role: name})} to use it, or {words.ignore(name)} to leave "
                "it out."
            )


def _check_telling(left: Sequence[str], sources: Mapping[str, str], words: Wording) -> None:
    """Refuse to leave out blocks or keys without a word."""
    telling = [name for name in left if name in TELLING and name not in sources]
    if not telling:
        return
    added = {**sources, **{name: name for name in telling}}
    listed = f"{'a column' if len(telling) == 1 else 'columns'} {', '.join(map(repr, telling))}"
    raise ValueError(
        f"the table has {listed} that "
        f"{words.called_map} does not use: say {words.map(added)} to take what is there, or "
        f"{words.ignore(*telling)} to leave it out."
    )
