"""The statements of a store in a database, and events as the rows that they write and read."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from sqlalchemy import bindparam, insert, select, true, update

from noisewise.study.chain import links
from noisewise.study.schema import EVENTS, HEADS, STORE, STUDIES
from noisewise.study.storage import DamagedError, Event, to_json

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


def chained_rows(
    study: int, before: bytes, events: list[Event]
) -> tuple[list[Event], Iterator[dict[str, Any]]]:
    """Events with their hashes, and their rows, made as they are needed."""
    bodies = [to_json(event.body) for event in events]
    said = ((e.number, e.at, e.kind, e.append, body) for e, body in zip(events, bodies, strict=True))
    kept = []
    for event, hash in zip(events, links(before, said), strict=True):
        if event.hash and event.hash != hash.hex():
            raise DamagedError(f"event {event.number} does not continue this log.", event.number)
        kept.append(event._replace(hash=hash.hex()))
    rows = (
        {
            "study": study, "number": e.number, "at": e.at, "kind": e.kind, "body": body,
            "append": e.append, "hash": bytes.fromhex(e.hash),
        }
        for e, body in zip(kept, bodies, strict=True)
    )  # fmt: skip
    return kept, rows


def batches(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """A few thousand rows at a time."""
    while some := list(islice(rows, TOGETHER)):
        yield some
