"""From a path or an address to a store."""

from os import PathLike
from pathlib import Path
from typing import Any

from noisewise.core.checks import check_positive
from noisewise.core.text import composed
from noisewise.study.stores.protocol import METHODS, MemoryStorage, Storage
from noisewise.study.stores.secrets import without_secrets

MEMORY = ":memory:"
#: Seconds that a writer waits for others.
PATIENCE = 30.0
POSTGRES = ("postgresql://", "postgres://", "postgresql+psycopg://")
SQLITE = "sqlite:///"


def open_store(
    place: Any,
    *,
    create: bool = False,
    read_only: bool = False,
    timeout: float = PATIENCE,
    durable: bool = False,
) -> Storage:
    """Open the store that keeps studies: a file, a PostgreSQL database, or memory.

    Args:
        place: The path of a file (SQLite), ``"postgresql://user@host/database"``, ``":memory:"``, or a
            storage of your own.
        create: Make it if there is none.
        read_only: Refuse to write; never disturbs those who do.
        timeout: Seconds to wait for other writers.
        durable: SQLite only: wait for the disk at every change, so that a power cut loses nothing that was
            acknowledged. Without it the last moments before a power cut (not: before a crash) may be lost.
    """
    check_positive("timeout", timeout)
    if isinstance(place, PathLike):
        place = str(Path(place))
    if not isinstance(place, str):
        if not all(hasattr(place, method) for method in METHODS):
            raise TypeError(
                f"`store` must be a path, an address, ':memory:' or a storage with {', '.join(METHODS)}; "
                f"got {place!r}."
            )
        kept: Storage = place
        return kept
    if place == MEMORY:
        return MemoryStorage()
    if place.startswith(POSTGRES):
        from noisewise.study.stores.postgres import PostgresStorage

        return PostgresStorage(place, create=create, read_only=read_only, timeout=timeout)
    from noisewise.study.stores.sqlite import open_sqlite

    return open_sqlite(path_of(place), create=create, read_only=read_only, timeout=timeout, durable=durable)


def find_study(
    store: Any, name: str | None = None, *, read_only: bool = True, timeout: float = PATIENCE
) -> tuple[Storage, str]:
    """A store, and which study of it is meant: the one with this name, or the only one."""
    storage = open_store(store, read_only=read_only, timeout=timeout)
    if name is None:
        names = storage.names()
        if len(names) != 1:
            listed = ", ".join(map(repr, names)) or "none"
            raise ValueError(f"`name` must say which study unless there is one; the store has {listed}.")
        (name,) = names
    return storage, composed(name) if isinstance(name, str) else name


def path_of(place: str) -> Path:
    """The file that an address means."""
    path = place.removeprefix(SQLITE)
    if path.lower().startswith(("https://", "http://")):
        raise ValueError(
            f"{without_secrets(place)!r} is a server, no store: `noisewise.load_study` opens a study there; "
            "whatever else is done to a store is done on the server's machine."
        )
    if "://" in path or not path:
        raise ValueError(
            "`store` must be a path, sqlite:///path, postgresql://user@host/database or ':memory:'; "
            f"got {without_secrets(place)!r}."
        )
    return Path(path)
