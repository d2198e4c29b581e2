"""One row: what people say of a measurement, checked and made the body of an event (`read_told`).

A row is a measurement on its own or one of a table. Which rows are already recorded is found out here for one
row with a key or a suggestion (`find_before`), and in `recording` for tables.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from noisewise.core.checks import COST, TIME, check_within
from noisewise.core.text import NAME_LENGTH, NOTE_LENGTH, check_text
from noisewise.study.log.jobs import TOLD
from noisewise.study.log.specification import COUNTED, ERROR_BARS, HEAVY, READ
from noisewise.study.log.state import Job, State
from noisewise.study.log.told import Measurement as Measurement
from noisewise.study.log.told import Told as Told
from noisewise.study.log.told import check_arguments as check_arguments
from noisewise.study.log.told import measurement_of as measurement_of
from noisewise.study.telling.error_bars import COUNTS, KNOWN, NONE, READINGS, read_measured
from noisewise.study.telling.finding import (
    about_block,
    about_lease,
    block_asked,
    check_pair,
    find_job,
    find_probe,
    took_its_block,
)
from noisewise.study.telling.item_rows import items_content

#: The content of an event.
Body = dict[str, Any]


def check_arm(given: Mapping[str, Any], content: Mapping[str, Any], where: str) -> bool:
    """Refuse an arm that belongs to no study, or is a difference."""
    if "block" not in content or given.get("minus") is not None:
        raise ValueError(
            f"{where}arm=True needs `block=`, the study that tried its options side by side, and is of one "
            "option: a difference has two."
        )
    return True


#: The kinds that a study takes where a measurement was declared to be something, and what to say otherwise.
SUITED = {
    ERROR_BARS: ((KNOWN,), "give `se=`, `var=`, or `ci=`"),
    COUNTED: ((COUNTS,), "give `successes=` and `trials=`"),
    READ: ((READINGS, NONE), "give `value=`, `values=[...]`, or the mean with `sd=` and `n=`"),
}


def refuse_unsuited(state: State, content: dict[str, Any], minus: Any, job: Job | None, where: str) -> None:
    """Raise one sentence if a measurement is of a kind that says nothing in this study.

    Args:
        state: The study.
        content: The measurement, as an event will hold it.
        minus: The option that is subtracted, if it is a difference.
        job: The suggestion that is answered.
        where: The row, for messages.
    """
    question, kind = state.specification, content["kind"]
    if job is not None and job.items and kind == NONE:
        raise ValueError(
            f"{where}{job.id} asks for {len(job.items)} items: tell `items={{{job.items[0]!r}: ...}}` (or a "
            "table with a column item); a number without error bar says nothing about them."
        )
    if state.begins_with_items:
        raise ValueError(
            f"{where}this study compares options by their answers to the same items: give `items={{...}}` "
            "(or a table with a column item). Other measurements need another study."
        )
    if question.measure is not None and kind not in SUITED[question.measure][0]:
        raise ValueError(f"{where}this study measures {question.measure}: {SUITED[question.measure][1]}.")
    if question.noise != HEAVY:
        return
    if kind in (NONE, READINGS):
        raise ValueError(
            f'{where}errors of this study may have any tails (`tails="{HEAVY}"`), so every measurement '
            "needs an error bar that was known before (`se=`, `var=`, `ci=`), or `successes=` and "
            "`trials=`: the "
            "scatter of a few readings says little about rare large errors."
        )
    if minus is not None or content.get("block") is not None:
        raise ValueError(
            f'{where}errors of this study may have any tails (`tails="{HEAVY}"`), which needs options that '
            "are measured one by one: it takes neither differences (`minus=`) nor blocks."
        )


#: What describes a measurement besides its value and error bar.
ABOUT = ("block", "instrument", "key", "by", "note")
ERROR_WAYS = ("se", "var", "sd", "n", "ci", "level", "values", "successes", "trials")


def read_told(
    state: State,
    given: dict[str, Any],
    *,
    now: float,
    row: int | None = None,
    named: Mapping[str, set[str]] | None = None,
) -> dict[str, Any]:
    """Check one measurement and return the body of its event.

    Args:
        state: The study before the measurement.
        given: ``job``, ``option`` or ``plus`` and ``minus``, ``value``, one error bar, and `ABOUT`.
        now: The time, which decides which leases have expired.
        row: The row of a table that it comes from, for messages.
        named: Blocks that other rows of the table name, by the suggestions for one new block.
    """
    where = "" if row is None else f"row {row}: "
    job = find_job(state, given["job"], where) if given.get("job") is not None else None
    option, minus = find_probe(state, given, job, where)
    where = "" if row is None else f"row {row} ({option}): "
    if given.get("items") is not None:
        content = items_content(state, given, where) | about(given, where)
    else:
        question = state.specification
        content = _measured(
            given | ({} if minus is None else {"minus": minus}), noise_floor=question.noise_floor,
            where=where, bounds=question.bounds, logs=question.log_limits,
        )  # fmt: skip
        content |= about(given, where)
        refuse_unsuited(state, content, minus, job, where)
    if minus is not None:
        check_pair(state, option, minus, where)
    notes = content.pop("notes", [])
    body = {"option": option, **({} if minus is None else {"minus": minus}), **content}
    if job is not None:
        notes = [*notes, *about_lease(state, job, now), *answer(state, body, job, where, named)]
    return body | ({"notes": notes} if notes else {})


def answer(
    state: State, body: dict[str, Any], job: Job, where: str, named: Mapping[str, set[str]] | None = None
) -> list[str]:
    """Make a measurement the answer to a suggestion, in the block that it asks for; returns remarks.

    Args:
        state: The study before the measurement.
        body: The measurement, which is changed.
        job: The suggestion.
        where: The row, for messages.
        named: Blocks that other rows of the table name, by the suggestions for one new block.
    """
    notes = about_block(job, body.get("block"))
    if "block" not in body:
        here = (named or {}).get(job.together or "", ())
        if (block := block_asked(state, job, where, here)) is not None:
            body["block"] = block
    body["job"] = job.id
    return notes


def _measured(given: dict[str, Any], **reading: Any) -> dict[str, Any]:
    """What a measurement says by itself: its value and its error bar."""
    measured = read_measured(given, **reading)
    content: dict[str, Any] = {
        "value": measured.value,
        "kind": measured.kind,
        "sigma": measured.sigma,
        "shown": measured.shown,
        "readings": measured.readings if measured.readings != 1 else None,
        "scatter": measured.scatter if measured.scatter else None,
        "values": list(measured.singles) or None,
        "notes": list(measured.notes) or None,
    }
    return {name: part for name, part in content.items() if part is not None}


def about(given: dict[str, Any], where: str) -> dict[str, Any]:
    """Read what else is known about a measurement."""
    content: dict[str, Any] = {}
    for name in ABOUT:
        if given.get(name) is not None:
            most = NOTE_LENGTH if name == "note" else NAME_LENGTH
            content[name] = check_text(name, given[name], most=most, where=where)
    if given.get("arm"):
        content["arm"] = check_arm(given, content, where)
    for name, accepted in (("at", TIME), ("cost", COST)):
        if given.get(name) is not None:
            try:
                content[name] = check_within(name, given[name], accepted)
            except (TypeError, ValueError) as problem:
                raise type(problem)(f"{where}{problem}") from None
    return content


#: Parts that make two measurements with one key the same, with what an event need not say.
CONTENT = {
    "option": None, "minus": None, "value": None, "kind": None, "sigma": None, "readings": 1, "scatter": 0.0,
    "block": None, "instrument": None, "values": None, "places": None, "items": None, "arm": False,
}  # fmt: skip
#: Parts that make them different only if they are said again. ``by`` and notes do not.
SAID_AGAIN = ("at", "cost")


class ToldOtherwiseError(ValueError):
    """A key that is recorded with another content."""


class Before(NamedTuple):
    """A measurement that is recorded already."""

    number: int
    voided: str | None = None  # why it does not count
    differs: str | None = None  # in what, if the row has the same key and another content


def find_before(state: State, body: dict[str, Any]) -> Before | None:
    """Find the measurement with the same key, or with the same content for the same suggestion.

    What was recorded before a correction is known as well: importing the same file again changes nothing.
    After a measurement was voided its key is free for another content; the same content stays void. Without a
    key, an answer with the same content to the same suggestion is the same answer.
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


