"""Differences of one block that share an option: told as independent, though one reading may be in both.

Whether it is cannot be seen from the numbers: two differences of a trial to its only control have the
control's error in common, two that were measured separately on one day have not. So it is said, not judged.
"""

from typing import NamedTuple

import numpy as np

from noisewise.study.log.measurements import NO_BLOCK, Columns


class SharedArm(NamedTuple):
    """Differences of one block that have an option in common."""

    block: str
    option: int
    numbers: list[int]  # of the measurements


def shared_arms(columns: Columns) -> list[SharedArm]:
    """All such, by the first measurement; repeats of one difference share both options and are none."""
    rows = np.flatnonzero((columns.minus >= 0) & (columns.block != _code(columns)))
    found: dict[tuple[int, int], dict[int, list[int]]] = {}
    for row in rows.tolist():
        one, other = int(columns.plus[row]), int(columns.minus[row])
        for option, beside in ((one, other), (other, one)):
            of_option = found.setdefault((int(columns.block[row]), option), {})
            of_option.setdefault(beside, []).append(int(columns.number[row]))
    shared = [
        SharedArm(columns.blocks[block], option, sorted(n for numbers in others.values() for n in numbers))
        for (block, option), others in found.items()
        if len(others) > 1
    ]
    return sorted(shared, key=lambda one: one.numbers)


def shared_in_words(shared: SharedArm, name: str) -> str:
    """What it means, and what to do about it."""
    listed = ", ".join(f"m-{number}" for number in shared.numbers[:5])
    more = " and others" if len(shared.numbers) > 5 else ""
    return (
        f"differences {listed}{more} of block {shared.block} share {name} and count as independent: if one "
        f"measured {name} is in all of them, void them, and tell them as a table of studies "
        '(layout="network", --network)'
    )


def _code(columns: Columns) -> int:
    return columns.blocks.index(NO_BLOCK) if NO_BLOCK in columns.blocks else -1
