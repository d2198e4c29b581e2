"""Connections to a PostgreSQL server, from SQLAlchemy's pool, behind what all statements are run with."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection as AlchemyConnection
from sqlalchemy import Engine, RootTransaction, text
from sqlalchemy.exc import DBAPIError, IntegrityError

from noisewise.study.stores.database.connection import NOTHING, DriverError, Row, Types
from noisewise.study.stores.protocol import DamagedError

TYPES = Types(bytes="BYTEA", double="DOUBLE PRECISION", counter="SERIAL", by_key="")
_parsed = functools.cache(text)


@contextmanager
def explained() -> Iterator[None]:
    """What SQLAlchemy raises, as all stores know it."""
    try:
        yield
    except DBAPIError as error:
        orig = error.orig if error.orig is not None else error
        taken = isinstance(error, IntegrityError)
        raise DriverError(orig, lost=error.connection_invalidated, taken=taken) from error


class PostgresTransaction:
    """A transaction of a connection."""

    def __init__(self, transaction: RootTransaction) -> None:
        self._transaction = transaction

    def commit(self) -> None:
        """Keep what was written."""
        with explained():
            self._transaction.commit()

    def rollback(self) -> None:
        """Undo what was written."""
        with explained():
            self._transaction.rollback()


class PostgresConnection:
    """A connection on loan."""

    types = TYPES

    def __init__(self, raw: AlchemyConnection) -> None:
        self.raw = raw

    def rows(self, statement: str, parameters: Mapping[str, Any] = NOTHING) -> list[Row]:
        """Run a statement; all rows that it gives."""
        with explained():
            result = self.raw.execute(_parsed(statement), dict(parameters))
            return [tuple(row) for row in result] if result.returns_rows else []

    def many(self, statement: str, parameters: Sequence[Mapping[str, Any]]) -> None:
        """Run a statement once for each set of parameters."""
        with explained():
            self.raw.execute(_parsed(statement), [dict(one) for one in parameters])

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Write rows, their values in the order of the columns."""
        places = ", ".join(["%s"] * len(columns))
        statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})"
        with explained():
            done = self.raw.exec_driver_sql(statement, list(rows))
        if 0 <= done.rowcount < len(rows):  # a trigger may drop rows in silence
            raise DamagedError(
                f"the database wrote {done.rowcount} of {len(rows)} rows: does {table!r} have a trigger? "
                "Nothing was changed."
            )

    def has_table(self, name: str) -> bool:
        """Whether there is such a table."""
        # Not by to_regclass, which may answer from what this connection looked up before.
        found = "SELECT 1 FROM pg_class WHERE relname = :name AND pg_table_is_visible(oid)"
        return bool(self.rows(found, {"name": name}))

    @contextmanager
    def begin(self) -> Iterator[PostgresTransaction]:
        """A transaction, committed at the end unless it was before."""
        with explained(), self.raw.begin() as transaction:
            yield PostgresTransaction(transaction)

    def close(self) -> None:
        """Give it back, without what was not committed."""
        with explained():
            self.raw.close()

    def __enter__(self) -> "PostgresConnection":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class PostgresPool:
    """SQLAlchemy's engine, which keeps connections and looks whether they are alive."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def connect(self) -> PostgresConnection:
        """One that is the caller's until it is closed."""
        with explained():
            return PostgresConnection(self.engine.connect())

    @contextmanager
    def begin(self) -> Iterator[PostgresConnection]:
        """One inside of a transaction, which is committed at the end."""
        with self.connect() as connection, connection.begin():
            yield connection

    def dispose(self, close: bool = True) -> None:
        """Let go of the connections that nobody uses."""
        self.engine.dispose(close=close)
