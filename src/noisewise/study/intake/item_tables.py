"""Tables of items: one row for an option and an item, told together, option by option in their order."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from noisewise.core.blocks import Floats
from noisewise.core.checks import nearest
from noisewise.core.sequences import MadeOnDemand
from noisewise.core.text import check_texts, printable
from noisewise.study.inputs.items import Places, item_name
from noisewise.study.inputs.number_columns import read_column
from noisewise.study.inputs.tables import as_texts
from noisewise.study.intake.corrections import NAMED
from noisewise.study.intake.entry import find_job, find_option
from noisewise.study.intake.item_entry import amended_items, check_items_belong, items_summary, unknown_item
from noisewise.study.intake.parsed_table import Watch
from noisewise.study.log.item_order import told_in, why_not_next
from noisewise.study.log.items import ROUNDING, Answers, ToldItems
from noisewise.study.log.state import State
from noisewise.study.log.told import Measurement, measurement_of

if TYPE_CHECKING:
    from noisewise.study.intake.columns.understanding import Understood

#: Columns of a table of items.
COLUMNS = ("option", "item", "value", "job", "by")


class ItemTable(NamedTuple):
    """A table of items as it was read, before it is compared with a study."""

    option: pl.Series  # texts
    item: NDArray[np.int64]  # places in ``names``
    value: Floats  # NaN where nothing was filled in
    job: pl.Series | None
    by: pl.Series | None
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


def read_item_table(table: pl.DataFrame) -> ItemTable:
    """Check the columns of a table of items."""
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


def _values(column: pl.Series) -> Floats:
    """The values, NaN where a cell is empty."""
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return column.cast(pl.Float64).fill_null(np.nan).to_numpy()
    if column.dtype == pl.String:
        column = column.str.strip_chars()
        column = column.set(column == "", None)
    return np.array(read_column(column), dtype=np.float64)


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
            'why with amend="reason".'
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


def happened_of(taken: TakenItems) -> "RehearsedItems":
    """The events of a table of items."""
    corrections = [("amend", body) for body in taken.corrections]
    return RehearsedItems([*corrections, *(("tell", body) for body in taken.bodies)])


class RehearsedItems(list[tuple[str, dict[str, Any]]]):
    """Events that were tried one after the other: each may depend on those before it."""

    rehearsed = True
