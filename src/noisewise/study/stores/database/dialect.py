"""What is different between SQLite and PostgreSQL."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError


class Database(Protocol):
    """A database that keeps a store."""

    label: str  # how messages call it, without secrets
    locks_rows: bool  # whether writers lock a study's head, or hold the whole store anyway

    def reader(self) -> Engine:
        """For transactions that only read; they wait for nobody."""

    def writer(self) -> Engine:
        """For transactions that write; refuses if the store was opened for reading."""

    def check(self) -> None:
        """`StoreChangedError` if this is visibly not the store that was opened."""

    def stamp(self, connection: Connection) -> None:
        """Leave a trace of a change where `check` looks."""

    def turn(
        self, study: int, patience: float, meanwhile: Callable[[], object] | None
    ) -> AbstractContextManager[bool]:
        """A context in which nobody else decides; yields whether the turn came in time."""

    def explain(self, error: DBAPIError) -> Exception:
        """What went wrong before a commit, in a sentence."""

    def integrity(self) -> str | None:
        """What the database itself finds wrong with what it keeps."""

    def surely_undone(self, error: DBAPIError) -> bool:
        """Whether a commit that failed like this has certainly left nothing."""

    def close(self) -> None:
        """Close all connections."""
