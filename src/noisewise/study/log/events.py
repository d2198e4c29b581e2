"""Events: what can happen in a study, as rows of its log and as people read them."""

import hashlib
import itertools
import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from noisewise.core.text import printable
from noisewise.study.stores.protocol import DamagedError, Row, Storage, follow

#: Kinds and bodies of what is about to happen.
Happened = Sequence[tuple[str, dict[str, Any]]]
#: Kinds whose content itself says who.
SAY_WHO = ("ask", "tell", "table")
#: How the id of a change begins that its caller can find again.
KEYED = "key-"
#: Measurements recorded together of which an event "table" is made, and how many one event holds.
MANY, TABLE = 100, 2_000


class Event(NamedTuple):
    """Something that happened in a study."""

    number: int  # 1 for the first
    at: float  # seconds since 1970, UTC
    kind: str
    body: dict[str, Any]
    append: str = ""  # the id of the change, of which all events were appended together
    hash: str = ""  # of this event and all before it, in hexadecimal
    request: str = ""  # the digest of what was asked for, in the first event of a change with a key


class EventRecord(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a row says. Its bytes are stored, hashed, exported and replayed as they were written once."""

    kind: str
    at: float
    body: dict[str, Any]
    request: str = ""


def _plain(value: Any) -> Any:
    """Subclasses of numbers and texts, such as NumPy's, as JSON has them."""
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    raise ValueError(f"events must be plain JSON values; got {type(value).__name__}.")


_encoder = msgspec.json.Encoder(enc_hook=_plain)
_decode = msgspec.json.Decoder(EventRecord).decode
_decode_question = msgspec.json.Decoder(dict[str, Any]).decode


def encode(content: Any) -> bytes:
    """JSON, exact for floats, and the same for the same content."""
    try:
        return _encoder.encode(content)
    except UnicodeEncodeError:
        raise ValueError("events must be texts that can be written; one holds half a character.") from None


def first_row(specification: Mapping[str, Any]) -> Row:
    """The row with which a log begins."""
    return follow(None, "begun", encode(specification))


def specification_in(rows: Sequence[Row], name: str) -> dict[str, Any]:
    """What a study was made with."""
    try:
        return _decode_question(rows[0].record)
    except (IndexError, msgspec.DecodeError) as error:
        raise DamagedError(f"the log of {name!r} does not begin with what it was made with.") from error


def specification_of(storage: Storage, name: str) -> dict[str, Any]:
    """What a study was made with."""
    return specification_in(storage.read(name, 0, 0), name)


def rows_of(
    happened: Happened, before: Row, *, at: float, id: str, request: str = "", by: str | None = None
) -> list[Row]:
    """The rows of a change, after the row ``before``; ``by`` is who made it."""
    rows: list[Row] = []
    for kind, body in _with_tables(happened):
        said = body if by is None or kind in SAY_WHO else body | {"by": by}
        before = follow(before, id, encode(EventRecord(kind, at, said, "" if rows else request)))
        rows.append(before)
    return rows


def _with_tables(happened: Happened) -> Iterator[tuple[str, dict[str, Any]]]:
    """The same events, with tables in the place of many measurements that say the same things."""
    if len(happened) < MANY:
        yield from happened
        return
    for names, run in itertools.groupby(happened, key=lambda one: layout(*one)):
        while some := list(itertools.islice(run, TABLE)):
            if not names or len(some) < MANY:
                yield from some
                continue
            columns = zip(*(body.values() for _, body in some), strict=True)
            yield "table", {"columns": dict(zip(names, columns, strict=True))}


def layout(kind: str, body: Mapping[str, Any]) -> tuple[str, ...]:
    """What a measurement says, in its order; empty for items, and for everything else that can happen."""
    return tuple(body) if kind == "tell" and body.get("kind") != "items" else ()


def event_of(row: Row) -> Event:
    """A row as people read it."""
    try:
        record = _decode(row.record)
    except (msgspec.DecodeError, RecursionError) as error:
        raise DamagedError(
            f"event {row.number} cannot be read: {printable(str(error))}. The log was written by another "
            "version of noisewise, or is damaged.",
            row.number,
        ) from error
    return Event(row.number, record.at, record.kind, record.body, row.id, row.hash.hex(), record.request)


def row_of(event: Event) -> Row:
    """The row that an event was read from."""
    record = encode(EventRecord(event.kind, event.at, event.body, event.request))
    return Row(event.number, event.append, record, bytes.fromhex(event.hash))


def events_in(rows: Sequence[Row]) -> list[Event]:
    """The events among the rows of a log."""
    return [event_of(row) for row in rows if row.number > 0]


def events_of(storage: Storage, name: str, after: int = 0, most: int | None = None) -> list[Event]:
    """At most so many events with numbers above ``after``, in order."""
    if most is not None and most <= 0:
        return []
    return events_in(storage.read(name, after + 1, None if most is None else after + most))


def numbers_of(storage: Storage, name: str, kind: str | None = None, text: str = "") -> list[int]:
    """The numbers of events of a kind, or of any, with a text in their content, whatever its case.

    Tables of measurements are of the kind "tell" here.
    """
    wanted = encode(text)[1:-1].decode().lower()
    kinds = ("tell", "table") if kind == "tell" else (kind,)
    return [
        row.number
        for row in storage.read(name, 1)
        if (kind is None or any(f'"kind":"{one}"'.encode() in row.record[:200] for one in kinds))
        and (not wanted or wanted in encode(_decode(row.record).body).decode().lower())
    ]


def new_id(key: str | None = None) -> str:
    """An id for a change: of a key, by which it is found again, or a random one."""
    if key is None:
        return secrets.token_hex(8)
    return f"{KEYED}{hashlib.sha256(key.encode(errors='surrogatepass')).hexdigest()[:40]}"


def digest(request: Any) -> str:
    """A digest of what was asked for: the same for a repetition."""
    try:
        said = msgspec.json.encode(request, enc_hook=_described, order="deterministic")
    except (TypeError, ValueError, OverflowError):  # keys of other kinds than texts and numbers
        said = repr(request).encode(errors="backslashreplace")
    return hashlib.sha256(said).hexdigest()[:16]


def _described(value: Any) -> Any:
    if hasattr(value, "to_dict") and hasattr(value, "columns"):  # a frame
        return [[str(name), list(value[name])] for name in value.columns]
    if hasattr(value, "tolist"):
        return value.tolist()
    return repr(value)
