"""Rows with items: of one option, or a table with one row for an option and an item."""

import math
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.core.blocks import Floats
from noisewise.core.checks import nearest
from noisewise.core.text import check_texts, composed, printable
from noisewise.study.log.items import ROUNDING, ItemAnswers, told_in, why_not_next
from noisewise.study.log.looks import is_once
from noisewise.study.log.state import State
from noisewise.study.telling.error_bars import ITEMS
from noisewise.study.telling.finding import NAMED, find_job, find_option
from noisewise.study.telling.items import (
    Places,
    item_name,
    read_places,
    read_values,
    write_places,
    write_values,
)

if TYPE_CHECKING:  # one measurement is recorded without the library of tables
    import polars as pl

#: What items bring themselves, or make meaningless.
_INSTEAD = (
    "value", "se", "var", "sd", "n", "ci", "level", "values", "successes", "trials", "plus", "minus", "block",
    "instrument",
)  # fmt: skip


def items_content(state: State, given: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return what a measurement holds of items, whether or not they come next.

    Args:
        state: The study before.
        given: The arguments of `tell`; ``items`` maps names to values.
        where: How messages begin.
    """
    check_items_belong(state, where)
    for name in _INSTEAD:
        if given.get(name) is not None:
            raise ValueError(
                f"{where}`items=` bring their own value and error, of one option and in no block; leave "
                f"{name}= out."
            )
    told = given["items"]
    if not isinstance(told, Mapping) or not told:
        raise TypeError(
            f'{where}`items` must map names of items to values, such as {{"q17": 1, "q18": 0}}; got '
            f"{printable(repr(told)[:60])}."
        )
    names = [composed(name) if type(name) is str else item_name(name) for name in told]
    return content_of(state, names, list(told.values()), where)


def check_items_belong(state: State, where: str) -> None:
    """Refuse items where options are not compared one by one."""
    if state.model.uses_features:
        raise ValueError(
            f"{where}items are compared option by option, which the {state.model.model} model does not do: "
            'use `model="independent"`, or tell `successes=` and `trials=` of items that were drawn '
            "anew for every "
            "option."
        )
    if is_once(state):
        raise ValueError(
            f"{where}items do not go with `final=True`: a bound for one look does not hold for them. Make a "
            "new study."
        )
    if state.specification.value_scale.log and state.items.low <= 0.0:
        raise ValueError(
            f'{where}items in a study with `scale="log"` need bounds in `measure`, the least and the largest '
            "value that an item can have, both above 0: make the study with them."
        )
    if len(state.told) and not state.begins_with_items:
        raise ValueError(
            f"{where}this study began with other measurements, and its error probability is divided for "
            "them: items are told first, or to a study made with `items=`. Make a new one, and tell it both."
        )


def content_of(
    state: State, names: Sequence[str], values: Sequence[Any], where: str, rows: Places | None = None
) -> dict[str, Any]:
    """Return what a measurement of these items holds, in the order that all options share; new ones last.

    Args:
        state: The study before.
        names: The items.
        values: Their values.
        where: The beginning of messages.
        rows: Rows of a table that the items are in, from 0, for messages.
    """
    items = state.items
    numbers = _numbers(state, names, values, where, rows)
    known = items.place
    places = np.array([known.get(name, -1) for name in names], dtype=np.int64)
    new = np.flatnonzero(places < 0)
    if new.size and items.pool is not None:
        where = where if rows is None else f"row {rows[new[0]] + 1}: "
        raise unknown_item(state, names[int(new[0])], where)
    if len(set(names)) < len(names):
        raise ValueError(f"{where}an item is among the items twice; each counts once.")
    fresh = [item_name(names[at]) for at in new.tolist()]
    places[new] = len(items.names) + np.arange(new.size)
    order = np.argsort(places)
    content = items_summary(items, numbers[order], places[order])
    return content | ({"names": fresh} if fresh else {})


def items_summary(items: ItemAnswers, numbers: Floats, places: Places) -> dict[str, Any]:
    """Return what a measurement holds of values at rising places."""
    count, (mean, scatter, width) = numbers.size, items.mean(numbers)
    return {
        "value": mean,
        "kind": ITEMS,
        # A mean of n numbers in [0, 1] is 1/(2√n)-sub-Gaussian whatever its expectation (Hoeffding).
        "sigma": 0.5 * width / math.sqrt(count),
        "shown": math.sqrt(scatter / count / count),
        "readings": count,
        "places": write_places(places),
        "items": write_values(numbers),
    }


def amended_items(state: State, number: int, told: Any) -> dict[str, Any]:
    """Return the content of a measurement with some of its items corrected."""
    old = state.told[number - 1]
    before = state.items.read(old)
    given = items_content(state, {"items": told}, "")
    after = state.items.read(given)
    numbers = read_values(old["items"], old["readings"])
    strangers = after.places[~np.isin(after.places, before.places)]
    if strangers.size:
        place = int(strangers[0])
        name = state.items.names[place] if place < len(state.items.names) else given["names"][0]
        raise ValueError(
            f"m-{number} has no item {name!r}: correct the items that it has, or tell others with `tell()`."
        )
    numbers[np.searchsorted(before.places, after.places)] = read_values(given["items"], given["readings"])
    return old | items_summary(state.items, numbers, before.places)


def check_next(state: State, body: dict[str, Any], where: str = "") -> None:
    """Refuse items that are recorded already or do not come next."""
    if body["kind"] != ITEMS:
        return
    places = state.items.read(body).places
    if (why := why_not_next(state, body["option"], places, body.get("job"))) is not None:
        raise ValueError(f"{where}{why}. `study.next_items({body['option']!r})` says which come next.")


def _numbers(
    state: State, names: Sequence[str], values: Sequence[Any], where: str, rows: Places | None
) -> Floats:
    low, high = state.items.low, state.items.high
    slack = ROUNDING * max(abs(low), abs(high))
    try:
        if any(isinstance(value, str) for value in values):
            raise TypeError
        numbers = np.array(values, dtype=np.float64)
        good = (numbers >= low - slack) & (numbers <= high + slack)
    except (TypeError, ValueError, OverflowError):
        good = np.array([_is_number(value) and low - slack <= value <= high + slack for value in values])
        numbers = np.zeros(len(values))
    if good.all() and numbers.shape == (len(values),):
        return np.clip(numbers, low, high)
    at = int(np.argmin(good))
    where = where if rows is None else f"row {rows[at] + 1}: "
    if values[at] is None or values[at] != values[at]:
        said = "`items` must have a value for every item: one that could not be measured counts as failed"
    else:
        said = f"`items` must have values from {low:g} to {high:g} (`measure`, which a study is made with)"
    raise ValueError(f"{where}{said}; got {printable(repr(values[at])[:60])} for {names[at]!r}.")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number | np.bool_)


def unknown_item(state: State, name: str, where: str) -> KeyError:
    """The refusal of an item that the pool does not have."""
    close = get_close_matches(name, state.items.names[:10_000], n=2)
    hint = f" Nearest: {', '.join(map(printable, close))}." if close else ""
    return KeyError(
        f"{where}{printable(name[:60])!r} is not among the {len(state.items.names):,} items of this study."
        f"{hint}"
    )


#: Columns of a table of items.
COLUMNS = ("option", "item", "value", "job", "by")


class ItemTable(NamedTuple):
    """A table of items as it was read, before it is compared with a study."""

    frame: "pl.DataFrame"  # row (from 0), and the columns option, job, by that there are, as texts
    item: NDArray[np.int64]  # places in ``names``
    value: Floats  # NaN where nothing was filled in
    names: list[str]  # of the items, in the order of their first rows


class ItemGroup(NamedTuple):
    """Rows that become one measurement."""

    option: str
    job: str | None
    by: str | None
    rows: NDArray[np.int64]


class ItemChange(NamedTuple):
    """An item that was recorded with another value."""

    row: int  # in its table, from 1
    option: str
    item: str
    number: int  # of the measurement
    before: float
    value: float

    def __str__(self) -> str:
        was = f"item {self.item!r} of {self.option} was told as {self.before:g} (m-{self.number})"
        return f"row {self.row}: {was}, and the row says {self.value:g}"


class ItemRows(NamedTuple):
    """What a table of items says that a study does not have."""

    study: State  # with what is new
    bodies: list[dict[str, Any]]  # of new measurements
    changes: list[ItemChange]


def read_item_table(table: "pl.DataFrame") -> ItemTable:
    """Check the columns of a table of items."""
    import polars as pl

    from noisewise.study.tables.cells import read_numbers
    from noisewise.study.tables.sheet import as_texts

    for column in table.columns:
        if column not in COLUMNS:
            raise ValueError(
                f"`measurements` has a column {column!r} that means nothing beside a column of items; drop "
                f"it. Known: {', '.join(COLUMNS)}.{nearest(column, COLUMNS)}"
            )
    if not {"option", "job"} & set(table.columns) or "value" not in table.columns:
        raise ValueError("`measurements` must have the columns option (or job), item and value.")
    value, others = table["value"], [name for name in table.columns if name != "value"]
    texts = {name: as_texts("measurements", table[name]) for name in others}
    for name, cells in texts.items():
        check_texts(name, cells.unique(maintain_order=True).to_list())
    if not value.dtype.is_numeric() and value.dtype != pl.Boolean:
        value = read_numbers({"value": value}).columns["value"]
    numbers = value.cast(pl.Float64).fill_null(np.nan).to_numpy()
    nameless = texts["item"].is_null().to_numpy() & ~np.isnan(numbers)
    if nameless.any():
        raise ValueError(f"row {int(np.argmax(nameless)) + 1}: `item` must not be empty in a table of items.")
    item = texts.pop("item").fill_null("")
    names = item.unique(maintain_order=True).to_list()
    codes = {name: code for code, name in enumerate(names)}
    places = np.array([codes[name] for name in item.to_list()], dtype=np.int64)
    return ItemTable(pl.DataFrame(texts).with_row_index("row"), places, numbers, names)


def match_items(state: State, table: ItemTable, *, now: float, match: bool) -> ItemRows:
    """Compare a table of items with a study: which rows are new, recorded already, or different.

    Args:
        state: The study before.
        table: The table.
        now: The time, which decides which suggestions are under way.
        match: Whether rows that name no suggestion answer those under way, and empty rows are left out.
    """
    check_items_belong(state, "")
    empty = np.isnan(table.value)
    if empty.any() and not match:
        row = np.array([int(np.argmax(empty))])
        _numbers(state, [table.names[code] for code in table.item[row]], [math.nan], "", row)
    groups = _groups(state, table, np.flatnonzero(~empty))
    if match:
        groups = [part for group in groups for part in _matched(state, table, group, now)]
    found = ItemRows(state.trial(), [], [])
    # Answers to suggestions first: what comes next without one depends on them.
    for group in sorted(groups, key=lambda group: group.job is None):
        _add(state, table, group, found)
    return found


def _add(state: State, table: ItemTable, group: ItemGroup, found: ItemRows) -> None:
    """Add what a group says to what was found before it."""
    items, row = found.study.items, state.index[group.option]
    _, first, back = np.unique(table.item[group.rows], return_index=True, return_inverse=True)
    values = table.value[group.rows]
    _refuse_twice(table, group, group.rows[values != values[first][back]])
    rows = group.rows[np.sort(first)]
    names, values = [table.names[code] for code in table.item[rows].tolist()], table.value[rows]
    places = np.array([items.place.get(name, -1) for name in names], dtype=np.int64)
    answers = items.of(row)
    before = (places >= 0) & answers.has(places)
    other = np.flatnonzero(before)[answers.at(places[before]) != items.unit(values[before])]
    _refuse_twice(table, group, rows[other[~state.items.of(row).has(places[other])]])
    for at in other.tolist():
        number, old = told_in(state, group.option, int(places[at])), float(answers.at(places[[at]])[0])
        found.changes.append(
            ItemChange(int(rows[at]) + 1, group.option, names[at], number, items.back(old), float(values[at]))
        )
    new = np.flatnonzero(~before)
    if not new.size:
        return
    content = content_of(found.study, [names[at] for at in new], values[new].tolist(), "", rows[new])
    told = read_places(content["places"], new.size)
    if (why := why_not_next(found.study, group.option, told, group.job)) is not None:
        raise ValueError(f"row {int(rows[new].min()) + 1} ({group.option}): {why}.")
    said = {"job": group.job, "by": group.by}
    body = (
        {"option": group.option} | content | {name: part for name, part in said.items() if part is not None}
    )
    items.tell(row, len(state.told) + 1 + len(found.bodies), body)
    found.bodies.append(body)


def _refuse_twice(table: ItemTable, group: ItemGroup, rows: NDArray[np.int64]) -> None:
    """Refuse rows with another value for an item than rows above them have."""
    if rows.size:
        raise ValueError(
            f"row {rows[0] + 1}: item {table.names[table.item[rows[0]]]!r} of {group.option} is in the table "
            "twice, with different values; keep the row that is right."
        )


def corrected_items(state: State, changes: list[ItemChange], reason: str | None) -> list[dict[str, Any]]:
    """Return the events that correct items; without a reason all of them are refused together."""
    if changes and reason is None:
        changes = sorted(changes)
        more = len(changes) - NAMED
        rest = f"; and {more} more like these" if more > 0 else ""
        raise ValueError(
            f"{'; '.join(map(str, changes[:NAMED]))}{rest}. Nothing was recorded: if these are corrections, "
            'say why with `amend="reason"`.'
        )
    told: dict[int, dict[str, float]] = {}
    for change in changes:
        told.setdefault(change.number, {})[change.item] = change.value
    contents = {number: amended_items(state, number, items) for number, items in sorted(told.items())}
    return [{"number": n, "reason": reason, "content": content} for n, content in contents.items()]


def _groups(state: State, table: ItemTable, rows: NDArray[np.int64]) -> list[ItemGroup]:
    """Rows of the same option, suggestion and person."""
    said = [name for name in table.frame.columns if name != "row"]
    groups = []
    for key, part in table.frame[rows].group_by(said, maintain_order=True):
        given = dict(zip(said, key, strict=True))
        where = f"row {int(part['row'][0]) + 1}: "
        job = None
        if given.get("job") is not None:
            job = find_job(state, given["job"], where)
            if given.get("option") not in (None, job.option):
                raise ValueError(f"{where}{job.id} asks for {job.option}; got {given['option']!r}.")
        option = job.option if job is not None else find_option(state, given.get("option"), where)
        found = part["row"].to_numpy().astype(np.int64)
        groups.append(ItemGroup(option, None if job is None else job.id, given.get("by"), found))
    return groups


def _matched(state: State, table: ItemTable, group: ItemGroup, now: float) -> list[ItemGroup]:
    """Divide rows that name no suggestion among those under way that asked for their items."""
    if group.job is not None:
        return [group]
    parts, rest = [], group.rows
    names = np.array(table.names, dtype=object)
    for job in state.open_jobs(now):
        if job.option == group.option and rest.size:
            asked = set(job.items)
            mine = np.array(
                [
                    n in asked or (job.fresh > 0 and n not in state.items.place)
                    for n in names[table.item[rest]]
                ]
            )
            if mine.any():
                parts.append(group._replace(job=job.id, rows=rest[mine]))
            rest = rest[~mine]
    return [*parts, *([group._replace(rows=rest)] if rest.size else [])]
