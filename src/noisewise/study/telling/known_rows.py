"""Rows without keys that are recorded already: known by the table that they came from.

A recorded table is known if all of its rows are in the new one, with the same numbers and the same
content, and if new measurements are unlikely to agree in every digit: the new table is that one, or it has
grown. Those rows are recorded; all others are new. Skipping tables that only happen to be equal would drop
measurements by their values, and bias the estimates.
Whatever else a new row has in common with measurements of earlier tables may be chance, a correction, or the
same measurement in another order. Only a person can say that, so such rows are named and not guessed about.

Measurements that were recorded one by one have no rows: recording one twice is a repeat.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.core.text import counted, some_of
from noisewise.study.log.state import State
from noisewise.study.telling.error_bars import BOUNDED, COUNTS
from noisewise.study.telling.finding import NAMED, took_its_block
from noisewise.study.telling.rows import CONTENT, SAID_AGAIN, Body, Change, Fates, all_differing

#: Whether rows without keys that equal recorded ones were measured again: none, all, those of no known table.
Repeat = bool | Literal["others"]
#: All that a content says but lists, which cannot be compared by a hash.
_SIGNED = tuple(filter("values".__ne__, (*CONTENT, *SAID_AGAIN)))
#: Where and when something was measured: what differs in it is not the same measurement.
_WHERE = ("block", "instrument", "at")
_ANYWHERE = (None,) * len(_WHERE)
_MEASURED = ("option", "minus", "value")
#: The probability up to which new measurements may equal a recorded table, before nothing is skipped. It
#: is the largest part of all measurements that can be dropped by their values.
MOST_BY_CHANCE = 0.01
Signature = tuple[Any, ...]


class KnownRows(NamedTuple):
    """What was found out about rows without keys, by their places; all others are new."""

    known: dict[int, int] = {}  # noqa: RUF012 - never changed; the measurements that they are recorded as
    voided: dict[int, int] = {}  # noqa: RUF012 - the same, of measurements that were voided
    same: dict[int, int] = {}  # noqa: RUF012 - rows of a table that is recorded otherwise, and that say the same
    changed: dict[int, int] = {}  # noqa: RUF012 - rows of such a table that say something else
    shared: dict[int, int] = {}  # noqa: RUF012 - rows that equal a measurement, perhaps by chance
    missing: tuple[int, ...] = ()  # measurements of such a table that have no row here


def find_known(state: State, values: Floats, rows: Sequence[int], body: Callable[[int], Body]) -> KnownRows:
    """Find rows that are recorded already, and rows that have something in common with other tables.

    Args:
        state: The study.
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
        if where != _ANYWHERE:  # recorded without saying where
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
    """A measurement as recorded, as corrected, and without the block that its suggestion gave it."""
    told = state.told[number - 1]
    found = set(map(signature, _versions(state, number)))
    if "block" in told and "job" in told and took_its_block(state, told):
        found.add(signature(told | {"block": None}))
    return found


