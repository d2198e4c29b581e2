"""The chain over a log: each event's hash covers the hash before it, so that no change goes unnoticed.

    h_0 = SHA-256(label, specification),   h_k = SHA-256(h_{k-1}, number, time, kind, append id, body)

The name of a study and the place where it is kept are not part of it: a study that was renamed, exported,
rebuilt or copied has the same chain. The last hash, the head, stands for the whole log.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any

from noisewise.study.stores.protocol import DamagedError, Event, to_json

#: Changes when the meaning of the hashes does.
LABEL = b"noisewise.study log 1\n"


def start_of(specification: str) -> bytes:
    """The hash before the first event, from the specification's JSON text."""
    return sha256(LABEL + specification.encode()).digest()


def link(before: bytes, number: int, at: float, kind: str, append: str, body: str) -> bytes:
    """The hash of one event, its body as JSON text. Lengths keep texts from being pushed into each other."""
    said = f"{number}\n{float(at)!r}\n{len(kind)} {kind}\n{len(append)} {append}\n{body}"
    return sha256(before + said.encode()).digest()


def links(before: bytes, rows: Iterable[Sequence[Any]]) -> list[bytes]:
    """The hashes of rows (number, at, kind, append id, body, ...) that follow each other."""
    found = []
    for row in rows:
        before = link(before, *row[:5])
        found.append(before)
    return found


def follow(before: str, events: list[Event], *, verified: bool) -> list[Event]:
    """Events with their hashes, which must continue the chain that ends with ``before``.

    Args:
        before: The hash of the event before them.
        events: What was read or appended.
        verified: Whether a store that keeps hashes has compared them with what it keeps: then the first link
            is enough. For any other store all are computed here, and compared where there is one.
    """
    head, found = bytes.fromhex(before), []
    for event in events[:1] if verified else events:
        number, at, kind, body, append, _ = event
        head = link(head, number, at, kind, append, to_json(body))
        if event.hash and event.hash != head.hex():
            raise DamagedError(
                f"event {event.number} does not continue the log that was read before: the log was changed "
                "or replaced. Compare it with a backup or an exported log (noisewise verify).",
                event.number,
            )
        found.append(Event(number, at, kind, body, append, head.hex()))
    return events if verified else found


def first_misfit(before: str, events: Iterable[Event]) -> tuple[int | None, str]:
    """The number of the first event whose hash does not fit, and the last hash that does."""
    head = bytes.fromhex(before)
    for place, event in enumerate(events, start=1):
        if event.number != place:
            return place, head.hex()
        then = link(head, event.number, event.at, event.kind, event.append, to_json(event.body))
        if then.hex() != event.hash:
            return event.number, head.hex()
        head = then
    return None, head.hex()
