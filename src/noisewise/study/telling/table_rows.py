"""Tables of results on their way into a log: all rows or none, each row once however often it comes.

Plain tables are read column by column (`PlainRows`), others row by row. Rows that are recorded already are
recognised as single ones are, and by the table they came from (`known_rows`). What is left is new, or
corrects what is recorded.
"""

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.core.checks import AMOUNT, VALUE, nearest
from noisewise.core.sequences import MadeOnDemand
from noisewise.core.text import NAME_LENGTH, NOTE_LENGTH, check_texts, counted, printable, some_of
from noisewise.study.log.events import MANY, TABLE, Event, Happened
from noisewise.study.log.jobs import Job
from noisewise.study.log.log import Log
from noisewise.study.log.specification import ERROR_BARS, Specification
from noisewise.study.log.state import State
from noisewise.study.log.told import Measurement, measurement_of
from noisewise.study.telling.changes import added_options
from noisewise.study.telling.error_bars import KNOWN
from noisewise.study.telling.finding import Watch
from noisewise.study.telling.item_rows import (
    ItemTable,
    corrected_items,
    match_items,
    read_item_table,
)
from noisewise.study.telling.items import write_places
from noisewise.study.telling.known_rows import (
    Repeat,
    changes_in_words,
    corrected,
    note_copies,
    take_given_keys,
    without_equal,
)
from noisewise.study.telling.roles import COUNT, NAME, READINGS, RESULTS, ROLE
from noisewise.study.telling.rows import (
    Body,
    Fates,
    answer,
    read_told,
    recognise,
    still_void,
)

if TYPE_CHECKING:  # one measurement is recorded without the library of tables
    import polars as pl

    from noisewise.study.telling.understanding import Understood

#: Columns of the tables that are read column by column, besides value and se.
_TEXTS = ("block", "instrument", "key", "by", "note")
_PLAIN = frozenset(("option", "value", "se", *_TEXTS))


class Taken(MadeOnDemand[Measurement]):
    """The measurements that a table brought, each made when looked at, and what became of its other rows.

    Attributes:
        understood: How the table was read (`Understood`).
        known: Number of rows that were recorded already.
        voided: Sentences on rows whose measurements were voided.
        amended: Measurements that were corrected.
        missing: Measurements of an earlier version of the table that are not in it.
        empty: Number of rows without a result.
        items: Number of new rows of a table of items.
        unasked: Number of measurements that no suggestion asked for.
    """

    understood: Any = None

    def __init__(
        self, state: State, bodies: Sequence[Body], fates: Fates, corrections: list[Body], *, empty: int = 0
    ) -> None:
        self.bodies, self.fates, self.corrections = bodies, fates, corrections
        self.first = len(state.told) + 1  # the number of the first
        self.known, self.empty = len(fates.known) + len(fates.again), empty
        self.voided: list[str] = []
        self.missing = [f"m-{number}" for number in fates.missing]
        self.items = 0
        self.unasked = len(fates.fresh)
        if not isinstance(bodies, PlainRows):
            self.unasked -= sum("job" in bodies[place] for place in fates.fresh)
        news = np.array(
            [number - 1 for number in fates.skipped if number not in state.skipped], dtype=np.int64
        )
        #: Measurements that rows were known as for the first time, as the log says it.
        self.skipped = write_places(news) if news.size else None

    @property
    def amended(self) -> list[Measurement]:
        """Measurements that were corrected."""
        return [measurement_of(body["number"], body["content"]) for body in self.corrections]

    def happened(self) -> Happened:
        """All that happens: what is known is noted, then corrections, then new measurements."""
        known = [] if self.skipped is None else [("skip", {"measurements": self.skipped})]
        new: Happened = _Tells(self)
        if isinstance(self.bodies, PlainRows) and len(self) >= MANY and not self.fates.notes:
            new = self.bodies.tables(self.fates.fresh) or new
        if not self.corrections and not known:
            return new
        return [*known, *(("amend", body) for body in self.corrections), *new]

    def body(self, at: int) -> Body:
        """The content of a new measurement."""
        place = self.fates.fresh[at]
        body, notes = self.bodies[place], self.fates.notes.get(place)
        return body | {"notes": [*body.get("notes", ()), *notes]} if notes else body

    def __len__(self) -> int:
        return len(self.fates.fresh)

    def make(self, place: int) -> Measurement:
        """The measurement at a place."""
        return measurement_of(self.first + place, self.body(place))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __repr__(self) -> str:
        return repr(list(self))

    def with_notes(self) -> Iterator[Measurement]:
        """Those about which there is something to say."""
        if self.fates.notes or not isinstance(self.bodies, PlainRows):
            yield from (one for one in self if one.notes)


