"""From a path or an address to a store."""

from os import PathLike
from pathlib import Path
from typing import Any

from noisewise.core.checks import check_positive
from noisewise.study.redaction import without_secrets
from noisewise.study.storage import METHODS, MemoryStorage, Storage

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
        from noisewise.study.postgres import open_postgres

        return open_postgres(place, create=create, read_only=read_only, timeout=timeout)
    from noisewise.study.sqlite import open_sqlite

    return open_sqlite(_path(place), create=create, read_only=read_only, timeout=timeout, durable=durable)


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
    return storage, name


def migrate_store(place: str | PathLike[str], *, timeout: float = PATIENCE) -> tuple[int, int]:
    """Bring a store that an older noisewise wrote to the present tables, all or nothing.

    A file is copied first, to a backup beside it; nobody else should be using the store meanwhile.

    Returns:
        The versions of the tables before and now.
    """
    if isinstance(place, str) and place.startswith(POSTGRES):
        from noisewise.study.postgres import migrate_postgres

        return migrate_postgres(place, timeout)
    from noisewise.study.sqlite import migrate_sqlite

    return migrate_sqlite(_path(str(place)), timeout)


def restore_store(
    backup: str | PathLike[str], store: str | PathLike[str], *, timeout: float = 2.0
) -> Path | None:
    """Replace a store, a SQLite file, by a backup of it.

    The backup is checked first, every hash of it; it stays as it is. The file that is replaced is kept beside
    the store, with what SQLite left beside it. Refused while others have the store open.

    Args:
        backup: A file that `noisewise.backup_store` made, or a copy of a store that nobody was using.
        store: The file to replace; it need not be there.
        timeout: Seconds to wait for others to close the store.

    Returns:
        Where the replaced file is now; None if there was none.
    """
    for name, place in (("backup", backup), ("store", store)):
        if str(place).startswith(POSTGRES):
            raise ValueError(
                f"`{name}` must be a file: a PostgreSQL database is restored with its own tools, or study by "
                "study from exported logs."
            )
    from noisewise.study.restoring import replace_store

    return replace_store(_path(str(backup)), _path(str(store)), timeout)


def _path(place: str) -> Path:
    path = place.removeprefix(SQLITE)
    if "://" in path or not path:
        raise ValueError(
            "`store` must be a path, sqlite:///path, postgresql://user@host/database or ':memory:'; "
            f"got {without_secrets(place)!r}."
        )
    return Path(path)
