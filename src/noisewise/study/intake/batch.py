"""A table of measurements on its way into a study: parsed once, checked against the newest state, told whole.

Parsing takes most of the time and does not depend on the study. If somebody else was faster, only the check
against the state is made again. Contents of plain tables stay in columns until each event is written.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, overload

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.core.support.ranges import AMOUNT, VALUE
from noisewise.study.inputs.catalogue import some_of
from noisewise.study.inputs.error_bars import KNOWN
from noisewise.study.intake.copies import find_copies
from noisewise.study.intake.entry import (
    Measurement,
    about_lease,
    body_of,
    check_pair,
    difference,
    find_job,
    find_probe,
    measurement_of,
    parse_told,
    still_void,
    told_before,
)
from noisewise.study.intake.sheets import Sheet
from noisewise.study.log.flaws import CHUNK
from noisewise.study.log.state import TOLD, State
from noisewise.study.stores.protocol import Event, to_json

#: Columns of the tables that are read in bulk, besides value and se.
_PLAIN = frozenset(("option", "value", "se", "block", "instrument", "key", "by", "note"))
_TEXTS = ("block", "instrument", "key", "by", "note")
#: As many rows are named in one message.
NAMED = 5
Watch = Callable[[str, int, int], None]


#: A text as JSON, by the part of the library that `json.dumps` leads to.
_quoted = json.encoder.encode_basestring_ascii


class Parsed:
    """The contents of a table's rows, as events will hold them, without what they are about."""

    def __init__(self, sheet: Sheet, noise_floor: float | None, keep_empty: bool, watch: Watch) -> None:
        self.sheet = sheet
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

    def texts(self, options: Sequence[str], places: Sequence[int]) -> Iterator[tuple[int, str]]:
        """The bodies of plain rows as JSON text, the same as of `content` with an option, and faster."""
        texts = [(f',"{name}":', self.column(name) or []) for name in _TEXTS if name in self.sheet.columns]
        known: dict[str, str] = {option: to_json(option) for option in set(options)}
        for first in range(0, len(places), CHUNK):
            some = places[first : first + CHUNK]
            values, sigmas = self._value[some].tolist(), self._sigma[some].tolist()
            for place, value, sigma in zip(some, values, sigmas, strict=True):
                more = "".join(
                    [begun + _quoted(cells[place]) for begun, cells in texts if cells[place] is not None]
                )
                yield (
                    place,
                    (
                        f'{{"option":{known[options[place]]},"value":{value!r},"kind":"{KNOWN}",'
                        f'"sigma":{sigma!r},"shown":{sigma!r}{more}}}'
                    ),
                )

    def content(self, place: int, begun: dict[str, Any] | None = None) -> dict[str, Any]:
        """What a row says by itself, behind what an event begins with."""
        content = {} if begun is None else begun
        if self._bodies is not None:
            return content | self._bodies[place]
        row, columns = self.rows[place], self.sheet.columns
        sigma = float(self._sigma[place])
        content["value"], content["kind"] = float(self._value[place]), KNOWN
        content["sigma"] = content["shown"] = sigma
        for name in _TEXTS:
            if name in columns and columns[name][row] is not None:
                content[name] = columns[name][row]
        return content

    def values(self, places: list[int]) -> Floats:
        """The values of some rows."""
        if self._bodies is not None:
            return np.array([self._bodies[place]["value"] for place in places], dtype=float)
        return np.asarray(self._value[places])

    def _parse(self, row: int, noise_floor: float | None) -> dict[str, Any]:
        given = self.sheet.given(row)
        about = given.get("option") or given.get("plus") or given.get("job")
        where = f"row {row + 1}" + ("" if about is None else f" ({about})") + ": "
        return parse_told(given, noise_floor=noise_floor, where=where)

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
        floor = AMOUNT.least if noise_floor is None else noise_floor
        usual = (np.abs(self._value) <= VALUE.most) & (self._sigma >= floor) & (self._sigma <= AMOUNT.most)
        if not usual.all():
            return False
        self.sheet = Sheet(
            {n: c for n, c in self.sheet.columns.items() if n not in ("value", "se")}, self.sheet.n_rows
        )
        return True


class Told(NamedTuple):
    """What becomes of the rows of a table in the present state."""

    fresh: Sequence[int]  # places that are told
    options: Sequence[str]  # of every place
    minus: list[str | None] | None
    jobs: dict[int, str]
    notes: dict[int, list[str]]
    known: int
    voided: list[str]  # measurements that rows were told as, and that do not count


