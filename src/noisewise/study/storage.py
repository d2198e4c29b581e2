"""Where studies are kept: a specification and an append-only log of events per study, behind five methods.

The state of a study is a function of its specification and its log: nothing else is stored, nothing is
changed or deleted. Events are plain dictionaries of JSON values, so that any store can keep them.
"""

import json
from typing import Any, NamedTuple, Protocol


class Event(NamedTuple):
    """Something that happened in a study."""

    number: int  # 1 for the first
    at: float  # seconds since 1970, UTC
    kind: str
    body: dict[str, Any]


class LogMovedOnError(RuntimeError):
    """Somebody else appended to the log meanwhile: read on, and decide again."""


class Storage(Protocol):
    """What a store must be able to do."""

    def create(self, name: str, specification: dict[str, Any]) -> None:
        """Begin a study with an empty log; refuse a name that is taken."""

    def names(self) -> list[str]:
        """The studies there are."""

    def specification(self, name: str) -> dict[str, Any]:
        """What a study was created with; refuse an unknown name."""

    def append(self, name: str, after: int, events: list[Event]) -> None:
        """Append events all or none; `LogMovedOnError` unless the log ends with number ``after``."""

    def read(self, name: str, after: int = 0) -> list[Event]:
        """The events with numbers above ``after``, in order."""


class MemoryStorage:
    """A store that lives as long as the process."""

    def __init__(self) -> None:
        self._specifications: dict[str, str] = {}
        self._logs: dict[str, list[Event]] = {}

    def create(self, name: str, specification: dict[str, Any]) -> None:
        """Begin a study with an empty log."""
        if name in self._logs:
            raise ValueError(f"`name` must be new in this store; there is a study {name!r} already.")
        self._specifications[name] = json.dumps(specification)
        self._logs[name] = []

    def names(self) -> list[str]:
        """The studies there are."""
        return list(self._logs)

    def specification(self, name: str) -> dict[str, Any]:
        """What a study was created with."""
        if name not in self._logs:
            listed = ", ".join(map(repr, self._logs)) or "none"
            raise KeyError(f"`name` must be a study of this store, which has {listed}; got {name!r}.")
        found: dict[str, Any] = json.loads(self._specifications[name])
        return found

    def append(self, name: str, after: int, events: list[Event]) -> None:
        """Append events all or none."""
        log = self._logs[name]
        if len(log) != after:
            raise LogMovedOnError(f"the log of {name!r} has {len(log)} events, not {after}.")
        log.extend(events)

    def read(self, name: str, after: int = 0) -> list[Event]:
        """The events with numbers above ``after``."""
        return self._logs[name][after:]
