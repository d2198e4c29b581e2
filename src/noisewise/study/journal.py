"""The journal of a study: its log as this process knows it, and how a change gets into it."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from noisewise.core.remarks import warn
from noisewise.study.log.events import Event
from noisewise.study.log.log import Acted, Acting, Decide, Log
from noisewise.study.log.specification import Specification
from noisewise.study.log.state import State
from noisewise.study.log.told import MeasurementWarning
from noisewise.study.models.analysis import Analysis
from noisewise.study.stores.protocol import Storage
from noisewise.study.surprises import Surprises

Answer = TypeVar("Answer")


class Journal:
    """A log in a store, the state that follows from it, and the decisions that are appended.

    Every change is an event; nothing is ever deleted, and the same log always gives the same state.
    """

    def __init__(self, storage: Storage, name: str, clock: Callable[[], float] = time.time) -> None:
        self._storage, self._clock = storage, clock
        #: The analysis of the state, with the number of its last event.
        self._analysis: tuple[int, Analysis] | None = None
        self._surprises: tuple[int, Surprises] | None = None
        self._log = Log(storage, name, clock)

    @property
    def specification(self) -> Specification:
        """The question."""
        return self._log.specification

    @property
    def _state(self) -> State:
        return self._log.state

    @property
    def name(self) -> str:
        """The study's name in its store."""
        return self.specification.name

    @property
    def head(self) -> str:
        """The last hash of the log's chain, in hexadecimal, which identifies the whole log."""
        self._catch_up()
        return self._log.head

    @property
    def n_events(self) -> int:
        """How many events the log has."""
        self._catch_up()
        return self._state.n_events

    @property
    def last_change(self) -> float | None:
        """When the last event was appended, in seconds since 1970; None before the first."""
        self._catch_up()
        return self._log.last_at

    def events(self, until: int | None = None) -> list[Event]:
        """The log, or its beginning."""
        return self._log.events(until)

    def head_at(self, number: int) -> str:
        """The hash of an event, which stands for the log up to it; 0: of the specification alone."""
        return self._storage.read(self.name, number, number)[0].hash.hex()

    def acting(
        self,
        by: str | None = None,
        *,
        only_at: int | None = None,
        key: str | None = None,
        request: str | None = None,
    ) -> AbstractContextManager[Acted]:
        """A context whose change is somebody's, happens only to a certain state, and can be found again.

        It gives what came of the change, which is known when it is over.

        Args:
            by: Who corrects, closes or switches: kept with the event. Who asks or tells is said there.
            only_at: The number of events that the log must have; `LogMovedOnError` if it has others.
            key: What the change is known by. Making it again with the same key does nothing, and gives the
                same answer; another change with it is refused.
            request: What tells a repetition from another change; default: a digest of the call.
        """
        return self._log.acting(Acting(by, only_at, key, request))

    def appended_as(self, key: str, request: str | None = None) -> list[Event]:
        """What was appended with a key (see `acting`), by this process or another; none if nothing was."""
        return self._log.with_key(key, request)

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
        before, corrections = number - 1, self._state.corrections
        told, surprises = self._surprises or (-1, None)
        if surprises is not None and told != corrections:
            surprises = None
        if surprises is None or (surprises.seen != before and not surprises.catch_up(self._state, before)):
            surprises = Surprises(self._state, before)
            self._surprises = corrections, surprises
        for text in surprises.take(self._state, body, written):
            warn(f"m-{number}: {text}", MeasurementWarning, stacklevel=3)

    def _now(self) -> Analysis:
        state = self._state
        number, made = self._analysis or (-1, None)
        if made is None or number != state.n_events or made.state is not state:
            made = Analysis(state)
            self._analysis = state.n_events, made
        return made

    def _record(
        self,
        decide: Decide,
        call: tuple[Any, ...],
        answer: Callable[[], Answer],
        *,
        before: Callable[[], object] | None = None,
        recover: Callable[[list[Event]], object] | None = None,
    ) -> Answer:
        """Decide on the newest state and append; see `Log.change`."""
        return self._log.change(decide, call, answer, before=before, recover=recover)

    def _catch_up(self) -> list[Event]:
        """Apply what the log has beyond this state."""
        return self._log.catch_up()
