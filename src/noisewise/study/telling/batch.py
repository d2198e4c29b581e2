"""A table of measurements on its way into a study: parsed once, checked against the newest state, told whole.

Parsing takes most of the time (`parsed_table.py`). If somebody else was faster, only the check is made again.
"""

import math
from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.core.checks import AMOUNT, VALUE
from noisewise.core.sequences import MadeOnDemand
from noisewise.core.text import NAME_LENGTH, NOTE_LENGTH, check_texts, counted, some_of
from noisewise.study.log.events import MANY, TABLE, Event
from noisewise.study.log.jobs import TOLD, Job
from noisewise.study.log.state import State
from noisewise.study.log.told import Measurement, measurement_of
from noisewise.study.telling.error_bars import KNOWN, Bounds
from noisewise.study.telling.finding import (
    NAMED,
    Watch,
    about_block,
    about_lease,
    block_asked,
    check_pair,
    find_job,
    find_probe,
    took_its_block,
)
from noisewise.study.telling.items import write_places
from noisewise.study.telling.known_rows import KnownRows, Repeat, find_copies, find_known
from noisewise.study.telling.roles import COUNT, NAME, READINGS, RESULTS, ROLE
from noisewise.study.telling.rows import (
    Before,
    all_differing,
    body_of,
    difference,
    find_before,
    parse_told,
    refuse_unsuited,
    still_void,
)
from noisewise.study.telling.scale import LogLimits

if TYPE_CHECKING:  # one measurement is recorded without the library of tables
    import polars as pl

#: Columns of the tables that are read in bulk, besides value and se.
_PLAIN = frozenset(("option", "value", "se", "block", "instrument", "key", "by", "note"))
_TEXTS = ("block", "instrument", "key", "by", "note")


class Sheet(NamedTuple):
    """A table of measurements: a list per column, with None for empty cells, or an array of numbers."""

    columns: dict[str, Sequence[Any]]
    n_rows: int

    def given(self, row: int) -> dict[str, Any]:
        """One row as arguments of `tell`."""
        given = {name: cells[row] for name, cells in self.columns.items() if cells[row] is not None}
        if "lo" in given or "hi" in given:
            given["ci"] = (given.pop("lo", math.nan), given.pop("hi", math.nan))
        if "se_up" in given or "se_down" in given:
            given["se"] = (given.pop("se_down", math.nan), given.pop("se_up", math.nan))
        return given

    def is_empty(self, row: int) -> bool:
        """Whether a row has no result."""
        return all(self.columns[name][row] is None for name in RESULTS if name in self.columns)


def sheet_of(frame: "pl.DataFrame") -> Sheet:
    """The columns of a table that is understood: names as texts, everything else as numbers."""
    return Sheet({name: _cells(frame[name]) for name in frame.columns}, frame.height)


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


