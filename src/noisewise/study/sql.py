"""A store in a database, SQLite or PostgreSQL, with SQLAlchemy Core.

Three tables: the schema version, the studies, and the events, whose primary key (study, number) lets nobody
take a place twice. Every transaction is a few statements long; nothing is computed inside.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from sqlalchemy import (
    Column,
    Connection,
    Double,
    Engine,
    ForeignKey,
    Integer,
    MetaData,
    Table,
    Text,
    bindparam,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.exc import DBAPIError, IntegrityError

from noisewise.study.storage import Event, check_name, check_numbers, moved_on, refuse_taken, to_json, unknown

TABLES = MetaData()
#: One row: the version of these tables.
VERSION = Table("noisewise_schema", TABLES, Column("version", Integer, nullable=False))
STUDIES = Table(
    "noisewise_studies",
    TABLES,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("specification", Text, nullable=False),
)
EVENTS = Table(
    "noisewise_events",
    TABLES,
    Column("study", Integer, ForeignKey(STUDIES.c.id), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("at", Double, nullable=False),
    Column("kind", Text, nullable=False),
    Column("body", Text, nullable=False),
    sqlite_with_rowid=False,
)

# Statements are built once: building one takes longer than running it.
_STUDY = select(STUDIES.c.id, STUDIES.c.specification).where(STUDIES.c.name == bindparam("name"))
_NAMES = select(STUDIES.c.name).order_by(STUDIES.c.id)
_RENAME = update(STUDIES).where(STUDIES.c.name == bindparam("old")).values(name=bindparam("new"))
_LOCK = select(STUDIES.c.id).where(STUDIES.c.id == bindparam("study")).with_for_update()
_LENGTH = select(func.max(EVENTS.c.number)).where(EVENTS.c.study == bindparam("study"))
_APPEND = insert(EVENTS)
_READ = (
    select(EVENTS.c.number, EVENTS.c.at, EVENTS.c.kind, EVENTS.c.body)
    .where(EVENTS.c.study == bindparam("study"), EVENTS.c.number > bindparam("after"))
    .order_by(EVENTS.c.number)
)


class Database(Protocol):
    """What is different between SQLite and PostgreSQL."""

    label: str  # how messages call it, without secrets
    locks_rows: bool  # whether writers lock a study's row, or hold the whole store anyway

    def reader(self) -> Engine:
        """For transactions that only read; they wait for nobody."""

    def writer(self) -> Engine:
        """For transactions that write; refuses if the store was opened for reading."""

    def explain(self, error: DBAPIError) -> Exception:
        """What went wrong, in a sentence."""

    def close(self) -> None:
        """Close all connections."""


class SqlStorage:
    """Studies in a database; made by `noisewise.open_store`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # A study keeps its number when it is renamed, so that workers at work do not notice.
        self._numbers: dict[str, int] = {}

    def __repr__(self) -> str:
        return f"SqlStorage({self._database.label})"

    def create(self, name: str, specification: dict[str, Any]) -> None:
        """Begin a study with an empty log."""
        plain = to_json(specification)
        with self._writing() as connection, _new(name):
            refuse_taken(check_name(name), _names(connection))
            connection.execute(insert(STUDIES).values(name=name, specification=plain))

    def names(self) -> list[str]:
        """The studies there are."""
        with self._reading() as connection:
            return _names(connection)

    def specification(self, name: str) -> dict[str, Any]:
        """What a study was created with."""
        with self._reading() as connection:
            found = connection.execute(_STUDY, {"name": name}).first()
            if found is None:
                raise unknown(name, _names(connection))
        self._numbers[name] = found.id
        plain: dict[str, Any] = self._parse(found.specification)
        return plain

    def append(self, name: str, after: int, events: list[Event]) -> None:
        """Append events all or none."""
        check_numbers(after, events)
        number = self._number(name)
        rows = [
            {"study": number, "number": e.number, "at": e.at, "kind": e.kind, "body": to_json(e.body)}
            for e in events
        ]
        if not rows:
            return
        try:
            with self._writing() as connection:
                if self._database.locks_rows:
                    connection.execute(_LOCK, {"study": number})
                length = connection.execute(_LENGTH, {"study": number}).scalar() or 0
                if length != after:
                    raise moved_on(name, length, after)
                connection.execute(_APPEND, rows if len(rows) > 1 else rows[0])
        except ConnectionError:
            # Lost in the middle: if it was during the commit, only the log knows whether it counts.
            if not self._is_written(name, after, rows):
                raise

    def read(self, name: str, after: int = 0) -> list[Event]:
        """The events with numbers above ``after``."""
        number = self._number(name)
        with self._reading() as connection:
            found = connection.execute(_READ, {"study": number, "after": after}).all()
        if not found:
            return []
        if found[-1].number != after + len(found):
            raise self._damaged(f"events are missing between {after + 1} and {found[-1].number}")
        # One document is parsed faster than many.
        bodies = self._parse(f"[{','.join([row[3] for row in found])}]")
        return [Event(row[0], row[1], row[2], body) for row, body in zip(found, bodies, strict=True)]

    def rename(self, name: str, new: str) -> None:
        """Give a study another name."""
        with self._writing() as connection:
            names = _names(connection)
            if name not in names:
                raise unknown(name, names)
            refuse_taken(check_name(new), names)
            with _new(new):
                connection.execute(_RENAME, {"old": name, "new": new})
        self._numbers.pop(name, None)

    def close(self) -> None:
        """Close all connections."""
        self._database.close()

    def _number(self, name: str) -> int:
        if name not in self._numbers:
            self.specification(name)
        return self._numbers[name]

    def _is_written(self, name: str, after: int, rows: list[dict[str, Any]]) -> bool:
        """Whether the log continues with exactly these rows."""
        there = self.read(name, after)[: len(rows)]
        mine = [(row["number"], row["at"], row["kind"], row["body"]) for row in rows]
        return mine == [(event.number, event.at, event.kind, to_json(event.body)) for event in there]

    def _parse(self, text: str) -> Any:
        try:
            return json.loads(text)
        except ValueError as problem:
            raise self._damaged(str(problem)) from None

    def _damaged(self, how: str) -> ValueError:
        return ValueError(
            f"{self._database.label} is damaged: {how}. Nothing was changed; restore a backup, or rebuild it "
            "from an exported log."
        )

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with self._explained(), self._database.reader().connect() as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with self._explained(), self._database.writer().begin() as connection:
            yield connection

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise self._database.explain(error) from error


@contextmanager
def _new(name: str) -> Iterator[None]:
    """The insertion, not the look before it, decides between two who want the same name."""
    try:
        yield
    except IntegrityError:
        refuse_taken(name, [name])


def _names(connection: Connection) -> list[str]:
    return list(connection.execute(_NAMES).scalars())
