"""The statements of a store in a database, and events as the rows that they write and read."""

import zlib
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any, cast

from noisewise.core.support.sequences import MadeOnDemand
from noisewise.study.stores.chain import link
from noisewise.study.stores.database.connection import Connection
from noisewise.study.stores.database.schema import EVENTS
from noisewise.study.stores.protocol import DamagedError, Event, to_json

#: Rows that are handed to the database at once.
TOGETHER = 5000
#: Events that are kept as they are when they are written, instead of compressed.
FEW = 100

STUDY = "SELECT id, name, start, seal, specification FROM noisewise_studies WHERE name = :name"
RENAME = "UPDATE noisewise_studies SET name = :name, seal = :seal WHERE id = :study"
#: With the id of the store, which must be the one that was opened.
HEAD = (
    "SELECT noisewise_heads.number, noisewise_heads.hash, noisewise_schema.id "
    "FROM noisewise_heads JOIN noisewise_schema ON 1 = 1 WHERE noisewise_heads.study = :study"
)
#: The same in a database that locks rows: other writers of the study wait; other makers of studies wait.
LOCK = f"{HEAD} FOR UPDATE OF noisewise_heads"
LOCK_STORE = "SELECT id FROM noisewise_schema FOR UPDATE"
MOVE = "UPDATE noisewise_heads SET number = :number, hash = :hash WHERE study = :study"
READ = (
    "SELECT number, at, kind, append, body, hash FROM noisewise_events "
    "WHERE study = :study AND number >= :first AND number <= :last ORDER BY number"
)
#: Further than any log goes.
LAST = 2**62
#: Numbers of events of a kind, and of those whose body has a text in it.
OF_KIND = "SELECT number FROM noisewise_events WHERE study = :study AND kind = :kind ORDER BY number"
WITH_TEXT = (
    "SELECT number FROM noisewise_events WHERE study = :study AND (:kind = '' OR kind = :kind) "
    "AND lower(body) LIKE :text ESCAPE '!' ORDER BY number"
)
ONE = "SELECT append, hash FROM noisewise_events WHERE study = :study AND number = :number"

#: The columns of an event's row, in the order of `chained_rows`.
ROW = ("study", "number", "at", "kind", "append", "body", "hash")


def chained_rows(
    study: int, before: bytes, events: list[Event]
) -> tuple[list[Event], Iterator[tuple[Any, ...]]]:
    """Events with their hashes, and their rows, made as they are needed."""
    if type(events) is list and len(events) < FEW:
        return _few_rows(study, before, events)
    # Events of a large table are made one by one: what is needed here is had without their bodies.
    outlines = getattr(events, "outlines", events)
    texts = getattr(events, "texts", None) or (to_json(event.body) for event in events)
    kept, bodies, head = Hashed(events), Waiting(), before
    for e, body in zip(outlines, texts, strict=True):
        head = link(head, e.number, e.at, e.kind, e.append, body)
        if e.hash and e.hash != head.hex():
            raise _misfit(e.number)
        kept.hashes += head
        bodies.append(body)
    again = getattr(events, "outlines", events)
    rows = (
        (study, e.number, e.at, e.kind, e.append, body, hash)
        for e, body, hash in zip(again, bodies.taken(), kept.digests(), strict=True)
    )
    return cast(list[Event], kept), rows


def _few_rows(study: int, head: bytes, events: list[Event]) -> tuple[list[Event], Iterator[tuple[Any, ...]]]:
    """The same for a few, which are looked at several times: made once is cheaper than made on demand."""
    kept, rows = [], []
    for number, at, kind, content, append, said in events:
        body = to_json(content)
        head = link(head, number, at, kind, append, body)
        if said and said != head.hex():
            raise _misfit(number)
        kept.append(Event(number, at, kind, content, append, head.hex()))
        rows.append((study, number, at, kind, append, body, head))
    return kept, iter(rows)


def _misfit(number: int) -> DamagedError:
    return DamagedError(f"event {number} does not continue this log.", number)


def write_rows(connection: Connection, rows: Iterator[tuple[Any, ...]]) -> None:
    """Insert rows of events, a few thousand at a time."""
    while some := list(islice(rows, TOGETHER)):
        connection.insert(EVENTS, ROW, some)


class Waiting:
    """Bodies that wait to be written, compressed: those of a large table would take more than all else.

    Making them again inside of the transaction would keep other writers waiting.
    """

    def __init__(self) -> None:
        self._pages: list[bytes] = []
        self._last: list[str] = []

    def append(self, body: str) -> None:
        """Add one; JSON in ASCII, which has no line feeds."""
        self._last.append(body)
        if len(self._last) == TOGETHER:
            self._pages.append(zlib.compress("\n".join(self._last).encode(), 1))
            self._last = []

    def taken(self) -> Iterator[str]:
        """All of them in order."""
        pages = (zlib.decompress(page).decode().split("\n") for page in self._pages)
        return chain(chain.from_iterable(pages), self._last)


class Hashed(MadeOnDemand[Event]):
    """Events with their hashes, put together when looked at: a large table is never in memory as events."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._events, self.hashes = events, bytearray()

    def __len__(self) -> int:
        return len(self._events)

    def make(self, place: int) -> Event:
        """The event at a place, with its hash."""
        return self._events[place]._replace(hash=self.hashes[32 * place : 32 * place + 32].hex())

    def digests(self) -> Iterator[bytes]:
        """The hashes as bytes, 32 each."""
        return (bytes(self.hashes[at : at + 32]) for at in range(0, len(self.hashes), 32))
