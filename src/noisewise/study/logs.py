"""A study as JSON lines, rebuilt exactly from them, and copies of whole stores.

The first line holds the specification and how many events follow; every other line is one event. Any prefix
of a log is a state the study was in, so a copy taken while others write is whole, too.
"""

import json
from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from noisewise.core.files import written_whole
from noisewise.study.opening import open_store
from noisewise.study.specification import Specification
from noisewise.study.state import replay
from noisewise.study.storage import Event, Storage, check_name, to_json

FORMAT = "noisewise.study"
#: Raised when the meaning of the lines changes.
VERSION = 1


def log_lines(storage: Storage, name: str) -> Iterator[str]:
    """The lines of an exported log."""
    specification, events = storage.specification(name), storage.read(name)
    head = {"format": FORMAT, "schema": VERSION, "name": name, "events": len(events)}
    yield to_json(head | {"specification": specification})
    for event in events:
        yield to_json({"schema": VERSION, **event._asdict()})


def write_log(storage: Storage, name: str, path: str | PathLike[str]) -> None:
    """Write a log to a file, whole or not at all."""
    with written_whole(Path(path)) as draft, draft.open("w", encoding="utf-8", newline="\n") as file:
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
    if isinstance(log, str | PathLike):
        path = Path(log)
        if not path.is_file():
            raise FileNotFoundError(f"`log` must be an exported log; there is no file {str(path)!r}.")
        lines: Iterable[str] = path.read_text(encoding="utf-8").splitlines()
    else:
        lines = log
    old, specification, events = _read(iter(lines))
    # A log that does not replay is refused before anything is written.
    replay(Specification.from_plain(specification), events)
    new = check_name(old if name is None else name)
    _put(open_store(store, create=True), new, specification, events)
    return new


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
            _put(copy, name, source.specification(name), source.read(name))
        copy.close()
    return names


def _put(storage: Storage, name: str, specification: dict[str, Any], events: list[Event]) -> None:
    storage.create(name, specification)
    storage.append(name, 0, events)


def _read(lines: Iterator[str]) -> tuple[str, dict[str, Any], list[Event]]:
    head = _line(next(lines, ""), 1)
    if head.get("format") != FORMAT:
        raise ValueError("`log` must be an exported log of a study; its first line says nothing of the kind.")
    if head.get("schema") != VERSION:
        raise ValueError(
            f"`log` was written by another noisewise (schema {head.get('schema')!r}; this one reads "
            f"{VERSION}): upgrade noisewise."
        )
    events = []
    for place, line in enumerate(lines, start=1):
        row = _line(line, place + 1)
        if row.get("number") != place or row.get("schema") != VERSION:
            raise ValueError(f"line {place + 1} of the log must be event {place}; got {line[:60]!r}.")
        events.append(Event(place, float(row["at"]), str(row["kind"]), dict(row["body"])))
    if len(events) != head["events"]:
        raise ValueError(
            f"the log is cut short: it has {len(events)} of {head['events']} events. Nothing was written."
        )
    return str(head["name"]), dict(head["specification"]), events


def _line(text: str, number: int) -> dict[str, Any]:
    try:
        row = json.loads(text)
    except ValueError:
        row = None
    if not isinstance(row, dict):
        raise ValueError(
            f"line {number} of the log is cut short or not JSON: {text[:60]!r}. Nothing was written."
        )
    return row
