"""Putting a backup in the place of a store: checked first, whole or not at all, the old file kept."""

import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path

from noisewise.core.files import sync, written_whole
from noisewise.study.log.export import copy_studies
from noisewise.study.safekeeping.verification import verify_log
from noisewise.study.stores.address import open_store
from noisewise.study.stores.protocol import StoreChangedError
from noisewise.study.stores.sqlite import ENDINGS, beside


def replace_store(source: Path, target: Path, timeout: float) -> Path | None:
    """Put the backup ``source`` in the place of ``target``; see `noisewise.restore_store`."""
    if target.exists() and source.exists() and target.samefile(source):
        raise ValueError("`backup` must be another file than the store.")
    for verdict in verify_log(source):
        if not verdict.fits:
            raise ValueError(f"`backup` must be whole; {verdict} Nothing was changed.")
    with written_whole(target) as draft:
        draft.unlink()
        # A store of its own: processes that still have the old one open will notice.
        _copy(source, draft)
        held = _hold(target, timeout) if target.exists() and _belongs_together(target) else None
        try:
            kept = _move_aside(target)
        finally:
            if held is not None:
                _let_go(held)
    return kept


def _copy(source: Path, draft: Path) -> None:
    storage = open_store(source, read_only=True)
    try:
        copy_studies(storage, draft)
    finally:
        storage.close()


def _belongs_together(target: Path) -> bool:
    """Whether the write-ahead log is the file's own; one that is not stays as it is."""
    try:
        open_store(target, read_only=True).close()
    except StoreChangedError:
        return False
    except (OSError, ValueError):  # too damaged to say
        return True
    return True


def _hold(target: Path, timeout: float) -> sqlite3.Connection | None:
    """A connection that has the store for itself; None if it is too damaged to be held."""
    connection = sqlite3.connect(target, timeout=timeout, isolation_level=None)
    try:
        # Leaving the write-ahead log needs the whole file: it fails while others have it open. It also
        # brings everything from the log into the file, and removes the log.
        (mode,) = connection.execute("PRAGMA journal_mode = DELETE").fetchone()
        if mode != "delete":
            raise sqlite3.OperationalError("database is locked")
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("BEGIN EXCLUSIVE")
        return connection
    except sqlite3.Error as problem:
        connection.close()
        if "locked" in str(problem) or "busy" in str(problem):
            raise TimeoutError(
                f"{str(target)!r} is in use by others: end what is working on it, then restore. Nothing was "
                "changed."
            ) from None
        return None


def _move_aside(target: Path) -> Path | None:
    """Give the old file another name, with what belongs to it; it stays in place until it is replaced."""
    moment = time.strftime("%Y%m%d-%H%M%S")
    kept = target.with_name(f"{target.name}.replaced-{moment}")
    count = 1
    while kept.exists() or any(beside(kept, ending).exists() for ending in ENDINGS):
        count += 1
        kept = target.with_name(f"{target.name}.replaced-{moment}-{count}")
    there = target.exists()
    if there:
        try:
            os.link(target, kept)
        except OSError:  # a file system without links
            os.replace(target, kept)
    # The new file must not stand beside another one's log.
    for ending in ENDINGS:
        if beside(target, ending).exists():
            os.replace(beside(target, ending), beside(kept, ending))
            there = True
    sync(target.parent)
    return kept if there else None


def _let_go(held: sqlite3.Connection) -> None:
    """The old file gets its write-ahead log back: it is still a store, whatever its name."""
    with suppress(sqlite3.Error):
        held.execute("ROLLBACK")
        held.execute("PRAGMA journal_mode = WAL")
    held.close()
