"""What is about to happen in a study, as numbered events; those of a large table are made one by one."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, cast

from noisewise.core.support.sequences import MadeOnDemand
from noisewise.study.intake.batch import Batch
from noisewise.study.stores.protocol import Event, to_json

#: Kinds and bodies of events.
Happened = Sequence[tuple[str, dict[str, Any]]]
#: Kinds whose content itself says who.
SAY_WHO = ("ask", "tell")
#: How often a watcher hears of progress.
STEP = 10_000


def events_of(happened: Happened, first: int, now: float, by: str | None = None) -> list[Event]:
    """The events, numbered from ``first``, as a replay would read them; ``by`` is who made a change."""
    if isinstance(happened, Batch):
        # Stores read it from the first to the last, as they would a list.
        return cast(list[Event], BatchEvents(happened, first, now))
    # Through JSON, so that the state is what a replay would make of the log.
    plain = json.loads(to_json(list(happened)))
    if by is not None:
        plain = [(kind, body if kind in SAY_WHO else body | {"by": by}) for kind, body in plain]
    events = [Event(first + place, now, kind, body) for place, (kind, body) in enumerate(plain)]
    return RehearsedEvents(events) if getattr(happened, "rehearsed", False) else events


class RehearsedEvents(list[Event]):
    """Events that were tried one after the other when they were made."""

    rehearsed = True


class BatchEvents(MadeOnDemand[Event]):
    """The events of a table. Their bodies are what JSON would give back: texts, numbers, lists."""

    def __init__(self, batch: Batch, first: int, now: float) -> None:
        self._batch, self._first, self._now = batch, first, now
        self._lead: Event | None = None
        #: What was read in bulk was compared with the same ranges as events are.
        self.rehearsed = batch.parsed.in_bulk

    def __len__(self) -> int:
        return len(self._batch)

    def __iter__(self) -> Iterator[Event]:
        for place in range(len(self)):
            if place % STEP == 0:
                self._batch.watch("writing", place, len(self))
            yield self.make(place)

    @property
    def texts(self) -> Iterator[str]:
        """The bodies as JSON text."""
        for place, text in enumerate(self._batch.texts()):
            if place % STEP == 0:
                self._batch.watch("writing", place, len(self))
            yield text

    @property
    def outlines(self) -> Iterator[Event]:
        """The events without their bodies."""
        append = "" if self._lead is None else self._lead.append
        for number in self.numbers:
            yield Event(number, self._now, "tell", {}, append if number == self._first else "")

    @property
    def numbers(self) -> range:
        """The numbers of the events."""
        return range(self._first, self._first + len(self))

    def __setitem__(self, at: int, event: Event) -> None:
        """Put another event in the place of the first, which carries the id of what is appended together."""
        if at != 0:
            raise IndexError("only the first event can be replaced.")
        self._lead = event

    def make(self, place: int) -> Event:
        """The event at a place of the table."""
        if place == 0 and self._lead is not None:
            return self._lead
        return Event(self._first + place, self._now, "tell", self._batch.body(place))
