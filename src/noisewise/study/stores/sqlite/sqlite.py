"""Studies in one SQLite file: a write-ahead log, so that readers and writers do not wait for each other.

A new file is made as a draft and put in place whole. Writers queue for the file's only write lock, and give
up with a sentence after a while.
"""

import os
import secrets
import sqlite3
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from urllib.parse import quote

from noisewise.core.support.files import new_draft, sync, written_whole
from noisewise.core.support.remarks import warn
from noisewise.core.support.text import printable
from noisewise.study.stores.database.connection import Connection, DriverError
from noisewise.study.stores.database.dialect import OwnPool
from noisewise.study.stores.database.schema import check_version, id_of, make_tables, version_of
from noisewise.study.stores.database.sql import SqlStorage
from noisewise.study.stores.protocol import DamagedError
from noisewise.study.stores.sqlite.disks import network_file_system
from noisewise.study.stores.sqlite.identity import Watch
from noisewise.study.stores.sqlite.leftovers import beside, check_log, refuse_orphans
from noisewise.study.stores.sqlite.pool import SqliteConnection, SqlitePool
from noisewise.study.stores.turns import FileTurns, leave, turns_at

#: In the header of every file of ours: "NWst".
APPLICATION_ID = 0x4E577374


#: What SQLite says of a file that is not as it left it.
DAMAGE = (
    "malformed", "not a database", "decode to UTF-8", "no such column", "unsupported file format",
    "out of memory", "too big", "unable to open database file",
)  # fmt: skip


class SqliteDatabase:
    """A file, with connections that may only read and others that write."""

    locks_rows = False  # a writer holds the whole file

    def __init__(self, path: Path, *, read_only: bool, timeout: float, durable: bool) -> None:
        self.path = path
        self.label = repr(str(path))
        self._timeout = timeout
        self._read_only = read_only
        # The file is looked at past SQLite, too: first of all, and as long as SQLite has it open.
        self.watch = Watch(path)
        self._turns = turns_at(beside(path.absolute(), "-turn"))
        self._writer = OwnPool(SqlitePool(lambda: _connect_writer(path, timeout, durable), "BEGIN IMMEDIATE"))
        self._reader = OwnPool(SqlitePool(lambda: _connect_reader(path, timeout), "BEGIN"))
        weakref.finalize(self, _close_in_order, self._reader, self._writer, self.watch, self._turns)

    def reader(self) -> SqlitePool:
        """Connections that cannot write."""
        return self._reader.get()

    def writer(self) -> SqlitePool:
        """Connections whose transactions hold the write lock from their first statement."""
        if self._read_only:
            raise PermissionError(f"{self.label} was opened for reading only. Nothing was written.")
        return self._writer.get()

    def close(self) -> None:
        """Close all connections; the last one of all processes tidies the write-ahead log away."""
        _close_in_order(self._reader, self._writer, self.watch)

    def check(self) -> None:
        """Whether the path still leads to the file that was opened, and that to the same store."""
        self.watch.check()

    def stamp(self, connection: Connection) -> None:
        """Count the change in the first page, which says whose it is and where it belongs."""
        # Called at the end of every change, before it is committed.
        if found := connection.rows("SELECT name FROM sqlite_master WHERE type = 'trigger'"):
            raise DamagedError(
                f"{self.label} has a trigger, {printable(found[0][0])!r}, which could drop or change what is "
                "written: remove it with DROP TRIGGER. Nothing was changed."
            )
        ((count,),) = connection.rows("PRAGMA user_version")
        connection.rows(f"PRAGMA user_version = {count + 1}")

    def turn(
        self, study: int, patience: float, meanwhile: Callable[[], object] | None
    ) -> AbstractContextManager[bool]:
        """In a queue of all processes of this machine."""
        return nullcontext(True) if self._read_only else self._turns.take(study, patience, meanwhile)

    def integrity(self) -> str | None:
        """What SQLite itself finds wrong with the file."""
        with self.reader().connect() as connection:
            ((found,),) = connection.rows("PRAGMA integrity_check(1)")
        return None if found == "ok" else str(found).splitlines()[-1]

    def surely_undone(self, error: DriverError) -> bool:
        """What did not fit, or never began, left nothing; any other failure may have written something."""
        return any(word in str(error.orig) for word in ("full", "locked", "busy", "readonly"))

    def explain(self, error: DriverError) -> Exception:
        """What went wrong, in a sentence."""
        text = " ".join(str(error.orig).split())
        if "locked" in text or "busy" in text:
            return TimeoutError(
                f"waited {self._timeout:g} s for another writer of {self.label}. Nothing was written; "
                "run again."
            )
        if "readonly" in text:
            return PermissionError(
                f"{self.label} may not be written: the file or its folder is read-only for you. Nothing was "
                "written; get the right to write there, or work on a copy."
            )
        if "full" in text:
            return OSError(
                f"{self.label} cannot grow: the disk is full. Nothing was written, nothing is lost; "
                "make room and run again."
            )
        if any(word in text for word in DAMAGE):
            return ValueError(
                f"{self.label} is damaged or truncated ({text}). Nothing was changed; restore a backup, or "
                "rebuild it from an exported log."
            )
        if "no such table" in text:
            return ValueError(f"{self.label} holds no studies of noisewise ({text}). Nothing was changed.")
        return OSError(f"{self.label} cannot be used: {text}. Nothing was written.")


