"""Strict JSON: written without infinite numbers and NaN, which become null; read without duplicate names."""

import json
import math
from typing import Any

#: Digits of a whole number: no float has more, and the time to read them grows with their square.
MOST_DIGITS = 400


class DuplicateNameError(ValueError):
    """A JSON object repeats a name, which is the only argument."""


def parse_json(text: str) -> Any:
    """Parse JSON as `json.loads` does, but raise `DuplicateNameError` where an object repeats a name.

    Some parsers would take the first of its values, and others the last. Whole numbers with more than
    `MOST_DIGITS` digits are refused.
    """
    return json.loads(text, object_pairs_hook=_unique, parse_int=_whole)


def _whole(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"a number has more than {MOST_DIGITS} digits")
    return int(text)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise DuplicateNameError(name)
            seen.add(name)
    return found


def strict_json(content: Any, *, indent: int | None = None) -> str:
    """JSON that every parser reads: no ``Infinity``, no ``NaN``."""
    return json.dumps(plain(content), indent=indent, allow_nan=False)


def plain(content: Any) -> Any:
    """The content with None in place of NaN and infinities."""
    if isinstance(content, float):
        return float(content) if math.isfinite(content) else None
    if isinstance(content, dict):
        return {name: plain(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [plain(value) for value in content]
    return content
