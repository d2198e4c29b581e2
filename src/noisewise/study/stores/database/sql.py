"""A store in a database, SQLite or PostgreSQL.

Every transaction is a few statements long; nothing is computed inside. What is read is compared with its
chain, and with what this handle has seen before.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, NamedTuple

from noisewise.study.stores.chain import links, start_of
from noisewise.study.stores.database.commits import commit
from noisewise.study.stores.database.connection import Connection, DriverError, Row
from noisewise.study.stores.database.dialect import Database
from noisewise.study.stores.database.refusals import another_history, another_store, damaged, rolled_back
from noisewise.study.stores.database.schema import (
    HEADS,
    STUDIES,
    Sealed,
    check_seal,
    seal_of,
    studies_in,
    write_roll,
)
from noisewise.study.stores.database.statements import (
    HEAD,
    LAST,
    LOCK,
    LOCK_STORE,
    MOVE,
    OF_KIND,
    ONE,
    READ,
    RENAME,
    STUDY,
    WITH_TEXT,
    chained_rows,
    write_rows,
)
from noisewise.study.stores.protocol import (
    DamagedError,
    Event,
    check_name,
    check_numbers,
    moved_on,
    refuse_taken,
    to_json,
    unknown,
)


class Head(NamedTuple):
    """The end of a log."""

    number: int
    hash: bytes


class SqlStorage:
    """Studies in a database; made by `noisewise.open_store`."""

    keeps_hashes = True

    def __init__(self, database: Database, id: str) -> None:
        self._database = database
        self.id = id
        # A study keeps its number when it is renamed, so that workers at work do not notice.
        self._numbers: dict[str, int] = {}
        self._starts: dict[int, bytes] = {}
        self._seen: dict[int, Head] = {}  # as far as this handle has read or written
        self._noting = threading.Lock()

    def __repr__(self) -> str:
        return f"SqlStorage({self._database.label})"

    def create(self, name: str, specification: dict[str, Any]) -> None:
        """Begin a study with an empty log."""
        plain = to_json(specification)
        start = start_of(plain)
        with self._writing() as connection, _new(name):
            self._hold_store(connection)
            studies = studies_in(connection)
            refuse_taken(check_name(name), [row.name for row in studies])
            number = 1 + max((row.id for row in studies), default=0)
            entry = Sealed(number, name, start, seal_of(number, name, start))
            connection.insert(STUDIES, (*Sealed._fields, "specification"), [(*entry, plain)])
            connection.insert(HEADS, ("study", "number", "hash"), [(number, 0, start)])
            write_roll(connection)

    def names(self) -> list[str]:
        """The studies there are."""
        with self._reading() as connection:
            return [row.name for row in studies_in(connection)]

    def specification(self, name: str) -> dict[str, Any]:
        """What a study was created with."""
        found, specification = self._entry(name)
        start = bytes(found.start or b"")
        if start != start_of(specification):
            raise self._damaged(f"the specification of study {name!r} was changed")
        self._numbers[name] = found.id
        self._starts[found.id] = start
        with self._damage():
            plain: dict[str, Any] = json.loads(specification)
        return plain

    def append(self, name: str, after: int, events: list[Event]) -> list[Event]:
        """Append events all or none; returns them with their hashes."""
        check_numbers(after, events)
        study = self._number(name)
        if not events:
            return []
        seen = self._seen.get(study)  # before the transaction: other threads of this handle go on
        before = self._hash_before(study, after, name)
        kept, rows = chained_rows(study, before, events)
        with self._explained():
            connection = self._database.writer().connect()
        try:
            with self._explained(), connection.begin() as transaction:
                statement = LOCK if self._database.locks_rows else HEAD
                head = self._checked(connection.rows(statement, {"study": study}), name, seen)
                if head.number != after:
                    raise moved_on(name, head.number, after)
                if head.hash != before:
                    raise self._damaged(f"the end of the log of {name!r} is not the hash of event {after}")
                write_rows(connection, rows)
                end = {"study": study, "number": kept[-1].number, "hash": bytes.fromhex(kept[-1].hash)}
                connection.rows(MOVE, end)
                self._database.stamp(connection)
                commit(self._database, transaction, study, kept[0])
        finally:
            connection.close()
        self._database.check()
        self._saw(study, Head(kept[-1].number, bytes.fromhex(kept[-1].hash)))
        return kept

    def read(self, name: str, after: int = 0) -> list[Event]:
        """The events with numbers above ``after``."""
        return self.page(name, after, None)

    def page(self, name: str, after: int, most: int | None) -> list[Event]:
        """At most so many events with numbers above ``after``; None: all."""
        study = self._number(name)
        seen = self._seen.get(study)
        with self._reading() as connection:
            head = self._checked(connection.rows(HEAD, {"study": study}), name, seen)
            if head.number < after:
                raise rolled_back(self._database.label, name, head.number, after)
            if seen == head and after == head.number:
                return []
            # With the event before them, if there is one: they must continue the log that was read.
            last = LAST if most is None else after + most
            found = connection.rows(READ, {"study": study, "first": max(after, 1), "last": last})
            before = self._starts[study] if after == 0 else self._base(name, study, after, found)
        base, found = Head(after, before), found[1:] if after else found
        if last < head.number:  # the end of the page, whose hash its own row says, is no end of the log
            head = Head(last, bytes(found[-1][5])) if found else base
            seen = seen if seen is not None and seen.number <= last else None
        return self._compared(name, study, base, head, seen, found)

    def numbers(self, name: str, kind: str | None, text: str) -> list[int]:
        """The numbers of events of a kind, or of any, whose body has a text in it."""
        said = {"study": self._number(name), "kind": kind or ""}
        with self._reading() as connection:
            if kind and not text:
                return [int(row[0]) for row in connection.rows(OF_KIND, said)]
            part = "".join(f"!{one}" if one in "!%_" else one for one in text)
            return [int(row[0]) for row in connection.rows(WITH_TEXT, {**said, "text": f"%{part}%"})]

    def rename(self, name: str, new: str) -> None:
        """Give a study another name."""
        with self._writing() as connection:
            self._hold_store(connection)
            studies = {row.name: row for row in studies_in(connection)}
            if name not in studies:
                raise unknown(name, studies)
            refuse_taken(check_name(new), studies)
            row = studies[name]
            seal = seal_of(row.id, new, row.start or b"")
            with _new(new):
                connection.rows(RENAME, {"name": new, "seal": seal, "study": row.id})
            write_roll(connection)
        self._numbers.pop(name, None)

    def turn(
        self, name: str, patience: float, meanwhile: Callable[[], object] | None = None
    ) -> AbstractContextManager[bool]:
        """A context in which no other process decides what to append to this study."""
        return self._database.turn(self._number(name), patience, meanwhile)

    def integrity(self) -> str | None:
        """What the database itself finds wrong with the store, in a sentence; None if nothing."""
        with self._explained():
            found = self._database.integrity()
        return None if found is None else str(self._damaged(found))

    def close(self) -> None:
        """Close all connections."""
        self._database.close()

    def _number(self, name: str) -> int:
        if name not in self._numbers:
            self.specification(name)
        return self._numbers[name]

    def _entry(self, name: str) -> tuple[Sealed, str]:
        """A study's entry, and what it was created with."""
        with self._reading() as connection:
            found = connection.rows(STUDY, {"name": name})
            if not found:
                raise unknown(name, [row.name for row in studies_in(connection)])
            *sealed, specification = found[0]
            entry = Sealed(*sealed)
            check_seal(entry)
            if entry.name != name:
                raise DamagedError(f"the index of names leads from {name!r} to {entry.name!r}")
        return entry, specification

    def _hold_store(self, connection: Connection) -> None:
        """Let others who make or rename studies wait, where a writer does not hold everything anyway."""
        if self._database.locks_rows:
            connection.rows(LOCK_STORE)

    def _checked(self, found: list[Row], name: str, seen: Head | None) -> Head:
        """The end of the log, unless it is another store's or one of an earlier state."""
        if not found:
            raise self._damaged(f"the end of the log of {name!r} is missing")
        number, hash, store = found[0]
        if store != self.id:
            raise another_store(self._database.label)
        head = Head(number, bytes(hash))
        if seen is not None and head.number < seen.number:
            raise rolled_back(self._database.label, name, head.number, seen.number)
        if seen is not None and head.number == seen.number and head.hash != seen.hash:
            raise another_history(self._database.label, name)
        return head

    def _base(self, name: str, study: int, number: int, found: Any) -> bytes:
        """The hash of the event before those that are read, the same as it was."""
        if not found or found[0][0] != number:
            raise self._damaged(f"event {number} of {name!r} is missing", number)
        known = self._known_hash(study, number)
        if known is not None and known != found[0][5]:
            raise another_history(self._database.label, name)
        return bytes(found[0][5])

    def _compared(
        self, name: str, study: int, base: Head, head: Head, seen: Head | None, found: Any
    ) -> list[Event]:
        """Rows as events, after comparing each with its hash, and some with what is known besides."""
        last = base.number + len(found)
        if last < head.number or (found and found[-1][0] != last):
            end = max(head.number, found[-1][0] if found else 0)
            raise self._damaged(f"events are missing between {base.number + 1} and {end}")
        with self._damage():
            hashes = links(base.hash, found)
        if [row[5] for row in found] != hashes:
            number = next(row[0] for row, hash in zip(found, hashes, strict=True) if row[5] != hash)
            raise self._damaged(f"event {number} of {name!r} does not fit its hash", number)
        known = [base.hash, *hashes]
        if known[head.number - base.number] != head.hash:
            raise self._damaged(f"the end of the log of {name!r} is not the hash of event {head.number}")
        if seen is not None and seen.number >= base.number and known[seen.number - base.number] != seen.hash:
            raise another_history(self._database.label, name)
        self._saw(study, Head(last, known[-1]))
        with self._damage():
            # One document is parsed faster than many.
            bodies = json.loads(f"[{','.join([row[4] for row in found])}]")
        return [
            Event(row[0], row[1], row[2], body, row[3], hash.hex())
            for row, body, hash in zip(found, bodies, hashes, strict=True)
        ]

    def _saw(self, study: int, head: Head) -> None:
        with self._noting:
            if head.number >= self._seen.get(study, head).number:
                self._seen[study] = head

    def _hash_before(self, study: int, after: int, name: str) -> bytes:
        """The hash that the next event continues."""
        if (known := self._known_hash(study, after)) is not None:
            return known
        with self._reading() as connection:
            if found := connection.rows(ONE, {"study": study, "number": after}):
                return bytes(found[0][1])
            head = connection.rows(HEAD, {"study": study})
            raise moved_on(name, head[0][0] if head else 0, after)

    def _known_hash(self, study: int, number: int) -> bytes | None:
        if number == 0:
            return self._starts[study]
        seen = self._seen.get(study)
        return seen.hash if seen is not None and seen.number == number else None

    def _damaged(self, how: str, event: int | None = None) -> DamagedError:
        return damaged(self._database.label, how, event)

    @contextmanager
    def _damage(self) -> Iterator[None]:
        """Whatever is not even of the right kind is damage."""
        try:
            yield
        except (TypeError, ValueError, AttributeError, OverflowError, RecursionError) as problem:
            raise self._damaged(str(problem)) from None

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with self._explained(), self._database.reader().begin() as connection:
            yield connection
            self._database.check()

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with self._explained(), self._database.writer().begin() as connection:
            yield connection
            self._database.stamp(connection)
            self._database.check()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except DriverError as error:
            with suppress(FileNotFoundError):
                self._database.check()  # a file that was replaced looks broken in many ways
            raise self._database.explain(error) from error
        except DamagedError as problem:
            if self._database.label in str(problem):
                raise
            raise self._damaged(str(problem), problem.event) from None


@contextmanager
def _new(name: str) -> Iterator[None]:
    """The insertion, not the look before it, decides between two who want the same name."""
    try:
        yield
    except DriverError as error:
        if error.taken:
            refuse_taken(name, [name])
        raise
