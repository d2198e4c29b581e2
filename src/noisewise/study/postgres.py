"""Studies in a PostgreSQL database: the same tables, for many machines."""

from typing import Any

from sqlalchemy import Engine, create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from noisewise.study.engines import OwnEngine
from noisewise.study.migrations import check_version, make_tables, migrate, version_of
from noisewise.study.sql import SqlStorage

#: Two who make the tables at once wait for each other: the number is that of nothing else.
_MAKING = 0x4E577374
#: What PostgreSQL calls a lock that did not come, a full disk, missing rights, read-only transactions.
LOCK_TIMEOUT, DISK_FULL, FORBIDDEN, READ_ONLY = "55P03", "53100", "42501", "25006"


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
        self.label = url.render_as_string(hide_password=True).replace("+psycopg", "")
        self._timeout, self._read_only = timeout, read_only
        settings = f"-c lock_timeout={round(1000.0 * timeout)} -c idle_in_transaction_session_timeout=60000"
        if read_only:
            settings += " -c default_transaction_read_only=on"
        known: dict[str, Any] = {"options": settings, "connect_timeout": max(2, round(timeout))}
        try:
            self._engine = OwnEngine(create_engine(url, connect_args=known, pool_pre_ping=True))
        except (ModuleNotFoundError, NoSuchModuleError) as missing:
            raise ModuleNotFoundError(
                "a PostgreSQL store needs the package 'psycopg': install noisewise with its extra, "
                "pip install 'noisewise[postgres]'.",
                name="psycopg",
            ) from missing

    def reader(self) -> Engine:
        """All connections may read."""
        return self._engine.get()

    def writer(self) -> Engine:
        """And write, unless opened for reading."""
        if self._read_only:
            raise PermissionError(f"{self.label} was opened for reading only. Nothing was written.")
        return self.reader()

    def close(self) -> None:
        """Close all connections."""
        self._engine.close()

    def explain(self, error: DBAPIError) -> Exception:
        """What went wrong, in a sentence."""
        state = getattr(error.orig, "sqlstate", None)
        reason = str(error.orig).strip().splitlines()[0] if str(error.orig).strip() else "no reason given"
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
        if error.connection_invalidated or state is None or state.startswith(("08", "57")):
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
            found = version_of(connection)
        if found is None and create and not read_only:
            with database.writer().begin() as connection:
                connection.execute(text(f"SELECT pg_advisory_xact_lock({_MAKING})"))
                make_tables(connection)
                found = version_of(connection)
    except DBAPIError as error:
        raise database.explain(error) from error
    check_version(found, database.label)
    return SqlStorage(database)


def migrate_postgres(address: str, timeout: float) -> tuple[int, int]:
    """Bring a database to the present tables, in one transaction."""
    database = PostgresDatabase(address, read_only=False, timeout=timeout)
    try:
        with database.writer().begin() as connection:
            connection.execute(text(f"SELECT pg_advisory_xact_lock({_MAKING})"))
            return migrate(connection, database.label)
    except DBAPIError as error:
        raise database.explain(error) from error
    finally:
        database.close()