class _Tells(MadeOnDemand[tuple[str, Body]]):
    """The events of new measurements, each made when it is needed."""

    def __init__(self, taken: Taken) -> None:
        self._taken = taken

    def __len__(self) -> int:
        return len(self._taken)

    def make(self, place: int) -> tuple[str, Body]:
        """The event at a place."""
        return "tell", self._taken.body(place)


@dataclass(frozen=True)
class Table:
    """A table of results that is understood, and what is to become of its rows.

    Attributes:
        columns: A list for each column, with None for empty cells, or an array of numbers.
        n_rows: Number of rows.
        items: The same where rows are about items.
        match: Whether rows answer the suggestions under way.
        repeat: Whether rows without keys that equal recorded ones were measured again.
        amend: Why rows that differ from what is recorded are right.
        watch: Called with what is being done, how many rows are done, and how many there are.
    """

    columns: Mapping[str, Sequence[Any]]
    n_rows: int
    items: ItemTable | None
    match: bool = False
    repeat: Repeat = False
    amend: str | None = None
    watch: Watch | None = None

    def report(self, doing: str, done: int, of: int) -> None:
        """Report progress."""
        if self.watch is not None:
            self.watch(doing, done, of)

    def given(self, row: int) -> Body:
        """Return one row as arguments of `tell`."""
        given = {name: cells[row] for name, cells in self.columns.items() if cells[row] is not None}
        if "lo" in given or "hi" in given:
            given["ci"] = (given.pop("lo", math.nan), given.pop("hi", math.nan))
        if "se_up" in given or "se_down" in given:
            given["se"] = (given.pop("se_down", math.nan), given.pop("se_up", math.nan))
        return given

    def is_empty(self, row: int) -> bool:
        """Whether a row has no result."""
        return all(self.columns[name][row] is None for name in RESULTS if name in self.columns)

    def untouched_by(self, news: list[Event]) -> bool:
        """Whether what was found out about the rows holds although these events came between.

        Measurements of others change nothing unless they have a key or answer a suggestion that is named
        here, or come from a table, which may be the same.
        """
        if self.items is not None or self.match:
            return not news
        if any(event.kind != "tell" or {"minus", "row"} & event.body.keys() for event in news):
            return False
        return not any(
            {event.body[name] for event in news if name in event.body} & set(self.columns.get(name, ()))
            for name in ("key", "job")
        )


def table_of(frame: "pl.DataFrame", **how: Any) -> Table:
    """Return the columns of a table that is understood: names as texts, everything else as numbers."""
    if "item" in frame.columns:
        return Table({}, frame.height, read_item_table(frame), **how)
    return Table({name: _cells(frame[name]) for name in frame.columns}, frame.height, None, **how)


