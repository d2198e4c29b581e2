"""From what people say of a measurement to the body of an event: checked here, before anything is written.

What a measurement says by itself (`parse_told`) does not depend on the study and is read once; who it is
about, and whether it was told before, is checked against the newest state (`read_told`, `told_before`).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from noisewise.core.checks import COST, TIME, check_within
from noisewise.core.text import NAME_LENGTH, NOTE_LENGTH, check_text, printable
from noisewise.study.log.specification import COUNTED, ERROR_BARS, HEAVY, READ
from noisewise.study.log.state import Job, State
from noisewise.study.log.told import Measurement as Measurement
from noisewise.study.log.told import Told as Told
from noisewise.study.log.told import check_arguments as check_arguments
from noisewise.study.log.told import measurement_of as measurement_of
from noisewise.study.telling.error_bars import COUNTS, ITEMS, KNOWN, NONE, READINGS, Bounds, read_measured
from noisewise.study.telling.finding import (
    about_block,
    about_lease,
    block_asked,
    check_pair,
    find_job,
    find_probe,
    took_its_block,
)
from noisewise.study.telling.item_rows import check_next, items_content
from noisewise.study.telling.scale import LogLimits


def check_arm(given: Mapping[str, Any], content: Mapping[str, Any], where: str) -> bool:
    """Refuse an arm that belongs to no study, or is a difference."""
    if "block" not in content or given.get("minus") is not None:
        raise ValueError(
            f"{where}arm=True needs `block=`, the study that tried its options side by side, and is of one "
            "option: a difference has two."
        )
    return True


def refuse_other_arms(state: State, rows: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a study that was told before with other arms: what it was told as then would count beside it.

    A study of two arms is told as a difference, with the key "study: A - B"; one of more as arms in a block.

    Args:
        state: The study before the table.
        rows: The measurements of a table of studies.
    """
    arms: dict[str, set[str]] = {}
    for row in rows:
        study = row.get("block") or row["key"].removesuffix(f": {row.get('plus')} - {row.get('minus')}")
        arms.setdefault(study, set()).update(() if row.get("block") is None else (row["option"],))
    for number, body in enumerate(state.told, start=1):
        if "key" not in body or not state.measurements.is_live(number):
            continue
        if "minus" in body:
            study = body["key"].removesuffix(f": {body['option']} - {body['minus']}")
            stale = bool(arms.get(study))
        else:
            study = body.get("block", "")
            stale = "arm" in body and study in arms and body["option"] not in arms[study]
        if stale:
            raise ValueError(
                f"study {printable(study)!r} was told before with other arms (m-{number}, key "
                f"{printable(body['key'])}), which would go on counting: void what was told of it, and tell "
                "the table again; if it is another study, give it another name."
            )


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
        content: What was told, as an event will hold it.
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
    if question.items is not None and kind == NONE:
        raise ValueError(
            f"{where}this study measures options on its items: tell `items={{...}}` (or a table with a "
            "column item); a number without error bar says nothing about them. Others need `se=`."
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


def read_told(state: State, given: dict[str, Any], *, now: float, row: int | None = None) -> dict[str, Any]:
    """The body of an event "tell"; raises one sentence if anything is wrong.

    Args:
        state: The study before the measurement. given: ``job``, ``option`` or ``plus`` and ``minus``,
        ``value``, one error bar, and what `ABOUT` lists. now: The time, to know which leases have expired.
        row: The row of a table that it comes from, for messages.
    """
    job = find_job(state, given["job"]) if given.get("job") is not None else None
    where = "" if row is None else f"row {row}: "
    option, minus = find_probe(state, given, job, where)
    named = f"row {row} ({option}): " if row is not None else ""
    if given.get("items") is not None:
        content = items_content(state, given, named) | about(given, named)
    else:
        question = state.specification
        content = parse_told(
            given | ({} if minus is None else {"minus": minus}), noise_floor=question.noise_floor,
            where=named, bounds=question.bounds, logs=question.log_limits,
        )  # fmt: skip
        refuse_unsuited(state, content, minus, job, named)
    if minus is not None:
        check_pair(state, option, minus, named)
    if job is not None and "block" not in content and (block := block_asked(state, job, named)) is not None:
        content["block"] = block
    notes = list(content.pop("notes", ()))
    if job is not None:
        notes += [*about_lease(state, job, now), *about_block(job, content.get("block"))]
    return body_of(content, option, minus, None if job is None else job.id, notes)


def parse_told(
    given: dict[str, Any],
    *,
    noise_floor: float | None,
    where: str = "",
    lease: str = "",
    bounds: Bounds | None = None,
    logs: LogLimits | None = None,
) -> dict[str, Any]:
    """What a measurement says by itself: its value, its error bar and what else is known about it."""
    measured = read_measured(given, noise_floor=noise_floor, where=where, bounds=bounds, logs=logs)
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
    content |= about(given, where)
    return {name: part for name, part in content.items() if part is not None}


def about(given: dict[str, Any], where: str) -> dict[str, Any]:
    """What else is known about a measurement."""
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


def body_of(
    content: dict[str, Any], option: str, minus: str | None, job: str | None, notes: Sequence[str]
) -> dict[str, Any]:
    """The body of an event "tell"."""
    body = {"option": option, **({} if minus is None else {"minus": minus}), **content}
    return body | ({} if job is None else {"job": job}) | ({"notes": list(notes)} if notes else {})


#: What makes two tellings of one key the same, with what an event need not say.
CONTENT = {
    "option": None, "minus": None, "value": None, "kind": None, "sigma": None, "readings": 1, "scatter": 0.0,
    "block": None, "instrument": None, "values": None, "places": None, "items": None, "arm": False,
}  # fmt: skip
#: What makes them different only if it is said again. Who told it, and notes, do not.
SAID_AGAIN = ("at", "cost")


class ToldOtherwiseError(ValueError):
    """A key that was told with another content."""


class Before(NamedTuple):
    """A measurement that was told before."""

    number: int
    voided: str | None = None  # why it does not count
    differs: str | None = None  # in what, if what is told now has the same key and another content


def find_before(state: State, body: dict[str, Any]) -> Before | None:
    """The measurement that was told with the same key, or with the same content for the same suggestion.

    What was told before a correction counts as told, so that importing the same file again changes nothing.
    After a measurement was voided its key is free for another content; the same content stays void. Without a
    key, the answer to a suggestion that was told with the same content is the same answer.
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


def told_before(state: State, body: dict[str, Any]) -> Before | None:
    """The measurement that was told before; another content with the same key is refused."""
    before = find_before(state, body)
    if before is not None and before.differs is not None:
        raise ToldOtherwiseError(
            f"key {body['key']} already told with {before.differs}. Use amend on m-{before.number} if this "
            "is a correction."
        )
    return before


def still_void(before: Before, where: str = "") -> ValueError:
    """The refusal to count what was voided."""
    return ValueError(
        f"{where}m-{before.number} was told with this key and content and voided ({before.voided}): told "
        "again it still does not count. If it is right after all, tell it with another key."
    )


def difference(state: State, number: int, body: dict[str, Any]) -> str | None:
    """How a measurement differs from what is told now, such as "1.31; you sent 1.38"; None if it does not."""
    told = state.told[number - 1]
    if "block" not in body and "block" in told and took_its_block(state, told):
        body = body | {"block": told["block"]}  # as it was when it was told for the first time
    for version in (told, *state.superseded.get(number, ())):
        if differing(version, body) is None:
            return None
    part = differing(told, body)
    old, new = told.get(str(part)), body.get(str(part))
    if part == "value":
        return f"{old:g}; you sent {new:g}"
    return f"{part}={old!r}; you sent {new!r}" if old is not None else f"no {part}; you sent {new!r}"


def differing(told: dict[str, Any], body: dict[str, Any]) -> str | None:
    """The first part in which what is told now differs from what was told; None if in none."""
    first = "value" if told.get("value") != body.get("value") else None
    return first or next(all_differing(told, body), None)


def all_differing(told: dict[str, Any], body: dict[str, Any]) -> Iterator[str]:
    """The parts in which what is told now differs from what was told."""
    yield from (part for part, usual in CONTENT.items() if told.get(part, usual) != body.get(part, usual))
    yield from (part for part in SAID_AGAIN if part in body and told.get(part) != body[part])


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
        several = len(given) > 1
        body = read_told(state, one, now=now, row=row if several else None)
        if body["kind"] == ITEMS and several:
            raise ValueError(f"row {row}: items are told one option at a time; tell them by themselves.")
        before = told_before(state, body)
        if before is not None and before.voided is not None:
            raise still_void(before, f"row {row}: " if several else "")
        if before is not None:
            found.append((before.number, state.told[before.number - 1]))
            continue
        check_next(state, body)
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
