"""What a command printed, as a result: a number, 12.3(4), 12.3 ± 0.4, or JSON with the fields of tell.

Programs print what they do, and then what came out. So the result is the end of the output: a JSON object
that ends there, or else the last line that is not empty, which must be a number and nothing else. If the line
before it is a number as well, nobody can know whether the last one is meant or all of them, and that is
refused; numbers that stand further up, among other words, are a part of these.
"""

import json
from collections.abc import Collection
from typing import Any

from noisewise.core.strict_json import DuplicateNameError, parse_json
from noisewise.core.text import printable
from noisewise.study.running.outcomes import FIELDS, NoResultError
from noisewise.study.tables.cells import comma_hint
from noisewise.study.telling.numbers import read_value

#: Fields of tell that are not a command's to say: the run names its measurements itself.
NOT_SAID = ("key", "by", "arm")
SAID = tuple(name for name in FIELDS if name not in NOT_SAID)
#: Fields of which a result has one.
RESULTS = ("value", "values", "successes", "items")
WAYS = 'print a number, 12.3(4), 12.3 ± 0.4, or JSON such as {"value": 12.3, "se": 0.4} at the end'
#: Lines that may begin the JSON at the end, counted from there.
MOST_BEGINNINGS = 1000
#: Characters that all these attempts together may read.
MOST_TRIED = 1 << 26


def read_printed(text: str, items: Collection[str] = (), *, where: str = "its output") -> Any:
    """The result at the end of a text, as a measuring function returns it.

    Args:
        text: What was printed, or written to a file.
        items: The items that were to be measured: JSON that has only these is the values of items.
        where: How messages call the text.
    """
    lines = [line for line in (line.strip() for line in text.removeprefix("\ufeff").splitlines()) if line]
    if not lines:
        raise NoResultError(f"{where} is empty: {WAYS}")
    if lines[-1].endswith("}"):
        return _object(lines, items, where)
    try:
        found = read_value(lines[-1])
    except ValueError:
        raise NoResultError(f"the last line of {where} is {_short(lines[-1])}, {_why(lines[-1])}") from None
    if len(lines) > 1 and _is_number(lines[-2]):
        raise NoResultError(
            f"{where} ends with several numbers, {_short(lines[-2])} and {_short(lines[-1])}: for readings "
            'print JSON, {"values": [...]}; else print the result alone'
        )
    return found.value if found.se is None else (found.value, found.se)


def _object(lines: list[str], items: Collection[str], where: str) -> Any:
    """The JSON object at the end."""
    beginnings = [number for number, line in enumerate(lines) if line.startswith("{")][-MOST_BEGINNINGS:]
    why, tried = "no line begins with {", 0
    for number in reversed(beginnings):
        if tried > MOST_TRIED:
            break
        text = "\n".join(lines[number:])
        tried += len(text)
        try:
            found = parse_json(text)
        except DuplicateNameError as problem:
            why = f"{printable(str(problem)[:100])!r} appears twice in it"
            continue
        except (ValueError, RecursionError) as problem:
            why = str(problem)
            continue
        before = [line for line in lines[:number] if line.endswith("}") and _is_said(line, items)]
        if before:
            raise NoResultError(
                f"{where} has {len(before) + 1} results, {_short(before[0])} and at last "
                f"{_short(lines[number])}: print one"
            )
        return _fields(found, items)
    raise NoResultError(f"{where} ends like JSON and is none ({why}): {WAYS}")


def _fields(found: dict[str, Any], items: Collection[str]) -> dict[str, Any]:
    if found and items and set(found) <= set(items):
        return {"items": found}
    for name in NOT_SAID:
        if name in found:
            raise NoResultError(
                f"it said {name!r}, which the run says itself: leave it out ({', '.join(SAID)})"
            )
    return found  # names are checked where a result is taken


def _is_said(line: str, items: Collection[str]) -> bool:
    """Whether a line of its own is a result as JSON; programs may also log in JSON."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and not set(found).isdisjoint((*RESULTS, *items))


def _is_number(line: str) -> bool:
    try:
        read_value(line)
    except ValueError:
        return False
    return True


def _why(line: str) -> str:
    """What is wrong with a line that is no number."""
    if line.startswith("[") and line.endswith("]"):
        return 'a list: print {"values": [...]} if these are readings'
    strange = "which is not UTF-8" if "\ufffd" in line else "which is not a number alone"
    hint = comma_hint(line).strip().rstrip(".")
    return f"{strange}: {hint[:1].lower() + hint[1:] or WAYS}"


def _short(line: str) -> str:
    return repr(printable(line if len(line) <= 40 else line[:40] + "…"))