def _cells(column: "pl.Series") -> Sequence[Any]:
    import polars as pl

    from noisewise.study.tables.cells import as_count, read_numbers
    from noisewise.study.tables.sheet import as_texts

    name, kind = column.name, ROLE[column.name].kind
    if name == "arm":
        return [_is_arm(cell, row) for row, cell in enumerate(column.to_list(), start=1)]
    if kind == NAME:
        texts = as_texts("measurements", column).to_list()
        check_texts(name, texts, most=NOTE_LENGTH if name == "note" else NAME_LENGTH)
        seen: dict[Any, Any] = {}  # equal texts are kept once, but for those that hardly repeat
        return texts if name in ("key", "note", "job") else [seen.setdefault(text, text) for text in texts]
    if column.dtype == pl.String and name != "value":
        column = read_numbers({name: column}, lists=[name] if kind == READINGS else []).columns[name]
    if column.dtype == pl.Float64 and not column.null_count() and kind != COUNT:
        return array("d", column.to_numpy().tobytes())  # a quarter of the size of a list
    cells = column.to_list()
    return [as_count(cell) for cell in cells] if kind == COUNT else cells


def _is_arm(cell: Any, row: int) -> bool | None:
    """Whether a row is an arm of the study that its block names."""
    known = {"true": True, "yes": True, "1": True, "false": None, "no": None, "0": None}
    if cell is None or str(cell).casefold() in known:
        return None if cell is None else known[str(cell).casefold()]
    raise ValueError(f"row {row}: `arm` must be true or false; got {str(cell)!r}.")


class PlainRows(MadeOnDemand[Body]):
    """Rows with plain values and plain standard errors, checked together; each is made when it is needed."""

    def __init__(self, table: Table, value: Floats, sigma: Floats) -> None:
        self.value, self._sigma = value, sigma
        self._columns = {name: cells for name, cells in table.columns.items() if name not in ("value", "se")}

    def __len__(self) -> int:
        return self.value.size

    def make(self, place: int) -> Body:
        """The body of a row."""
        value, sigma, columns = float(self.value[place]), float(self._sigma[place]), self._columns
        body = {
            "option": columns["option"][place],
            "value": value,
            "kind": KNOWN,
            "sigma": sigma,
            "shown": sigma,
        }
        for name in _TEXTS:
            if name in columns and columns[name][place] is not None:
                body[name] = columns[name][place]
        if "key" not in body:
            body["row"] = place + 1  # what names it instead: see `known_rows`
        return body

    def tables(self, places: Sequence[int]) -> Happened | None:
        """Events with some of the rows in columns; None if some of them say more than others."""
        texts = [name for name in _TEXTS if name in self._columns]
        if any(None in self._columns[name] for name in texts):
            return None
        return [
            ("table", {"columns": self._contents(places[first : first + TABLE], texts)})
            for first in range(0, len(places), TABLE)
        ]

    def _contents(self, places: Sequence[int], texts: list[str]) -> dict[str, list[Any]]:
        at, columns = np.asarray(places), self._columns
        sigma = self._sigma[at].tolist()
        found: dict[str, list[Any]] = {
            "option": [columns["option"][place] for place in places],
            "value": self.value[at].tolist(),
            "kind": [KNOWN] * len(places),
            "sigma": sigma,
            "shown": sigma,
        }
        found |= {name: [columns[name][place] for place in places] for name in texts}
        return found if "key" in found else found | {"row": (at + 1).tolist()}


def _plain_rows(state: State, table: Table) -> PlainRows | None:
    """Return the rows of a table as they are; None if anything is out of the ordinary."""
    question, columns = state.specification, table.columns
    if (
        table.match
        or state.begins_with_items
        or question.noise is not None
        or question.measure not in (None, ERROR_BARS)
    ):
        return None
    if not {"option", "value", "se"} <= set(columns) <= _PLAIN or not state.index.keys() >= set(
        columns["option"]
    ):
        return None
    if not (set(map(type, columns["value"])) | set(map(type, columns["se"])) <= {float, int}):
        return None
    try:
        value, sigma = (np.asarray(columns[name], dtype=float) for name in ("value", "se"))
    except OverflowError:
        return None
    floor: float | Floats = question.noise_floor or AMOUNT.least
    usual = np.abs(value) <= VALUE.most
    if (logs := question.log_limits) is not None:
        usual &= (value >= AMOUNT.least) & (sigma <= logs.error * value)
        floor = AMOUNT.least if question.noise_floor is None else question.noise_floor * value
    if question.bounds is not None or not (usual & (sigma >= floor) & (sigma <= AMOUNT.most)).all():
        return None
    return PlainRows(table, value, sigma)


