"""Several measurements that are told at once: all of them or none, and each once."""

from collections.abc import Sequence
from typing import Any

from noisewise.study.inputs.error_bars import ITEMS
from noisewise.study.intake.entry import read_told
from noisewise.study.intake.told_before import ToldOtherwiseError, differing, still_void, told_before
from noisewise.study.log.state import State

#: A measurement's number and its content.
Found = tuple[int, dict[str, Any]]


def told_together(
    state: State, given: Sequence[dict[str, Any]], now: float
) -> tuple[list[Found], list[tuple[str, dict[str, Any]]]]:
    """What each of them is, and the events of those that are new.

    Args:
        state: The study before them.
        given: What `read_told` takes, for each.
        now: The time, to know which leases have expired.
    """
    found: list[Found] = []
    happened: list[tuple[str, dict[str, Any]]] = []
    first: dict[tuple[str, str], Found] = {}  # by key, or by the suggestion that is answered
    for row, one in enumerate(given, start=1):
        body = read_told(state, one, now=now, row=row if len(given) > 1 else None)
        if body["kind"] == ITEMS and len(given) > 1:
            raise ValueError(f"row {row}: items are told one option at a time; tell them by themselves.")
        before = told_before(state, body)
        if before is not None and before.voided is not None:
            raise still_void(before, f"row {row}: ")
        if before is not None:
            found.append((before.number, state.told[before.number - 1]))
            continue
        again = _above(first, body, row)
        if again is None:
            again = (len(state.told) + 1 + len(happened), body)
            happened.append(("tell", body))
            if (sign := _sign(body)) is not None:
                first.setdefault(sign, again)
        found.append(again)
    return found, happened


def _above(first: dict[tuple[str, str], Found], body: dict[str, Any], row: int) -> Found | None:
    """The row above that says the same with the same key, or for the same suggestion."""
    sign = _sign(body)
    above = None if sign is None else first.get(sign)
    if above is None or sign is None:
        return None
    if differing(above[1], body) is None:
        return above
    if sign[0] == "key":
        raise ToldOtherwiseError(f"row {row}: key {body['key']} stands above with another content.")
    return None


def _sign(body: dict[str, Any]) -> tuple[str, str] | None:
    """By what a telling is known."""
    for name in ("key", "job"):
        if name in body:
            return name, body[name]
    return None
