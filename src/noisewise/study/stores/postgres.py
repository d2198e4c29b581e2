"""Studies in a PostgreSQL database: the same tables, for many machines."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from sqlalchemy import create_engine
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from noisewise.study.stores.database.connection import Connection, DriverError
from noisewise.study.stores.database.dialect import OwnPool
from noisewise.study.stores.database.schema import check_version, id_of, make_tables, version_of
from noisewise.study.stores.database.sql import SqlStorage
from noisewise.study.stores.postgres_pool import PostgresConnection, PostgresPool
from noisewise.study.stores.secrets import HARMLESS, HIDDEN, without
from noisewise.study.stores.turns import Turns, on_fork

#: Two who make the tables at once wait for each other, and those who queue for a study do so beside this
#: number: it is that of nothing else.
_MAKING = 0x4E577374
#: What PostgreSQL calls a lock that did not come, a full disk, missing rights, read-only transactions.
LOCK_TIMEOUT, DISK_FULL, FORBIDDEN, READ_ONLY = "55P03", "53100", "42501", "25006"
#: Threads of this process queue here before they queue at the server.
_TURNS = Turns()


class PostgresDatabase:
    """An address, with one pool of connections."""

    locks_rows = True

    def __init__(self, address: str, *, read_only: bool, timeout: float) -> None:
        try:
            url = make_url(address).set(drivername="postgresql+psycopg")
        except ArgumentError:
            raise ValueError(
                "`store` must be an address like postgresql://user@host/database; this one cannot be read."
            ) from None
        hidden = {name: value for name, value in url.query.items() if name not in HARMLESS}
        self._secrets = [text for text in (url.password, *map(str, hidden.values())) if text]
        self.label = _label(url)
        # Out of the address, which libraries like to print.
        url = url.difference_update_query(hidden)
        self._timeout, self._read_only = timeout, read_only
        settings = f"-c lock_timeout={round(1000.0 * timeout)} -c idle_in_transaction_session_timeout=60000"
        if read_only:
            settings += " -c default_transaction_read_only=on"
        theirs = {name: value for name, value in hidden.items() if name != "options"}
        settings = " ".join([*([str(hidden["options"])] if "options" in hidden else []), settings])
        known: dict[str, Any] = {"options": settings, "connect_timeout": max(2, round(timeout)), **theirs}
        try:
            engine = create_engine(url, connect_args=known, pool_pre_ping=True)
        except (ModuleNotFoundError, NoSuchModuleError) as missing:
            raise ModuleNotFoundError(
                "a PostgreSQL store needs the package 'psycopg': install noisewise with its extra, "
                "pip install 'noisewise[postgres]'.",
                name="psycopg",
            ) from missing
        self._pool = OwnPool(PostgresPool(engine))

    def reader(self) -> PostgresPool:
        """All connections may read."""
        return self._pool.get()

    def writer(self) -> PostgresPool:
        """And write, unless opened for reading."""
        if self._read_only:
            raise PermissionError(f"{self.label} was opened for reading only. Nothing was written.")
        return self.reader()

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()

    def check(self) -> None:
        """Nothing: every read of a log compares the store's id."""

    def stamp(self, connection: Connection) -> None:
        """Not needed."""

    @contextmanager
    def turn(self, study: int, patience: float, meanwhile: Callable[[], object] | None) -> Iterator[bool]:
        """In a queue at the server, which ends with the transaction, however that ends.

        The server does not say who is next: nothing is done meanwhile.
        """
        place = (self.label, study)
        if self._read_only or _TURNS.holds(place):
            yield True
            return
        with _TURNS.take(place, patience) as first:
            connection = self._queue(study, patience) if first else None
            try:
                yield connection is not None
            finally:
                if connection is not None:
                    with suppress(DriverError):
                        connection.close()

    def _queue(self, study: int, patience: float) -> PostgresConnection | None:
        """A connection that has the turn."""
        connection = None
        try:
            connection = self.reader().connect()
            connection.rows(f"SET LOCAL lock_timeout = {max(1, round(1000.0 * patience))}")
            connection.rows(f"SELECT pg_advisory_xact_lock({_MAKING}, {study})")
            return connection
        except DriverError:  # the change itself will say what is wrong, or go ahead
            if connection is not None:
                with suppress(DriverError):
                    connection.close()
            return None

    def integrity(self) -> str | None:
        """The server looks after its files itself."""
        return None

    def surely_undone(self, error: DriverError) -> bool:
        """The server answered, and is still there: it said no."""
        state = getattr(error.orig, "sqlstate", None)
        return not (error.lost or state is None or state.startswith(("08", "57")))

    def explain(self, error: DriverError) -> Exception:
        """What went wrong, in a sentence."""
        state = getattr(error.orig, "sqlstate", None)
        said = without(str(error.orig), self._secrets).strip()
        reason = said.splitlines()[0] if said else "no reason given"
        if state == LOCK_TIMEOUT:
            return TimeoutError(
                f"waited {self._timeout:g} s for another writer of {self.label}. Nothing was written; "
                "run again."
            )
        if state == DISK_FULL:
            return OSError(
                f"{self.label} cannot grow: the server's disk is full. Nothing was written, nothing is lost."
            )
        if state in (FORBIDDEN, READ_ONLY):
            return PermissionError(f"{self.label} may not be written: {reason}. Nothing was written.")
        if error.lost or state is None or state.startswith(("08", "57")):
            return ConnectionError(
                f"the connection to {self.label} was lost or refused ({reason}). Nothing was written; "
                "run again."
            )
        return OSError(f"{self.label} cannot be used: {reason}. Nothing was written.")


def open_postgres(address: str, *, create: bool, read_only: bool, timeout: float) -> SqlStorage:
    """The studies in a database; the tables are made if they are not there and ``create`` is set."""
    database = PostgresDatabase(address, read_only=read_only, timeout=timeout)
    try:
        with database.reader().connect() as connection:
            found = version_of(connection, database.label)
        if found is None and create and not read_only:
            with database.writer().begin() as connection:
                connection.rows(f"SELECT pg_advisory_xact_lock({_MAKING})")
                make_tables(connection)
                found = version_of(connection, database.label)
        with database.reader().connect() as connection:
            check_version(found, database.label)
            return SqlStorage(database, id_of(connection, database.label))
    except DriverError as error:
        raise database.explain(error) from error


def _label(url: URL) -> str:
    """The address without what must not be read by others."""
    shown = {name: value if name in HARMLESS else HIDDEN for name, value in url.query.items()}
    return url.set(query=shown).render_as_string(hide_password=True).replace("+psycopg", "")


on_fork(_TURNS.forget)
