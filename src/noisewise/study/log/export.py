"""A log as JSON lines, rebuilt exactly from them, and copies of whole stores.

The first line names the study; then there is one line per row, with its record as it is stored and its hash;
the last line holds the head. Any beginning of a log is a state the study was in, so a copy taken while others
write is whole as well. Nothing is replayed for an export: it works for any log.
"""

from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from noisewise.core.checks import TIME, check_within
from noisewise.core.files import as_path, written_whole
from noisewise.study.log.events import Event, encode, events_in, specification_in
from noisewise.study.log.specification import Specification
from noisewise.study.log.state import State, replay
from noisewise.study.stores.address import open_store
from noisewise.study.stores.protocol import DamagedError, Row, Storage, check_name, first_misfit, not_fitting

FORMAT = "noisewise.study"
#: The version of the lines.
VERSION = 3


class _Header(msgspec.Struct, forbid_unknown_fields=True):
    format: str
    schema: int
    name: str
    events: int


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    number: int
    id: str
    hash: str
    record: msgspec.Raw  # the hash covers these very bytes


class _End(msgspec.Struct, forbid_unknown_fields=True):
    end: int
    head: str


class Exported(NamedTuple):
    """What the lines of a log say."""

    name: str
    rows: list[Row]

    @property
    def events(self) -> list[Event]:
        """All events."""
        return events_in(self.rows)

    def replay(self) -> State:
        """The state that follows; refuses a log that no study can have, whatever its hashes."""
        plain = specification_in(self.rows, self.name)
        events = self.events
        for event in events:
            check_within("at", event.at, TIME)
        return replay(Specification.from_plain({**plain, "name": self.name}), events)


def log_lines(storage: Storage, name: str) -> Iterator[str]:
    """The lines of an exported log."""
    return lines_from(name, storage.read(name))


def lines_from(name: str, rows: list[Row]) -> Iterator[str]:
    """The lines of a log."""
    yield encode(_Header(FORMAT, VERSION, name, len(rows) - 1)).decode()
    for row in rows:
        yield encode(_Line(row.number, row.id, row.hash.hex(), msgspec.Raw(row.record))).decode()
    yield encode(_End(rows[-1].number, rows[-1].hash.hex())).decode()


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
    # Hashes say that nothing was changed since they were computed, not that it is the log of a study.
    found.replay()
    new = check_name(found.name if name is None else name)
    open_store(store, create=True).create(new, found.rows)
    return new


def lines_of(log: str | PathLike[str] | Iterable[str]) -> Iterator[str]:
    """The lines of a file, or the lines that were given."""
    if not isinstance(log, str | PathLike):
        return iter(log)
    path = Path(log)
    if not path.is_file():
        raise FileNotFoundError(f"`log` must be an exported log; there is no file {str(path)!r}.")
    return iter(path.read_text(encoding="utf-8").split("\n"))


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
        return copy_studies(source, draft)


def copy_studies(source: Storage, path: Path) -> list[str]:
    """Copy every study to a new SQLite file, each as of one moment; refuses logs whose chain is broken."""
    copy = open_store(path, create=True)
    try:
        names = source.names()
        for name in names:
            rows = source.read(name)
            if (misfit := first_misfit(rows)) is not None:
                raise not_fitting(name, misfit)
            copy.create(name, rows)
    finally:
        copy.close()
    return names


def read_log(lines: Iterator[str]) -> Exported:
    """Read the lines of a log; refuses one that is cut short, or whose chain is broken."""
    found = parse_log(lines)
    if (misfit := first_misfit(found.rows)) is not None:
        raise DamagedError(
            f"event {misfit} does not fit the chain of the log: it, or what is before it, was changed. "
            "Nothing was written.",
            misfit or None,
        )
    return found


def parse_log(lines: Iterator[str]) -> Exported:
    """The rows that the lines of a log hold, whether or not their hashes fit."""
    kept = [line.encode(errors="surrogatepass") for line in lines if line.strip()]
    first = _read(kept[0] if kept else b"", dict, 1)
    if first.get("format") != FORMAT:
        raise ValueError("`log` must be an exported log of a study; its first line says nothing of the kind.")
    if first.get("schema") != VERSION:
        raise ValueError(
            f"`log` was written by another noisewise (schema {first.get('schema')!r}; this one reads "
            f"{VERSION}): use the version that wrote it."
        )
    header = _read(kept[0], _Header, 1)
    check_name(header.name)
    count = max(0, len(kept) - 3)
    if count != header.events or b'"end"' not in kept[-1][:10]:
        raise ValueError(f"the log is cut short: it must have {header.events} events and a last line.")
    rows = []
    for number, text in enumerate(kept[1:-1]):
        line = _read(text, _Line, number + 2)
        if line.number != number:
            raise ValueError(f"line {number + 2} of the log must be event {number}; it is {line.number}.")
        try:
            rows.append(Row(number, line.id, bytes(line.record), bytes.fromhex(line.hash)))
        except ValueError:
            raise ValueError(f"line {number + 2} of the log must have a hash in hexadecimal.") from None
    end = _read(kept[-1], _End, len(kept))
    if (end.end, end.head) != (rows[-1].number, rows[-1].hash.hex()):
        raise DamagedError("the head of the log is not the hash of its last event. Nothing was written.")
    return Exported(header.name, rows)


def _read(line: bytes, kind: Any, number: int) -> Any:
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        shown = line[:60].decode(errors="backslashreplace")
        raise ValueError(
            f"line {number} of the log is cut short or not JSON of a log ({error}): {shown!r}. Nothing was "
            "written."
        ) from None