class Parsed:
    """The contents of a table's rows, as events will hold them, without what they are about."""

    def __init__(
        self,
        sheet: Sheet,
        noise_floor: float | None,
        keep_empty: bool,
        watch: Watch,
        bounds: Bounds | None = None,
        logs: LogLimits | None = None,
    ) -> None:
        self.sheet, self._bounds, self._logs = sheet, bounds, logs
        n = sheet.n_rows
        self.rows: Sequence[int] = range(n)
        if not keep_empty:
            self.rows = [row for row in self.rows if not sheet.is_empty(row)]
        self.n_empty = n - len(self.rows)
        self._bodies: list[dict[str, Any]] | None = None
        self._value = self._sigma = np.empty(0)
        if not self._parse_in_bulk(noise_floor):
            self._bodies = []
            for done, row in enumerate(self.rows):
                self._bodies.append(self._parse(row, noise_floor))
                if done % 10_000 == 0:
                    watch("reading", done, len(self.rows))

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def in_bulk(self) -> bool:
        """Whether all rows were plain, and checked together."""
        return self._bodies is None

    def column(self, name: str) -> Sequence[Any] | None:
        """The cells of a column for the rows that are told."""
        cells = self.sheet.columns.get(name)
        if cells is None or len(self.rows) == self.sheet.n_rows:
            return cells
        return [cells[row] for row in self.rows]

    def content(self, place: int, begun: dict[str, Any] | None = None) -> dict[str, Any]:
        """What a row says by itself, behind what an event begins with."""
        content = {} if begun is None else begun
        row, columns = self.rows[place], self.sheet.columns
        if self._bodies is not None:
            content |= self._bodies[place]
        else:
            sigma = float(self._sigma[place])
            content["value"], content["kind"] = float(self._value[place]), KNOWN
            content["sigma"] = content["shown"] = sigma
            for name in _TEXTS:
                if name in columns and columns[name][row] is not None:
                    content[name] = columns[name][row]
        if "key" not in content and ("job" not in columns or columns["job"][row] is None):
            content["row"] = row + 1  # what names it instead: see `known_rows`
        return content

    def lacks(self, name: str) -> bool:
        """Whether some rows say something under a name, and others do not."""
        return name in self.sheet.columns and None in self.sheet.columns[name]

    def contents(self, places: Sequence[int]) -> dict[str, list[Any]]:
        """What plain rows say by themselves, in columns: see `content`."""
        rows, sigma = [self.rows[place] for place in places], self._sigma[places].tolist()
        found: dict[str, list[Any]] = {"value": self._value[places].tolist(), "kind": [KNOWN] * len(rows)}
        found |= {"sigma": sigma, "shown": sigma}
        found |= {n: [c[row] for row in rows] for n in _TEXTS if (c := self.sheet.columns.get(n)) is not None}
        return found if "key" in found else found | {"row": [row + 1 for row in rows]}

    def values(self, places: list[int]) -> Floats:
        """The values of some rows."""
        if self._bodies is not None:
            return np.array([self._bodies[place]["value"] for place in places], dtype=float)
        return np.asarray(self._value[places])

    def _parse(self, row: int, noise_floor: float | None) -> dict[str, Any]:
        given = self.sheet.given(row)
        about = given.get("option") or given.get("plus") or given.get("job")
        where = f"row {row + 1}" + ("" if about is None else f" ({about})") + ": "
        return parse_told(given, noise_floor=noise_floor, where=where, bounds=self._bounds, logs=self._logs)

    def _parse_in_bulk(self, noise_floor: float | None) -> bool:
        """Plain values with plain standard errors; whatever is out of the ordinary is read row by row."""
        if not set(self.sheet.columns) <= _PLAIN or not {"value", "se"} <= set(self.sheet.columns):
            return False
        value, se = self.column("value") or [], self.column("se") or []
        if not (set(map(type, value)) | set(map(type, se)) <= {float, int}):
            return False
        try:
            self._value, self._sigma = np.asarray(value, dtype=float), np.asarray(se, dtype=float)
        except OverflowError:
            return False
        floor: float | Floats = AMOUNT.least if noise_floor is None else noise_floor
        usual = np.abs(self._value) <= VALUE.most
        if self._logs is not None:
            usual &= (self._value >= AMOUNT.least) & (self._sigma <= self._logs.error * self._value)
            floor = AMOUNT.least if noise_floor is None else noise_floor * self._value
        usual &= (self._sigma >= floor) & (self._sigma <= AMOUNT.most)
        if not usual.all():
            return False
        texts = {n: c for n, c in self.sheet.columns.items() if n not in ("value", "se")}
        self.sheet = self.sheet._replace(columns=texts)
        return True


#: What a correction keeps if the row does not say it.
KEPT = ("by", "note", "at", "cost", "row")
#: What a value and its error bar say already.
_MEASURED = ("option", "minus", "value", "sigma", "readings", "scatter", "values")


class Change(NamedTuple):
    """A row that says something else than a measurement that it was told as."""

    row: int  # in its table, from 1
    number: int  # of the measurement
    body: dict[str, Any]  # what the row says


