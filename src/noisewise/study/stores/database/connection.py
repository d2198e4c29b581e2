"""What statements are run with, whatever the driver: connections, transactions, and how a driver says no.

SQLite's are made from Python's own library (`sqlite/pool.py`), those of PostgreSQL from SQLAlchemy's
(`postgres_pool.py`), which a store in a file therefore never loads.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

Row = tuple[Any, ...]
NOTHING: Mapping[str, Any] = {}


class DriverError(Exception):
    """A statement, a commit or a connection failed.

    Args:
        orig: What the driver raised.
        lost: Whether the connection is gone.
        taken: Whether a key is in the table already.
    """

    def __init__(self, orig: BaseException, *, lost: bool = False, taken: bool = False) -> None:
        super().__init__(str(orig))
        self.orig, self.lost, self.taken = orig, lost, taken


class Types(NamedTuple):
    """How a database spells what differs in the making of tables."""

    bytes: str
    double: str
    counter: str  # a primary key
    by_key: str  # after a table that is kept in the order of its key


class Transaction(Protocol):
    """What was begun, and is rolled back unless it was committed."""

    def commit(self) -> None:
        """Keep it."""

    def rollback(self) -> None:
        """Undo it."""


class Connection(Protocol):
    """One of a pool; what is not committed when it goes back there is undone."""

    types: Types

    def rows(self, statement: str, parameters: Mapping[str, Any] = NOTHING) -> list[Row]:
        """Run a statement with parameters ``:name``; all rows that it gives."""

    def many(self, statement: str, parameters: Sequence[Mapping[str, Any]]) -> None:
        """Run a statement once for each set of parameters."""

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Write rows, their values in the order of the columns."""

    def has_table(self, name: str) -> bool:
        """Whether there is such a table."""

    def begin(self) -> AbstractContextManager[Transaction]:
        """A transaction, committed at the end unless it was before."""

    def close(self) -> None:
        """Give it back."""


class ConnectionPool(Protocol):
    """Where connections come from."""

    def connect(self) -> Connection:
        """One that is the caller's until it is closed."""

    def begin(self) -> AbstractContextManager[Connection]:
        """One inside of a transaction, which is committed at the end."""

    def dispose(self, close: bool = True) -> None:
        """Let go of all connections that nobody uses; those of another process are not closed."""
