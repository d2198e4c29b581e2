"""The statements of a store in a database, and events as the rows that they write and read."""

import functools
import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from operator import itemgetter
from typing import Any, cast

from sqlalchemy import Connection, Dialect, bindparam, insert, select, true, update

from noisewise.core.support.sequences import MadeOnDemand
from noisewise.study.stores.chain import link
from noisewise.study.stores.database.schema import EVENTS, HEADS, STORE, STUDIES
from noisewise.study.stores.protocol import DamagedError, Event, to_json

#: Rows that are handed to the database at once.
TOGETHER = 5000

# Statements are built once: building one takes longer than running it.
STUDY = select(STUDIES).where(STUDIES.c.name == bindparam("name"))
RENAME = update(STUDIES).where(STUDIES.c.id == bindparam("study"))
HEAD = (
    select(HEADS.c.number, HEADS.c.hash, STORE.c.id)
    .select_from(HEADS.join(STORE, true()))
    .where(HEADS.c.study == bindparam("study"))
)
LOCK = HEAD.with_for_update(of=HEADS)
MOVE = update(HEADS).where(HEADS.c.study == bindparam("which"))
APPEND = insert(EVENTS)
_COLUMNS = (EVENTS.c.number, EVENTS.c.at, EVENTS.c.kind, EVENTS.c.append, EVENTS.c.body, EVENTS.c.hash)
READ = (
    select(*_COLUMNS)
    .where(EVENTS.c.study == bindparam("study"), EVENTS.c.number >= bindparam("first"))
    .order_by(EVENTS.c.number)
)
ONE = select(EVENTS.c.append, EVENTS.c.hash).where(
    EVENTS.c.study == bindparam("study"), EVENTS.c.number == bindparam("number")
)


#: The columns of an event's row, in the order of `chained_rows`.
ROW = ("study", "number", "at", "kind", "append", "body", "hash")


def chained_rows(
    study: int, before: bytes, events: list[Event]
) -> tuple[list[Event], Iterator[tuple[Any, ...]]]:
    """Events with their hashes, and their rows, made as they are needed."""
    # Events of a large table are made one by one: what is needed here is had without their bodies.
    outlines = getattr(events, "outlines", events)
    texts = getattr(events, "texts", None) or (to_json(event.body) for event in events)
    kept, bodies, head = Hashed(events), Waiting(), before
    for e, body in zip(outlines, texts, strict=True):
        head = link(head, e.number, e.at, e.kind, e.append, body)
        if e.hash and e.hash != head.hex():
            raise DamagedError(f"event {e.number} does not continue this log.", e.number)
        kept.hashes += head
        bodies.append(body)
    again = getattr(events, "outlines", events)
    rows = (
        (study, e.number, e.at, e.kind, e.append, body, hash)
        for e, body, hash in zip(again, bodies.taken(), kept.digests(), strict=True)
    )
    return cast(list[Event], kept), rows


def write_rows(connection: Connection, rows: Iterator[tuple[Any, ...]]) -> None:
    """Insert rows of events, a few thousand at a time.

    A driver that takes parameters by position gets them as they are: SQLAlchemy would look at each.
    """
    statement, pick = _positional(connection.dialect)
    while some := list(islice(rows, TOGETHER)):
        if pick is None:
            connection.execute(APPEND, [dict(zip(ROW, row, strict=True)) for row in some])
        else:
            connection.exec_driver_sql(statement, [pick(row) for row in some])


@functools.cache
def _positional(dialect: Dialect) -> tuple[str, Callable[[Any], tuple[Any, ...]] | None]:
    """The statement as text, and what puts a row in its order; None for a driver that wants names."""
    compiled = APPEND.compile(dialect=dialect)
    order = compiled.positiontup
    return str(compiled), None if order is None else itemgetter(*(ROW.index(name) for name in order))


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
