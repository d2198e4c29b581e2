"""From the columns of a table to roles: by their names, or as a person maps them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from noisewise.core.support.checks import nearest
from noisewise.study.inputs.dialects.decimals import looks_numeric, mostly_numeric
from noisewise.study.inputs.dialects.headers import columns_called, key_of
from noisewise.study.inputs.dialects.interval_texts import hold_intervals
from noisewise.study.inputs.dialects.wording import Wording
from noisewise.study.inputs.networks.layouts import looks_like_studies
from noisewise.study.inputs.strange_cells import is_date
from noisewise.study.intake.columns.count_columns import find_counts
from noisewise.study.intake.columns.error_columns import find_error_columns
from noisewise.study.intake.roles import (
    COLUMNS,
    ERROR_COLUMNS,
    FOR_PEOPLE,
    RESULTS,
    ROLE,
    column_for,
)

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
    left_out = [_called(frame.columns, name, "ignore", words) for name in ignore]
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
    _check_error_bar(frame, sources, {*used, *left_out, *(set(columns) - set(left))}, words)
    _check_result(frame.select(columns), sources, words)
    _check_telling(left, sources, words)
    guesses = [
        f"{role} from {column!r}" for role, column in sources.items() if wanted.get(role, role) != column
    ]
    return Mapped(sources, [name for name in frame.columns if name in left or name in left_out], guesses)


def with_option(columns: Sequence[str], wanted: Mapping[str, str] | None, option: str) -> dict[str, str]:
    """A map in which a column holds the options' names, and others are what they were."""
    if wanted is None:
        wanted = {role: found[0] for role in ROLE if len(found := columns_called(columns, role)) == 1}
    return {"option": option, **{role: column for role, column in wanted.items() if role != "option"}}


def take_columns(frame: pl.DataFrame, mapped: Mapped) -> dict[str, pl.Series]:
    """The columns of a table by role, under the names of the roles."""
    return {
        role: (frame[source] if source in frame.columns else _filled(frame, source)).alias(role)
        for role, source in mapped.sources.items()
    }


def suggest_map(frame: pl.DataFrame, known: Mapping[str, str]) -> dict[str, str]:
    """A map that would read a table, as far as names and cells say; for messages."""
    found = dict(known)
    if not {"option", "plus", "job"} & set(found):
        texts = [name for name in frame.columns if not _holds_numbers(frame[name])]
        names = [name for name in texts if not _has_dates(frame[name])]
        numbered = column_for(frame.columns, "option")  # options such as 007
        found |= _suggested("option", names or texts or ([numbered] if numbered else []), found)
    unused = [name for name in frame.columns if name not in found.values() or found.get("n") == name]
    counts = find_counts(frame, unused) if find_error_columns(frame, None, found.values()) is None else {}
    if counts and not set(found) & set(RESULTS):
        found = {role: name for role, name in found.items() if name not in counts.values()} | counts
    elif "value" not in found:
        error = find_error_columns(frame, None, found.values())
        bars = () if error is None else (*error.columns, *error.roles.values())
        numbers = [name for name in frame.columns if mostly_numeric(frame[name]) and name not in bars]
        of_error = [name for name in numbers if error is not None and key_of(name) == error.stem]
        results = [name for name in numbers if not _only_counts(frame[name])]
        found |= _suggested("value", of_error or results or numbers, found)
    if not set(found) & set(ERROR_COLUMNS):
        error = find_error_columns(frame, found.get("value"), found.values())
        found |= {} if error is None else error.roles
    if "sd" in found and "n" not in found:
        found |= _suggested("n", frame.columns, found)
    return {role: found[role] for role in ROLE if role in found}


def _suggested(role: str, columns: Sequence[str], found: Mapping[str, str]) -> dict[str, str]:
    """The column that is called like a role; of options and values also one that is called like no other."""
    free = [name for name in columns if name not in found.values()]
    column = column_for(free, role)
    if column is None and role in ("option", "value"):
        others = [other for other in ROLE if other != role]
        unclaimed = [name for name in free if not any(column_for([name], other) for other in others)]
        column = next(iter(unclaimed or free), None)
    return {} if column is None else {role: column}


def _holds_numbers(column: pl.Series) -> bool:
    """Whether a column holds numbers or intervals, and no names."""
    return mostly_numeric(column) or hold_intervals(column)


def _has_dates(column: pl.Series) -> bool:
    """Whether a column begins with a day: it says when, and not what was measured."""
    if column.dtype != pl.String:
        return column.dtype.is_temporal()
    cells = column.drop_nulls()
    return not cells.is_empty() and is_date(cells[0])


