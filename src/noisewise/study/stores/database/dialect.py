"""What is different between SQLite and PostgreSQL, and pools that a forked child does not share."""

import os
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Generic, Protocol, TypeVar

from noisewise.study.stores.database.connection import Connection, ConnectionPool, DriverError

AnyPool = TypeVar("AnyPool", bound=ConnectionPool)


class Database(Protocol):
    """A database that keeps a store."""

    label: str  # how messages call it, without secrets
    locks_rows: bool  # whether writers lock a study's head, or hold the whole store anyway

    def reader(self) -> ConnectionPool:
        """For transactions that only read; they never wait."""

    def writer(self) -> ConnectionPool:
        """For transactions that write; refuses if the store was opened for reading."""

    def check(self) -> None:
        """`StoreChangedError` if this is visibly not the store that was opened."""

    def stamp(self, connection: Connection) -> None:
        """Leave a trace of a change where `check` looks."""

    def turn(
        self, study: int, patience: float, meanwhile: Callable[[], object] | None
    ) -> AbstractContextManager[bool]:
        """A context in which no other process decides; yields whether the turn came in time."""

    def explain(self, error: DriverError) -> Exception:
        """What went wrong before a commit, in a sentence."""

    def integrity(self) -> str | None:
        """What the database itself finds wrong with what it keeps."""

    def surely_undone(self, error: DriverError) -> bool:
        """Whether a commit that failed like this has certainly left nothing."""

    def close(self) -> None:
        """Close all connections."""


class OwnPool(Generic[AnyPool]):
    """A pool that a forked child does not share with its parent."""

    def __init__(self, pool: AnyPool) -> None:
        self._pool = pool
        self._owner = [os.getpid()]
        weakref.finalize(self, _close, pool, self._owner)

    def get(self) -> AnyPool:
        """The pool; in a child, without the parent's connections."""
        if self._owner[0] != os.getpid():
            self._pool.dispose(close=False)
            self._owner[0] = os.getpid()
        return self._pool

    def close(self) -> None:
        """Close the connections that are ours."""
        _close(self._pool, self._owner)


def _close(pool: ConnectionPool, owner: list[int]) -> None:
    # Saying goodbye on a connection of the parent would also end it for the parent.
    pool.dispose(close=owner[0] == os.getpid())
