"""A table of measurements on its way into a study: parsed once, checked against the newest state, told whole.

Parsing takes most of the time and does not depend on the study (`parsed_table.py`). If somebody else was
faster, only the check against the state is made again.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from noisewise.core.support.sequences import MadeOnDemand
from noisewise.study.inputs.catalogue import some_of
from noisewise.study.intake.answers import about_block, about_lease, block_asked
from noisewise.study.intake.copies import find_copies
from noisewise.study.intake.entry import (
    Measurement,
    body_of,
    check_pair,
    difference,
    find_job,
    find_probe,
    measurement_of,
    still_void,
    told_before,
)
from noisewise.study.intake.parsed_table import Parsed, Watch
from noisewise.study.intake.suited import refuse_unsuited
from noisewise.study.log.jobs import TOLD, Job
from noisewise.study.log.state import State
from noisewise.study.stores.protocol import Event, to_json

#: Rows that one message names at most.
NAMED = 5


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

    def content(self, parsed: Parsed, place: int) -> dict[str, Any]:
        """What a row says, with the block of the suggestion that it answers."""
        block = {"block": self.blocks[place]} if place in self.blocks else {}
        return parsed.content(place) | block


class Batch(MadeOnDemand[tuple[str, dict[str, Any]]]):
    """The events of a table, each made when it is needed."""

    def __init__(self, parsed: Parsed, told: RowFates, first: int, watch: Watch) -> None:
        self.parsed, self.told, self.first, self.watch = parsed, told, first, watch

    def __len__(self) -> int:
        return len(self.told.fresh)

    def make(self, place: int) -> tuple[str, dict[str, Any]]:
        """What happens at a place: its row is told."""
        return "tell", self.body(place)

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
        content = told.content(self.parsed, place)
        notes = [*content.pop("notes", ()), *told.notes.get(place, ())]
        minus = None if told.minus is None else told.minus[place]
        return body_of(content, told.options[place], minus, told.jobs.get(place), notes)


class Taken(MadeOnDemand[Measurement]):
    """The measurements that a table brought, each made when looked at, and what became of the others."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self.known, self.voided = batch.told.known, batch.told.voided
        self.empty = batch.parsed.n_empty
        jobs = batch.told.jobs
        self.unasked = len(batch) - (sum(place in jobs for place in batch.told.fresh) if jobs else 0)

    def __len__(self) -> int:
        return len(self._batch)

    def make(self, place: int) -> Measurement:
        """The measurement that a place became."""
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
    told = RowFates([], options, minus, jobs, notes, 0, [], {})
    _take_blocks(state, parsed, told, list(jobs))
    fresh, known, voided = _without_known(state, parsed, told, match)
    told = told._replace(fresh=fresh, known=known, voided=voided)
    _refuse_unsuited(state, parsed, told)
    _note_copies(state, parsed, told, repeat)
    if match:
        _take_blocks(state, parsed, told, _answer(state, parsed, told, now))
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


def _without_known(
    state: State, parsed: Parsed, told: RowFates, match: bool
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


def _refuse_unsuited(state: State, parsed: Parsed, told: RowFates) -> None:
    """Refuse rows of a kind that says nothing in this study."""
    if state.specification.items is None and state.specification.noise is None and not told.jobs:
        return
    for place in told.fresh:
        minus = None if told.minus is None else told.minus[place]
        job = state.jobs[told.jobs[place]] if place in told.jobs else None
        where = f"row {parsed.rows[place] + 1} ({told.options[place]}): "
        refuse_unsuited(state, told.content(parsed, place), minus, job, where)


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


def _body(parsed: Parsed, told: RowFates, place: int) -> dict[str, Any]:
    minus = None if told.minus is None else told.minus[place]
    body = body_of(told.content(parsed, place), told.options[place], minus, told.jobs.get(place), ())
    body.pop("notes", None)
    return body


def _note_copies(state: State, parsed: Parsed, told: RowFates, repeat: bool) -> None:
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


def _answer(state: State, parsed: Parsed, told: RowFates, now: float) -> list[int]:
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


def _take_blocks(state: State, parsed: Parsed, told: RowFates, answering: list[int]) -> None:
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
