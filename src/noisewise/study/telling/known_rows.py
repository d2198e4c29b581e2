"""Rows without keys that were told before: known by the table that they stood in.

A table that was told before is known if all of its rows stand in the new one, with the same numbers and the
same content, and if new measurements are unlikely to agree in every digit: the new table is that one, or it
has grown. Those rows were told; all others are new. Skipping tables that only happen to be equal would drop
measurements by their values, and bias the estimates.
Whatever else a new row has in common with measurements of earlier tables may be chance, a correction, or the
same measurement in another order. That is for people to say, so such rows are named and not guessed about.

Measurements that were told one by one have no rows: telling one twice is a repeat.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.study.log.state import State
from noisewise.study.telling.error_bars import BOUNDED, COUNTS
from noisewise.study.telling.finding import took_its_block
from noisewise.study.telling.rows import CONTENT, SAID_AGAIN

#: Whether rows without keys that equal told ones were measured again: no, all, or those of no known table.
Repeat = bool | Literal["others"]
#: All that a content says but lists, which cannot be compared by a hash.
_SIGNED = tuple(filter("values".__ne__, (*CONTENT, *SAID_AGAIN)))
#: Where and when something was measured: what differs in it is not the same measurement.
_WHERE = ("block", "instrument", "at")
_ANYWHERE = (None,) * len(_WHERE)
_MEASURED = ("option", "minus", "value")
#: The probability up to which new measurements may equal a table that was told, before nothing is skipped. It
#: is the largest part of all measurements that can be dropped by their values.
MOST_BY_CHANCE = 0.01
Signature = tuple[Any, ...]
Body = Callable[[int], dict[str, Any]]


class KnownRows(NamedTuple):
    """What was found out about rows without keys, by their places; all others are new."""

    known: dict[int, int] = {}  # noqa: RUF012 - never changed; the measurements that they were told as
    voided: dict[int, int] = {}  # noqa: RUF012 - the same, of measurements that were voided
    same: dict[int, int] = {}  # noqa: RUF012 - rows of a table that was told otherwise, and that say the same
    changed: dict[int, int] = {}  # noqa: RUF012 - rows of such a table that say something else
    shared: dict[int, int] = {}  # noqa: RUF012 - rows that equal a measurement, perhaps by chance
    missing: tuple[int, ...] = ()  # measurements of such a table that have no row here


def find_known(state: State, values: Floats, rows: Sequence[int], body: Body) -> KnownRows:
    """Which rows were told before, and which have something in common with other tables.

    Args:
        state: What was told.
        values: The values of the rows, (N,).
        rows: Their numbers in the table, from 1.
        body: The content of a row, by its place among these.
    """
    numbers, row_of, table_of = (part.tolist() for part in state.measurements.from_tables())
    near = _with_value(state, numbers, values)
    if not near:
        return KnownRows()
    place_of = {row: place for place, row in enumerate(rows)}
    row, table = dict(zip(numbers, row_of, strict=True)), dict(zip(numbers, table_of, strict=True))
    here = {
        number: place_of[row[number]]
        for number in near
        if row[number] in place_of and signature(body(place_of[row[number]])) in _signatures(state, number)
    }
    size, found = Counter(table_of), Counter(table[number] for number in here)
    whole = {one for one, count in found.items() if count == size[one]}
    told = {place: number for number, place in here.items() if table[number] in whole}
    doubtful = {}
    if _by_chance(state, told.values()) * len(size) > MOST_BY_CHANCE:
        told, doubtful = {}, told
    known = {place: number for place, number in told.items() if number not in state.voided}
    voided = {place: number for place, number in told.items() if number in state.voided}
    others = [n for n in near if table[n] not in whole and n not in state.voided]
    unseen = [place for place in range(len(rows)) if place not in told and place not in doubtful]
    free = {place: body(place) for place in unseen} if others else {}
    shared = _shared(state, others, free)
    version = _version_of(shared, row, table, place_of)
    members = [n for n in numbers if table[n] == version and n not in state.voided]
    same = {here[n]: n for n in members if n in here}
    rest = {place_of[row[n]]: n for n in members if n not in here and place_of.get(row[n]) in free}
    return KnownRows(
        known, voided, same, rest,
        doubtful
        | {place: found[0] for place, found in shared.items() if place not in same and place not in rest},
        tuple(n for n in members if row[n] not in place_of),
    )  # fmt: skip


def _by_chance(state: State, numbers: Collection[int]) -> float:
    """How probable it is that new measurements equal these in every digit, roughly and rather too high.

    Two readings with standard deviation s, rounded to multiples of r, agree with probability r/(2 s √π).
    """
    read = [part for number in numbers for part in _as_read(state.told[number - 1])]
    finest = min((_resolution(value) for value, _ in read), default=1.0)
    return math.prod(min(1.0, finest / (3.5 * sigma)) if sigma else 1.0 for _, sigma in read)


def _as_read(told: dict[str, Any]) -> list[tuple[float, float]]:
    """What people rounded: readings, or their sum, with its standard deviation."""
    if "values" in told:
        return [(one, float(np.std(told["values"]))) for one in told["values"]]
    value, many = told["value"], told.get("readings", 1)
    if told["kind"] == COUNTS:
        sigma = math.sqrt(value * (1.0 - value) / many)
    elif told["kind"] == BOUNDED:  # its sigma is the most that is possible, and ratings are often alike
        sigma = told["sigma"] / 4.0
    else:
        sigma = told.get("shown", told.get("sigma", 0.0))
    return [(value * many, sigma * many)]


def _resolution(value: float) -> float:
    """The place of the last of twelve digits that is not 0; of a fraction such as 22/30, one part of it."""
    digits, _, exponent = f"{value:.11e}".partition("e")
    count = len(digits.lstrip("-").rstrip("0").rstrip(".").replace(".", ""))
    if count > 9 and math.isclose(value, part := Fraction(value).limit_denominator(1000), rel_tol=1e-11):
        return 1.0 / part.denominator
    return 10.0 ** (int(exponent) - count + 1)


def _version_of(
    shared: dict[int, list[int]], row: dict[int, int], table: dict[int, int], place_of: dict[int, int]
) -> int | None:
    """The table that has most of these measurements in the same rows: this one may be a version of it."""
    aligned = Counter(
        table[number]
        for place, found in shared.items()
        for number in found
        if place_of.get(row[number]) == place
    )
    return max(aligned, key=lambda one: (aligned[one], one), default=None)


def _shared(state: State, numbers: Sequence[int], bodies: dict[int, dict[str, Any]]) -> dict[int, list[int]]:
    """The measurements with the option and the value of each row, made at the same place and time."""
    told = defaultdict[Signature, list[int]](list)
    for number in numbers:
        for version in _versions(state, number):
            where = tuple(map(version.get, _WHERE))
            for key in {where, _ANYWHERE}:
                told[(*map(version.get, _MEASURED), key)].append(number)
    found: dict[int, list[int]] = {}
    for place, content in bodies.items():
        measured, where = tuple(map(content.get, _MEASURED)), tuple(map(content.get, _WHERE))
        same = told.get((*measured, where), [])
        if where != _ANYWHERE:  # told before without saying where
            bare = told.get((*measured, _ANYWHERE), [])
            same = [*same, *(n for n in bare if not any(map(state.told[n - 1].get, _WHERE)))]
        if same:
            found[place] = same
    return found


def _with_value(state: State, numbers: Sequence[int], values: Floats) -> list[int]:
    """Which of these measurements have, or had, one of the values."""
    near = set(state.measurements.with_values(values).tolist())
    wanted = set(values.tolist())
    for number in (*state.voided, *state.superseded):
        if any(version.get("value") in wanted for version in _versions(state, number)):
            near.add(number)
    return [number for number in numbers if number in near]


def _versions(state: State, number: int) -> list[dict[str, Any]]:
    return [state.told[number - 1], *state.superseded.get(number, ())]


def signature(content: dict[str, Any]) -> Signature:
    """All that a measurement says of itself; who told it, and notes, are no part of it."""
    # An event says nothing of what is as usual (one reading, no scatter): no defaults are needed.
    parts = tuple(map(content.get, _SIGNED))
    return parts if "values" not in content else (*parts, *content["values"])


def _signatures(state: State, number: int) -> set[Signature]:
    """As a measurement was told, as it was corrected, and without the block that its suggestion gave it."""
    told = state.told[number - 1]
    found = set(map(signature, _versions(state, number)))
    if "block" in told and "job" in told and took_its_block(state, told):
        found.add(signature(told | {"block": None}))
    return found


def find_copies(state: State, values: Floats, body: Callable[[int], dict[str, Any]]) -> dict[int, int]:
    """Which new measurements equal one that was told without a key and from no table, with its number.

    Args:
        state: What was told.
        values: The values of the new measurements, (N,). Where a value is new, nothing else is looked at.
        body: The body of the new measurement at a place.
    """
    earlier: dict[tuple[Any, ...], int] = {}
    same = state.measurements.with_values(values).tolist()
    for number in same:
        content = state.told[number - 1]
        if "key" not in content and "row" not in content:
            earlier.setdefault(signature(content), number)
            if "block" in content and took_its_block(state, content):
                earlier.setdefault(signature(content | {"block": None}), number)
    if not earlier:
        return {}
    shared = np.isin(values, [state.told[number - 1]["value"] for number in same])
    found = {place: earlier.get(signature(body(place))) for place in np.flatnonzero(shared).tolist()}
    return {place: number for place, number in found.items() if number is not None}