def changes_in_words(state: State, changes: Sequence[Change]) -> str:
    """The changed rows beside what was told, and how to correct them all."""
    shown = [_in_words(state, change) for change in changes[:NAMED]]
    more = len(changes) - NAMED
    rest = f"; and {more} more like these" if more > 0 else ""
    loose = any(not {"key", "job"} & set(change.body) for change in changes)
    own = '; if they are measurements of their own, `repeat="others"`' if loose else ""
    return (
        f"{'; '.join(shown)}{rest}. Nothing was told: if these are corrections, say why with "
        f'`amend="reason"`{own}.'
    )


def _in_words(state: State, change: Change) -> str:
    told, body = state.told[change.number - 1], change.body
    name = f"key {body['key']}" if "key" in body else body.get("job")
    parts = [part for part in all_differing(told, body) if part not in _MEASURED]
    parts += ["key"] if told.get("key") != body.get("key") else []
    old, new = _content(told, parts), _content(body, parts)
    where = f"row {change.row}{'' if name is None else f' ({name})'}"
    return f"{where}: m-{change.number} was told as {old}, and the row says {new}"


def _content(content: dict[str, Any], parts: Sequence[str]) -> str:
    """A content such as "A = 1.31 ± 0.1, block 'Tue'"."""
    minus = f" - {content['minus']}" if "minus" in content else ""
    error = "" if content.get("shown") is None else f" ± {content['shown']:.6g}"
    bare = " without error bar" if "kind" in parts and content.get("kind") == "none" else ""
    said = [f"{part} {content[part]!r}" for part in parts if part != "kind" and content.get(part) is not None]
    lacking = [f"no {part}" for part in parts if part != "kind" and content.get(part) is None]
    value = f"{content.get('option')}{minus} = {content.get('value')!r}{error}{bare}"
    return ", ".join([value, *said, *lacking])


def corrected(state: State, change: Change, reason: str) -> dict[str, Any]:
    """The body of the event that corrects a measurement to what a row says."""
    old = state.told[change.number - 1]
    content = {name: part for name, part in change.body.items() if name != "notes"}
    kept = {name: old[name] for name in KEPT if name in old and name not in content}
    if "block" not in content and "block" in old and took_its_block(state, old):
        kept["block"] = old["block"]
    kept |= {"job": old["job"]} if old.get("job") in state.jobs else {}
    return {"number": change.number, "reason": reason, "content": content | kept}


class RowFates(NamedTuple):
    """What becomes of the rows of a table in the present state."""

    fresh: Sequence[int]  # places that are told
    options: Sequence[str]  # of every place
    minus: list[str | None] | None
    jobs: dict[int, str]
    notes: dict[int, list[str]]
    known: int
    voided: list[str]  # measurements that rows were told as, and that do not count
    blocks: dict[int, str]  # of places that name none, from the suggestions they answer
    changes: list[Change] = []  # noqa: RUF012 - never changed; rows that correct what was told
    skipped: tuple[int, ...] = ()  # measurements that rows without keys were told as
    missing: tuple[int, ...] = ()  # measurements of an earlier version of the table that are not in it

    def content(self, parsed: Parsed, place: int) -> dict[str, Any]:
        """What a row says, with the block of the suggestion that it answers."""
        block = {"block": self.blocks[place]} if place in self.blocks else {}
        return parsed.content(place) | block

    def in_words(self, parsed: Parsed) -> dict[int, str]:
        """What becomes of rows, from 1; those that are not named were told before, or say nothing."""
        fates = {int(parsed.rows[place]) + 1: "will be told" for place in self.fresh}
        return fates | {change.row: f"corrects m-{change.number}" for change in self.changes}