def find_copies(state: State, values: Floats, body: Callable[[int], Body]) -> dict[int, int]:
    """Find new measurements that equal one which was recorded without a key and from no table.

    Args:
        state: The study.
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


# What that means for the rows of a table


def _values(bodies: Sequence[Body], places: Sequence[int]) -> Floats:
    return np.array([bodies[place]["value"] for place in places], dtype=float)


def _loose(bodies: Sequence[Body], fates: Fates) -> list[int]:
    """The places of new rows that have neither a key nor a suggestion."""
    return [place for place in fates.fresh if not {"key", "job"} & bodies[place].keys()]


def without_equal(
    state: State, bodies: Sequence[Body], rows: Sequence[int], fates: Fates, repeat: Repeat, amend: str | None
) -> list[str]:
    """Leave out rows without key and suggestion that an earlier table brought; sentences on voided ones."""
    loose = _loose(bodies, fates)
    if not loose:
        return []
    numbers = [rows[place] for place in loose]
    found = find_known(state, _values(bodies, loose), numbers, lambda at: bodies[loose[at]])
    if repeat == "others":
        found = KnownRows(found.known if len(found.known) < len(loose) else {})
    changes = [Change(numbers[at], n, bodies[loose[at]]) for at, n in sorted(found.changed.items())]
    if changes and amend is None:
        raise ValueError(changes_in_words(state, changes))
    if unclear := found.shared if changes or amend is not None else found.same | found.shared:
        raise ValueError(_in_common(numbers, unclear))
    known = {loose[at]: number for at, number in (found.known | found.same).items()}
    gone = {*known, *(loose[at] for at in (*found.voided, *found.changed))}
    fates.fresh = [place for place in fates.fresh if place not in gone] if gone else fates.fresh
    fates.known |= known
    fates.changes += changes
    fates.skipped, fates.missing = sorted(known.values()), found.missing
    return [
        f"row {numbers[at]}: m-{number} was told with this content and voided ({state.voided[number]}); it "
        'still does not count. If it is right after all, say `repeat="others"`.'
        for at, number in sorted(found.voided.items())
    ]


def _in_common(rows: Sequence[int], shared: dict[int, int]) -> str:
    """A sentence on rows that may be recorded already."""
    pairs = some_of([f"row {rows[at]} = m-{number}" for at, number in sorted(shared.items())])
    return (
        f"{counted(len(shared), 'row')} without a key may have been recorded before ({pairs}), or be equal "
        'by chance. Nothing was recorded: say `repeat="others"` if they were measured again; otherwise leave '
        "them out. Keys for rows avoid this question."
    )


def take_given_keys(state: State, bodies: Sequence[Body], rows: Sequence[int], fates: Fates) -> None:
    """Find a table that was recorded without keys and comes again with keys: its rows are corrections."""
    keyed = [place for place in fates.fresh if "key" in bodies[place]]
    if not keyed:
        return
    found = find_known(
        state,
        _values(bodies, keyed),
        [rows[place] for place in keyed],
        lambda at: {name: part for name, part in bodies[keyed[at]].items() if name != "key"},
    )
    for at, number in (found.same | found.changed | found.shared).items():
        if "key" not in state.told[number - 1]:
            note = f"may be m-{number}, which was told before without a key."
            fates.notes.setdefault(keyed[at], []).append(note)
    same = {keyed[at]: n for at, n in found.known.items() if "key" not in state.told[n - 1]}
    fates.fresh = [place for place in fates.fresh if place not in same]
    fates.changes += [Change(rows[place], number, bodies[place]) for place, number in same.items()]


def note_copies(state: State, bodies: Sequence[Body], rows: Sequence[int], fates: Fates) -> None:
    """Name rows that equal measurements which were recorded one by one: they may be the same."""
    loose = _loose(bodies, fates)
    found = find_copies(state, _values(bodies, loose), lambda at: bodies[loose[at]]) if loose else {}
    if len(found) == len(loose) > 1:
        pairs = some_of([f"row {rows[loose[at]]} = m-{number}" for at, number in found.items()])
        raise ValueError(
            f"all {len(loose)} new rows equal measurements that were told before, one by one ({pairs}): "
            "nothing was told. If they were really measured again, say so: `repeat=True`."
        )
    for at, number in found.items():
        note = f"equals m-{number}, which was told before without a key."
        fates.notes.setdefault(loose[at], []).append(note)


#: What a correction keeps if the row does not say it.
KEPT = ("by", "note", "at", "cost", "row")
#: What a value and its error bar say already.
_IN_VALUE = ("option", "minus", "value", "sigma", "readings", "scatter", "values")


def changes_in_words(state: State, changes: Sequence[Change]) -> str:
    """Describe the changed rows beside what is recorded, and how to correct them all."""
    shown = [_in_words(state, change) for change in changes[:NAMED]]
    more = len(changes) - NAMED
    rest = f"; and {more} more like these" if more > 0 else ""
    loose = any(not {"key", "job"} & set(change.body) for change in changes)
    own = '; if they are measurements of their own, `repeat="others"`' if loose else ""
    return (
        f"{'; '.join(shown)}{rest}. Nothing was recorded: if these are corrections, say why with "
        f'`amend="reason"`{own}.'
    )


def _in_words(state: State, change: Change) -> str:
    told, body = state.told[change.number - 1], change.body
    name = f"key {body['key']}" if "key" in body else body.get("job")
    parts = [part for part in all_differing(told, body) if part not in _IN_VALUE]
    parts += ["key"] if told.get("key") != body.get("key") else []
    old, new = _content(told, parts), _content(body, parts)
    where = f"row {change.row}{'' if name is None else f' ({name})'}"
    return f"{where}: m-{change.number} was told as {old}, and the row says {new}"


def _content(content: Body, parts: Sequence[str]) -> str:
    """A content such as "A = 1.31 ± 0.1, block 'Tue'"."""
    minus = f" - {content['minus']}" if "minus" in content else ""
    error = "" if content.get("shown") is None else f" ± {content['shown']:.6g}"
    bare = " without error bar" if "kind" in parts and content.get("kind") == "none" else ""
    said = [f"{part} {content[part]!r}" for part in parts if part != "kind" and content.get(part) is not None]
    lacking = [f"no {part}" for part in parts if part != "kind" and content.get(part) is None]
    value = f"{content.get('option')}{minus} = {content.get('value')!r}{error}{bare}"
    return ", ".join([value, *said, *lacking])


def corrected(state: State, change: Change, reason: str) -> Body:
    """The body of the event that corrects a measurement to what a row says."""
    old = state.told[change.number - 1]
    content = {name: part for name, part in change.body.items() if name != "notes"}
    kept = {name: old[name] for name in KEPT if name in old and name not in content}
    if "block" not in content and "block" in old and took_its_block(state, old):
        kept["block"] = old["block"]
    kept |= {"job": old["job"]} if old.get("job") in state.jobs else {}
    return {"number": change.number, "reason": reason, "content": content | kept}
