"""Logs in one SQLite file, written and read by any number of processes of one machine.

Writers take the file's only write lock for one decision each. A new file is made as a draft and put in place
whole. SQLite does not notice when its file is replaced, and takes any write-ahead log beside a file for the
file's own. The tables reveal both: the line of each study has the store's random id, and how many rows (of
all studies) were in the file itself, without the log, when the study was last written to.
"""

import functools
import os
import random
import sqlite3
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

from noisewise.core.files import new_draft, sync
from noisewise.core.remarks import warn
from noisewise.core.text import printable
from noisewise.study.stores.protocol import AnswerLostError, Row, StoreChangedError, check_name
from noisewise.study.stores.tables import ConnectionPool, LogTables, LogTransaction, damaged

#: In the header of every file of ours: "NWst".
APPLICATION = 0x4E577374
ENDINGS = ("-wal", "-shm", "-journal")
#: Seconds between two tries to get the write lock: the longer a writer has waited, the more often it tries,
#: so that none starves. SQLite's own waiting does the opposite.
PAUSE, LEAST_PAUSE = 0.002, 0.0002
IN_THE_WAY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_PROTOCOL)
#: Errors of a commit after which certainly nothing was written.
UNDONE = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY)
#: Looks at a file that may be being written at this very moment, and seconds between them.
LOOKS, BETWEEN = 5, 0.02
_MARK = "SELECT id, (SELECT COALESCE(SUM(number + 1), 0) FROM noisewise_studies) FROM noisewise_store"
_BASE = "SELECT store, base FROM noisewise_studies ORDER BY base DESC LIMIT 1"
_TRIGGER = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
#: File systems on which locks and shared memory of different machines do not meet.
NETWORK = frozenset(
    (
        "nfs", "nfs3", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "afs", "9p", "ceph",
        "glusterfs", "lustre", "beegfs", "gpfs", "ncpfs", "fuse.sshfs", "fuse.glusterfs",
        "fuse.ceph", "fuse.s3fs", "fuse.rclone", "davfs", "virtiofs",
    )
)  # fmt: skip
MOUNTS = Path("/proc/self/mountinfo")

Answer = TypeVar("Answer")


class Mark(NamedTuple):
    """What a file says of itself when it is read without its write-ahead log."""

    id: str
    rows: int  # how many of all studies have reached the file; it never falls


