"""The journal of a study: its log as this process knows it, and how a change gets into it."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeVar, cast

from noisewise.core.support.garbage import without_collector
from noisewise.core.support.remarks import warn
from noisewise.study.intake.events import Happened, events_of
from noisewise.study.intake.surprises import Surprises
from noisewise.study.log.specification import Specification
from noisewise.study.log.state import State
from noisewise.study.log.told import MeasurementWarning
from noisewise.study.log.unanswered import (
    KeyedAppends,
    Unanswered,
    appended_from,
    is_there,
    new_append,
)
from noisewise.study.log.validation import rehearse
from noisewise.study.models.analysis import Analysis
from noisewise.study.stores.chain import follow, start_of
from noisewise.study.stores.protocol import (
    Event,
    LogMovedOnError,
    Storage,
    StoreChangedError,
    moved_on,
    to_json,
)

#: Seconds during which others may be faster before a change is given up.
PATIENCE = 30.0
Decide = Callable[[list[Event]], Happened]
Answer = TypeVar("Answer")


class Acted:
    """What came of a change."""

    #: How many events the log had right after it; None: nothing was appended.
    n_events: int | None = None


class Journal:
    """A log in a store, the state that follows from it, and the decisions that are appended.

    Every change is an event; nothing is ever deleted, and the same log always gives the same state.
    """

    def __init__(self, storage: Storage, name: str, clock: Callable[[], float] = time.time) -> None:
        self._storage, self._clock = storage, clock
        plain = storage.specification(name)
        # The name is the store's business: a study may be renamed.
        self.specification = Specification.from_plain({**plain, "name": name})
        self._state = State(self.specification)
        self._start = self._head = start_of(to_json(plain)).hex()
        self._crowded = (
            False  # whether others wrote between the last changes: then it is better to look first
        )
        self._unanswered: list[Unanswered] = []
        self._actor: str | None = None
        self._only_at: int | None = None
        self._key: str | None = None
        self._acted = Acted()
        self._keyed = KeyedAppends()
        self._last_at: float | None = None
        self._analysis: Analysis | None = None
        self._quick_analysis: Analysis | None = None
        self._surprises: Surprises | None = None
        self._catch_up()

    @property
    def name(self) -> str:
        """The study's name in its store."""
        return self.specification.name

    @property
    def head(self) -> str:
        """The last hash of the log's chain, in hexadecimal: it stands for everything that happened."""
        self._catch_up()
        return self._head

    @property
    def n_events(self) -> int:
        """How many events the log has."""
        self._catch_up()
        return self._state.n_events

    @property
    def last_change(self) -> float | None:
        """When the last event was appended, in seconds since 1970; None before the first."""
        self._catch_up()
        return self._last_at

    def events(self, until: int | None = None) -> list[Event]:
        """The log, or its beginning."""
        events = follow(self._start, self._storage.read(self.name), verified=self._chains)
        return events if until is None else events[:until]

    @contextmanager
    def acting(
        self, by: str | None = None, *, only_at: int | None = None, key: str | None = None
    ) -> Iterator["Acted"]:
        """A context whose change is somebody's, happens only to a certain state, and can be found again.

        It gives what came of the change, which is known when it is over.

        Args:
            by: Who corrects, closes or switches: kept with the event. Who asks or tells is said there.
            only_at: The number of events that the log must have; `LogMovedOnError` if it has others.
            key: What the change is known by; see `appended_as`.
        """
        before = self._actor, self._only_at, self._key, self._acted
        self._actor, self._only_at, self._key, self._acted = by, only_at, key, Acted()
        try:
            yield self._acted
        finally:
            self._actor, self._only_at, self._key, self._acted = before

    def appended_as(self, key: str) -> list[Event]:
        """What was appended with a key (see `acting`), by this process or another; none if nothing was."""
        self._catch_up()
        first = self._keyed.find(key)
        return [] if first is None else appended_from(self._storage.read(self.name, first - 1))

    def analysis(self) -> Analysis:
        """The fits behind everything that is said, at this moment."""
        self._catch_up()
        return self._now()

    def _warn_of(self, number: int, body: dict[str, Any], written: Any) -> None:
        """Warn of what looks like a slip in a measurement that was just told.

        Args:
            number: Its number.
            body: What was told, as the log holds it.
            written: Its value as it was written.
        """
        surprises, before = self._surprises, number - 1
        if surprises is None or (surprises.seen != before and not surprises.catch_up(self._state, before)):
            surprises = self._surprises = Surprises(self._state, before)
        for text in surprises.take(self._state, body, written):
            warn(f"m-{number}: {text}", MeasurementWarning, stacklevel=3)

    def _now(self) -> Analysis:
        if self._analysis is None:
            self._analysis = Analysis(self._state)
        return self._analysis

    def _quick(self) -> Analysis:
        """The same for many looks in a row; see `Analysis.quickly`."""
        if self._quick_analysis is None:
            self._quick_analysis = Analysis(self._state)
            self._quick_analysis.quickly = True
        return self._quick_analysis

    def _record(
        self,
        decide: Decide,
        call: tuple[Any, ...],
        answer: Callable[[], Answer],
        *,
        before: Callable[[], object] | None = None,
        meanwhile: Callable[[list[Event]], object] | None = None,
    ) -> Answer:
        """Decide on the newest state and append; if others were faster, decide again.

        Args:
            decide: Makes the events; it is told what happened since it last returned.
            call: What was called, with its arguments: the same call after one whose outcome remained unknown
                is taken for its repetition.
            answer: What to return when the events are written.
            before: What takes so long that the others should not wait for it: it is done before this queues
                for its turn, and decided on in view of the news.
            meanwhile: What can be done with the news since ``before`` while this is the next in line.
        """
        # Forgotten only when something else is called, or when it is known what became of it.
        self._unanswered = [one for one in self._unanswered if one.same(call)]
        if self._unanswered and (found := self._answered(self._catch_up_to_unanswered())) is not None:
            return cast(Answer, found.answer())
        give_up = time.monotonic() + PATIENCE
        news: list[Event] = []

        def catch_up() -> None:
            news.extend(self._catch_up())
            cast(Callable[[list[Event]], object], meanwhile)(news)

        if before is not None:
            before()
        looks = self._crowded or before is not None or meanwhile is not None
        with self._turn(None if meanwhile is None else catch_up):
            if looks:
                news.extend(self._catch_up())
            self._crowded = bool(news)
            while happened := self._decided(decide, news):
                if self._only_at is not None and self._only_at != self._state.n_events:
                    raise moved_on(self.name, self._state.n_events, self._only_at)
                events = events_of(happened, self._state.n_events + 1, self._clock(), self._actor)
                rehearse(self._state, events)
                events[0] = events[0]._replace(append=new_append(self._key))
                try:
                    self._append(events)
                    break
                except LogMovedOnError:
                    self._crowded = True
                    news = self._news(give_up)
                    if is_there(events[0], news):
                        break  # by a store that tried twice
                    if (found := self._answered(news)) is not None:
                        return cast(Answer, found.answer())  # an earlier try, only just written
                except BaseException:
                    # Whatever it was, it may have been written: the next call will see.
                    self._unanswered.append(Unanswered(call, answer, events[0]))
                    raise
        self._unanswered = []
        return answer()

    @property
    def _chains(self) -> bool:
        """Whether the store keeps the hashes, and compares what it reads with them."""
        return getattr(self._storage, "keeps_hashes", False)

    def head_at(self, number: int) -> str:
        """The hash of an event, which stands for the log up to it; 0: of the specification alone."""
        return self._start if number == 0 else self.events(until=number)[-1].hash

    def _append(self, events: list[Event]) -> None:
        kept = self._storage.append(self.name, self._state.n_events, events)
        written = follow(self._head, events if kept is None else kept, verified=kept is not None)
        # Those that say so themselves were not looked at by `rehearse`.
        self._apply(written, rehearsed=not getattr(events, "rehearsed", False))
        self._acted.n_events = self._state.n_events

    def _turn(self, meanwhile: Callable[[], None] | None) -> AbstractContextManager[Any]:
        """The turn to change this study, where the store keeps a queue."""
        turn = getattr(self._storage, "turn", None)
        # Half of the patience: a process that waited in vain goes ahead without it.
        return nullcontext() if turn is None else turn(self.name, PATIENCE / 2.0, meanwhile)

    def _catch_up_to_unanswered(self) -> list[Event]:
        """The part of the log that may hold what got no answer."""
        self._catch_up()
        first = min(one.first.number for one in self._unanswered)
        return self._storage.read(self.name, first - 1) if first <= self._state.n_events else []

    def _answered(self, log: list[Event]) -> Unanswered | None:
        """The change without an answer that is in this part of the log."""
        for one in self._unanswered:
            if is_there(one.first, log):
                self._unanswered = []
                return one
        return None

    def _news(self, give_up: float) -> list[Event]:
        """What others appended when this study wanted to."""
        if news := self._catch_up():
            if time.monotonic() > give_up:
                raise TimeoutError(
                    f"others wrote to study {self.name!r} faster than this could be decided, for "
                    f"{PATIENCE:g} s. Nothing was written; run again."
                )
            return news
        length = len(self._storage.read(self.name))
        if length == self._state.n_events and time.monotonic() <= give_up:
            return []  # the two looks were of different moments
        raise StoreChangedError(
            f"the log of {self.name!r} was rolled back: it has {length} events, and had "
            f"{self._state.n_events}. Nothing was written; find out which copy is right, and open the study "
            "again."
        )

    def _decided(self, decide: Decide, news: list[Event]) -> Happened:
        """What is decided; something is refused only in view of everything that is in the log."""
        try:
            return decide(news)
        except (ValueError, KeyError, TypeError):
            more = self._catch_up()
            if not more:
                raise
            return self._decided(decide, [*news, *more])

    def _catch_up(self) -> list[Event]:
        """Apply what the log has beyond this state."""
        with without_collector():
            events = self._storage.read(self.name, self._state.n_events)
            events = follow(self._head, events, verified=self._chains)
            self._apply(events)
        return events

    def _apply(self, events: Sequence[Event], *, rehearsed: bool = False) -> None:
        if events:
            if any(event.kind in ("void", "amend") for event in events):
                self._surprises = None
            self._state.apply_all(events, rehearsed=rehearsed)
            self._keyed.note(events)
            self._head = events[-1].hash
            self._last_at = events[-1].at
            self._forget()

    def _forget(self) -> None:
        """Drop what was computed from the log before it went on."""
        self._analysis = self._quick_analysis = None
