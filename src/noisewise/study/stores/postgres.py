"""Logs in a PostgreSQL database, written and read from any number of machines."""

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from noisewise.study.stores.protocol import AnswerLostError, Row, check_name
from noisewise.study.stores.secrets import HARMLESS, HIDDEN, without
from noisewise.study.stores.tables import STORE, ConnectionPool, LogTables, LogTransaction

if TYPE_CHECKING:
    import psycopg

Answer = TypeVar("Answer")
#: A lock for those who make the tables or change the list of studies: it is that of nothing else.
_LIST = 0x4E577374
#: What PostgreSQL calls a lock that did not come, a full disk, missing rights, read-only transactions.
LOCK_TIMEOUT, DISK_FULL, FORBIDDEN, READ_ONLY = "55P03", "53100", "42501", "25006"
_NO_TABLE = "42P01"
_HOLD_LIST = f"SELECT pg_advisory_xact_lock({_LIST})"
_LOCK = "SELECT 1 FROM noisewise_studies WHERE study = ? FOR UPDATE"
# Not by to_regclass, which may answer from what this connection looked up before.
_HAS_TABLE = "SELECT 1 FROM pg_class WHERE relname = ? AND pg_table_is_visible(oid)"


class PostgresStorage:
    """A database that holds logs; made by `noisewise.open_store`."""

    def __init__(self, address: str, *, create: bool, read_only: bool, timeout: float) -> None:
        known = _parsed(address)
        hidden = {name: value for name, value in known.items() if name not in HARMLESS}
        self._secrets = [str(value) for value in hidden.values() if value]
        self._label = _label(known)
        self._timeout, self._read_only = timeout, read_only
        settings = f"-c lock_timeout={round(1000.0 * timeout)} -c idle_in_transaction_session_timeout=60000"
        if read_only:
            settings += " -c default_transaction_read_only=on"
        known["options"] = " ".join([*([str(known["options"])] if "options" in known else []), settings])
        self._arguments = {"connect_timeout": max(2, round(timeout)), **known}
        self._pool = ConnectionPool(_close, _is_idle)
        weakref.finalize(self, self._pool.close)
        self._numbers: dict[str, int] = {}  # a study keeps its number when it is renamed
        self.id: str | None = None
        if create and not read_only:
            self._make()
        self.id = self._read(LogTables.open)

    def __repr__(self) -> str:
        return f"PostgresStorage({self._label})"

    def create(self, name: str, rows: Sequence[Row]) -> None:
        """Begin a log."""
        with self._writing() as tables:
            tables.run(_HOLD_LIST)
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
        """One log, while no one else can append to it."""
        study = self._number(name)
        with self._writing() as tables:
            tables.run(_LOCK, study)  # others who write to it wait here, in the order in which they came
            yield LogTransaction(tables, study)

    def rename(self, name: str, new: str) -> None:
        """Give a study another name."""
        with self._writing() as tables:
            tables.run(_HOLD_LIST)
            tables.rename(name, check_name(new))
        self._numbers.pop(name, None)

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()

    def _make(self) -> None:
        """Make the tables, unless they are there."""
        if self._read(lambda tables: tables.has(STORE)):
            return
        with self._writing() as tables:
            tables.run(_HOLD_LIST)
            if not tables.has(STORE):
                tables.make(bytes="BYTEA", by_key="")

    def _number(self, name: str) -> int:
        if name not in self._numbers:
            self._numbers[name] = self._read(lambda tables: tables.study(name))
        return self._numbers[name]

    def _tables(self, connection: "psycopg.Connection") -> "_PostgresTables":
        return _PostgresTables(connection.cursor(), self._label, self.id, "%s")

    def _read(self, action: Callable[["_PostgresTables"], Answer]) -> Answer:
        import psycopg

        with self._explained():
            try:
                with self._pool.take(self._connect) as connection:
                    return action(self._tables(connection))
            except psycopg.Error as error:
                if not self._is_lost(error):
                    raise
            self._pool.close()  # the server ended this connection, and the others with it
            with self._pool.take(self._connect) as connection:
                return action(self._tables(connection))

    @contextmanager
    def _writing(self) -> Iterator["_PostgresTables"]:
        if self._read_only:
            raise PermissionError(f"{self._label} was opened for reading only. Nothing was written.")
        with self._explained(), self._begun() as connection:
            try:
                yield self._tables(connection)
                self._commit(connection)
            except BaseException:
                with suppress(Exception):  # the first error is the one to report
                    if not _is_idle(connection):
                        connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _begun(self) -> Iterator["psycopg.Connection"]:
        """A connection that is alive, in a transaction."""
        import psycopg

        with ExitStack() as stack:
            connection = stack.enter_context(self._pool.take(self._connect))
            try:
                connection.execute("BEGIN")
            except psycopg.Error as error:
                if not self._is_lost(error):
                    raise
                connection.close()
                self._pool.close()
                connection = stack.enter_context(self._pool.take(self._connect))
                connection.execute("BEGIN")
            yield connection

    def _commit(self, connection: "psycopg.Connection") -> None:
        import psycopg

        try:
            send_commit(connection)
        except psycopg.Error as error:
            if not self._is_lost(error):
                raise  # the server answered, and said no
            said = str(self._explain(error)).split(" Nothing was written")[0]
            raise AnswerLostError(said) from error

    def _connect(self) -> "psycopg.Connection":
        import psycopg

        return psycopg.connect(autocommit=True, **self._arguments)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Errors of the driver as one sentence each."""
        import psycopg

        try:
            yield
        except psycopg.Error as error:
            raise self._explain(error) from error

    def _is_lost(self, error: Any) -> bool:
        state = getattr(error, "sqlstate", None)
        return state is None or state.startswith(("08", "57"))

    def _explain(self, error: Any) -> Exception:
        state = getattr(error, "sqlstate", None)
        said = without(str(error), self._secrets).strip()
        reason = said.splitlines()[0] if said else "no reason given"
        if state == LOCK_TIMEOUT:
            return TimeoutError(
                f"waited {self._timeout:g} s for another writer of {self._label}. Nothing was written; "
                "run again."
            )
        if state == DISK_FULL:
            return OSError(
                f"{self._label} cannot grow: the server's disk is full. Nothing was written, nothing is lost."
            )
        if state in (FORBIDDEN, READ_ONLY):
            return PermissionError(f"{self._label} may not be written: {reason}. Nothing was written.")
        if state == _NO_TABLE:
            return ValueError(f"{self._label} holds no studies of noisewise. Nothing was changed.")
        if self._is_lost(error):
            return ConnectionError(
                f"the connection to {self._label} was lost or refused ({reason}). Nothing was written; "
                "run again."
            )
        return OSError(f"{self._label} cannot be used: {reason}. Nothing was written.")


class _PostgresTables(LogTables):
    def has(self, table: str) -> bool:
        """Whether there is such a table."""
        return self.run(_HAS_TABLE, table).fetchone() is not None


def send_commit(connection: "psycopg.Connection") -> None:
    """The one moment after which only the store knows what became of a change."""
    connection.execute("COMMIT")


def _close(connection: "psycopg.Connection") -> None:
    connection.close()


def _is_idle(connection: "psycopg.Connection") -> bool:
    from psycopg.pq import TransactionStatus

    return not connection.closed and connection.info.transaction_status == TransactionStatus.IDLE


def _parsed(address: str) -> dict[str, Any]:
    """The parts of an address, by their names in libpq."""
    try:
        from psycopg import ProgrammingError, conninfo
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(
            "a PostgreSQL store needs the package 'psycopg': install noisewise with its extra, "
            "pip install 'noisewise[postgres]'.",
            name="psycopg",
        ) from missing
    try:
        return dict(conninfo.conninfo_to_dict(address.replace("postgresql+psycopg://", "postgresql://", 1)))
    except ProgrammingError:
        raise ValueError(
            "`store` must be an address like postgresql://user@host/database; this one cannot be read."
        ) from None


def _label(known: dict[str, Any]) -> str:
    """The address without what others must not read."""
    parts = {name: quote(str(value), safe="/") for name, value in known.items()}
    user, host, port, database = (parts.pop(name, "") for name in ("user", "host", "port", "dbname"))
    password = f":{HIDDEN}" if parts.pop("password", None) else ""
    if host.startswith("/"):
        parts, host = {"host": host, **parts}, ""
    shown = "&".join(f"{name}={value if name in HARMLESS else HIDDEN}" for name, value in parts.items())
    at, port = "@" if user or password else "", f":{port}" if port else ""
    return f"postgresql://{user}{password}{at}{host}{port}/{database}{f'?{shown}' if shown else ''}"
