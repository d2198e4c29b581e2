"""The log of one study as this process knows it: reading on, and the one way to append."""

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, TypeVar

from noisewise.core.sequences import without_collector
from noisewise.study.log.events import (
    KEYED,
    Event,
    Happened,
    digest,
    event_of,
    events_in,
    new_id,
    rows_of,
    specification_in,
)
from noisewise.study.log.specification import Specification
from noisewise.study.log.state import State, UnusableError
from noisewise.study.stores.protocol import (
    START,
    AnswerLostError,
    LogMovedOnError,
    OutcomeUnknownError,
    Row,
    Storage,
    StoreChangedError,
    link,
    not_fitting,
)

#: Seconds for which a store whose answer was lost is asked what became of a change, and between two tries.
ASKING, PAUSE = 10.0, 0.2

Decide = Callable[[list[Event]], Happened]
#: Reads the rows from a number on: those that a transaction sees, within one.
Read = Callable[[int], list[Row]]
Answer = TypeVar("Answer")


class Acted:
    """What came of a change."""

    #: How many events the log had right after it; None: nothing was appended.
    n_events: int | None = None


class Acting(NamedTuple):
    """Who makes a change, to which state, and what it is known by."""

    by: str | None = None
    only_at: int | None = None
    key: str | None = None
    request: str | None = None


class _Lost(NamedTuple):
    """A call that ended with an error after its events had been handed to the store."""

    call: str  # its digest
    id: str
    after: int  # the number of the last row before them


