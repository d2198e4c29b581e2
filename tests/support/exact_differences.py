"""Least squares with unknown offsets per block, in exact arithmetic: a twin for error bars of any size."""

from fractions import Fraction
from typing import NamedTuple


class Exact(NamedTuple):
    """An option's value above that of a reference."""

    estimate: Fraction
    variance: Fraction


def exact_differences(names, rows, reference):
    """Estimates and variances of all other options' differences to one option.

    Args:
        names: The options.
        rows: Arguments of `Study.tell`, with ``se``; readings without a block share one.
        reference: The option that others are compared with; all must be linked with it.
    """
    blocks = sorted({row.get("block", "") for row in rows if "plus" not in row})
    place = {("option", name): at for at, name in enumerate(names)}
    place |= {("block", name): len(names) + at for at, name in enumerate(blocks)}
    size = len(place)
    others = [name for name in names if name != reference]
    # V, then Σ weight·value·row, then one contrast after the other.
    table = [[Fraction(0)] * (size + 1 + len(others)) for _ in range(size)]
    for row in rows:
        weight, value = 1 / Fraction(row["se"]) ** 2, Fraction(row["value"])
        if "plus" in row:
            ends = {place["option", row["plus"]]: 1, place["option", row["minus"]]: -1}
        else:
            ends = {place["option", row["option"]]: 1, place["block", row.get("block", "")]: 1}
        for i, sign in ends.items():
            table[i][size] += sign * weight * value
            for j, other in ends.items():
                table[i][j] += sign * other * weight
    for at, name in enumerate(others, start=size + 1):
        table[place["option", name]][at] += 1
        table[place["option", reference]][at] -= 1
    solved = _solve(table, size)
    zero = place["option", reference]
    return {
        name: Exact(
            solved[place["option", name]][0] - solved[zero][0],
            solved[place["option", name]][at] - solved[zero][at],
        )
        for at, name in enumerate(others, start=1)
    }


def _solve(table, size):
    """One solution for every right side of a singular system; what no pivot is left for is set to 0."""
    pivots, row = {}, 0
    for column in range(size):
        at = next((i for i in range(row, size) if table[i][column]), None)
        if at is None:
            continue
        table[row], table[at] = table[at], table[row]
        pivot = table[row][column]
        table[row] = [entry / pivot for entry in table[row]]
        for i in range(size):
            if i != row and table[i][column]:
                factor = table[i][column]
                table[i] = [a - factor * b for a, b in zip(table[i], table[row], strict=True)]
        pivots[column] = row
        row += 1
    if any(any(line[size:]) for line in table[row:]):
        raise ValueError("the options are not all linked with each other.")
    width = len(table[0]) - size
    return [table[pivots[c]][size:] if c in pivots else [Fraction(0)] * width for c in range(size)]