def _only_counts(column: pl.Series) -> bool:
    """Whether cells number the rows: 1, 2, 3, ... from any start, and no fewer than three."""
    numbers = column.cast(pl.String).cast(pl.Int64, strict=False)  # no number if it has a fraction: 1.0
    return numbers.len() > 2 and not numbers.has_nulls() and bool((numbers.diff().drop_nulls() == 1).all())


def _by_name(frame: pl.DataFrame, columns: list[str], words: Wording) -> Mapped:
    sources: dict[str, str] = {name: name for name in columns if name in ROLE}
    guesses = []
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
            _refuse_unknown(frame.select(columns), column, sources, words)
        sources[role] = column
        guesses.append(f"{role} from {column!r}")
    ordered = {key_of(column): column for column in columns}
    left = [name for name in frame.columns if name not in columns and name not in FOR_PEOPLE]
    return Mapped({role: sources[role] for role in ordered if role in sources}, left, guesses)


def _refuse_unknown(frame: pl.DataFrame, column: str, known: Mapping[str, str], words: Wording) -> None:
    if (layout := looks_like_studies(frame.columns)) is not None:
        rows = "a row for each difference" if layout == "network" else "arms"
        raise ValueError(
            f"the table has a column {column!r} that means nothing here, and looks like a table of studies "
            f"with {rows}: say so, {words.layout(layout)}; else leave it out, {words.ignore(column)}."
        )
    number = next((name for name in frame.columns if _is_number(name)), None)
    if number is not None and not known:
        raise ValueError(
            f"the table must have the names of its columns in its first line, such as option,value,se; it "
            f"has {number!r} there: is that line missing?"
        )
    suggested = words.map(suggest_map(frame, known))
    others = [name for name in frame.columns if name != column and key_of(name) not in (*ROLE, *FOR_PEOPLE)]
    # Leaving out one of several would only bring the next one up.
    rest = "; what it does not name is not used" if others else f", or {words.ignore(column)} to leave it out"
    raise ValueError(
        f"the table has a column {column!r} that means nothing here: say which column is which, for instance "
        f"{suggested}{rest}. Known: {', '.join(COLUMNS)}.{nearest(column, COLUMNS)}"
    )


def _is_number(text: str) -> bool:
    return looks_numeric(pl.Series([text], dtype=pl.String))


def _source(columns: Sequence[str], column: str, words: Wording) -> str:
    """A column, or a pattern, with columns as the table spells them."""
    if "{" not in column or column in columns:
        return _called(columns, column, "map", words)
    return _FIELD.sub(lambda field: "{" + _called(columns, field[1], "map", words) + "}", column)


def _called(columns: Sequence[str], name: str, argument: str, words: Wording) -> str:
    found = columns_called(columns, name)
    if len(found) == 1:
        return found[0]
    listed = ", ".join(map(repr, columns))
    said = f"--{argument}" if words.command else f"`{argument}`"
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


def _check_error_bar(frame: pl.DataFrame, sources: Mapping[str, str], used: set[str], words: Wording) -> None:
    """Refuse to leave out what looks like the error bar: rows would say something else."""
    if any(role in ERROR_COLUMNS for role in sources) or "item" in sources:
        return
    found = find_error_columns(frame, sources.get("value"), used)
    if found is None:
        return
    named = " and ".join(map(repr, found.columns))
    bar = "the error bar" + (f" of {sources['value']!r}" if "value" in sources else "")
    looks = f"the table has {named} that {'looks' if len(found.columns) == 1 else 'look'} like {bar}"
    leave = f"{words.ignore(*found.columns)} to leave {'it' if len(found.columns) == 1 else 'them'} out"
    if not found.roles:
        raise ValueError(f"{looks} and is not used: make two columns of it, lo and hi, or say {leave}.")
    needs = " (sd needs n, the number of readings, as well)" if set(found.roles) == {"sd"} else ""
    kept = {role: column for role, column in sources.items() if role in ROLE}
    raise ValueError(
        f"{looks} and {'is' if len(found.columns) == 1 else 'are'} not used: say "
        f"{words.map({**kept, **found.roles})} to use it{needs}, or {leave}."
    )


def _check_result(frame: pl.DataFrame, sources: Mapping[str, str], words: Wording) -> None:
    """Refuse a map without a result where columns look like one: no row would say anything."""
    if {*RESULTS, "item", "ci"} & set(sources):
        return
    suggested = suggest_map(frame, {role: column for role, column in sources.items() if role in ROLE})
    if found := [suggested[role] for role in ("value", "successes", "trials") if role in suggested]:
        named = " and ".join(map(repr, found))
        raise ValueError(
            f"{words.called_map} must name what came out, and the table has {named}: "
            f"say {words.map(suggested)}, or {words.ignore(*found)} to take none."
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