def take_table(state: State, table: Table, now: float) -> Taken:
    """Compare a table with a study: all of its rows are recorded, or none.

    Args:
        state: The study.
        table: The table.
        now: The time, which decides which leases have expired.
    """
    if table.items is not None:
        return _take_items(state, table, table.items, now)
    plain = _plain_rows(state, table)
    named: dict[str, set[str]] = {}
    rows: Sequence[int] = range(1, table.n_rows + 1)
    bodies: Sequence[Body] = plain or ()
    if plain is None:
        rows, bodies = _read_all(state, table, now, named)
    table.report("checking", 0, len(rows))
    keys = table.columns.get("key")
    if plain is not None and (keys is None or _are_new(state, keys)):
        fates = Fates(fresh=range(len(rows)))
    else:
        fates = recognise(state, bodies, rows, match=table.match)
    sentences = [f"row {rows[at]}: {still_void(state, n)}" for at, n in fates.voided.items()]
    if table.repeat is not True and len(state.told):
        sentences += without_equal(state, bodies, rows, fates, table.repeat, table.amend)
    if not table.repeat and len(state.told):
        take_given_keys(state, bodies, rows, fates)
    if fates.changes and table.amend is None:
        raise ValueError(changes_in_words(state, sorted(fates.changes)))
    if table.repeat is not True and len(state.told):
        note_copies(state, bodies, rows, fates)
    if table.match:
        _answer_suggestions(state, bodies, rows, fates, now, named)
    corrections = [corrected(state, change, str(table.amend)) for change in sorted(fates.changes)]
    taken = Taken(state, bodies, fates, corrections, empty=table.n_rows - len(rows))
    taken.voided = sentences
    return taken


def _read_all(
    state: State, table: Table, now: float, named: dict[str, set[str]]
) -> tuple[list[int], list[Body]]:
    """Read rows one by one, and note the blocks that they name for suggestions of one new block."""
    rows = [row for row in range(table.n_rows) if not (table.match and table.is_empty(row))]
    jobs, blocks = table.columns.get("job", ()), table.columns.get("block", ())
    for row in rows if jobs and blocks else ():
        if jobs[row] in state.jobs and blocks[row] is not None:
            named.setdefault(state.jobs[jobs[row]].together or "", set()).add(blocks[row])
    bodies = []
    for done, row in enumerate(rows):
        body = read_told(state, table.given(row), now=now, row=row + 1, named=named)
        if "key" not in body and "job" not in body:
            body["row"] = row + 1  # what names it instead: see `known_rows`
        bodies.append(body)
        if done % 10_000 == 0:
            table.report("reading", done, len(rows))
    return [row + 1 for row in rows], bodies


def _are_new(state: State, keys: Sequence[str | None]) -> bool:
    """Whether no key is recorded already, or in the table twice."""
    different = set(keys)
    different.discard(None)
    if len(different) < sum(key is not None for key in keys):
        return False
    return different.isdisjoint(state.keys) and different.isdisjoint(state.freed)


def _take_items(state: State, table: Table, items: ItemTable, now: float) -> Taken:
    found = match_items(state, items, now=now, match=table.match)
    filled = int(np.count_nonzero(~np.isnan(items.value)))
    corrections = corrected_items(state, found.changes, table.amend)
    taken = Taken(
        state, found.bodies, Fates(range(len(found.bodies))), corrections, empty=table.n_rows - filled
    )
    taken.items = sum(body["readings"] for body in found.bodies)
    taken.known = filled - taken.items
    return taken


