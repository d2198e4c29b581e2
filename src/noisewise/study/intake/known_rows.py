"""Rows without keys that were told before: known by their content, and by how many equal ones precede them.

A row of a table that names no key is known if a table brought an equal one before. Equal rows are counted:
the third of them in a table is known if three were told. So a table may be sorted anew, get more rows or be
told in parts, and each row counts once; repeats inside a table count as often as they stand there.
Measurements that were told one by one have no such key: telling one twice is a repeat.

Where most of a table was told before, a new row may take the place of one that is gone: it was changed.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from noisewise.core.model.dense import Floats
from noisewise.study.intake.answers import took_its_block
from noisewise.study.intake.told_before import CONTENT, SAID_AGAIN, differing
from noisewise.study.log.state import State

#: Rows below which it may be chance that all of them were told before.
SEVERAL = 3
#: Whether rows without keys that equal known ones were measured again: no, all, or those of other tables.
Repeat = bool | Literal["others"]
#: All that a content says but lists, which cannot be compared by a hash.
_SIGNED = tuple(part for part in (*CONTENT, *SAID_AGAIN) if part != "values")
Signature = tuple[Any, ...]
Body = Callable[[int], dict[str, Any]]


class Row(NamedTuple):
    """A row of the table that is told now."""

    place: int
    number: int  # in its table, from 1
    body: dict[str, Any]


class KnownRows(NamedTuple):
    """What was found out about rows without keys, by their places; all others are new."""

    known: dict[int, int]  # the measurements that they were told as
    voided: dict[int, int]  # the same, of measurements that were voided
    changed: dict[int, int]  # the measurements whose place they take
    missing: tuple[int, ...] = ()  # measurements that an earlier version of this table brought, and this not
    elsewhere: frozenset[int] = frozenset()  # known rows that another table may have brought by chance


class _Earlier(NamedTuple):
    """The tables that brought measurements before."""

    table: dict[int, int]  # of a measurement
    row: dict[int, int]
    size: Counter[int]  # of a table
    numbers: dict[int, list[int]]  # the measurements of a table


class _Matches(NamedTuple):
    """Rows that equal measurements, one to one."""

    of: dict[int, int]  # places to numbers
    whole: frozenset[int]  # tables all of whose rows are in this one


def find_known(state: State, values: Floats, rows: Sequence[int], body: Body, others: bool) -> KnownRows:
    """Which rows were told before, or changed since.

    Args:
        state: What was told.
        values: The values of the rows, (N,). Where a value is new, a row may only have been changed.
        rows: Their numbers in the table, from 1.
        body: The content of a row, by its place among these.
        others: Whether rows that equal those of other tables, or that were voided, were measured again. If
            all of this table was told before and counts, the whole of it was.
    """
    numbers, row_of, table_of = state.measurements.from_tables()
    candidates = _candidates(state, values, set(numbers.tolist()))
    if not candidates:
        return KnownRows({}, {}, {})
    earlier = _Earlier(
        dict(zip(numbers.tolist(), table_of.tolist(), strict=True)),
        dict(zip(numbers.tolist(), row_of.tolist(), strict=True)),
        Counter(table_of.tolist()),
        defaultdict(list),
    )
    told_values = {state.told[number - 1].get("value") for number in candidates}
    told_values.update(v for number in state.superseded for v in _values_of(state, number))
    shared = [place for place, value in enumerate(values.tolist()) if value in told_values]
    table = {place: Row(place, rows[place], body(place)) for place in shared}
    matches = _match(state, candidates, table, earlier)
    whole = {p: number for p, number in matches.of.items() if earlier.table[number] in matches.whole}
    at_home = 2 * len(whole) >= len(rows)  # told before, as a whole or before it grew
    if others:
        count = {place: number for place, number in whole.items() if number not in state.voided}
        return KnownRows(count if at_home and len(count) < len(rows) else {}, {}, {})
    for number, one in earlier.table.items():
        earlier.numbers[one].append(number)
    free = set(candidates).difference(matches.of.values(), state.voided)
    kin = _kin(state, [row for row in table.values() if row.place not in matches.of], free, earlier)
    found = _with_changes(state, matches.of, kin, earlier, rows, body)
    shares = Counter(earlier.table[number] for number in matches.of.values())
    part = {p for p, number in matches.of.items() if shares[earlier.table[number]] >= SEVERAL} | set(whole)
    sure = part if len(part) >= SEVERAL and 2 * len(part) >= len(rows) else set()
    return _settled(state, found._replace(elsewhere=found.elsewhere.difference(sure)))


def _candidates(state: State, values: Floats, from_tables: set[int]) -> list[int]:
    """Measurements from tables that have, or had, one of these values."""
    if not from_tables:
        return []
    found = set(state.measurements.with_values(values).tolist())
    wanted = set(values.tolist())
    for number in (*state.voided, *state.superseded):
        if wanted.intersection(_values_of(state, number)):
            found.add(number)
    return sorted(found & from_tables)


def _values_of(state: State, number: int) -> list[Any]:
    return [version.get("value") for version in _versions(state, number)]


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
    found = {signature(told)}
    if number in state.superseded:
        found.update(map(signature, state.superseded[number]))
    if "block" in told and "job" in told and took_its_block(state, told):
        found.add(signature(told | {"block": None}))
    return found


def _match(state: State, candidates: list[int], table: dict[int, Row], earlier: _Earlier) -> _Matches:
    """Rows and measurements that are equal, in their order; first those of tables that have most of them."""
    places: dict[Signature, list[int]] = defaultdict(list)
    for row in table.values():
        places[signature(row.body)].append(row.place)
    equal: dict[Signature, list[int]] = defaultdict(list)
    shared: Counter[int] = Counter()
    for number in candidates:
        for one in _signatures(state, number):
            if one in places:
                equal[one].append(number)
    for one, found in equal.items():
        for of, count in Counter(earlier.table[number] for number in found).items():
            shared[of] += min(count, len(places[one]))
    whole = frozenset(of for of, count in shared.items() if count >= earlier.size[of])
    matched: dict[int, int] = {}
    taken: set[int] = set()
    for one, found in equal.items():
        found.sort(key=lambda n: (n in state.voided, -shared[of := earlier.table[n]], of not in whole, n))
        free = (number for number in found if number not in taken)
        for place, number in zip(places[one], free, strict=False):
            matched[place] = number
            taken.add(number)
    return _Matches(matched, whole)


def _with_changes(
    state: State,
    equal: dict[int, int],
    kin: dict[int, int],
    earlier: _Earlier,
    rows: Sequence[int],
    body: Body,
) -> KnownRows:
    """What was found, with the new rows that take the place of measurements of the same table.

    Args:
        state: What was told.
        equal: Rows that equal measurements.
        kin: Rows that have the value of one, and differ in something else.
        earlier: The tables that brought measurements before.
        rows: The numbers of all rows.
        body: The content of a row.
    """
    none = KnownRows(equal, {}, {}, elsewhere=frozenset(equal))
    if len(equal) == len(rows):
        return none
    alike = equal | kin
    shares = Counter(earlier.table[number] for number in alike.values())
    versions = {of for of, count in shares.items() if 2 * count >= earlier.size[of]}
    places = sorted(place for place, number in alike.items() if earlier.table[number] in versions)
    dense = len(places) >= SEVERAL and 2 * len(places) >= places[-1] - places[0] + 1
    if not (places and (2 * len(places) >= len(rows) or dense)):
        return none
    known, changed = dict(equal), dict[int, int]()
    for place, number in kin.items():
        if earlier.table[number] in versions:
            same = differing(state.told[number - 1], body(place)) is None
            (known if same else changed)[place] = number
    taken = {*known.values(), *changed.values()}
    told = (number for of in sorted(versions) for number in earlier.numbers[of])
    gone = [number for number in told if number not in taken and state.measurements.is_live(number)]
    left = [place for place in range(len(rows)) if place not in known and place not in changed]
    if gone and left:
        changed |= _replaced(state, [Row(place, rows[place], body(place)) for place in left], gone, earlier)
        taken.update(changed.values())
    missing = tuple(number for number in gone if number not in taken)
    others = frozenset(place for place, number in known.items() if earlier.table[number] not in versions)
    return KnownRows(known, {}, changed, missing, others)


def _kin(state: State, new: list[Row], free: set[int], earlier: _Earlier) -> dict[int, int]:
    """New rows with the probe and the value of a measurement from a table: something else was mended."""
    waiting: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for number in sorted(free):
        waiting[_probe(state.told[number - 1], "value")].append(number)
    found: dict[int, int] = {}
    for row in new:
        mine = waiting.get(_probe(row.body, "value"), [])
        fits = [number for number in mine if _could_be(state.told[number - 1], row.body)]
        if fits:
            found[row.place] = min(fits, key=lambda number: (earlier.row[number] != row.number, number))
            mine.remove(found[row.place])
    return found


def _probe(content: dict[str, Any], *more: str) -> tuple[Any, ...]:
    return tuple(content.get(part) for part in ("option", "minus", *more))


def _could_be(told: dict[str, Any], body: dict[str, Any]) -> bool:
    """Whether two contents are not said to be of different blocks or instruments, or of different times."""
    return all(
        told.get(part) is None or body.get(part) is None or told[part] == body[part]
        for part in ("block", "instrument", *SAID_AGAIN)
    )


def _replaced(state: State, new: list[Row], gone: list[int], earlier: _Earlier) -> dict[int, int]:
    """New rows in the place of measurements that are gone: of the same probe, if possible in the same row."""
    found: dict[int, int] = {}
    left = dict.fromkeys(gone)

    def pair(told_as: Callable[[int], Any], now: Callable[[Row], Any], strict: bool) -> None:
        waiting: dict[Any, list[int]] = defaultdict(list)
        for number in left:
            waiting[told_as(number)].append(number)
        for row in new:
            mine = waiting.get(now(row))
            if row.place in found or not mine:
                continue
            fits = (number for number in mine if strict or _could_be(content(number), row.body))
            if number := next(fits, 0):
                found[row.place] = number
                mine.remove(number)
                del left[number]

    def content(number: int) -> dict[str, Any]:
        return state.told[number - 1]

    pair(lambda n: (earlier.row[n], _probe(content(n))), lambda row: (row.number, _probe(row.body)), True)
    pair(lambda n: _probe(content(n)), lambda row: _probe(row.body), False)
    pair(
        lambda n: (earlier.row[n], _measured(content(n))), lambda row: (row.number, _measured(row.body)), True
    )
    return found


def _measured(content: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(content.get(part) for part in ("value", "kind", "sigma", "block"))


def _settled(state: State, found: KnownRows) -> KnownRows:
    """The same with measurements that were voided apart."""
    voided = {place: number for place, number in found.known.items() if number in state.voided}
    known = {place: number for place, number in found.known.items() if place not in voided}
    return found._replace(known=known, voided=voided, elsewhere=found.elsewhere & set(known))
