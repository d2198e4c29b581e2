"""A study as JSON lines, rebuilt exactly from them, and copies of whole stores.

The first line holds the specification and how many events follow; then one line per event, with its hash;
the last line holds the head of their chain. Any prefix of a log is a state the study was in, so a copy taken
while others write is whole as well. Nothing is replayed for an export: it works for any log.
"""

import json
from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from noisewise.core.support.files import as_path, written_whole
from noisewise.core.support.ranges import TIME, check_within
from noisewise.study.log.specification import Specification
from noisewise.study.log.state import replay
from noisewise.study.stores.address import open_store
from noisewise.study.stores.chain import first_misfit, follow, start_of
from noisewise.study.stores.protocol import DamagedError, Event, Storage, check_name, to_json

FORMAT = "noisewise.study"
#: The version of the lines.
VERSION = 2


def chained_events(storage: Storage, name: str) -> list[Event]:
    """The whole log with its hashes, computed here if the store keeps none."""
    start = start_of(to_json(storage.specification(name))).hex()
    return follow(start, storage.read(name), verified=getattr(storage, "keeps_hashes", False))


def log_lines(storage: Storage, name: str) -> Iterator[str]:
    """The lines of an exported log."""
    exported = getattr(storage, "exported", None)
    if exported is not None:
        return iter(exported(name))
    specification, events = storage.specification(name), chained_events(storage, name)
    return lines_from(name, specification, events)


def lines_from(name: str, specification: dict[str, Any], events: list[Event]) -> Iterator[str]:
    """The lines of a log whose events have their hashes.

    Args:
        name: Of the study.
        specification: What it was made with.
        events: All of them.
    """
    first = {"format": FORMAT, "schema": VERSION, "name": name, "events": len(events)}
    yield to_json(first | {"specification": specification})
    for event in events:
        yield to_json({"schema": VERSION, **event._asdict()})
    head = events[-1].hash if events else start_of(to_json(specification)).hex()
    yield to_json({"schema": VERSION, "end": len(events), "head": head})


def write_log(storage: Storage, name: str, path: str | PathLike[str]) -> None:
    """Write a log to a file, whole or not at all."""
    with written_whole(as_path(path)) as draft, draft.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(line + "\n" for line in log_lines(storage, name))


def rebuild_study(log: str | PathLike[str] | Iterable[str], store: Any, name: str | None = None) -> str:
    """Make a study again from an exported log: the same events, certificate and next suggestion.

    Args:
        log: The file, or its lines.
        store: A path, an address, or a storage; made if need be.
        name: The name of the rebuilt study; default: the one it had.

    Returns:
        Its name.
    """
    found = read_log(lines_of(log))
    found.check()
    # A log that does not replay is refused before anything is written.
    replay(Specification.from_plain(found.specification), found.events)
    new = check_name(found.name if name is None else name)
    _put(open_store(store, create=True), new, found.specification, found.events)
    return new


def lines_of(log: str | PathLike[str] | Iterable[str]) -> Iterator[str]:
    """The lines of a file, or the lines that were given."""
    if not isinstance(log, str | PathLike):
        return iter(log)
    path = Path(log)
    if not path.is_file():
        raise FileNotFoundError(f"`log` must be an exported log; there is no file {str(path)!r}.")
    return iter(path.read_text(encoding="utf-8").splitlines())


def backup_store(store: Any, path: str | PathLike[str]) -> list[str]:
    """Copy every study of a store into a new SQLite file, while others may go on writing.

    Returns:
        The names of the studies.
    """
    target = Path(path)
    if target.exists():
        raise FileExistsError(f"`path` must be a new file; {str(target)!r} exists and stays as it is.")
    source = open_store(store)
    with written_whole(target) as draft:
        draft.unlink()
        copy = open_store(draft, create=True)
        names = source.names()
        for name in names:
            lines = getattr(source, "exported", None)
            if lines is None:
                _put(copy, name, source.specification(name), source.read(name))
                continue
            found = read_log(iter(lines(name)))  # from another machine: its hashes are computed afresh
            found.check()
            _put(copy, name, found.specification, found.events)
        copy.close()
    return names


def _put(storage: Storage, name: str, specification: dict[str, Any], events: list[Event]) -> None:
    take_whole = getattr(storage, "take_whole", None)
    if take_whole is not None:
        take_whole(name, specification, events)
        return
    storage.create(name, specification)
    storage.append(name, 0, events)


class Exported(NamedTuple):
    """What the lines of a log say."""

    name: str
    specification: dict[str, Any]
    events: list[Event]
    head: str

    @property
    def start(self) -> str:
        """Where the chain begins."""
        return start_of(to_json(self.specification)).hex()

    def check(self) -> None:
        """Refuse a log whose chain does not hold, naming the first event that does not fit."""
        misfit, head = first_misfit(self.start, self.events)
        if misfit is not None:
            raise DamagedError(
                f"event {misfit} does not fit the chain of the log: it, or what stands before it, was "
                "changed. Nothing was written.",
                misfit,
            )
        if head != self.head:
            raise DamagedError("the head of the log is not the hash of its last event. Nothing was written.")


def read_log(lines: Iterator[str]) -> Exported:
    """Read the lines of a log; refuses one that is cut short."""
    first = _line(next(lines, ""), 1)
    if first.get("format") != FORMAT:
        raise ValueError("`log` must be an exported log of a study; its first line says nothing of the kind.")
    schema = first.get("schema")
    if schema != VERSION:
        raise ValueError(
            f"`log` was written by another noisewise (schema {schema!r}; this one reads {VERSION}): use the "
            "version that wrote it."
        )
    count, name, specification = (first.get(part) for part in ("events", "name", "specification"))
    if (
        type(count) is not int
        or count < 0
        or not isinstance(name, str)
        or not isinstance(specification, dict)
    ):
        raise ValueError(
            "line 1 of the log must have the name of the study, its specification, and the number of its "
            "events. Nothing was written."
        )
    events: list[Event] = []
    head: str | None = None
    for place, line in enumerate(lines, start=1):
        row = _line(line, place + 1)
        if "end" in row and head is None:
            head = str(row.get("head"))
            continue
        if row.get("number") != place or row.get("schema") != schema or head is not None:
            raise ValueError(f"line {place + 1} of the log must be event {place}; got {line[:60]!r}.")
        events.append(_event(row, place, line))
    if len(events) != count or head is None:
        raise ValueError(
            f"the log is cut short: it has {len(events)} of {count} events"
            f"{'' if len(events) != count else ', and no last line'}. Nothing was written."
        )
    return Exported(name, specification, events, head)


def _event(row: dict[str, Any], place: int, line: str) -> Event:
    try:
        append, hash = str(row.get("append", "")), str(row.get("hash", ""))
        at = check_within("at", row["at"], TIME)
        return Event(place, at, str(row["kind"]), dict(row["body"]), append, hash)
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"line {place + 1} of the log must be event {place}; got {line[:60]!r}.") from None


def _line(text: str, number: int) -> dict[str, Any]:
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise ValueError(
            f"line {number} of the log is cut short or not JSON: {text[:60]!r}. Nothing was written."
        )
    return row
