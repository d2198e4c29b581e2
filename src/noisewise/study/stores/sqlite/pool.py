"""Connections to a SQLite file that several threads take in turn and give back."""

import sqlite3
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from noisewise.study.stores.database.connection import NOTHING, DriverError, Row, Types

#: Connections that wait to be used again, at most.
IDLE = 5
TYPES = Types(bytes="BLOB", double="DOUBLE", counter="INTEGER", by_key=" WITHOUT ROWID")
#: Connections that a forked child has from its parent: closing one would meddle with the parent's files.
_NOT_OURS: list[sqlite3.Connection] = []


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise DriverError(error, taken=isinstance(error, sqlite3.IntegrityError)) from error


class SqliteTransaction:
    """A transaction of a connection."""

    def __init__(self, raw: sqlite3.Connection) -> None:
        self._raw = raw
        self._open = True

    def commit(self) -> None:
        """Keep what was written; if that fails, the connection undoes it when it is given back."""
        self._open = False
        with _explained():
            self._raw.commit()

    def rollback(self) -> None:
        """Undo what was written."""
        self._open = False
        with _explained():
            self._raw.rollback()

    def end(self, commit: bool) -> None:
        """Commit or roll back, unless either was done."""
        if self._open:
            self.commit() if commit else self.rollback()


class SqliteConnection:
    """A connection on loan."""

    types = TYPES

    def __init__(
        self, raw: sqlite3.Connection, begin: str, give_back: Callable[[sqlite3.Connection], None]
    ) -> None:
        self.raw = raw
        self._begin, self._give_back = begin, give_back

    def rows(self, statement: str, parameters: Mapping[str, Any] = NOTHING) -> list[Row]:
        """Run a statement; all rows that it gives."""
        with _explained():
            return self.raw.execute(statement, parameters).fetchall()

    def many(self, statement: str, parameters: Sequence[Mapping[str, Any]]) -> None:
        """Run a statement once for each set of parameters."""
        with _explained():
            self.raw.executemany(statement, parameters)

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Write rows, their values in the order of the columns."""
        places = ", ".join("?" * len(columns))
        with _explained():
            self.raw.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})", rows)

    def has_table(self, name: str) -> bool:
        """Whether there is such a table."""
        found = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = :name"
        return bool(self.rows(found, {"name": name}))

    @contextmanager
    def begin(self) -> Iterator[SqliteTransaction]:
        """A transaction, committed at the end unless it was before."""
        self.rows(self._begin)
        transaction = SqliteTransaction(self.raw)
        try:
            yield transaction
        except BaseException:
            with suppress(DriverError):  # what happened first is what is told
                transaction.end(commit=False)
            raise
        transaction.end(commit=True)

    def close(self) -> None:
        """Give it back, without what was not committed."""
        try:
            self.raw.rollback()
        except sqlite3.Error:  # it is of no use any more
            self.raw.close()
            return
        self._give_back(self.raw)

    def __enter__(self) -> "SqliteConnection":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class SqlitePool:
    """Connections that are made by ``connect``, and whose transactions start with the statement ``begin``."""

    def __init__(self, connect: Callable[[], sqlite3.Connection], begin: str) -> None:
        self._connect, self._begin = connect, begin
        # The one that was given back last is taken first. A deque needs no lock, which a fork could leave
        # locked.
        self._idle: deque[sqlite3.Connection] = deque()

    def connect(self) -> SqliteConnection:
        """One that is the caller's until it is closed."""
        idle = self._idle
        try:
            raw = idle.pop()
        except IndexError:
            with _explained():
                raw = self._connect()

        def give_back(raw: sqlite3.Connection) -> None:
            # Those of a pool that was closed meanwhile are not used again.
            if idle is self._idle and len(idle) < IDLE:
                idle.append(raw)
            else:
                raw.close()

        return SqliteConnection(raw, self._begin, give_back)

    @contextmanager
    def begin(self) -> Iterator[SqliteConnection]:
        """One inside of a transaction, which is committed at the end."""
        with self.connect() as connection, connection.begin():
            yield connection

    def dispose(self, close: bool = True) -> None:
        """Let go of the connections that nobody uses."""
        idle, self._idle = self._idle, deque()
        if not close:
            _NOT_OURS.extend(idle)
            return
        for raw in idle:
            with suppress(sqlite3.Error):
                raw.close()
