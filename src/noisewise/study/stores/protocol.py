"""Where studies are kept: a specification and an append-only log of events per study, behind seven methods.

The state of a study is a function of its specification and its log: nothing else is stored, nothing is
changed or deleted. Events are plain dictionaries of JSON values, so that any store can keep them.
"""

import itertools
import json
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from noisewise.core.support.checks import nearest
from noisewise.study.stores.turns import Turns

#: Names of studies that a message lists at most.
MOST_NAMED = 10
#: Events that are copied together.
TOGETHER = 1000


class Event(NamedTuple):
    """Something that happened in a study."""

    number: int  # 1 for the first
    at: float  # seconds since 1970, UTC
    kind: str
    body: dict[str, Any]
    append: str = ""  # a random id of what was appended together, kept with its first event
    hash: str = ""  # of this event and all before it, in hexadecimal; see `noisewise.study.stores.chain`


class LogMovedOnError(RuntimeError):
    """Somebody else appended to the log meanwhile: read on, and decide again."""


class NameTakenError(ValueError):
    """There is a study of this name already."""


class OutcomeUnknownError(OSError):
    """The answer to a change was lost, and the store cannot be asked: it was written, or it was not."""


class StoreChangedError(OSError):
    """The store is not the one that was opened: it was replaced, removed, or put back to an earlier state."""


class DamagedError(ValueError):
    """What a store or an exported log says does not fit together."""

    def __init__(self, sentence: str, event: int | None = None) -> None:
        super().__init__(sentence)
        self.event = event  # the first one that does not fit, if it is one


class Storage(Protocol):
    """What a store must be able to do; `noisewise.testing.check_storage` checks it."""

    def create(self, name: str, specification: dict[str, Any]) -> None:
        """Begin a study with an empty log; refuse a name that is taken."""

    def names(self) -> list[str]:
        """The studies there are, the oldest first."""

    def specification(self, name: str) -> dict[str, Any]:
        """What a study was created with; refuse an unknown name."""

    def append(self, name: str, after: int, events: list[Event]) -> list[Event] | None:
        """Append events all or none; `LogMovedOnError` unless the log ends with number ``after``.

        A store that keeps the chain of hashes returns the events with theirs; any other returns None.
        """

    def read(self, name: str, after: int = 0) -> list[Event]:
        """The events with numbers above ``after``, in order."""

    def rename(self, name: str, new: str) -> None:
        """Give a study another name; refuse one that is taken."""

    def close(self) -> None:
        """Let go of files and connections; what was appended stays."""


METHODS = ("create", "names", "specification", "append", "read", "rename", "close")
#: What a store may have besides: ``turn(name, patience, meanwhile)``, a context in which no other process
#: decides what to append to this study (it yields whether the turn came in time, append must not rely on it,
#: and it may call ``meanwhile`` while it is next in line); ``keeps_hashes``, whether it keeps the chain of
#: hashes and compares what it reads with it; ``page(name, after, most)``, at most so many of the events that
#: ``read`` gives, without reading all of them; and ``numbers(name, kind, text)``, those of the events of a
#: kind (None: of any) whose body, as `to_json` writes it and in small letters, has a text in it. One that is
#: on another machine, and decides itself what is appended, has ``take_whole(name, specification,
#: events)`` for a whole log, and ``exported(name)``, the lines of one.
ABILITIES = ("turn", "keeps_hashes", "page", "numbers", "take_whole", "exported")


def page_of(storage: Storage, name: str, after: int, most: int) -> list[Event]:
    """At most so many events with numbers above ``after``, in order."""
    page: Callable[[str, int, int], list[Event]] | None = getattr(storage, "page", None)
    return storage.read(name, after)[:most] if page is None else page(name, after, most)


def numbers_of(storage: Storage, name: str, kind: str | None = None, text: str = "") -> list[int]:
    """The numbers of events of a kind, or of any, whose body has a text in it, in small letters or large."""
    wanted = to_json(text)[1:-1].lower()
    found: Callable[[str, str | None, str], list[int]] | None = getattr(storage, "numbers", None)
    if found is not None:
        return found(name, kind, wanted)
    return [
        event.number
        for event in storage.read(name)
        if kind in (None, event.kind) and wanted in to_json(event.body).lower()
    ]


