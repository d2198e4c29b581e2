"""A table of measurements on its way into a study: parsed once, checked against the newest state, told whole.

Parsing takes most of the time (`parsed_table.py`). If somebody else was faster, only the check is made again.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from noisewise.core.sequences import MadeOnDemand
from noisewise.core.text import counted, some_of
from noisewise.study.inputs.items import write_places
from noisewise.study.intake.answers import about_lease
from noisewise.study.intake.copies import find_copies
from noisewise.study.intake.corrections import Change, changes_in_words, corrected
from noisewise.study.intake.entry import body_of, check_pair, find_job, find_probe
from noisewise.study.intake.known_rows import KnownRows, Repeat, find_known
from noisewise.study.intake.parsed_table import Parsed, Watch
from noisewise.study.intake.row_fates import RowFates, answer_suggestions, take_blocks
from noisewise.study.intake.suited import refuse_unsuited_rows
from noisewise.study.intake.told_before import Before, difference, find_before, still_void
from noisewise.study.log.events import Event
from noisewise.study.log.jobs import TOLD
from noisewise.study.log.state import State
from noisewise.study.log.told import Measurement, measurement_of


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
        if not self.corrections and not known:
            return self
        return [*known, *(("amend", body) for body in self.corrections), *self]

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
        'still does not count. If it is right after all, say repeat="others".'
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
        'chance. Nothing was told: say repeat="others" if they were measured again; otherwise leave them '
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
            f"version ({pairs}): nothing was told. If they were really measured again, say so: repeat=True."
        )
    for at, number in found.items():
        note = f"equals m-{number}, which was told before without a key."
        told.notes.setdefault(loose[at], []).append(note)