def _answer_suggestions(
    state: State,
    bodies: Sequence[Body],
    rows: Sequence[int],
    fates: Fates,
    now: float,
    named: dict[str, set[str]],
) -> None:
    """Let rows that name no suggestion answer the oldest of what they measured that are under way.

    Rows come first whose block a suggestion names. The others answer one for a block that is not named, or
    any: what a row says about its block wins.
    """
    waiting: dict[frozenset[str | None], list[Job]] = {}
    taken = {bodies[place].get("job") for place in fates.fresh}
    for job in state.open_jobs(now):
        if job.id not in taken:
            waiting.setdefault(frozenset((job.option, job.minus)), []).append(job)
    answered: list[tuple[int, Job]] = []
    done = {place for place in fates.fresh if "job" in bodies[place]} if waiting else set(fates.fresh)
    for in_block in (True, False):
        for place in fates.fresh:
            body = bodies[place]
            jobs = waiting.get(frozenset((body["option"], body.get("minus"))))
            if place in done or not jobs:
                continue
            block = body.get("block")
            fits = [job for job in jobs if job.block == block]
            if in_block and (block is None or not fits):
                continue
            fits = fits or [job for job in jobs if job.block is None]
            found = (fits if block is not None and fits else jobs)[0]
            jobs.remove(found)
            done.add(place)
            answered.append((place, found))
            if block is not None:
                named.setdefault(found.together or "", set()).add(block)
    for place, job in answered:
        where = f"row {rows[place]} ({bodies[place]['option']}): "
        if notes := answer(state, bodies[place], job, where, named):
            fates.notes.setdefault(place, []).extend(notes)


