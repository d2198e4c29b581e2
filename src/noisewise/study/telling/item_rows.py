"""Items as they are told: of one option, or a table with one row for an option and an item."""

import math
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.core.blocks import Floats
from noisewise.core.checks import nearest
from noisewise.core.sequences import MadeOnDemand
from noisewise.core.text import check_texts, composed, printable
from noisewise.study.log.items import ROUNDING, Answers, ItemAnswers, ToldItems, told_in, why_not_next
from noisewise.study.log.looks import is_once
from noisewise.study.log.state import State
from noisewise.study.log.told import Measurement, measurement_of
from noisewise.study.telling.error_bars import ITEMS
from noisewise.study.telling.finding import NAMED, Watch, find_job, find_option
from noisewise.study.telling.items import Places, item_name, read_values, write_places, write_values

if TYPE_CHECKING:  # one measurement is recorded without the library of tables
    import polars as pl

    from noisewise.study.telling.understanding import Understood

#: What items bring themselves, or make meaningless.
_INSTEAD = (
    "value", "se", "var", "sd", "n", "ci", "level", "values", "successes", "trials", "plus", "minus", "block",
    "instrument",
)  # fmt: skip


def items_content(state: State, given: Mapping[str, Any], where: str) -> dict[str, Any]:
    """What a measurement holds of the items that were told, whether or not they come next.

    Args:
        state: The study before.
        given: What was told; ``items`` maps names to values.
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


def content_of(state: State, names: Sequence[str], values: Sequence[Any], where: str) -> dict[str, Any]:
    """What a measurement of these items holds, in the order that all options share; new ones come last."""
    items = state.items
    numbers = _numbers(state, names, values, where)
    known = items.place
    places = np.array([known.get(name, -1) for name in names], dtype=np.int64)
    new = np.flatnonzero(places < 0)
    if new.size and items.pool is not None:
        raise unknown_item(state, names[int(new[0])], where)
    if len(set(names)) < len(names):
        raise ValueError(f"{where}an item stands twice among the items told; each counts once.")
    fresh = [item_name(names[at]) for at in new.tolist()]
    places[new] = len(items.names) + np.arange(new.size)
    order = np.argsort(places)
    content = items_summary(items, numbers[order], places[order])
    return content | ({"names": fresh} if fresh else {})


def items_summary(items: ItemAnswers, numbers: Floats, places: Places) -> dict[str, Any]:
    """What a measurement holds of values at rising places."""
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
    """The content of a measurement with some of its items corrected."""
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
    """Refuse items that were told before or do not come next."""
    if body["kind"] != ITEMS:
        return
    places = state.items.read(body).places
    if (why := why_not_next(state, body["option"], places, body.get("job"))) is not None:
        raise ValueError(f"{where}{why}. `study.next_items({body['option']!r})` says which come next.")


def _numbers(state: State, names: Sequence[str], values: Sequence[Any], where: str) -> Floats:
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

    option: "pl.Series"  # texts
    item: NDArray[np.int64]  # places in ``names``
    value: Floats  # NaN where nothing was filled in
    job: "pl.Series | None"
    by: "pl.Series | None"
    names: list[str]  # of the items, in the order of their first rows


class ItemGroup(NamedTuple):
    """Rows that become one measurement."""

    option: str
    job: str | None
    by: str | None
    rows: NDArray[np.int64]


class ItemChange(NamedTuple):
    """An item that was told with another value."""

    row: int  # in its table, from 1
    option: str
    item: str
    number: int  # of the measurement
    before: float
    value: float

    def __str__(self) -> str:
        was = f"item {self.item!r} of {self.option} was told as {self.before:g} (m-{self.number})"
        return f"row {self.row}: {was}, and the row says {self.value:g}"


class TakenItems(MadeOnDemand[Measurement]):
    """The measurements that a table of items brought, and what became of its rows."""

    #: How the table was read.
    understood: "Understood | None" = None

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.first = 1  # the number of the first measurement
        self.known = 0  # rows that were told before, with the same value
        self.empty = 0  # rows without a value
        self.items = 0  # rows that were told
        self.unasked = 0  # measurements that no suggestion asked for
        self.voided: list[str] = []
        self.corrections: list[dict[str, Any]] = []  # bodies of events "amend"
        self.missing: list[str] = []

    @property
    def amended(self) -> list[Measurement]:
        """Measurements of which items were corrected."""
        return [measurement_of(body["number"], body["content"]) for body in self.corrections]

    def __len__(self) -> int:
        return len(self.bodies)

    def make(self, place: int) -> Measurement:
        """The measurement at a place."""
        return measurement_of(self.first + place, self.bodies[place])

    def with_notes(self) -> Iterator[Measurement]:
        """Those about which there is something to say: none."""
        return iter(())


def read_item_table(table: "pl.DataFrame") -> ItemTable:
    """Check the columns of a table of items."""
    import polars as pl

    from noisewise.study.tables.sheet import as_texts

    for column in table.columns:
        if column not in COLUMNS:
            raise ValueError(
                f"`measurements` has a column {column!r} that means nothing beside a column of items; drop "
                f"it. Known: {', '.join(COLUMNS)}.{nearest(column, COLUMNS)}"
            )
    texts = {
        name: as_texts("measurements", table[name])
        for name in ("option", "item", "job", "by")
        if name in table.columns
    }
    if not {"option", "job"} & set(texts) or "value" not in table.columns:
        raise ValueError("`measurements` must have the columns option (or job), item and value.")
    for name, cells in texts.items():
        check_texts(name, cells.unique(maintain_order=True).to_list())
    values = _values(table["value"])
    nameless = texts["item"].is_null().to_numpy() & ~np.isnan(values)
    if nameless.any():
        raise ValueError(f"row {int(np.argmax(nameless)) + 1}: `item` must not be empty in a table of items.")
    names = texts["item"].fill_null("").unique(maintain_order=True)
    codes = (
        texts["item"]
        .fill_null("")
        .to_frame()
        .join(
            pl.DataFrame({"item": names, "code": np.arange(names.len())}),
            on="item",
            how="left",
            maintain_order="left",
        )
    )
    option = texts.get("option", pl.Series("option", [None] * table.height, dtype=pl.String))
    return ItemTable(
        option, codes["code"].to_numpy(), values, texts.get("job"), texts.get("by"), names.to_list()
    )


def _values(column: "pl.Series") -> Floats:
    """The values, NaN where a cell is empty."""
    import polars as pl

    from noisewise.study.tables.cells import read_numbers

    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return column.cast(pl.Float64).fill_null(np.nan).to_numpy()
    numbers = read_numbers({"value": column}).columns["value"]
    return numbers.cast(pl.Float64).fill_null(np.nan).to_numpy()


def tell_items(
    state: State, table: ItemTable, *, now: float, match: bool, watch: Watch, amend: str | None = None
) -> TakenItems:
    """Compare a table of items with the study: all of its rows are told, or none."""
    check_items_belong(state, "")
    taken = TakenItems()
    taken.first = len(state.told) + 1
    _check_values(state, table, match)
    filled = ~np.isnan(table.value)
    taken.empty = int(filled.size - filled.sum())
    known = state.items.place
    telling = _Telling(state, table, np.array([known.get(name, -1) for name in table.names], dtype=np.int64))
    groups = _groups(state, table, np.flatnonzero(filled))
    if match:
        groups = [part for group in groups for part in _matched(state, table, group, now)]
    # Answers to suggestions first: what comes next without one depends on them.
    for at, group in enumerate(sorted(groups, key=lambda group: group.job is None)):
        watch("checking", at, len(groups))
        body = telling.body(group, taken)
        if body is not None:
            taken.bodies.append(body)
            taken.items += body["readings"]
            taken.unasked += group.job is None
    taken.corrections = _corrected(state, telling.changes, amend)
    return taken


def _corrected(state: State, changes: list[ItemChange], reason: str | None) -> list[dict[str, Any]]:
    """The events that correct items; without a reason all of them are refused together."""
    if changes and reason is None:
        changes = sorted(changes)
        more = len(changes) - NAMED
        rest = f"; and {more} more like these" if more > 0 else ""
        raise ValueError(
            f"{'; '.join(map(str, changes[:NAMED]))}{rest}. Nothing was told: if these are corrections, say "
            'why with `amend="reason"`.'
        )
    told: dict[int, dict[str, float]] = {}
    for change in changes:
        told.setdefault(change.number, {})[change.item] = change.value
    contents = {number: amended_items(state, number, items) for number, items in sorted(told.items())}
    return [{"number": n, "reason": reason, "content": content} for n, content in contents.items()]


def _check_values(state: State, table: ItemTable, match: bool) -> None:
    low, high = state.items.low, state.items.high
    slack = ROUNDING * max(abs(low), abs(high))
    with np.errstate(invalid="ignore"):
        bad = ~((table.value >= low - slack) & (table.value <= high + slack))
    if match:
        bad &= ~np.isnan(table.value)
    if bad.any():
        row = int(np.argmax(bad))
        name, value = table.names[table.item[row]], table.value[row]
        what = (
            "has no value: one that could not be measured counts as failed"
            if np.isnan(value)
            else f"must have a value from {low:g} to {high:g} (`measure`, which a study is made with); got "
            f"{value:g}"
        )
        raise ValueError(f"row {row + 1}: item {printable(name)!r} {what}.")


def _groups(state: State, table: ItemTable, rows: NDArray[np.int64]) -> list[ItemGroup]:
    """Rows of the same option, suggestion and person."""
    import polars as pl

    keys = {"option": table.option, "job": table.job, "by": table.by}
    present = {name: column for name, column in keys.items() if column is not None}
    frame = pl.DataFrame(present).with_row_index("row")[rows]
    groups = []
    for key, part in frame.group_by(list(present), maintain_order=True):
        said = dict(zip(present, key, strict=True))
        where = f"row {int(part['row'][0]) + 1}: "
        job = None
        if said.get("job") is not None:
            job = find_job(state, said["job"], where)
            if said.get("option") not in (None, job.option):
                raise ValueError(f"{where}{job.id} asks for {job.option}; got {said['option']!r}.")
        option = job.option if job is not None else find_option(state, said.get("option"), where)
        found = part["row"].to_numpy().astype(np.int64)
        groups.append(ItemGroup(option, None if job is None else job.id, said.get("by"), found))
    return groups


def _matched(state: State, table: ItemTable, group: ItemGroup, now: float) -> list[ItemGroup]:
    """Rows that name no suggestion, divided among those under way that asked for their items."""
    if group.job is not None:
        return [group]
    parts, rest = [], group.rows
    codes = {name: code for code, name in enumerate(table.names)}
    for job in state.open_jobs(now):
        if job.option == group.option and rest.size:
            asked = [codes[name] for name in job.items if name in codes]
            mine = np.isin(table.item[rest], asked)
            if job.fresh:
                new = [code for code, name in enumerate(table.names) if name not in state.items.place]
                mine |= np.isin(table.item[rest], new)
            if mine.any():
                parts.append(group._replace(job=job.id, rows=rest[mine]))
            rest = rest[~mine]
    return [*parts, *([group._replace(rows=rest)] if rest.size else [])]


class _Telling:
    """Groups that are told one after the other; each knows what those before it told."""

    def __init__(self, state: State, table: ItemTable, places: Places) -> None:
        self._state, self._table, self._places = state, table, places
        self._answers: dict[str, Answers] = {}
        self._n_names = len(state.items.names)
        self.changes: list[ItemChange] = []

    def body(self, group: ItemGroup, taken: TakenItems) -> dict[str, Any] | None:
        """The body of the event that tells a group; None if nothing of it is new."""
        table, items = self._table, self._state.items
        if group.option not in self._answers:
            self._answers[group.option] = items.of(self._state.index[group.option]).copy()
        answers = self._answers[group.option]
        rows = self._once(group)
        taken.known += group.rows.size - rows.size
        codes = table.item[rows]
        new = self._places[codes] < 0
        if new.any() and items.pool is not None:
            row = int(rows[np.argmax(new)])
            raise unknown_item(self._state, table.names[table.item[row]], f"row {row + 1}: ")
        fresh = [item_name(table.names[code]) for code in codes[new].tolist()]
        self._places[codes[new]] = self._n_names + np.arange(len(fresh))
        self._n_names += len(fresh)
        order = np.argsort(self._places[codes])
        rows, places = rows[order], self._places[codes][order]
        before = answers.has(places)
        self._check_same(group.option, answers, rows[before], places[before])
        taken.known += int(before.sum())
        rows, places = rows[~before], places[~before]
        if not rows.size:
            return None
        self._check_next(group, answers, rows, places)
        numbers = np.clip(table.value[rows], items.low, items.high)
        answers.put(ToldItems(places, items.unit(numbers)))
        content = {"option": group.option} | items_summary(items, numbers, places)
        said = {"names": fresh or None, "job": group.job, "by": group.by}
        return content | {name: part for name, part in said.items() if part is not None}

    def _once(self, group: ItemGroup) -> NDArray[np.int64]:
        """The rows without those that say the same again."""
        codes = self._table.item[group.rows]
        _, first, back = np.unique(codes, return_index=True, return_inverse=True)
        if first.size == codes.size:
            return group.rows
        values = self._table.value[group.rows]
        apart = values != values[first][back]
        if apart.any():
            at = int(np.argmax(apart))
            raise ValueError(
                f"row {group.rows[at] + 1}: item {self._table.names[codes[at]]!r} of {group.option} "
                "stands twice in the table, with different values; keep the row that is right."
            )
        return group.rows[np.sort(first)]

    def _check_same(self, option: str, answers: Answers, rows: NDArray[np.int64], places: Places) -> None:
        state = self._state
        told, said = answers.at(places), state.items.unit(self._table.value[rows])
        mine = state.items.of(state.index[option])
        for at in np.flatnonzero(told != said).tolist():
            name, row = self._table.names[self._table.item[rows[at]]], int(rows[at]) + 1
            place = int(places[at])
            if place >= len(state.items.names) or not mine.has(places[at : at + 1])[0]:
                raise ValueError(
                    f"row {row}: item {name!r} of {option} stands twice, with different values; keep the row "
                    "that is right."
                )
            before = state.items.back(float(told[at]))
            value = float(self._table.value[rows[at]])
            self.changes.append(ItemChange(row, option, name, told_in(state, option, place), before, value))

    def _check_next(
        self, group: ItemGroup, answers: Answers, rows: NDArray[np.int64], places: Places
    ) -> None:
        why = why_not_next(self._state, group.option, places, group.job, answers)
        if why is not None:
            raise ValueError(f"row {int(rows.min()) + 1} ({group.option}): {why}.")


def happened_of(taken: TakenItems) -> list[tuple[str, dict[str, Any]]]:
    """The events of a table of items."""
    corrections = [("amend", body) for body in taken.corrections]
    return [*corrections, *(("tell", body) for body in taken.bodies)]
