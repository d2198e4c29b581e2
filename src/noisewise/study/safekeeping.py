"""Stores, exported logs and certificates verified, every hash computed afresh; and backups put in place."""

import os
import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from noisewise.core.files import sync, written_whole
from noisewise.core.text import counted
from noisewise.study.certificates.certificate import claimed_in
from noisewise.study.creation import compare_certificate, load_study
from noisewise.study.log.events import events_in, specification_in
from noisewise.study.log.export import FORMAT, copy_studies, lines_of, parse_log, rebuild_study
from noisewise.study.log.specification import Specification
from noisewise.study.log.state import replay
from noisewise.study.stores.address import POSTGRES, open_store, path_of
from noisewise.study.stores.protocol import (
    DamagedError,
    MemoryStorage,
    Row,
    Storage,
    StoreChangedError,
    first_misfit,
    not_fitting,
)

STORE, EXPORT, CERTIFICATE = "store", "export", "certificate"


@dataclass(frozen=True)
class Verdict:
    """What verification found about one study."""

    what: str  # "store", "export" or "certificate"
    study: str
    n_events: int  # of which the chain was followed
    head: str  # the last hash that fits
    event: int | None = None  # the first one that does not fit
    problem: str | None = None
    said: str | None = None  # what follows from the log, for a certificate whose facts agree with it

    @property
    def fits(self) -> bool:
        """Whether no problem was found."""
        return self.problem is None

    def __str__(self) -> str:
        if self.problem is not None:
            return f"{self.study or self.what}: {self.problem}"
        words = f"{self.study}: {counted(self.n_events, 'event')}, all as they were written"
        words += f"; head {self.head}" if self.head else ""
        if self.said is not None:
            return f"{self.study}: {self.said}"
        return f"{words}."


def verify_log(thing: Any, store: Any = None, study: str | None = None) -> list[Verdict]:
    """Compare a store, an exported log or a certificate with its chain of hashes.

    Args:
        thing: A store (path or address), an exported log (file or lines), or a certificate (file or JSON).
        store: For a certificate: where its study is kept, a store or an exported log.
        study: Which study; default: all of a store, and the one that a certificate names.

    Returns:
        One verdict per study; `Verdict.fits` says whether all is well, `Verdict.event` which event is not.
    """
    text = thing if isinstance(thing, str) and thing.lstrip().startswith("{") else None
    if text is None and not isinstance(thing, str | PathLike):
        return _verify_store(thing, study) if hasattr(thing, "names") else [_verify_export(thing)]
    if text is None:
        if str(thing).startswith(POSTGRES) or _is_database(Path(thing)):
            return _verify_store(thing, study)
        text = "\n".join(lines_of(thing))
    if is_export(text):
        return [_verify_export(text.splitlines())]
    return [_verify_certificate(text, store, study)]


def is_export(text: str) -> bool:
    """Whether this is an exported log."""
    return f'"format":"{FORMAT}"' in text[:1000].replace(" ", "")


def _is_database(path: Path) -> bool:
    from noisewise.study.stores.sqlite import is_database

    if not path.is_file():
        raise FileNotFoundError(
            f"there is no file {str(path)!r}: give a store, an exported log, or a certificate."
        )
    return is_database(path)


def _verify_store(place: Any, study: str | None) -> list[Verdict]:
    given = hasattr(place, "names")
    try:
        storage: Storage = place if given else open_store(place, read_only=True)
    except DamagedError as damage:
        return [Verdict(STORE, "", 0, "", problem=str(damage))]
    try:
        integrity = getattr(storage, "integrity", None)
        problem = integrity() if integrity is not None else None
        if problem is not None:
            return [Verdict(STORE, study or "", 0, "", problem=problem)]
        names = storage.names()
        if study is not None and study not in names:
            storage.read(study, 0, 0)  # refuses, listing the names
        return [_verify_study(storage, name) for name in names if study in (None, name)]
    except DamagedError as damage:
        return [Verdict(STORE, study or "", 0, "", event=damage.event, problem=str(damage))]
    finally:
        if not given:
            storage.close()


def _verify_study(storage: Storage, name: str) -> Verdict:
    try:
        return _verify_rows(STORE, name, storage.read(name))
    except DamagedError as damage:
        return Verdict(STORE, name, 0, "", event=damage.event, problem=str(damage))


def _verify_export(lines: Iterable[str]) -> Verdict:
    try:
        found = parse_log(iter(lines))
    except ValueError as problem:
        return Verdict(EXPORT, "", 0, "", problem=str(problem))
    return _verify_rows(EXPORT, found.name, found.rows)


def _verify_rows(what: str, name: str, rows: list[Row]) -> Verdict:
    """Whether a log fits its hashes, and is the log of a study."""
    misfit = first_misfit(rows)
    fitting = rows[: len(rows) if misfit is None else misfit]
    head, count = (fitting[-1].hash.hex(), len(fitting) - 1) if fitting else ("", 0)
    if misfit is not None:
        return Verdict(what, name, count, head, misfit or None, str(not_fitting(name, misfit)))
    try:
        specification = Specification.from_plain({**specification_in(rows, name), "name": name})
        replay(specification, events_in(rows))
    except ValueError as problem:
        return Verdict(what, name, count, head, getattr(problem, "event", None), str(problem))
    return Verdict(what, name, count, head)


