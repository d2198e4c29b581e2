"""Whether a store, an exported log or a certificate is what it says: every hash is computed afresh."""

from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from noisewise.core.text import counted
from noisewise.study.certificates.certificate import claimed_in
from noisewise.study.creation import compare_certificate, load_study
from noisewise.study.log.events import events_in, specification_in
from noisewise.study.log.export import FORMAT, lines_of, parse_log, rebuild_study
from noisewise.study.log.specification import Specification
from noisewise.study.log.state import replay
from noisewise.study.stores.address import POSTGRES, open_store
from noisewise.study.stores.protocol import (
    DamagedError,
    MemoryStorage,
    Row,
    Storage,
    first_misfit,
    not_fitting,
)

STORE, EXPORT, CERTIFICATE = "store", "export", "certificate"


@dataclass(frozen=True)
class Verdict:
    """What was found about one study."""

    what: str  # "store", "export" or "certificate"
    study: str
    n_events: int  # of which the chain was followed
    head: str  # the last hash that fits
    event: int | None = None  # the first one that does not fit
    problem: str | None = None
    said: str | None = None  # what follows from the log, for a certificate whose facts agree with it

    @property
    def fits(self) -> bool:
        """Whether nothing speaks against it."""
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
