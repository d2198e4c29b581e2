"""Where logs are kept: a protocol of six methods, the chain of hashes, and a store in memory.

A log is a list of rows. Row 0 holds what the study was made with, every later row an event. The hash of a row
covers the hash before it, so the last one, the head, identifies the whole log. Stores keep rows and do not
look into them; they never change or delete one.
"""

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from hashlib import sha256
from typing import Any, NamedTuple, Protocol

from noisewise.core.checks import nearest

#: What the hash of row 0 continues. It changes when the meaning of the hashes does.
START = sha256(b"noisewise log 3").digest()
#: Names of studies that a message lists at most.
MOST_NAMED = 10


class Row(NamedTuple):
    """One record of a log."""

    number: int
    id: str  # of the change that wrote it
    record: bytes  # JSON
    hash: bytes


class LogMovedOnError(RuntimeError):
    """The log has other events than the caller expected: read on, and decide again."""


class NameTakenError(ValueError):
    """There is a study of this name already."""


class AnswerLostError(ConnectionError):
    """A commit was sent, and it is not known whether it took effect."""


class OutcomeUnknownError(OSError):
    """The answer to a change was lost, and the store cannot be asked: it was written, or it was not."""


class StoreChangedError(OSError):
    """The store is not the one that was opened: it was replaced, removed, or put back to an earlier state."""


class DamagedError(ValueError):
    """What a store or an exported log says does not fit together."""

    def __init__(self, sentence: str, event: int | None = None) -> None:
        super().__init__(sentence)
        self.event = event  # the first one that does not fit, if it is one


class Transaction(Protocol):
    """One log, to which no one else can append until the transaction ends."""

    def read(self, first: int) -> list[Row]:
        """All rows from this number on."""

    def append(self, rows: Sequence[Row]) -> None:
        """Add rows at the end."""


class Storage(Protocol):
    """What a store must be able to do; `noisewise.testing.check_storage` checks it."""

    def create(self, name: str, rows: Sequence[Row]) -> None:
        """Begin a log with row 0, or with all rows of another one; refuse a name that is taken."""

    def names(self) -> list[str]:
        """The studies there are, the oldest first."""

    def read(self, name: str, first: int = 0, last: int | None = None) -> list[Row]:
        """The rows from one number to another, or to the end; refuse an unknown name."""

    def transaction(self, name: str) -> AbstractContextManager[Transaction]:
        """Wait until no one else writes to the log. Commits at the end; rolls back after an error."""

    def rename(self, name: str, new: str) -> None:
        """Give a study another name; refuse one that is taken."""

    def close(self) -> None:
        """Let go of files and connections; what was appended stays."""


METHODS = ("create", "names", "read", "transaction", "rename", "close")


def link(before: bytes, id: str, record: bytes) -> bytes:
    """The hash of a row that follows another one; empty if its parts are not of the right types."""
    try:
        return sha256(b"%b%d %b %b" % (before, len(id), id.encode(), record)).digest()
    except (TypeError, AttributeError, UnicodeEncodeError):
        return b""


def follow(before: Row | None, id: str, record: bytes) -> Row:
    """The row that continues a log after another row, or begins one."""
    number, head = (0, START) if before is None else (before.number + 1, before.hash)
    return Row(number, id, record, link(head, id, record))


def first_misfit(rows: Iterable[Row]) -> int | None:
    """The number of the first row of a whole log that does not continue the row before it."""
    head = START
    for number, row in enumerate(rows):
        head = link(head, row.id, row.record)
        if (row.number, row.hash) != (number, head):
            return number
    return None


class MemoryStorage:
    """A store that lives as long as the process."""

    def __init__(self) -> None:
        self._logs: dict[str, list[Row]] = {}
        self._lock = threading.RLock()

    def create(self, name: str, rows: Sequence[Row]) -> None:
        """Begin a log."""
        with self._lock:
            refuse_taken(name, self._logs)
            self._logs[name] = list(rows)

    def names(self) -> list[str]:
        """The studies there are."""
        return list(self._logs)

    def read(self, name: str, first: int = 0, last: int | None = None) -> list[Row]:
        """The rows from one number to another."""
        return self._log(name)[first : None if last is None else last + 1]

    @contextmanager
    def transaction(self, name: str) -> Iterator["_MemoryTransaction"]:
        """One log for this thread alone."""
        with self._lock:
            log = self._log(name)
            transaction = _MemoryTransaction(log)
            yield transaction
            log.extend(transaction.added)

    def rename(self, name: str, new: str) -> None:
        """Give a study another name."""
        with self._lock:
            self._log(name)
            refuse_taken(new, self._logs)
            self._logs = {new if key == name else key: log for key, log in self._logs.items()}

    def close(self) -> None:
        """Nothing to let go of."""

    def _log(self, name: str) -> list[Row]:
        try:
            return self._logs[name]
        except KeyError:
            raise unknown(name, self._logs) from None


class _MemoryTransaction:
    def __init__(self, log: list[Row]) -> None:
        self._log = log
        self.added: list[Row] = []

    def read(self, first: int) -> list[Row]:
        return self._log[first:]

    def append(self, rows: Sequence[Row]) -> None:
        self.added.extend(rows)


def check_name(name: Any) -> str:
    """A name people can read and any database can keep."""
    text = str(name)
    if not text.strip() or text != text.strip() or not text.isprintable():
        raise ValueError(
            f"`name` must be a few printable characters without blanks around them; got {name!r}."
        )
    return text


def refuse_taken(name: str, names: Iterable[str]) -> None:
    """Refuse a name that is in use."""
    if name in names:
        raise NameTakenError(
            f"`name` must be new in this store; there is a study {name!r} already: take another name, or "
            "another file."
        )


def unknown(name: str, names: Iterable[str]) -> KeyError:
    """The refusal of a name that does not exist."""
    there = list(names)
    listed = ", ".join(map(repr, there[:MOST_NAMED])) or "none"
    more = f" and {len(there) - MOST_NAMED} more" if len(there) > MOST_NAMED else ""
    return KeyError(
        f"there is no study {name!r} in this store, which has {listed}{more}.{nearest(name, there)}"
    )


def not_fitting(name: str, number: int) -> DamagedError:
    """The refusal of a log whose chain is broken."""
    what = "what it was made with does not fit its" if number == 0 else f"event {number} does not fit its"
    return DamagedError(
        f"the log of {name!r} is damaged: {what} hash, or rows before it were changed. Nothing was changed; "
        "restore a backup, or rebuild it from an exported log.",
        number or None,
    )