def difference(state: State, number: int, body: dict[str, Any]) -> str | None:
    """Say how a measurement differs from a row, such as "1.31; you sent 1.38"; None if it does not."""
    told = state.told[number - 1]
    if "block" not in body and "block" in told and took_its_block(state, told):
        body = body | {"block": told["block"]}  # as it was recorded for the first time
    for version in (told, *state.superseded.get(number, ())):
        if differing(version, body) is None:
            return None
    part = differing(told, body)
    old, new = told.get(str(part)), body.get(str(part))
    if part == "value":
        return f"{old:g}; you sent {new:g}"
    return f"{part}={old!r}; you sent {new!r}" if old is not None else f"no {part}; you sent {new!r}"


def differing(told: dict[str, Any], body: dict[str, Any]) -> str | None:
    """The first part in which a row differs from what is recorded; None if in none."""
    first = "value" if told.get("value") != body.get("value") else None
    return first or next(all_differing(told, body), None)


def all_differing(told: dict[str, Any], body: dict[str, Any]) -> Iterator[str]:
    """The parts in which a row differs from what is recorded."""
    yield from (part for part, usual in CONTENT.items() if told.get(part, usual) != body.get(part, usual))
    yield from (part for part in SAID_AGAIN if part in body and told.get(part) != body[part])