class Batch(Sequence[tuple[str, dict[str, Any]]]):
    """The events of a table, each made when it is needed."""

    def __init__(self, parsed: Parsed, told: Told, first: int, watch: Watch) -> None:
        self.parsed, self.told, self.first, self.watch = parsed, told, first, watch

    def __len__(self) -> int:
        return len(self.told.fresh)

    @overload
    def __getitem__(self, at: int) -> tuple[str, dict[str, Any]]: ...
    @overload
    def __getitem__(self, at: slice) -> list[tuple[str, dict[str, Any]]]: ...

    def __getitem__(self, at: int | slice) -> Any:
        if isinstance(at, slice):
            return [("tell", self.body(place)) for place in range(*at.indices(len(self)))]
        return "tell", self.body(at)

    def texts(self) -> Iterator[str]:
        """The bodies as JSON text."""
        told = self.told
        if not self.parsed.in_bulk:
            yield from (to_json(self.body(at)) for at in range(len(self)))
            return
        for at, (place, text) in enumerate(self.parsed.texts(told.options, told.fresh)):
            plain = place not in told.jobs and place not in told.notes
            yield text if plain else to_json(self.body(at))

    def untouched_by(self, news: list[Event]) -> bool:
        """Whether the rows can be told as they were checked although these events came between.

        Others' measurements change nothing unless they name a key or answer a suggestion that is ours.
        """
        if any(event.kind != "tell" or "minus" in event.body for event in news):
            return False
        keys = {event.body["key"] for event in news if "key" in event.body}
        jobs = {event.body["job"] for event in news if "job" in event.body}
        return keys.isdisjoint(self.parsed.column("key") or ()) and jobs.isdisjoint(self.told.jobs.values())

    def body(self, at: int) -> dict[str, Any]:
        """The body of one event."""
        place, told = self.told.fresh[at], self.told
        if self.parsed.in_bulk and place not in told.jobs and place not in told.notes:
            return self.parsed.content(place, {"option": told.options[place]})
        content = self.parsed.content(place)
        notes = [*content.pop("notes", ()), *told.notes.get(place, ())]
        minus = None if told.minus is None else told.minus[place]
        return body_of(content, told.options[place], minus, told.jobs.get(place), notes)


