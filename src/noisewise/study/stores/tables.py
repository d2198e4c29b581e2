"""The tables that hold logs, in plain SQL that SQLite and PostgreSQL both understand, and their connections.

`noisewise_store` has one line: the version of the tables, a random id, and a hash over the list of studies
(the roll). `noisewise_studies` has one line per study, with the number and hash of its last row, so that rows
missing at the end are noticed, the id of the store that wrote it, and a number that only SQLite needs.
`noisewise_log` has the rows.
"""

import os
import secrets
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, Generic, TypeVar

from noisewise.study.stores.protocol import DamagedError, Row, StoreChangedError, refuse_taken, unknown

#: The version of the tables that this noisewise reads and writes.
VERSION = 5
STORE = "noisewise_store"
SCHEMA = (
    "CREATE TABLE noisewise_store (version INTEGER NOT NULL, id TEXT NOT NULL, roll {bytes} NOT NULL)",
    "CREATE TABLE noisewise_studies (study INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, "
    "number INTEGER NOT NULL, head {bytes} NOT NULL, store TEXT NOT NULL, base BIGINT NOT NULL)",
    "CREATE TABLE noisewise_log (study INTEGER NOT NULL, number INTEGER NOT NULL, id TEXT NOT NULL, "
    "record {bytes} NOT NULL, hash {bytes} NOT NULL, PRIMARY KEY (study, number)){by_key}",
)
# One statement, so that both tables are of the same moment.
_STUDIES = (
    "SELECT store.id, store.roll, studies.study, studies.name FROM noisewise_store AS store "
    "LEFT JOIN noisewise_studies AS studies ON 1 = 1 ORDER BY studies.study"
)
_HEAD = "SELECT number, head, id FROM noisewise_studies, noisewise_store WHERE study = ?"
_READ = "SELECT number, id, record, hash FROM noisewise_log WHERE study = ? AND number >= ? ORDER BY number"
_PAGE = _READ.replace("ORDER", "AND number <= ? ORDER")
_INSERT = "INSERT INTO noisewise_log (study, number, id, record, hash) VALUES (?, ?, ?, ?, ?)"
_NEW_STORE = "INSERT INTO noisewise_store (version, id, roll) VALUES (?, ?, ?)"
_NEW_STUDY = (
    "INSERT INTO noisewise_studies (study, name, number, head, store, base) VALUES (?, ?, ?, ?, ?, ?)"
)
_MOVE = (
    "UPDATE noisewise_studies SET number = ?, head = ?, store = ?, base = ? "
    "WHERE study = ? AND number = ? AND (SELECT id FROM noisewise_store) = ?"
)
_RENAME = "UPDATE noisewise_studies SET name = ? WHERE study = ?"
_SEAL = "UPDATE noisewise_store SET roll = ?"
#: Idle connections that are kept, at most.
IDLE = 5

Connection = TypeVar("Connection")
#: Connections that a forked child has from its parent: closing one would meddle with the parent's.
_NOT_OURS: list[Any] = []