def _close_in_order(
    reader: OwnPool[SqlitePool], writer: OwnPool[SqlitePool], watch: Watch, turns: FileTurns | None = None
) -> None:
    # Only a writer can tidy the write-ahead log away when it is the last to leave; the watch's descriptor
    # must outlive both, because closing it ends their locks.
    reader.close()
    writer.close()
    watch.close()
    if turns is not None:
        leave(turns)


def open_sqlite(path: Path, *, create: bool, read_only: bool, timeout: float, durable: bool) -> SqlStorage:
    """The studies in a file, which is made if it is not there and ``create`` is set."""
    if path.is_dir():
        raise IsADirectoryError(f"`store` must be a file; {str(path)!r} is a folder.")
    if not path.exists():
        if not create or read_only:
            raise FileNotFoundError(f"`store` must be a file that exists; there is no {str(path)!r}.")
        refuse_orphans(path)
        _make(path)
    if system := network_file_system(path):
        warn(
            f"{str(path)!r} is on a network file system ({system}); SQLite's locks are unreliable there. "
            "Use PostgreSQL if more than one machine writes.",
            RuntimeWarning,
            stacklevel=4,
        )
    database = SqliteDatabase(path, read_only=read_only, timeout=timeout, durable=durable)
    try:
        _check_file(database)
        with database.reader().begin() as connection:
            found = version_of(connection, database.label)
            check_version(found, database.label)
            store = id_of(connection, database.label)
        database.check()
        return SqlStorage(database, store)
    except DriverError as error:
        database.close()
        raise database.explain(error) from error
    except BaseException:
        database.close()
        raise


def _check_file(database: SqliteDatabase) -> None:
    """Refuse what is no store of ours, and a write-ahead log that is not this file's."""
    label, header = database.label, database.watch.header()
    if header.length == 0:
        raise ValueError(
            f"{label} is empty, not a store of studies; if there was nothing in it, delete it first."
        )
    if not header.is_sqlite:
        raise ValueError(f"{label} is not a store of studies: it is no database. Nothing was changed.")
    if header.application != APPLICATION_ID:
        raise ValueError(
            f"{label} is a database of something else: noisewise keeps studies in files of their own. "
            "Nothing was changed."
        )
    check_log(database.watch)
    database.watch.expect()


def mark_file(connection: Connection) -> None:
    """Give the file a mark of its own, where it can be read without SQLite."""
    # The "schema cookie" only has to change when the tables do: any number will do.
    connection.rows(f"PRAGMA schema_version = {secrets.randbelow(2**31 - 10**6) + 10**5}")


def copy_file(connection: SqliteConnection, path: Path) -> None:
    """A copy of the whole file as this connection sees it."""
    with written_whole(path) as draft, closing(sqlite3.connect(draft)) as copy:
        connection.raw.backup(copy)


def _make(path: Path) -> None:
    """A new file with empty tables, in place whole or not at all, even if other processes are making it."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"`store` must be in a folder that exists; got {str(path)!r}.")
    try:
        draft = new_draft(path)
    except OSError:
        raise OSError(
            f"`store` must be a place for a new file; {str(path)!r}: its folder may not be written by you; "
            "choose another one."
        ) from None
    pool = writing_pool(draft)
    try:
        with pool.connect() as connection:
            # Both are kept in the file itself.
            connection.rows(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.rows("PRAGMA journal_mode = WAL")
        with pool.begin() as connection:
            make_tables(connection)
            mark_file(connection)
        pool.dispose()
        sync(draft)
        try:
            os.link(draft, path)
        except FileExistsError:
            pass  # somebody else was faster
        except OSError:  # a file system without links
            if not path.exists():
                os.replace(draft, path)
        sync(path.parent)
    except DriverError as error:
        unable = "unable to open" in str(error.orig) or "readonly" in str(error.orig)
        reason = "its folder may not be written by you; choose another one" if unable else str(error.orig)
        raise OSError(f"`store` must be a place for a new file; {str(path)!r}: {reason}.") from error
    finally:
        pool.dispose()
        for ending in ("", "-wal", "-shm"):
            draft.with_name(draft.name + ending).unlink(missing_ok=True)


def writing_pool(path: Path) -> SqlitePool:
    """For a draft that no other process knows of."""
    return SqlitePool(lambda: _connect(path, "rwc", 5.0), "BEGIN IMMEDIATE")


def _connect(path: Path, mode: str, timeout: float, more: str = "") -> sqlite3.Connection:
    name = f"file:{quote(str(path.absolute()))}?mode={mode}{more}"
    # No isolation level: transactions begin where we say so.
    return sqlite3.connect(name, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False)


def _connect_writer(path: Path, timeout: float, durable: bool) -> sqlite3.Connection:
    connection = _connect(path, "rw", timeout)
    try:
        connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
        connection.execute("PRAGMA foreign_keys = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def _connect_reader(path: Path, timeout: float) -> sqlite3.Connection:
    # Where it may, SQLite tidies its files away when the last connection is closed, also a reader's.
    tidies = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    connection = _connect(path, "rw" if tidies else "ro", timeout)
    try:
        connection.execute("PRAGMA query_only = ON")
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1")
    except BaseException as error:
        connection.close()
        # Readers of a write-ahead log make files beside it; where that is forbidden nothing is being written.
        refused = isinstance(error, sqlite3.OperationalError) and not os.access(path.parent, os.W_OK)
        if not refused or path.with_name(path.name + "-wal").exists():
            raise
        return _connect(path, "ro", timeout, "&immutable=1")
    return connection