class Change(NamedTuple):
    """A row that says something else than the measurement it was recorded as."""

    row: int  # in its table, from 1
    number: int  # of the measurement
    body: Body  # what the row says
    differs: str = ""  # in what


@dataclass
class Fates:
    """What becomes of rows, by their places."""

    fresh: Sequence[int] = ()  # that are new
    known: dict[int, int] = field(default_factory=dict)  # recorded already, as these measurements
    voided: dict[int, int] = field(default_factory=dict)  # the same, of measurements that were voided
    again: dict[int, int] = field(default_factory=dict)  # that repeat a row above
    changes: list[Change] = field(default_factory=list)  # that correct what is recorded
    notes: dict[int, list[str]] = field(default_factory=dict)
    skipped: list[int] = field(default_factory=list)  # measurements that rows without keys were recorded as
    missing: tuple[int, ...] = ()  # measurements of an earlier version of the table that are not in it


def recognise(
    state: State, bodies: Sequence[Body], rows: Sequence[int] = (), *, match: bool = False
) -> Fates:
    """Find rows that are recorded already: by their key, or as the same answer to the same suggestion.

    Args:
        state: The study before them.
        bodies: The rows.
        rows: Their numbers in a table, from 1; default: the first is 1.
        match: Whether another result for a suggestion that was answered is a correction.
    """
    fates, fresh = Fates(), list[int]()
    first: dict[tuple[str, str], int] = {}
    for place, body in enumerate(bodies):
        row = rows[place] if rows else place + 1
        name = "key" if "key" in body else "job"
        if name in body:
            above = first.setdefault((name, body[name]), place)
            if above != place and differing(bodies[above], body) is None:
                fates.again[place] = above
                continue
            if above != place and name == "key":
                where = rows[above] if rows else above + 1
                raise ToldOtherwiseError(
                    f"row {row}: key {body['key']} is in row {where}, too, with different content; give each "
                    "measurement a key of its own."
                )
            before = find_before(state, body) or (_other_answer(state, body) if match else None)
            if before is not None and before.differs is not None:
                fates.changes.append(Change(row, before.number, body, before.differs))
                continue
            if before is not None:
                (fates.known if before.voided is None else fates.voided)[place] = before.number
                continue
        fresh.append(place)
    fates.fresh = fresh
    return fates


def _other_answer(state: State, body: Body) -> Before | None:
    """A sheet that comes back twice corrects what was recorded; it does not repeat it."""
    number = None if "key" in body else state.answers.get(body["job"])
    if number is None or number in state.voided or state.jobs[body["job"]].status != TOLD:
        return None
    differ = difference(state, number, body)
    return None if differ is None else Before(number, differs=differ)


def still_void(state: State, number: int) -> str:
    """Say that a measurement which was voided is not counted again."""
    return (
        f"m-{number} was told with this key and content and voided ({state.voided[number]}): told again it "
        "still does not count. If it is right after all, tell it with another key."
    )