class SqliteStorage:
    """A file that holds logs; made by `noisewise.open_store`."""

    def __init__(self, path: Path, *, read_only: bool, timeout: float, durable: bool) -> None:
        self.path, self._label = path, repr(str(path))
        self._read_only, self._timeout, self._durable = read_only, timeout, durable
        # Without a way back to this object, which could not be collected otherwise.
        self._pool = ConnectionPool(sqlite3.Connection.close, lambda one: not one.in_transaction)
        weakref.finalize(self, self._pool.close)
        self._numbers: dict[str, int] = {}  # a study keeps its number when it is renamed
        self._mark: Mark | None = None
        try:
            with self._explained():
                self._file = self._find()
                self._mark = self._recognise()
                self.id = self._read(lambda tables: tables.open())
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"SqliteStorage({self._label})"

    def create(self, name: str, rows: Sequence[Row]) -> None:
        """Begin a log."""
        with self._writing() as tables:
            tables.create(check_name(name), rows)

    def names(self) -> list[str]:
        """The studies there are."""
        return list(self._read(LogTables.studies))

    def read(self, name: str, first: int = 0, last: int | None = None) -> list[Row]:
        """The rows from one number to another."""
        if first == 0:  # by whoever opens a study: others may have given the name to another one
            self._numbers.pop(name, None)
        study = self._number(name)
        return self._read(lambda tables: tables.read(study, first, last))

    @contextmanager
    def transaction(self, name: str) -> Iterator[LogTransaction]:
        """One log, while no other process can write to the file."""
        study = self._number(name)
        with self._writing() as tables:
            yield LogTransaction(tables, study)

    def rename(self, name: str, new: str) -> None:
        """Give a study another name."""
        with self._writing() as tables:
            tables.rename(name, check_name(new))
        self._numbers.pop(name, None)

    def close(self) -> None:
        """Close all connections; the last one of all processes tidies the write-ahead log away."""
        self._pool.close()

    def integrity(self) -> str | None:
        """What SQLite itself finds wrong with the file, in a sentence; None if nothing."""
        with self._explained(), self._pool.take(self._connect) as connection:
            ((found,),) = connection.execute("PRAGMA integrity_check(1)").fetchall()
        return None if found == "ok" else str(damaged(self._label, str(found).splitlines()[-1]))

    def _number(self, name: str) -> int:
        if name not in self._numbers:
            self._numbers[name] = self._read(lambda tables: tables.study(name))
        return self._numbers[name]

    def _tables(self, connection: sqlite3.Connection) -> LogTables:
        # The store's id in the file itself may be older than the one in its log only before the first change.
        mark = self._mark
        return LogTables(connection, self._label, mark and mark.id, base=mark.rows if mark else 0)

    def _read(self, action: Callable[[LogTables], Answer]) -> Answer:
        with self._explained(), self._pool.take(self._connect) as connection:
            answer = self._patiently(lambda: action(self._tables(connection)))
            self._check()
        return answer

    @contextmanager
    def _writing(self) -> Iterator[LogTables]:
        """A transaction that holds the file's only write lock."""
        if self._read_only:
            raise PermissionError(f"{self._label} was opened for reading only. Nothing was written.")
        with self._explained(), self._pool.take(self._connect) as connection:
            self._patiently(lambda: connection.execute("BEGIN IMMEDIATE"))
            try:
                self._check()
                before = connection.total_changes
                yield self._tables(connection)
                if connection.total_changes > before:
                    self._commit(connection)
                    self._check()  # nothing is acknowledged that went to a file that is gone
            finally:
                if connection.in_transaction:
                    with suppress(sqlite3.Error):  # the first error is the one to report
                        connection.execute("ROLLBACK")

    def _commit(self, connection: sqlite3.Connection) -> None:
        try:
            send_commit(connection)
        except sqlite3.Error as error:
            if _code(error) in UNDONE:
                raise
            raise AnswerLostError(str(self._explain(error)).removesuffix(" Nothing was written.")) from error

    def _patiently(self, action: Callable[[], Answer]) -> Answer:
        """Try until no other process is in the way."""
        began = time.monotonic()
        while True:
            try:
                return action()
            except sqlite3.OperationalError as error:
                waited = time.monotonic() - began
                if _code(error) not in IN_THE_WAY or waited > self._timeout:
                    raise
            time.sleep(random.uniform(0.5, 1.5) * max(LEAST_PAUSE, PAUSE / (1.0 + 200.0 * waited)))

    def _connect(self) -> sqlite3.Connection:
        if not self._read_only and not self._durable:
            settings = ("PRAGMA synchronous = NORMAL",)
        else:
            settings = ("PRAGMA query_only = ON",) if self._read_only else ("PRAGMA synchronous = FULL",)
        # Also a reader: where it may, SQLite tidies its files away when the last connection is closed.
        connection = self._open("rw")
        try:
            for statement in (*settings, _TRIGGER):
                found = self._patiently(functools.partial(connection.execute, statement)).fetchone()
            if found and not self._read_only:
                raise damaged(
                    self._label,
                    f"it has a trigger, {printable(str(found[0]))!r}, which could drop or change what is "
                    "written: remove it with DROP TRIGGER",
                )
        except BaseException as error:
            connection.close()
            # Readers make files beside a store. Where they may not, and there are none, nobody is writing.
            alone = not os.access(self.path.parent, os.W_OK) and not beside(self.path, "-wal").exists()
            if not isinstance(error, sqlite3.OperationalError) or not alone:
                raise
            return self._open("ro&immutable=1")
        return connection

    def _open(self, mode: str) -> sqlite3.Connection:
        address = f"file:{quote(str(self.path.absolute()))}?mode={mode}"
        # Without an isolation level, transactions begin and end where we say so.
        return sqlite3.connect(address, uri=True, timeout=0.0, isolation_level=None, check_same_thread=False)

    # Whether this is still the file that was opened. At every operation we look at which file has its name
    # and when it was last written, and if it was written, at the mark in the file itself.

    def _check(self) -> None:
        """Refuse a file that was replaced, removed or overwritten since it was opened."""
        if self._mark is None:
            return  # it is only just being opened
        found = self._find()
        if found == self._file:
            return
        if found[:2] != self._file[:2]:
            raise self._replaced("another file has its name now")
        # A checkpoint writes to the file, and so does copying another file over it.
        mark = self._look()
        if mark is None or mark.id != self._mark.id:
            raise self._replaced("another store was copied over it")
        if mark.rows < self._mark.rows:
            raise self._replaced("an earlier state of it was copied over it")
        self._file, self._mark = found, mark

    def _find(self) -> tuple[int, ...]:
        try:
            found = os.stat(self.path)
        except OSError:
            raise StoreChangedError(
                f"{self._label} was removed or moved away while it was open. Nothing more was written; put "
                "it back, or open the store where it is now."
            ) from None
        return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size

    def _look(self) -> Mark | None:
        """The mark in the file itself; None if it has none."""
        for look in range(LOOKS):
            with closing(self._without_log()) as connection:
                try:
                    id, rows = connection.execute(_MARK).fetchone()
                    return Mark(str(id), int(rows))
                except (sqlite3.Error, TypeError, ValueError):
                    time.sleep(BETWEEN if look < LOOKS - 1 else 0.0)
        return None

    def _without_log(self) -> sqlite3.Connection:
        """A connection that sees the file without its write-ahead log.

        SQLite itself has to open and close the file: closing any other descriptor of it would end the locks
        that SQLite holds in this process.
        """
        connection = self._open("ro&immutable=1")
        # During a checkpoint, or after one was killed, the file may be shorter than it says.
        connection.execute("PRAGMA writable_schema = ON")
        return connection

    def _recognise(self) -> Mark:
        """Refuse a file that is not ours, and a write-ahead log that is not this file's."""
        if self.path.stat().st_size == 0:
            raise ValueError(
                f"{self._label} is empty, not a store of studies; if there was nothing in it, delete it "
                "first."
            )
        with closing(self._without_log()) as connection:
            (kind,) = connection.execute("PRAGMA application_id").fetchone()
        if kind != APPLICATION:
            raise ValueError(
                f"{self._label} is a database of something else: noisewise keeps studies in files of their "
                "own. Nothing was changed."
            )
        log = beside(self.path, "-wal")
        for look in range(LOOKS):
            mark, there = self._look(), self._in_log(log)
            if there is None:
                if mark is None:
                    raise damaged(self._label, "it does not say which store it is", "damaged or truncated")
                return mark
            id, rows, base = there
            if mark is None:  # a checkpoint was cut off in the middle, and the log will repeat it
                return Mark(id, base)
            # The log was begun when `base` rows were in the file, which may have got more from it since.
            if id == mark.id and base <= mark.rows <= rows:
                return mark
            time.sleep(BETWEEN if look < LOOKS - 1 else 0.0)  # another process may be writing
        raise StoreChangedError(
            f"{log.name!r} beside {self._label} belongs to another store, or to another state of this one: "
            "one of the two was replaced or put back by hand. Put back what belongs together, or replace the "
            "store by a backup (noisewise restore). Nothing was changed."
        )

    def _in_log(self, log: Path) -> tuple[str, int, int] | None:
        """What the store's line says with the write-ahead log, if there is one."""
        try:
            if log.stat().st_size == 0:
                return None
        except FileNotFoundError:
            return None
        with closing(self._open("ro")) as connection:
            try:
                id, rows = self._patiently(lambda: connection.execute(_MARK).fetchone())
                # Every change writes the line of a study, so what it says comes from the log.
                last = self._patiently(lambda: connection.execute(_BASE).fetchone())
                id, base = last or (id, 0)
                return str(id), int(rows), int(base)
            except sqlite3.Error as error:
                if _code(error) in (*IN_THE_WAY, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
                    raise
                return "", -1, -1  # the log of a database of something else
            except (TypeError, ValueError):
                return "", -1, -1

    def _replaced(self, how: str) -> StoreChangedError:
        return StoreChangedError(
            f"{self._label} was replaced while it was open: {how}. Nothing more was written; open the store "
            "again (noisewise restore replaces a store safely)."
        )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Errors of SQLite as one sentence each."""
        try:
            yield
        except sqlite3.Error as error:
            self._check()  # a file that was replaced looks broken in many ways
            raise self._explain(error) from error

    def _explain(self, error: sqlite3.Error) -> Exception:
        code, said = _code(error), " ".join(str(error).split())
        if code in IN_THE_WAY or code == sqlite3.SQLITE_LOCKED:
            return TimeoutError(
                f"waited {self._timeout:g} s for another writer of {self._label}. Nothing was written; "
                "run again."
            )
        if code == sqlite3.SQLITE_FULL:
            return OSError(
                f"{self._label} cannot grow: the disk is full. Nothing was written, nothing is lost; "
                "make room and run again."
            )
        if code == sqlite3.SQLITE_READONLY:
            return PermissionError(
                f"{self._label} may not be written: the file or its folder is read-only for you. Nothing was "
                "written; get the right to write there, or work on a copy."
            )
        if code == sqlite3.SQLITE_NOTADB:
            return ValueError(
                f"{self._label} is not a store of studies: it is not a database. Nothing was changed."
            )
        short = getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_IOERR_SHORT_READ
        if code == sqlite3.SQLITE_IOERR and not short:
            return OSError(f"{self._label} cannot be used: {said}. Nothing was written.")
        return damaged(self._label, said, "damaged or truncated")


def send_commit(connection: sqlite3.Connection) -> None:
    """The one moment after which only the store knows what became of a change."""
    connection.execute("COMMIT")


def beside(path: Path, ending: str) -> Path:
    """The file that SQLite keeps beside another one."""
    return path.with_name(path.name + ending)


def open_sqlite(path: Path, *, create: bool, read_only: bool, timeout: float, durable: bool) -> SqliteStorage:
    """The studies in a file, which is made if it is not there and ``create`` is set."""
    if path.is_dir():
        raise IsADirectoryError(f"`store` must be a file; {str(path)!r} is a folder.")
    if not path.exists():
        if not create or read_only:
            raise FileNotFoundError(f"`store` must be a file that exists; there is no {str(path)!r}.")
        _refuse_orphans(path)
        _make(path)
    if system := network_file_system(path):
        warn(
            f"{str(path)!r} is on a network file system ({system}); SQLite's locks are unreliable there. "
            "Use PostgreSQL if more than one machine writes.",
            RuntimeWarning,
            stacklevel=4,
        )
    return SqliteStorage(path, read_only=read_only, timeout=timeout, durable=durable)


def _refuse_orphans(path: Path) -> None:
    """Refuse to make a store where files of another one were left behind."""
    left = [beside(path, ending) for ending in ENDINGS if beside(path, ending).exists()]
    if left and not path.exists():  # if it is there now, another process has just made it
        names = " and ".join(repr(one.name) for one in left)
        raise StoreChangedError(
            f"{str(path)!r} is not there, but {names} beside it {'is' if len(left) == 1 else 'are'}: left by "
            "another store, with changes of it that are nowhere else. Put its file back, or move what was "
            "left away. Nothing was changed."
        )


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
    try:
        make_tables(draft)
        sync(draft)
        try:
            os.link(draft, path)
        except FileExistsError:
            pass  # another process was faster
        except OSError:  # a file system without links
            if not path.exists():
                os.replace(draft, path)
        sync(path.parent)
    except sqlite3.Error as error:
        raise OSError(f"`store` must be a place for a new file; {str(path)!r}: {error}.") from error
    finally:
        for ending in ("", *ENDINGS):
            beside(draft, ending).unlink(missing_ok=True)


def make_tables(path: Path) -> None:
    """Make an empty store of an empty file that no other process knows of."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute("PRAGMA journal_mode = WAL")  # kept in the file itself
        connection.execute("BEGIN")
        LogTables(connection, repr(str(path))).make(bytes="BLOB", by_key=" WITHOUT ROWID")
        connection.execute("COMMIT")


def network_file_system(path: Path, mounts: Path | None = None) -> str | None:
    """The kind of network file system that holds the path; None on a local one, or where Linux is not."""
    try:
        lines = (mounts or MOUNTS).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    target = path.absolute().resolve()
    best, kind = Path("/"), ""
    for line in lines:
        # "36 35 98:0 /root /mount/point options - type source": blanks in names are written \040.
        left, _, right = line.partition(" - ")
        place = Path(left.split()[4].replace("\\040", " "))
        if target.is_relative_to(place) and len(place.parts) >= len(best.parts):
            best, kind = place, right.split()[0]
    return kind if kind in NETWORK else None


def is_database(path: Path) -> bool:
    """Whether a file is a SQLite database."""
    if path.stat().st_size == 0:
        return False
    # Not read past SQLite: closing the file would end the locks of a store that this process has open.
    address = f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1"
    with closing(sqlite3.connect(address, uri=True)) as connection:
        try:
            connection.execute("PRAGMA application_id").fetchone()
        except sqlite3.Error as error:
            return _code(error) != sqlite3.SQLITE_NOTADB
    return True


def _code(error: Any) -> int:
    """SQLite's primary result code."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