def answer_suggestions(state: State, parsed: Parsed, told: RowFates, now: float) -> list[int]:
    """Let rows that name no suggestion answer the oldest of what they measured that are under way.

    Rows come first whose block a suggestion names. The others answer one for a block that is not named, or
    any: what a row says about its block wins.

    Returns:
        The places of these rows.
    """
    waiting: dict[frozenset[str | None], list[Job]] = {}
    taken = set(told.jobs.values())
    for job in state.open_jobs(now):
        if job.id not in taken:
            waiting.setdefault(frozenset((job.option, job.minus)), []).append(job)
    if not waiting:
        return []
    blocks, answering = parsed.column("block"), []
    for known in (True, False):
        for place in told.fresh:
            probe = (told.options[place], None if told.minus is None else told.minus[place])
            jobs = waiting.get(frozenset(probe))
            if place in told.jobs or not jobs:
                continue
            block = None if blocks is None else blocks[place]
            fits = [job for job in jobs if job.block == block]
            if known and (block is None or not fits):
                continue
            fits = fits or [job for job in jobs if job.block is None]
            found = (fits if block is not None and fits else jobs)[0]
            jobs.remove(found)
            told.jobs[place] = found.id
            answering.append(place)
    return answering


def take_blocks(state: State, parsed: Parsed, told: RowFates, answering: list[int]) -> None:
    """Give rows that answer suggestions and name no block the blocks that were asked for."""
    said = parsed.column("block") or [None] * len(parsed)
    named: dict[str | None, set[str]] = {}
    for place in answering:
        named.setdefault(state.jobs[told.jobs[place]].together, set()).update(filter(None, [said[place]]))
    for place in answering:
        job = state.jobs[told.jobs[place]]
        where = f"row {parsed.rows[place] + 1} ({told.options[place]}): "
        if said[place] is None and (block := block_asked(state, job, where, named[job.together])) is not None:
            told.blocks[place] = block
        if elsewhere := about_block(job, said[place]):
            told.notes.setdefault(place, []).extend(elsewhere)


