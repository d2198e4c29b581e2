"""Changes whose answer was lost: whether they are in the log, and whether a call repeats one of them."""

import hashlib
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable
from itertools import takewhile
from typing import Any, NamedTuple

from noisewise.study.stores.protocol import Event, to_json

#: How the id of what was appended with a key begins.
KEYED = "key-"
#: Keys that are remembered, the newest of the log.
MOST_KEYS = 10_000


def new_append(key: str | None = None) -> str:
    """An id for what is appended together: of a key, by which it is found again, or a random one."""
    if key is None:
        return uuid.uuid4().hex
    return f"{KEYED}{hashlib.sha256(key.encode(errors='surrogatepass')).hexdigest()[:40]}"


class KeyedAppends:
    """Where in the log changes with a key are; so a repetition is known after a restart as well."""

    def __init__(self) -> None:
        self._first: OrderedDict[str, int] = OrderedDict()

    def note(self, events: Iterable[Event]) -> None:
        """Remember those among these events of the log."""
        for event in events:
            if event.append.startswith(KEYED):
                self._first[event.append] = event.number
        while len(self._first) > MOST_KEYS:
            self._first.popitem(last=False)

    def find(self, key: str) -> int | None:
        """The number of the first event of the change with this key."""
        return self._first.get(new_append(key))


def appended_from(log: list[Event]) -> list[Event]:
    """What was appended together with the first of these events: the others have no id."""
    return [*log[:1], *takewhile(lambda event: not event.append, log[1:])]


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
