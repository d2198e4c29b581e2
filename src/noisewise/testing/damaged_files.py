"""Files that are wrong in one place, made from a good one: cut off, flipped, fields missing or strange."""

import json
import random
from collections.abc import Iterator
from typing import Any

#: Mutations of each kind that are tried with one file.
MOST = 60
#: What is done to a file, and its content then.
Damage = tuple[str, bytes]
Place = tuple[Any, ...]
#: Replacements for any value.
STRANGE: tuple[Any, ...] = (
    "x", "", None, True, [], {}, -1.0, 1e400, float("nan"), float("-inf"), 10**400, 0, "1.5", [[1.0]],
)  # fmt: skip
WORDS = ("x", "", "-1", "nan", "inf", "1e999", "'", '"', "\x00", "\u202e")
#: Files without any results.
GARBAGE = (
    b"", b"\n\n", b"\xef\xbb\xbf", b"\x00" * 100, bytes(range(256)) * 20, b"null", b"[]", b"{}", b"[[]]",
    b'"text"', b"17", b'{"results": null}', b'{"results": [], "results": []}', b"[" * 100_000,
    b'{"a":' * 50_000, b"1" * 10_000, b"\x89PNG\r\n\x1a\n" + b"\x00" * 50, b"PK\x03\x04" + b"\x01" * 50,
    "größer".encode("latin-1"), b"option\nx\n", b"a,b\n1\n", b"<html></html>", b"Benchmark", b",,,\n,,,\n",
)  # fmt: skip


def damaged(content: bytes, seed: int = 20) -> Iterator[Damage]:
    """Contents that are wrong in one place, with what was done."""
    chance = random.Random(seed)
    yield from _cut_off(content)
    yield from _flipped(content, chance)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return
    if (root := _json(text)) is not None:
        yield from ((what, json.dumps(changed).encode()) for what, changed in changed_json(root[0], chance))
        return
    lines = [_json(line) for line in text.splitlines() if line.strip()]
    known = [line[0] for line in lines if line is not None]
    if lines and len(known) == len(lines):
        for what, changed in changed_json(known, chance):
            yield what, b"\n".join(json.dumps(one).encode() for one in changed)
        return
    yield from _changed_words(text, chance)


def _json(text: str) -> tuple[Any] | None:
    """A value in a tuple, because it may be None; None if the text is not JSON."""
    try:
        return (json.loads(text),)
    except ValueError:
        return None


def _cut_off(content: bytes) -> Iterator[Damage]:
    for at in range(1, len(content), max(1, len(content) // 40)):
        yield f"cut off at byte {at}", content[:at]


def _flipped(content: bytes, chance: random.Random) -> Iterator[Damage]:
    for _ in range(15):
        at = chance.randrange(len(content))
        yield f"byte {at} changed", content[:at] + bytes([chance.randrange(256)]) + content[at + 1 :]


def changed_json(root: Any, chance: random.Random) -> Iterator[tuple[str, Any]]:
    """One part of a JSON value missing, or something else in its place."""
    alike: dict[Place, list[Place]] = {}
    for place in _places(root):  # one of every kind of place
        alike.setdefault(tuple("*" if isinstance(step, int) else step for step in place), []).append(place)
    chosen = [chance.choice(same) for same in alike.values()]
    chance.shuffle(chosen)
    for place in chosen[: 2 * MOST]:
        yield f"without {place}", _with(root, place, missing=True)
    for place in chosen[:MOST]:
        for strange in chance.sample(STRANGE, 4):
            yield f"{place} = {strange!r:.20}", _with(root, place, strange)
    for place in chosen[:MOST]:
        several = _part(root, place)
        if isinstance(several, list) and several:
            yield f"{place} with its first element twice", _with(root, place, [several[0], *several])
            yield f"{place} empty", _with(root, place, [])


def _changed_words(text: str, chance: random.Random) -> Iterator[Damage]:
    """One word of a plain text missing, or something else in its place; lines missing, or twice."""
    separator = "," if "," in text.split("\n")[0] else None
    lines = text.split("\n")
    for _ in range(2 * MOST):
        at = chance.randrange(len(lines))
        words = lines[at].split(separator)
        if words:
            strange, word = chance.choice(WORDS), chance.randrange(len(words))
            line = (separator or " ").join([*words[:word], strange, *words[word + 1 :]])
            changed = "\n".join([*lines[:at], line, *lines[at + 1 :]])
            yield f"line {at + 1}, word {word + 1} = {strange!r}", changed.encode()
    for at in range(min(len(lines), 10)):
        yield f"line {at + 1} twice", "\n".join([*lines[: at + 1], *lines[at:]]).encode()
        yield f"without line {at + 1}", "\n".join([*lines[:at], *lines[at + 1 :]]).encode()


def _places(value: Any, place: Place = ()) -> Iterator[Place]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, one in inside:
        yield (*place, step)
        yield from _places(one, (*place, step))


def _part(root: Any, place: Place) -> Any:
    for step in place:
        root = root[step]
    return root


def _with(root: Any, place: Place, value: Any = None, missing: bool = False) -> Any:
    """A copy with another part, or without it."""
    copy = json.loads(json.dumps(root))
    holder = _part(copy, place[:-1])
    if missing:
        del holder[place[-1]]
    else:
        holder[place[-1]] = value
    return copy