class Batch(MadeOnDemand[tuple[str, dict[str, Any]]]):
    """The events of a table, each made when it is needed."""

    def __init__(
        self, parsed: Parsed, told: RowFates, first: int, watch: Watch, corrections: list[dict[str, Any]]
    ) -> None:
        self.parsed, self.told, self.first, self.watch = parsed, told, first, watch
        self.corrections = corrections  # bodies of events "amend"
        self.skipped: str | None = None  # measurements that rows were known as for the first time

    def happened(self) -> "Sequence[tuple[str, dict[str, Any]]]":
        """All that happens: what is known is noted, then corrections, then new measurements."""
        known = [] if self.skipped is None else [("skip", {"measurements": self.skipped})]
        new = list(self._tables()) if self._is_plain() else self
        if not self.corrections and not known:
            return new
        return [*known, *(("amend", body) for body in self.corrections), *new]

    def _is_plain(self) -> bool:
        """Whether there are many rows, which say the same things by themselves."""
        parsed, told = self.parsed, self.told
        plain = parsed.in_bulk and len(self) >= MANY and told.minus is None
        return plain and not (told.jobs or told.notes) and not any(map(parsed.lacks, _TEXTS))

    def _tables(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Plain rows as columns, which takes a fraction of the time of an event each."""
        for first in range(0, len(self), TABLE):
            places = self.told.fresh[first : first + TABLE]
            columns = {"option": [self.told.options[place] for place in places]}
            yield "table", {"columns": columns | self.parsed.contents(places)}

    def __len__(self) -> int:
        return len(self.told.fresh)

    def make(self, place: int) -> tuple[str, dict[str, Any]]:
        """What happens at a place: its row is told."""
        return "tell", self.body(place)

    def untouched_by(self, news: list[Event]) -> bool:
        """Whether the rows can be told as they were checked although these events came between.

        Others' measurements change nothing unless they name a key or answer a suggestion that is ours, or
        come from a table, which may be the same.
        """
        if any(event.kind != "tell" or "minus" in event.body or "row" in event.body for event in news):
            return False
        keys = {event.body["key"] for event in news if "key" in event.body}
        jobs = {event.body["job"] for event in news if "job" in event.body}
        return keys.isdisjoint(self.parsed.column("key") or ()) and jobs.isdisjoint(self.told.jobs.values())

    def body(self, at: int) -> dict[str, Any]:
        """The body of one event."""
        place, told = self.told.fresh[at], self.told
        if self.parsed.in_bulk and place not in told.jobs and place not in told.notes:
            return self.parsed.content(place, {"option": told.options[place]})
        content = told.content(self.parsed, place)
        notes = [*content.pop("notes", ()), *told.notes.get(place, ())]
        minus = None if told.minus is None else told.minus[place]
        return body_of(content, told.options[place], minus, told.jobs.get(place), notes)


class Taken(MadeOnDemand[Measurement]):
    """The measurements that a table brought, each made when looked at, and what became of the others."""

    def __init__(self, batch: Batch) -> None:
        self.understood: Any = None  # how the table was read: `Understood`
        self.batch = batch
        self.known, self.voided = batch.told.known, batch.told.voided
        #: Measurements that were corrected.
        self.amended = [measurement_of(body["number"], body["content"]) for body in batch.corrections]
        #: Measurements that an earlier version of this table brought, and that are not in it.
        self.missing = [f"m-{number}" for number in batch.told.missing]
        self.empty = batch.parsed.n_empty
        jobs = batch.told.jobs
        self.unasked = len(batch) - (sum(place in jobs for place in batch.told.fresh) if jobs else 0)

    def __len__(self) -> int:
        return len(self.batch)

    def make(self, place: int) -> Measurement:
        """The measurement that a place became."""
        return measurement_of(self.batch.first + place, self.batch.body(place))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __repr__(self) -> str:
        return repr(list(self))

    def with_notes(self) -> Iterator[Measurement]:
        """Those about which there is something to say."""
        told = self.batch.told
        whole = self.batch.parsed._bodies
        for at, place in enumerate(told.fresh):
            if place in told.notes or (whole is not None and "notes" in whole[place]):
                yield self[at]


def check_batch(
    state: State,
    parsed: Parsed,
    *,
    now: float,
    match: bool,
    repeat: Repeat,
    watch: Watch,
    amend: str | None = None,
) -> Batch:
    """Check rows against the study: who they are about, and what was told before; all are told, or none."""
    watch("checking", 0, len(parsed))
    options, minus, jobs, notes = _probes(state, parsed, now)
    told = RowFates([], options, minus, jobs, notes, 0, [], {})
    take_blocks(state, parsed, told, list(jobs))
    told = _without_known(state, parsed, told, match)
    told = _without_equal(state, parsed, told, repeat, amend)
    told = _with_keys_given(state, parsed, told, repeat)
    refuse_unsuited_rows(state, parsed, told)
    if told.changes and amend is None:
        raise ValueError(changes_in_words(state, sorted(told.changes)))
    if repeat is not True:
        _note_copies(state, parsed, told)
    if match:
        take_blocks(state, parsed, told, answer_suggestions(state, parsed, told, now))
    corrections = [corrected(state, change, str(amend)) for change in sorted(told.changes)]
    batch = Batch(parsed, told, len(state.told) + 1, watch, corrections)
    news = np.array([number - 1 for number in told.skipped if number not in state.skipped], dtype=np.int64)
    batch.skipped = write_places(news) if news.size else None
    return batch


def _probes(
    state: State, parsed: Parsed, now: float
) -> tuple[Sequence[str], list[str | None] | None, dict[int, str], dict[int, list[str]]]:
    columns = parsed.sheet.columns
    options = parsed.column("option")
    plain = not any(name in columns for name in ("job", "plus", "minus"))
    if plain and options is not None and state.index.keys() >= set(options):
        return options, None, {}, {}
    found: list[str] = []
    minus: list[str | None] = []
    jobs: dict[int, str] = {}
    notes: dict[int, list[str]] = {}
    for place, row in enumerate(parsed.rows):
        given: dict[str, Any] = {
            name: columns[name][row] for name in ("job", "option", "plus", "minus") if name in columns
        }
        where = f"row {row + 1}: "
        job = None
        if given.get("job") is not None:
            job = find_job(state, given["job"], where)
            jobs[place] = job.id
            if said := about_lease(state, job, now):
                notes[place] = said
        one, other = find_probe(state, given, job, where)
        if other is not None:
            check_pair(state, one, other, f"row {row + 1} ({one}): ")
        found.append(one)
        minus.append(other)
    return found, minus if any(other is not None for other in minus) else None, jobs, notes


def _without_known(state: State, parsed: Parsed, told: RowFates, match: bool) -> RowFates:
    """The same without rows whose key or suggestion was told before."""
    keys = parsed.column("key")
    if not told.jobs and (keys is None or _are_new(state, keys)):
        return told._replace(fresh=range(len(parsed)))
    keys = keys or [None] * len(parsed)
    fresh, voided, changes = [], [], []
    first_with: dict[str, int] = {}
    at_once = state.keys.keys() | state.freed.keys()
    known = 0
    for place, key in enumerate(keys):
        job = told.jobs.get(place)
        if key is not None and key in first_with:
            if _body(parsed, told, first_with[key]) != _body(parsed, told, place):
                first, row = parsed.rows[first_with[key]] + 1, parsed.rows[place] + 1
                raise ValueError(
                    f"row {row}: key {key} stands in row {first}, too, with different content; give each "
                    "measurement a key of its own."
                )
            known += 1
            continue
        if key is not None:
            first_with[key] = place
        if key not in at_once and job not in state.answers:
            fresh.append(place)
            continue
        body, row = _body(parsed, told, place), parsed.rows[place] + 1
        before = find_before(state, body)
        if before is None and match and key is None and job is not None:
            before = _other_answer(state, body, job)
        if before is None:
            fresh.append(place)
        elif before.differs is not None:
            changes.append(Change(row, before.number, body))
        elif before.voided is None:
            known += 1
        else:
            voided.append(str(still_void(before, f"row {row}: ")))
    return told._replace(fresh=fresh, known=known, voided=voided, changes=changes)


def _without_equal(
    state: State, parsed: Parsed, told: RowFates, repeat: Repeat, amend: str | None
) -> RowFates:
    """Leave out rows without key and suggestion that an earlier table brought."""
    loose = _loose(parsed, told)
    if repeat is True or not loose or not len(state.told):
        return told
    rows = [parsed.rows[place] + 1 for place in loose]
    found = find_known(state, parsed.values(loose), rows, lambda at: _body(parsed, told, loose[at]))
    if repeat == "others":
        found = KnownRows(found.known if len(found.known) < len(loose) else {})
    changes = [Change(rows[at], n, _body(parsed, told, loose[at])) for at, n in sorted(found.changed.items())]
    unclear = found.shared if changes or amend is not None else found.same | found.shared
    if changes and amend is None:
        raise ValueError(changes_in_words(state, changes))
    if unclear:
        raise ValueError(_in_common(rows, unclear))
    known = found.known | found.same
    gone = {loose[at] for at in (*known, *found.voided, *found.changed)}
    voided = [
        f"row {rows[at]}: m-{number} was told with this content and voided ({state.voided[number]}); it "
        'still does not count. If it is right after all, say `repeat="others"`.'
        for at, number in sorted(found.voided.items())
    ]
    return told._replace(
        fresh=[place for place in told.fresh if place not in gone] if gone else told.fresh,
        known=told.known + len(known),
        voided=[*told.voided, *voided],
        changes=[*told.changes, *changes],
        skipped=tuple(sorted(known.values())),
        missing=found.missing,
    )


def _in_common(rows: Sequence[int], shared: dict[int, int]) -> str:
    """A sentence on rows that may have been told before."""
    pairs = some_of([f"row {rows[at]} = m-{number}" for at, number in sorted(shared.items())])
    return (
        f"{counted(len(shared), 'row')} without a key may have been told before ({pairs}), or be equal by "
        'chance. Nothing was told: say `repeat="others"` if they were measured again; otherwise leave them '
        "out. Keys for rows avoid this question."
    )


def _with_keys_given(state: State, parsed: Parsed, told: RowFates, repeat: Repeat) -> RowFates:
    """The same, where a table that was told without keys comes again with keys: they are corrections."""
    keys = parsed.column("key")
    keyed = [] if keys is None or repeat else [place for place in told.fresh if keys[place] is not None]
    if not keyed or not len(state.told):
        return told
    bodies = {place: _body(parsed, told, place) for place in keyed}
    found = find_known(
        state,
        parsed.values(keyed),
        [parsed.rows[place] + 1 for place in keyed],
        lambda at: {name: part for name, part in bodies[keyed[at]].items() if name != "key"},
    )
    for at, number in (found.same | found.changed | found.shared).items():
        if "key" not in state.told[number - 1]:
            note = f"may be m-{number}, which was told before without a key."
            told.notes.setdefault(keyed[at], []).append(note)
    sure = {keyed[at]: number for at, number in found.known.items()}
    same = {place: number for place, number in sure.items() if "key" not in state.told[number - 1]}
    return told._replace(
        fresh=[place for place in told.fresh if place not in same],
        changes=[*told.changes, *(Change(parsed.rows[p] + 1, n, bodies[p]) for p, n in same.items())],
    )


def _loose(parsed: Parsed, told: RowFates) -> list[int]:
    """The places of rows to tell that name neither a key nor a suggestion."""
    keys = parsed.column("key")
    return [p for p in told.fresh if (keys is None or keys[p] is None) and p not in told.jobs]


def _are_new(state: State, keys: Sequence[str | None]) -> bool:
    """Whether no key was told before, or stands twice in the table."""
    different = set(keys)
    different.discard(None)
    if len(different) < sum(key is not None for key in keys):
        return False
    return different.isdisjoint(state.keys) and different.isdisjoint(state.freed)


def _other_answer(state: State, body: dict[str, Any], job: str) -> Before | None:
    """A sheet that comes back twice corrects what was told; it does not repeat it."""
    number = state.answers.get(job)
    if number is None or number in state.voided or state.jobs[job].status != TOLD:
        return None
    differ = difference(state, number, body)
    return None if differ is None else Before(number, differs=differ)


def _body(parsed: Parsed, told: RowFates, place: int) -> dict[str, Any]:
    minus = None if told.minus is None else told.minus[place]
    body = body_of(told.content(parsed, place), told.options[place], minus, told.jobs.get(place), ())
    body.pop("notes", None)
    return body


def _note_copies(state: State, parsed: Parsed, told: RowFates) -> None:
    """Name rows that equal measurements which were told one by one: they may be the same."""
    loose = _loose(parsed, told)
    if not loose or not len(state.told):
        return
    found = find_copies(state, parsed.values(loose), lambda at: _body(parsed, told, loose[at]))
    if len(found) == len(loose) > 1:
        pairs = some_of([f"row {parsed.rows[loose[at]] + 1} = m-{number}" for at, number in found.items()])
        raise ValueError(
            f"all {len(loose)} new rows equal measurements that were told before, one by one or by an older "
            f"version ({pairs}): nothing was told. If they were really measured again, say so: `repeat=True`."
        )
    for at, number in found.items():
        note = f"equals m-{number}, which was told before without a key."
        told.notes.setdefault(loose[at], []).append(note)


def refuse_unsuited_rows(state: State, parsed: Parsed, told: RowFates) -> None:
    """Refuse rows of a table, new ones and corrections, that mean nothing in this study."""
    question = state.specification
    if question.items is None and question.noise is None and question.measure is None and not told.jobs:
        return
    for change in told.changes:
        job = state.jobs.get(change.body.get("job", ""))
        where = f"row {change.row} ({change.body['option']}): "
        refuse_unsuited(state, change.body, change.body.get("minus"), job, where)
    for place in told.fresh:
        minus = None if told.minus is None else told.minus[place]
        job = state.jobs[told.jobs[place]] if place in told.jobs else None
        where = f"row {parsed.rows[place] + 1} ({told.options[place]}): "
        refuse_unsuited(state, told.content(parsed, place), minus, job, where)
