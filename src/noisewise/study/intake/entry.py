"""From what people tell to the body of an event: every check happens here, before anything is written.

What a measurement says by itself (`parse_told`) does not depend on the study and is read once; who it is
about, and whether it was told before, is checked against the newest state (`read_told`, `told_before`).
"""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from noisewise.core.checks import COST, TIME, check_within, nearest
from noisewise.core.text import NAME_LENGTH, NOTE_LENGTH, check_text, composed, printable
from noisewise.study.inputs.error_bars import Bounds, read_measured
from noisewise.study.inputs.value_scale import LogLimits
from noisewise.study.intake.answers import about_block, about_lease, block_asked, pair_asked
from noisewise.study.intake.arms import check_arm
from noisewise.study.intake.item_entry import items_content
from noisewise.study.intake.suited import refuse_unsuited
from noisewise.study.log.model_choice import named_models
from noisewise.study.log.state import OPEN, Job, State
from noisewise.study.log.told import Measurement as Measurement
from noisewise.study.log.told import Told as Told
from noisewise.study.log.told import check_arguments as check_arguments
from noisewise.study.log.told import measurement_of as measurement_of

#: Distinct pairs of options that may be compared in models where each adds an unknown.
MOST_PAIRS = 500
#: Options that a message lists all.
FEW = 12
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
    lease = f"; the lease on {job.what} was kept" if job is not None and job.status == OPEN else ""
    named = f"row {row} ({option}): " if row is not None else ""
    if given.get("items") is not None:
        content = items_content(state, given, named) | about(given, named)
    else:
        question = state.specification
        content = parse_told(
            given | ({} if minus is None else {"minus": minus}), noise_floor=question.noise_floor,
            where=named, lease=lease, bounds=question.bounds, logs=question.log_limits,
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
    measured = read_measured(
        given, noise_floor=noise_floor, where=where, lease=lease, bounds=bounds, logs=logs
    )
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


def find_job(state: State, job: Any, where: str = "") -> Job:
    """A suggestion by itself or by its id."""
    if isinstance(job, list | tuple | set):
        raise TypeError(
            f"`job` must be one suggestion; got {len(job)} in a {type(job).__name__}. ask() returns a list: "
            "(job,) = study.ask(), or tell each of them."
        )
    if hasattr(job, "columns") or isinstance(job, Mapping):
        raise TypeError("`job` must be one suggestion; got a table, which is told by tell_many().")
    id = job.id if isinstance(job, Job) else job
    if not isinstance(id, str) or id not in state.jobs:
        recent = ", ".join(list(state.jobs)[-3:]) or "none"
        option = (
            f" {id!r} is an option: say option={id!r}." if isinstance(id, str) and id in state.index else ""
        )
        raise KeyError(
            f"{where}`job` must be a suggestion of this study (the latest: {recent}); got {id!r}.{option}"
        )
    return state.jobs[id]


def find_option(state: State, option: Any, where: str = "") -> str:
    """An option's name, refused with the nearest ones if it is unknown."""
    if option is None or isinstance(option, bytes | list | tuple | set | dict):
        raise TypeError(f"{where}`option` must be the name of an option; got {option!r}.")
    name = composed(str(option))
    if name in state.index:
        return name
    if name.strip() in state.index:
        return name.strip()
    # A-7 means A-007 before it means A-97.
    same = [known for known in state.ids if _without_zeros(known) == _without_zeros(name)]
    close = [*same, *(known for known in get_close_matches(name, state.ids, n=2) if known not in same)][:2]
    hint = f" Nearest: {', '.join(map(printable, close))}." if close else ""
    if not close and len(state.ids) <= FEW:
        hint = f" There are {', '.join(map(printable, state.ids))}."
    name = printable(name if len(name) <= 60 else f"{name[:60]}…")
    raise KeyError(f"{where}{name!r} is not in the catalogue ({len(state.ids)} options).{hint}")


def _without_zeros(name: str) -> str:
    return re.sub(r"(?<!\d)0+(?=\d)", "", name.casefold())


def find_measurement(state: State, measurement: Any) -> int:
    """The number of a measurement, given itself, its id or its key."""
    given = measurement
    if isinstance(measurement, Measurement):
        return measurement.number
    if isinstance(measurement, str):
        measurement = composed(measurement)
        keyed = state.keys.get(measurement)
        if keyed is None and measurement in state.freed:
            keyed = state.freed[measurement][-1]
        if measurement.startswith("m-") and measurement[2:].isdecimal() and len(measurement) < 20:
            number = int(measurement[2:])
            if keyed not in (None, number) and 1 <= number <= len(state.told):
                raise KeyError(
                    f"`measurement` {given!r} is the key of m-{keyed} and the id of another one: say "
                    f"m-{keyed} for the first, m-0{number} for the second."
                )
            measurement = number
        if keyed is not None:
            return keyed
    if type(measurement) is int and 1 <= measurement <= len(state.told):
        return measurement
    hint = nearest(given, list(state.keys)) if isinstance(given, str) else ""
    raise KeyError(
        f"`measurement` must be one of this study's {len(state.told)}, by its id (m-1, …) or key; got "
        f"{given!r}.{hint}"
    )


def find_probe(state: State, given: dict[str, Any], job: Job | None, where: str) -> tuple[str, str | None]:
    """What was measured: an option, or two for a difference."""
    plus, minus, option = given.get("plus"), given.get("minus"), given.get("option")
    if job is not None and job.minus is not None and (plus is None or option is None):
        one, other = pair_asked(job, given, where)
        return one, find_option(state, other, where)
    if (plus is None) != (minus is None):
        raise ValueError(f"{where}plus= and minus= go together: a difference has two options.")
    ways = [
        name for name, value in (("job", job), ("option", option), ("plus, minus", plus)) if value is not None
    ]
    if len(ways) > 1 and not (job and option is not None and str(option) == job.option):
        raise ValueError(
            f"{where}say what was measured in one way: a job, option=, or plus= and minus= "
            f"(got {', '.join(ways)})."
        )
    if not ways:
        raise ValueError(f"{where}say what was measured: a job, option=, or plus= and minus=.")
    if plus is not None:
        one, other = find_option(state, plus, where), find_option(state, minus, where)
        if one == other:
            raise ValueError(f"{where}a difference needs two different options; got {one!r} twice.")
        return one, other
    return (job.option if job is not None else find_option(state, option, where)), None


def check_pair(state: State, option: str, minus: str, where: str) -> None:
    """Refuse one distinct pair too many."""
    one, other = sorted((state.index[option], state.index[minus]))
    limited = state.model.facts.limits_pairs and len(state.pairs) >= MOST_PAIRS
    if limited and (one, other) not in state.pairs:
        others = named_models(lambda facts: not facts.limits_pairs)
        raise ValueError(
            f"{where}{option} - {minus} would be pair number {MOST_PAIRS + 1}: the {state.model.model} model "
            f"keeps at most {MOST_PAIRS} distinct pairs, because every compared option is tied to every "
            f"other. Compare all options with a few references, measure them directly, or use model={others}."
        )
