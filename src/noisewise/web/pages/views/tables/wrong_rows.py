"""Every row of a table that is wrong, and why: a study names the first, the others are found without it."""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from noisewise.study.inputs.read_table import ReadTable

#: What a study raises about a table.
REFUSALS = (ValueError, KeyError, TypeError)
#: How often a table is tried without the rows that were wrong, and for how many seconds.
MOST_TRIES, SECONDS = 20, 1.0
_ROW = re.compile(r"\brow (\d+)")


def wrong_rows(problem: Exception, table: ReadTable | None, tell: Callable[[Any], Any]) -> dict[int, str]:
    """Rows that are wrong by their numbers, each with its sentence; none if the refusal names no row.

    Args:
        problem: Why the whole table was refused.
        table: The table; None if it is none, and rows cannot be taken out of it.
        tell: Rehearses a part of it.
    """
    until = time.monotonic() + SECONDS
    wrong: dict[int, str] = {}
    kept = [] if table is None else list(range(len(table.frame)))
    for _ in range(MOST_TRIES):
        said = sentence_of(problem)
        found = [int(number) for number in _ROW.findall(said)]
        numbers = {kept[number - 1] + 1 for number in found if 0 < number <= len(kept)}
        if table is None or not numbers:
            break
        wrong |= dict.fromkeys(sorted(numbers), _renumbered(said, kept))
        kept = [place for place in kept if place + 1 not in numbers]
        if not kept or time.monotonic() > until:
            break
        try:
            tell(_part(table, kept))
            break
        except REFUSALS as next_one:
            problem = next_one
    return wrong


def sentence_of(problem: Exception) -> str:
    """What was raised, without the quotation marks of a `KeyError`."""
    return str(problem.args[0]) if problem.args else str(problem)


def summed_up(problem: Exception, wrong: Mapping[int, str]) -> str:
    """One sentence for the whole table."""
    said = sentence_of(problem)
    if len(set(wrong.values())) > 1:
        return f"{len(wrong)} rows are wrong, and each says why. Nothing was told."
    return f"{said[:1].upper()}{said[1:]} Nothing was told."


def _renumbered(said: str, kept: list[int]) -> str:
    """A sentence about rows of a part, with the numbers that they have in the whole."""

    def original(found: re.Match[str]) -> str:
        number = int(found[1])
        return f"row {kept[number - 1] + 1}" if 0 < number <= len(kept) else found[0]

    return _ROW.sub(original, said)


def _part(table: ReadTable, kept: list[int]) -> ReadTable:
    """Some rows of a table, which know their lines."""
    return replace(
        table,
        frame=table.frame[kept],
        lines=None if table.lines is None else table.lines[kept],
        exact={name: column[kept] for name, column in table.exact.items()},
        dates={name: column[kept] for name, column in table.dates.items()},
    )