class Taken(Sequence[Measurement]):
    """The measurements that a table brought, each made when looked at, and what became of the others."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self.known, self.voided = batch.told.known, batch.told.voided
        self.empty = batch.parsed.n_empty
        jobs = batch.told.jobs
        self.unasked = len(batch) - (sum(place in jobs for place in batch.told.fresh) if jobs else 0)

    def __len__(self) -> int:
        return len(self._batch)

    @overload
    def __getitem__(self, at: int) -> Measurement: ...
    @overload
    def __getitem__(self, at: slice) -> list[Measurement]: ...

    def __getitem__(self, at: int | slice) -> Any:
        if isinstance(at, slice):
            return [self[place] for place in range(*at.indices(len(self)))]
        place = range(len(self))[at]
        return measurement_of(self._batch.first + place, self._batch.body(place))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __repr__(self) -> str:
        return repr(list(self))

    def with_notes(self) -> Iterator[Measurement]:
        """Those about which there is something to say."""
        told = self._batch.told
        whole = self._batch.parsed._bodies
        for at, place in enumerate(told.fresh):
            if place in told.notes or (whole is not None and "notes" in whole[place]):
                yield self[at]


def check_batch(
    state: State, parsed: Parsed, *, now: float, match: bool, repeat: bool, watch: Watch
) -> Batch:
    """Check rows against the study: who they are about, and what was told before; all are told, or none."""
    watch("checking", 0, len(parsed))
    options, minus, jobs, notes = _probes(state, parsed, now)
    told = Told([], options, minus, jobs, notes, 0, [])
    fresh, known, voided = _without_known(state, parsed, told, match)
    told = told._replace(fresh=fresh, known=known, voided=voided)
    _note_copies(state, parsed, told, repeat)
    if match:
        _answer(state, told, now)
    return Batch(parsed, told, len(state.told) + 1, watch)


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
            try:
                job = find_job(state, given["job"])
            except KeyError as problem:
                raise KeyError(f"{where}{problem.args[0]}") from None
            jobs[place] = job.id
            if said := about_lease(state, job, now):
                notes[place] = said
        one, other = find_probe(state, given, job, where)
        if other is not None:
            check_pair(state, one, other, f"row {row + 1} ({one}): ")
        found.append(one)
        minus.append(other)
    return found, minus if any(other is not None for other in minus) else None, jobs, notes


def _without_known(
    state: State, parsed: Parsed, told: Told, match: bool
) -> tuple[Sequence[int], int, list[str]]:
    """The places of rows that were not told before; contradictions are refused together."""
    keys = parsed.column("key")
    if not told.jobs and (keys is None or _are_new(state, keys)):
        return range(len(parsed)), 0, []
    keys = keys or [None] * len(parsed)
    fresh, voided, conflicts = [], [], []
    first_with: dict[str, int] = {}
    at_once = state.keys.keys() | state.freed.keys()
    known = 0
    for place, key in enumerate(keys):
        job = told.jobs.get(place)
        if key is not None and key in first_with:
            if _body(parsed, told, first_with[key]) != _body(parsed, told, place):
                row = parsed.rows[place] + 1
                raise ValueError(f"row {row}: key {key} stands twice in the table, with different content.")
            known += 1
            continue
        if key is not None:
            first_with[key] = place
        if key not in at_once and job not in state.answers:
            fresh.append(place)
            continue
        body, where = _body(parsed, told, place), f"row {parsed.rows[place] + 1}: "
        try:
            before = told_before(state, body, where)
            if before is None and match and key is None and job is not None:
                _refuse_other_answer(state, body, job, where)
        except ValueError as conflict:
            conflicts.append(str(conflict))
            continue
        if before is None:
            fresh.append(place)
        elif before.voided is None:
            known += 1
        else:
            voided.append(str(still_void(before, where)))
    if conflicts:
        more = len(conflicts) - NAMED
        rest = f" And {more} more rows like these." if more > 0 else ""
        raise ValueError(" ".join(conflicts[:NAMED]) + rest)
    return fresh, known, voided


def _are_new(state: State, keys: Sequence[str | None]) -> bool:
    """Whether no key was told before, or stands twice in the table."""
    different = set(keys)
    different.discard(None)
    if len(different) < sum(key is not None for key in keys):
        return False
    return different.isdisjoint(state.keys) and different.isdisjoint(state.freed)


def _refuse_other_answer(state: State, body: dict[str, Any], job: str, where: str) -> None:
    """A sheet that comes back twice corrects what was told; it does not repeat it."""
    number = state.answers.get(job)
    if number is None or number in state.voided or state.jobs[job].status != TOLD:
        return
    if (differ := difference(state, number, body)) is not None:
        raise ValueError(f"{where}{job} already told with {differ}. Use amend on m-{number} to correct it.")


def _body(parsed: Parsed, told: Told, place: int) -> dict[str, Any]:
    minus = None if told.minus is None else told.minus[place]
    body = body_of(parsed.content(place), told.options[place], minus, told.jobs.get(place), ())
    body.pop("notes", None)
    return body


def _note_copies(state: State, parsed: Parsed, told: Told, repeat: bool) -> None:
    """Refuse a table that was told before, as a whole; name the rows that may have been."""
    keys = parsed.column("key")
    loose = [p for p in told.fresh if (keys is None or keys[p] is None) and p not in told.jobs]
    if not loose or not len(state.told):
        return
    found = find_copies(state, parsed.values(loose), lambda at: _body(parsed, told, loose[at]))
    copies = {loose[at]: number for at, number in found.items()}
    if len(copies) == len(loose) > 1 and not repeat:
        pairs = some_of([f"row {parsed.rows[place] + 1} = m-{copies[place]}" for place in loose])
        raise ValueError(
            f"all {len(loose)} rows without a key equal measurements that were told before ({pairs}): "
            "nothing was told. If they were really measured again, say so (repeat=True, --again); keys make "
            "importing a table twice harmless."
        )
    for place, number in copies.items():
        note = f"equals m-{number}, which was told before without a key."
        told.notes.setdefault(place, []).append(note)


def _answer(state: State, told: Told, now: float) -> None:
    """Rows that name only their option answer the oldest suggestions of it that are under way."""
    waiting: dict[str, list[str]] = {}
    taken = set(told.jobs.values())
    for job in state.open_jobs(now):
        if job.id not in taken:
            waiting.setdefault(job.option, []).append(job.id)
    if not waiting:
        return
    for place in told.fresh:
        alone = place not in told.jobs and (told.minus is None or told.minus[place] is None)
        if alone and waiting.get(told.options[place]):
            told.jobs[place] = waiting[told.options[place]].pop(0)
