"""Whether a measurement was told before: by its key, or as the answer to the same suggestion."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from noisewise.study.intake.answers import took_its_block
from noisewise.study.log.state import State

#: What makes two tellings of one key the same, with what an event need not say.
CONTENT = {
    "option": None, "minus": None, "value": None, "kind": None, "sigma": None, "readings": 1, "scatter": 0.0,
    "block": None, "instrument": None, "values": None, "places": None, "items": None, "arm": False,
}  # fmt: skip
#: What makes them different only if it is said again. Who told it, and notes, do not.
SAID_AGAIN = ("at", "cost")


class ToldOtherwiseError(ValueError):
    """A key that was told with another content."""


class Before(NamedTuple):
    """A measurement that was told before."""

    number: int
    voided: str | None = None  # why it does not count
    differs: str | None = None  # in what, if what is told now has the same key and another content


def find_before(state: State, body: dict[str, Any]) -> Before | None:
    """The measurement that was told with the same key, or with the same content for the same suggestion.

    What was told before a correction counts as told, so that importing the same file again changes nothing.
    After a measurement was voided its key is free for another content; the same content stays void. Without a
    key, the answer to a suggestion that was told with the same content is the same answer.
    """
    key, job = body.get("key"), body.get("job")
    if key is None:
        number = state.answers.get(job) if job is not None else None
        if number is None or number in state.voided or difference(state, number, body):
            return None
        return Before(number) if "key" not in state.told[number - 1] else None
    number = state.keys.get(key)
    if number is not None:
        return Before(number, differs=difference(state, number, body))
    for number in state.freed.get(key, ()):
        if difference(state, number, body) is None:
            return Before(number, state.voided[number])
    return None


def told_before(state: State, body: dict[str, Any]) -> Before | None:
    """The measurement that was told before; another content with the same key is refused."""
    before = find_before(state, body)
    if before is not None and before.differs is not None:
        raise ToldOtherwiseError(
            f"key {body['key']} already told with {before.differs}. Use amend on m-{before.number} if this "
            "is a correction."
        )
    return before


def still_void(before: Before, where: str = "") -> ValueError:
    """The refusal to count what was voided."""
    return ValueError(
        f"{where}m-{before.number} was told with this key and content and voided ({before.voided}): told "
        "again it still does not count. If it is right after all, tell it with another key."
    )


def difference(state: State, number: int, body: dict[str, Any]) -> str | None:
    """How a measurement differs from what is told now, such as "1.31; you sent 1.38"; None if it does not."""
    told = state.told[number - 1]
    if "block" not in body and "block" in told and took_its_block(state, told):
        body = body | {"block": told["block"]}  # as it was when it was told for the first time
    for version in (told, *state.superseded.get(number, ())):
        if differing(version, body) is None:
            return None
    part = differing(told, body)
    old, new = told.get(str(part)), body.get(str(part))
    if part == "value":
        return f"{old:g}; you sent {new:g}"
    return f"{part}={old!r}; you sent {new!r}" if old is not None else f"no {part}; you sent {new!r}"


def differing(told: dict[str, Any], body: dict[str, Any]) -> str | None:
    """The first part in which what is told now differs from what was told; None if in none."""
    first = "value" if told.get("value") != body.get("value") else None
    return first or next(all_differing(told, body), None)


def all_differing(told: dict[str, Any], body: dict[str, Any]) -> Iterator[str]:
    """The parts in which what is told now differs from what was told."""
    yield from (part for part, usual in CONTENT.items() if told.get(part, usual) != body.get(part, usual))
    yield from (part for part in SAID_AGAIN if part in body and told.get(part) != body[part])