class MemoryStorage:
    """A store that lives as long as the process."""

    def __init__(self) -> None:
        self._specifications: dict[str, str] = {}
        self._logs: dict[str, list[Event]] = {}
        self._lock = threading.Lock()
        self._turns = Turns()

    def create(self, name: str, specification: dict[str, Any]) -> None:
        """Begin a study with an empty log."""
        plain = to_json(specification)
        with self._lock:
            refuse_taken(name, self._logs)
            self._specifications[name] = plain
            self._logs[name] = []

    def names(self) -> list[str]:
        """The studies there are."""
        return list(self._logs)

    def specification(self, name: str) -> dict[str, Any]:
        """What a study was created with."""
        self._log(name)
        found: dict[str, Any] = json.loads(self._specifications[name])
        return found

    def append(self, name: str, after: int, events: list[Event]) -> None:
        """Append events all or none."""
        check_numbers(after, events)
        # What is in memory only is not hashed twice: the study does it.
        kept = list(_copies(events))
        with self._lock:
            log = self._log(name)
            if len(log) != after:
                raise moved_on(name, len(log), after)
            log.extend(kept)

    def read(self, name: str, after: int = 0) -> list[Event]:
        """The events with numbers above ``after``."""
        return self._log(name)[after:]

    def rename(self, name: str, new: str) -> None:
        """Give a study another name."""
        with self._lock:
            self._log(name)
            refuse_taken(new, self._logs)
            for table in (self._logs, self._specifications):
                renamed = {new if key == name else key: value for key, value in table.items()}
                table.clear()
                table.update(renamed)  # type: ignore[arg-type]

    def turn(
        self, name: str, patience: float, meanwhile: Callable[[], object] | None = None
    ) -> AbstractContextManager[bool]:
        """A context in which no other thread decides on what to append to this study."""
        return self._turns.take(name, patience)

    def close(self) -> None:
        """Nothing to let go of."""

    def _log(self, name: str) -> list[Event]:
        if name not in self._logs:
            raise unknown(name, self._logs)
        return self._logs[name]


def _copies(events: Iterable[Event]) -> Iterator[Event]:
    """Events as JSON would give them back; some at a time, which is quicker than each by itself."""
    rest = iter(events)
    while some := list(itertools.islice(rest, TOGETHER)):
        bodies = json.loads(to_json([event.body for event in some]))
        for event, body in zip(some, bodies, strict=True):
            yield Event(event.number, event.at, event.kind, body, event.append)


def to_json(content: Any) -> str:
    """Plain JSON in ASCII: exact for floats, fit for any database, and the same for the same content."""
    try:
        return json.dumps(content, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as problem:
        raise ValueError(f"events and specifications must be plain JSON values; {problem}.") from None


def check_numbers(after: int, events: list[Event]) -> None:
    """Numbers of events follow each other without gaps."""
    # Events of a large table are made one by one, and know their numbers without that.
    for place, number in enumerate(getattr(events, "numbers", None) or (e.number for e in events), after + 1):
        if number != place:
            raise ValueError(f"events must be numbered on from {after}; got {number}, not {place}.")


def check_name(name: Any) -> str:
    """A name people can read and any database can keep."""
    text = str(name)
    if not text.strip() or text != text.strip() or not text.isprintable():
        raise ValueError(f"`name` must be a few printable characters, not blanks around them; got {name!r}.")
    return text


def refuse_taken(name: str, names: Iterable[str]) -> None:
    """Refuse a name that is in use."""
    if name in names:
        raise NameTakenError(
            f"`name` must be new in this store; there is a study {name!r} already: take another name, or "
            "another file."
        )


def unknown(name: str, names: Iterable[str]) -> KeyError:
    """The refusal of a name that is not there."""
    there = list(names)
    listed = ", ".join(map(repr, there[:MOST_NAMED])) or "none"
    more = f" and {len(there) - MOST_NAMED} more" if len(there) > MOST_NAMED else ""
    return KeyError(
        f"there is no study {name!r} in this store, which has {listed}{more}.{nearest(name, there)}"
    )


def moved_on(name: str, length: int, after: int) -> LogMovedOnError:
    """The refusal to append at a place that is taken."""
    return LogMovedOnError(f"the log of {name!r} has {length} events, not {after}.")
