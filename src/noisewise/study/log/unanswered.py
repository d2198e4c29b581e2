"""Changes whose answer was lost: whether they are in the log, and whether a call repeats one of them."""

import uuid
from collections.abc import Callable
from typing import Any, NamedTuple

from noisewise.study.stores.protocol import Event, to_json


def new_append() -> str:
    """A random id for what is appended together."""
    return uuid.uuid4().hex


class Unanswered(NamedTuple):
    """A call that ended with an error after its events had been handed to the store."""

    call: tuple[Any, ...]
    answer: Callable[[], Any]
    first: Event

    def same(self, call: tuple[Any, ...]) -> bool:
        """Whether another call has the same arguments."""
        try:
            return bool(self.call == call)
        except Exception:
            return self.call is call  # arrays do not say whether they are equal


def is_there(first: Event, log: list[Event]) -> bool:
    """Whether these events of a log begin with, or contain, what was appended under this event's id."""
    for event in log:
        if event.append and event.append == first.append:
            return True
        # A store that keeps no ids: the same at the same place and time.
        if not event.append and event.number == first.number:
            same = (event.at, event.kind, to_json(event.body)) == (first.at, first.kind, to_json(first.body))
            if same:
                return True
    return False