def _verify_certificate(text: str, store: Any, study: str | None) -> Verdict:
    try:
        claimed = claimed_in(text)
    except ValueError:
        raise ValueError(
            "this must be a store, an exported log, or a certificate as JSON; it is none of them."
        ) from None
    name = str(claimed.get("study", ""))
    if store is None:
        raise ValueError("a certificate is compared with a log: say in which store or exported log it is.")
    try:
        storage = _opened(store)
        names = storage.names()
        # A study may have been renamed since.
        chosen = study or (name if name in names or len(names) != 1 else names[0])
        opened = load_study(storage, chosen)
        compared = compare_certificate(text, opened)
    except (DamagedError, ValueError) as problem:
        event = problem.event if isinstance(problem, DamagedError) else None
        return Verdict(CERTIFICATE, study or name, 0, "", event=event, problem=str(problem))
    return Verdict(
        CERTIFICATE,
        opened.name,
        compared.certificate.n_events,
        compared.certificate.head,
        problem=compared.about_words or None,
        said=f"the log agrees with the certificate{compared.about_time}: {compared.certificate.sentence}",
    )


def _opened(store: Any) -> Storage:
    if isinstance(store, str | PathLike) and not str(store).startswith(POSTGRES):
        path = Path(store)
        if path.is_file() and not _is_database(path):
            memory = MemoryStorage()
            rebuild_study(path, memory)
            return memory
    return open_store(store, read_only=True)


# Putting a backup in the place of a store: checked first, whole or not at all, the old file kept.


def restore_store(
    backup: str | PathLike[str], store: str | PathLike[str], *, timeout: float = 2.0
) -> Path | None:
    """Replace a store, a SQLite file, by a backup of it.

    Every hash of the backup is checked first; the backup stays as it is. The file that is replaced is kept
    beside the store, with what SQLite left beside it. Refused while others have the store open.

    Args:
        backup: A file that `noisewise.backup_store` made, or a copy of a store that was not in use.
        store: The file to replace; it need not exist.
        timeout: Seconds to wait for others to close the store.

    Returns:
        Where the replaced file is now; None if there was none.
    """
    from noisewise.study.stores.sqlite import ENDINGS, beside

    for name, place in (("backup", backup), ("store", store)):
        if str(place).startswith(POSTGRES):
            raise ValueError(
                f"`{name}` must be a file: a PostgreSQL database is restored with its own tools, or study by "
                "study from exported logs."
            )
    source, target = path_of(str(backup)), path_of(str(store))
    if target.exists() and source.exists() and target.samefile(source):
        raise ValueError("`backup` must be another file than the store.")
    for verdict in verify_log(source):
        if not verdict.fits:
            raise ValueError(f"`backup` must be whole; {verdict} Nothing was changed.")
    with written_whole(target) as draft:
        draft.unlink()
        storage = open_store(source, read_only=True)
        try:
            copy_studies(
                storage, draft
            )  # with an id of its own: processes that have the old file open will notice
        finally:
            storage.close()
        if target.exists() and _belongs_together(target):
            _take_in_log(target, timeout)
        kept = _free_name(target)
        there = target.exists()
        if there:
            try:
                os.link(target, kept)  # it stays in place until it is replaced
            except OSError:  # a file system without links
                os.replace(target, kept)
        # The new file must not be beside the log of another one.
        for ending in ENDINGS:
            if beside(target, ending).exists():
                os.replace(beside(target, ending), beside(kept, ending))
                there = True
        sync(target.parent)
    return kept if there else None


def _belongs_together(target: Path) -> bool:
    """Whether the write-ahead log is the file's own; one that is not stays as it is."""
    try:
        open_store(target, read_only=True).close()
    except StoreChangedError:
        return False
    except (OSError, ValueError):  # too damaged to say
        return True
    return True


def _take_in_log(target: Path, timeout: float) -> None:
    """Bring everything from the write-ahead log into the file; fails while others have the file open."""
    with closing(sqlite3.connect(target, timeout=timeout, isolation_level=None)) as connection:
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = DELETE").fetchone()
        except sqlite3.Error as problem:
            mode = "wal" if "locked" in str(problem) or "busy" in str(problem) else "damaged"
        if mode == "wal":
            raise TimeoutError(
                f"{str(target)!r} is in use by others: end what is working on it, then restore. Nothing was "
                "changed."
            )
        with suppress(sqlite3.Error):
            connection.execute("PRAGMA journal_mode = WAL")  # so it stays a store, whatever its name


def _free_name(target: Path) -> Path:
    from noisewise.study.stores.sqlite import ENDINGS, beside

    moment = time.strftime("%Y%m%d-%H%M%S")
    kept, count = target.with_name(f"{target.name}.replaced-{moment}"), 1
    while kept.exists() or any(beside(kept, ending).exists() for ending in ENDINGS):
        count += 1
        kept = target.with_name(f"{target.name}.replaced-{moment}-{count}")
    return kept