class Log:
    """A log, read as far as `last`, and the state that follows from it.

    Args:
        storage: Where it is kept.
        name: The name of the study.
        clock: Where the time comes from.
    """

    state: State
    specification: Specification
    last: Row

    def __init__(
        self,
        storage: Storage,
        name: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.storage, self.name, self.clock = storage, name, clock
        self._acting, self._acted = Acting(), Acted()
        self._changes_with_key = 0
        self._lost: _Lost | None = None
        self._load(self._read)

    @property
    def head(self) -> str:
        """The hash of the last row, in hexadecimal."""
        return self.last.hash.hex()

    @property
    def last_at(self) -> float | None:
        """When the last event was appended; None before the first."""
        return event_of(self.last).at if self.last.number else None

    def events(self, until: int | None = None, first: int = 0) -> list[Event]:
        """The log, its beginning, or what is behind the first ones."""
        return events_in(self.storage.read(self.name, first, until))

    def catch_up(self) -> list[Event]:
        """Apply what others appended since the last time."""
        return self._follow(self._read)

    @contextmanager
    def acting(self, acting: Acting) -> Iterator[Acted]:
        """A context whose change has an author, happens only to a certain state, and can be found again."""
        before = self._acting, self._acted, self._changes_with_key
        self._acting, self._acted, self._changes_with_key = acting, Acted(), 0
        try:
            yield self._acted
        finally:
            self._acting, self._acted, self._changes_with_key = before

    def with_key(self, key: str, request: str | None = None) -> list[Event]:
        """What was appended with a key; none if nothing was. Refuses the key of another request."""
        self.catch_up()
        id = new_id(key)
        number = self._keyed.get(id)
        if number is None:
            return []
        events = _change(self._read(number), id)
        _check_request(events[0], request)
        return events

    def change(
        self,
        decide: Decide,
        call: tuple[Any, ...],
        answer: Callable[[], Answer],
        *,
        before: Callable[[], object] | None = None,
        recover: Callable[[list[Event]], object] | None = None,
    ) -> Answer:
        """Decide on the newest state and append, while no one else can.

        Args:
            decide: Makes the events; it is told what happened since ``before`` was called.
            call: What was called, with its arguments: the same call after one whose outcome remained unknown
                is taken for its repetition.
            answer: What to return when the events are written.
            before: What takes so long that the others should not wait for it.
            recover: Prepares the answer from the events of an earlier call with the same key; default:
                decide again on the state in which that call found the study.
        """
        acting, lost = self._acting, self._lost
        if lost is not None and lost.call != digest(call):
            lost = None
        key = acting.key
        if key is not None and self._changes_with_key:
            key = f"{key}\n{self._changes_with_key}"  # one context, several changes
        id = lost.id if lost is not None else new_id(key)
        request = "" if key is None else acting.request or digest(call)
        if before is not None and lost is None:
            if key is not None:
                self.catch_up()
            if id not in self._keyed:
                before()
        give_up = 0.0
        while True:
            first = self.last.number if lost is None else lost.after
            self._sent = lost is not None
            try:
                self._once(decide, id, request, first, recover)
                self._lost = None
                return answer()
            except BaseException as error:
                if self._sent:
                    lost = self._lost = lost or _Lost(digest(call), id, first)
                if not self._whole:
                    with suppress(Exception):  # the first error is the one to report
                        self._load(self._read)
                if isinstance(error, AnswerLostError):
                    give_up = give_up or time.monotonic() + ASKING
                retry = give_up and isinstance(error, (AnswerLostError, ConnectionError, TimeoutError))
                if retry and time.monotonic() < give_up:
                    time.sleep(PAUSE if time.monotonic() > give_up - ASKING + PAUSE else 0.0)
                    continue
                if retry:
                    raise _outcome_unknown(error) from error
                raise

    def _once(
        self,
        decide: Decide,
        id: str,
        request: str,
        first: int,
        recover: Callable[[list[Event]], object] | None,
    ) -> None:
        """Try once to make a change, unless it was made before."""
        with self.storage.transaction(self.name) as transaction:
            news = self._follow(transaction.read)
            number = self._keyed.get(id)
            if number is None and self._sent:
                number = next((row.number for row in transaction.read(first) if row.id == id), None)
            if number is not None:
                self._recall(transaction.read, number, id, request, decide, recover)
                return
            self._sent = False
            happened = decide(news)
            if not happened:
                return
            if self._acting.only_at not in (None, self.last.number):
                raise LogMovedOnError(
                    f"the log of {self.name!r} has {self.last.number} events, not {self._acting.only_at}."
                )
            by = self._acting.by
            rows = rows_of(happened, self.last, at=self.clock(), id=id, request=request, by=by)
            # The state is given what will be written, as in a replay, and refuses what cannot happen. If
            # nothing is written in the end, the log is read again.
            self._whole = False
            try:
                self._apply(rows)
            except UnusableError as flaw:
                raise ValueError(f"{flaw.why}. Nothing was written.") from None
            self._sent = True
            transaction.append(rows)
        self._note(rows)
        self._acted.n_events = self.last.number
        self._changes_with_key += 1

    def _recall(
        self,
        read: Read,
        number: int,
        id: str,
        request: str,
        decide: Decide,
        recover: Callable[[list[Event]], object] | None,
    ) -> None:
        """Prepare the answer to a call that was made before, by this process or another."""
        events = _change(read(number), id)
        if request:
            _check_request(events[0], request)
        if recover is not None:
            recover(events)
            return
        now, self.state = self.state, State(self.specification)
        try:
            self.state.apply_all(events_in(read(0)[:number]))
            decide([])
        finally:
            self.state = now

    def _read(self, first: int) -> list[Row]:
        """The rows from this number on, outside of a transaction."""
        return self.storage.read(self.name, first)

    def _load(self, read: Read) -> None:
        """Read the whole log."""
        rows = read(0)
        plain = specification_in(rows, self.name)
        if rows[0].number != 0 or rows[0].hash != link(START, rows[0].id, rows[0].record):
            raise not_fitting(self.name, 0)
        # The name is the store's business: a study may be renamed.
        self.specification = Specification.from_plain({**plain, "name": self.name})
        self.state = State(self.specification)
        self._keyed: dict[str, int] = {}
        self._advance(rows)

    def _follow(self, read: Read) -> list[Event]:
        """Apply what was appended after the last row that is known."""
        rows = read(self.last.number)
        if not rows or rows[0].hash != self.last.hash:
            raise self._rolled_back(len(read(0)) - 1)
        if not self._whole:  # a change was applied, and not written
            self._load(read)
        elif len(rows) > 1:
            self._advance(rows)
        return events_in(rows[1:])

    def _advance(self, rows: Sequence[Row]) -> None:
        """Apply rows after the first; each must continue the one before it."""
        for before, row in itertools.pairwise(rows):
            if row.number != before.number + 1 or row.hash != link(before.hash, row.id, row.record):
                raise not_fitting(self.name, before.number + 1)
        self._whole = False
        self._apply(itertools.islice(rows, 1, None))
        self._note(rows)

    def _apply(self, rows: Iterable[Row]) -> None:
        with without_collector():
            self.state.apply_all(map(event_of, rows))

    def _note(self, rows: Sequence[Row]) -> None:
        """Remember the rows that the state has got."""
        for row in rows:
            if row.id.startswith(KEYED):
                self._keyed.setdefault(row.id, row.number)
        self.last, self._whole = rows[-1], True

    def _rolled_back(self, length: int) -> StoreChangedError:
        what = (
            f"was rolled back: it has {length} events, and had {self.last.number}"
            if length < self.last.number
            else "is not the one that was read before: its history was replaced"
        )
        return StoreChangedError(
            f"the log of {self.name!r} {what}. Nothing was written; find out which copy is right, and open "
            "the study again."
        )


def _change(rows: Sequence[Row], id: str) -> list[Event]:
    """The events of a change among the rows from its first one on."""
    return [event for event in events_in(rows) if event.append == id]


def _check_request(event: Event, request: str | None) -> None:
    if request is not None and event.request != request:
        raise ValueError(
            f"this key was used for another change (event {event.number}): choose another key. Nothing was "
            "written."
        )


def _outcome_unknown(error: BaseException) -> OutcomeUnknownError:
    reason = str(error).split(" Nothing was written")[0].rstrip(".")
    return OutcomeUnknownError(
        f"it is not known whether this was written: the answer to the commit was lost ({reason}). Make the "
        "same call again in this program (it is not written twice), or look at the log before recording it "
        "anew."
    )