class LogTables:
    """The tables of one store, through one cursor.

    Args:
        cursor: The driver's.
        label: How messages call the store.
        id: The store's, where it is known; `StoreChangedError` if it is another one.
        marks: How the driver writes the place of a value.
        base: What to write down with every change.
    """

    def __init__(
        self, cursor: Any, label: str, id: str | None = None, marks: str = "?", base: int = 0
    ) -> None:
        self._cursor, self._label, self._id, self._marks, self._base = cursor, label, id, marks, base

    def make(self, **types: str) -> None:
        """Make the tables of an empty store."""
        for statement in SCHEMA:
            self._cursor.execute(statement.format(**types))
        id = secrets.token_hex(16)
        self.run(_NEW_STORE, VERSION, id, _roll(id, []))

    def open(self) -> str:
        """The id of the store; refuses tables of another version."""
        found = self.run(f"SELECT * FROM {STORE}").fetchall()
        if len(found) != 1:
            raise damaged(self._label, "the entry of the store itself is missing")
        version, id = found[0][:2]
        if version != VERSION:
            raise ValueError(
                f"{self._label} was written by another version of noisewise (schema {version}; this one "
                f"reads {VERSION}): use that version. Nothing was changed."
            )
        return str(id)

    def studies(self) -> dict[str, int]:
        """The number of each study by its name, the oldest first."""
        id, roll, listed = self._listed()
        if roll != _roll(id, listed):
            raise damaged(self._label, "its list of studies was changed")
        return {name: study for study, name in listed}

    def study(self, name: str) -> int:
        """The number of one study."""
        studies = self.studies()
        if name not in studies:
            raise unknown(name, studies)
        return studies[name]

    def create(self, name: str, rows: Sequence[Row]) -> None:
        """Begin a log. The caller holds a lock that keeps others from doing the same."""
        studies = self.studies()
        refuse_taken(name, studies)
        study = max(studies.values(), default=0) + 1
        self.run(_NEW_STUDY, study, name, rows[-1].number, rows[-1].hash, self._id, self._base)
        self._insert(study, rows)
        self._seal()

    def rename(self, name: str, new: str) -> None:
        """Give a study another name. The caller holds the same lock as for `create`."""
        study = self.study(name)
        refuse_taken(new, self.studies())
        self.run(_RENAME, new, study)
        self._seal()

    def read(self, study: int, first: int, last: int | None = None) -> list[Row]:
        """The rows from one number to another; the one that the study's line calls the last is there."""
        found = self.run(_HEAD, study).fetchone()
        if found is None or type(found[0]) is not int:
            raise damaged(self._label, f"the end of its log {study} is missing")
        number, head, id = found
        if self._id not in (None, id):
            raise StoreChangedError(
                f"{self._label} is another store than the one that was opened: it was replaced. Nothing was "
                "written; open the store again."
            )
        if last is not None and last < number:
            return list(map(Row._make, self.run(_PAGE, study, first, last)))
        # Rows that others append between the two statements come behind the head that was read.
        rows = list(map(Row._make, self.run(_READ, study, first)))
        end = next((row for row in reversed(rows) if row.number == number), None)
        if number >= first and (end is None or end.hash != head):
            raise damaged(self._label, f"its log {study} does not end with event {number}, as it should")
        return rows if last is None else [row for row in rows if row.number <= last]

    def rows(self, study: int, first: int) -> list[Row]:
        """All rows from a number on, for a caller who will `append`, which compares the last one."""
        return list(map(Row._make, self.run(_READ, study, first)))

    def append(self, study: int, rows: Sequence[Row]) -> None:
        """Add rows at the end."""
        self._insert(study, rows)
        last, before = rows[-1], rows[0].number - 1
        moved = self.run(_MOVE, last.number, last.hash, self._id, self._base, study, before, self._id)
        if moved.rowcount != 1:
            self.read(study, before, before)  # another store is refused here
            raise damaged(self._label, f"its log does not end with event {before}")

    def _seal(self) -> None:
        """Write down the hash over the list of studies."""
        id, _, listed = self._listed()
        self.run(_SEAL, _roll(id, listed))

    def _listed(self) -> tuple[str, bytes, list[tuple[int, str]]]:
        rows = self.run(_STUDIES).fetchall()
        if not rows:
            raise damaged(self._label, "the entry of the store itself is missing")
        return *rows[0][:2], [(study, name) for _, _, study, name in rows if study is not None]

    def _insert(self, study: int, rows: Sequence[Row]) -> None:
        if len(rows) == 1:
            done = self.run(_INSERT, study, *rows[0])
        else:
            statement = _INSERT.replace("?", self._marks)
            done = self._cursor.executemany(statement, [(study, *row) for row in rows]) or self._cursor
        if done.rowcount != len(rows):  # a trigger may drop rows in silence
            raise damaged(
                self._label,
                f"it wrote {done.rowcount} of {len(rows)} rows: does the table noisewise_log have a trigger?",
            )

    def run(self, statement: str, *values: Any) -> Any:
        """Run a statement with ? in the places of its values."""
        return self._cursor.execute(statement.replace("?", self._marks), values)


class LogTransaction:
    """One log in a transaction of the database."""

    def __init__(self, tables: LogTables, study: int) -> None:
        self._tables, self._study = tables, study

    def read(self, first: int) -> list[Row]:
        """All rows from this number on."""
        return self._tables.rows(self._study, first)

    def append(self, rows: Sequence[Row]) -> None:
        """Add rows at the end."""
        self._tables.append(self._study, rows)


class ConnectionPool(Generic[Connection]):
    """Connections that threads take in turn; a forked process has none of its parent's.

    Args:
        close: Closes one.
        usable: Whether one that met an error can be used again.
    """

    def __init__(self, close: Callable[[Connection], None], usable: Callable[[Connection], bool]) -> None:
        self._close, self._usable = close, usable
        self._free: deque[Connection] = deque()
        self._owner = os.getpid()

    @contextmanager
    def take(self, connect: Callable[[], Connection]) -> Iterator[Connection]:
        """A connection for one operation; ``connect`` opens one if none is free."""
        self._leave_parents()
        try:
            connection = self._free.pop()
        except IndexError:
            connection = connect()
        owner, whole = self._owner, False
        try:
            yield connection
            whole = True
        finally:
            if owner != os.getpid():  # forked while it was in use
                _NOT_OURS.append(connection)
            elif len(self._free) < IDLE and (whole or self._usable(connection)):
                self._free.append(connection)
            else:
                self._close(connection)

    def close(self) -> None:
        """Close the connections that are not in use."""
        self._leave_parents()
        while self._free:
            self._close(self._free.pop())

    def _leave_parents(self) -> None:
        if self._owner != os.getpid():
            _NOT_OURS.extend(self._free)
            self._free, self._owner = deque(), os.getpid()


def damaged(label: str, how: str, what: str = "damaged") -> DamagedError:
    """The refusal of a store whose contents do not fit together."""
    return DamagedError(
        f"{label} is {what}: {how}. Nothing was changed; restore a backup, or rebuild it from an exported "
        "log."
    )


def _roll(id: str, listed: Sequence[tuple[int, str]]) -> bytes:
    return sha256(ascii([id, listed]).encode()).digest()