def refuse_other_arms(state: State, rows: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a study that is recorded with other arms, which would go on counting beside the new ones.

    A study of two arms is recorded as a difference, with the key "study: A - B", one of more as arms.

    Args:
        state: The study before the table.
        rows: The measurements of a table of studies.
    """
    arms: dict[str, set[str]] = {}
    for row in rows:
        study = row.get("block") or row["key"].removesuffix(f": {row.get('plus')} - {row.get('minus')}")
        arms.setdefault(study, set()).update(() if row.get("block") is None else (row["option"],))
    for number, body in enumerate(state.told, start=1):
        if "key" not in body or not state.measurements.is_live(number):
            continue
        if "minus" in body:
            study = body["key"].removesuffix(f": {body['option']} - {body['minus']}")
            stale = bool(arms.get(study))
        else:
            study = body.get("block", "")
            stale = "arm" in body and study in arms and body["option"] not in arms[study]
        if stale:
            raise ValueError(
                f"study {printable(study)!r} was told before with other arms (m-{number}, key "
                f"{printable(body['key'])}), which would go on counting: void what was told of it, and tell "
                "the table again; if it is another study, give it another name."
            )


def described_columns(specification: Specification) -> list[str]:
    """Return columns that describe options, and say nothing about measurements: tables may have them."""
    from noisewise.study.tables.names import key_of

    return [one.name for one in specification.catalogue.features if key_of(one.name) not in ROLE]


def understood_for(log: Log, measurements: Any, unknown: str, reading: dict[str, Any]) -> "Understood":
    """Understand a table as one of measurements of a study."""
    from noisewise.study.telling.readouts import check_fits
    from noisewise.study.telling.understanding import check_reading, understand

    check_reading(reading, "tell_many")
    settled = reading.get("roles") or reading.get("layout")  # then columns may be left over
    others = () if settled else described_columns(log.specification)
    understood = understand(measurements, others=others, **reading)
    _check_unit(log.specification.unit, understood)
    if understood.layout is not None and log.specification.value_scale.log:
        raise ValueError(
            'a study with `scale="log"` takes no table of studies (layout=): its rows are differences, or '
            "log odds. Make a study without `scale=`."
        )
    if understood.reader is not None or unknown == "skip":  # a plain table is refused row by row
        log.catch_up()
    if understood.reader is not None:
        check_fits(log.state, understood)
    if understood.reader is not None or unknown == "skip":
        understood = _about_known(log.state, understood, unknown)
    return understood


def _check_unit(unit: str | None, understood: "Understood") -> None:
    """Refuse values in another unit than the study's: a factor of a thousand is quickly overlooked."""
    said = understood.units.get("value")
    if unit is None or said is None or unit == said:
        return
    if understood.reader is not None:
        raise ValueError(
            f"{understood.table.name} is in {said}, and the values of this study are in {unit}: read it with "
            f"`unit={unit!r}`, if its reader can convert it."
        )
    raise ValueError(
        f"column {understood.sources['value']!r} is in {said}, and the values of this study are in {unit}: "
        f"convert them; if both are the same unit, write {unit} in the header."
    )


def with_options(log: Log, named: Iterable[str]) -> tuple[State, list[tuple[str, Body]]]:
    """Return the state with all options that a table names, and the event that adds those that are new."""
    state = log.state
    new = [name for name in named if name not in state.index]
    if not new:
        return state, []
    catalogue = state.specification.catalogue
    columns = [one.name for one in catalogue.features] + ([] if catalogue.costs is None else ["cost"])
    if columns:
        raise ValueError(
            f"{printable(new[0])!r} cannot be added by its name alone: options of this study have the "
            f"columns {', '.join(columns)}. Add it with them first."
        )
    body, trial = added_options(state, new, None), state.trial()
    trial.apply(Event(state.n_events + 1, log.clock(), "add", body))
    return trial, [("add", body)]


def options_in(table: "pl.DataFrame") -> list[str]:
    """Return the options that a table names, each once."""
    from noisewise.study.tables.sheet import as_texts

    sides = [as_texts("measurements", table[n]) for n in ("option", "plus", "minus") if n in table.columns]
    names = (name.strip() for side in sides for name in side.to_list() if name is not None)
    return [name for name in dict.fromkeys(names) if name]


def _about_known(state: State, understood: "Understood", unknown: str) -> "Understood":
    """Refuse or leave out rows about options that a study does not have."""
    named = options_in(understood.frame)
    strange = [name for name in named if name not in state.index]
    if not strange or unknown == "add":
        return understood
    if unknown == "refuse":
        raise KeyError(_not_known(understood, strange, named, state.ids))
    import polars as pl

    frame, table = understood.frame, understood.table
    probes = [name for name in ("option", "plus", "minus") if name in frame.columns]
    hit = pl.any_horizontal(
        [pl.col(name).cast(pl.String).str.strip_chars().is_in(strange) for name in probes]
    )
    kept = ~frame.select(hit.fill_null(False)).to_series()
    lines = None if table.lines is None else table.lines[kept.to_numpy()]
    left = f"Left out, because they are not in the catalogue: {some_of(strange)}."
    return replace(
        understood,
        frame=frame.filter(kept),
        table=replace(table, lines=lines),
        remarks=(*understood.remarks, left),
    )


def _not_known(understood: "Understood", strange: list[str], named: list[str], ids: list[str]) -> str:
    """A sentence on options of a file that a study does not have, and what can be done about it."""
    one = len(strange) == 1
    of = "" if len(strange) == len(named) else f" of {len(named)}"
    are = f"is not in the catalogue ({counted(len(ids), 'option')})"
    what = f"{strange[0]!r} {are}" if one else f"{len(strange)}{of} options are not in the catalogue"
    listed = "" if one else f" ({counted(len(ids), 'option')}): {some_of(strange)}"
    hint = nearest(strange[0], ids) if one else ""
    them = "it" if one else "them"
    return (
        f"{understood.table.name}: {printable(what)}{printable(listed)}.{hint} "
        f'`unknown="add"` adds {them}, `unknown="skip"` leaves {them} out.'
    )
