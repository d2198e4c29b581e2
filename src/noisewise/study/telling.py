"""From what people tell to the body of an event: every check happens here, before anything is written."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypedDict

from noisewise.core.checks import as_float, nearest
from noisewise.study.error_bars import read_measured
from noisewise.study.show import duration
from noisewise.study.state import FAILED, OPEN, RELEASED, TOLD, Job, State

#: Distinct pairs of options that may be compared in the independent model.
MOST_PAIRS = 500
#: What describes a measurement besides its value and error bar.
ABOUT = ("block", "instrument", "key", "by", "note")
ERROR_WAYS = ("se", "var", "sd", "n", "ci", "level", "values", "successes", "trials")
#: What makes two tellings of one key the same.
CONTENT = ("option", "minus", "value", "kind", "sigma", "readings", "scatter", "block")


class Told(TypedDict, total=False):
    """What `tell` takes besides a job and a value."""

    option: str | None
    plus: str | None
    minus: str | None
    se: float | Sequence[float] | None
    var: float | None
    sd: float | None
    n: int | None
    ci: Sequence[float] | None
    level: float | None
    values: Sequence[float] | None
    successes: int | None
    trials: int | None
    block: str | None
    instrument: str | None
    key: str | None
    by: str | None
    cost: float | None
    at: float | None
    note: str | None


def check_arguments(told: Mapping[str, Any]) -> None:
    """Refuse arguments that `tell` does not have."""
    for argument in told:
        if argument not in Told.__annotations__:
            listed = ", ".join(Told.__annotations__)
            hint = nearest(argument, list(Told.__annotations__))
            raise TypeError(f"tell() has no argument {argument!r}; it has job, value, {listed}.{hint}")


@dataclass(frozen=True)
class Measurement:
    """What was told, as it entered the study."""

    number: int
    option: str
    minus: str | None
    value: float
    se: float | None
    sigma: float | None
    kind: str
    block: str | None
    notes: tuple[str, ...]

    @property
    def id(self) -> str:
        """How messages call it."""
        return f"m-{self.number}"

    def __repr__(self) -> str:
        what = self.option if self.minus is None else f"{self.option} - {self.minus}"
        error = "" if self.se is None else f" ± {self.se:.3g}"
        notes = "".join(f"; {note}" for note in self.notes)
        return f"Measurement({self.id}: {what} = {self.value:.6g}{error}{notes})"


def measurement_of(number: int, body: dict[str, Any]) -> Measurement:
    """The measurement that a body describes."""
    return Measurement(
        number=number,
        option=body["option"],
        minus=body.get("minus"),
        value=body["value"],
        se=body.get("shown"),
        sigma=body.get("sigma"),
        kind=body["kind"],
        block=body.get("block"),
        notes=tuple(body.get("notes", ())),
    )


def read_told(state: State, given: dict[str, Any], *, now: float, row: int | None = None) -> dict[str, Any]:
    """The body of an event "tell"; raises one sentence if anything is wrong.

    Args:
        state: The study before the measurement. given: ``job``, ``option`` or ``plus`` and ``minus``,
        ``value``, one error bar, and what `ABOUT` lists. now: The time, to know which leases have expired.
        row: The row of a table that it comes from, for messages.
    """
    job = find_job(state, given["job"]) if given.get("job") is not None else None
    where = "" if row is None else f"row {row}: "
    option, minus = _probe(state, given, job, where)
    lease = f"; the lease on {job.option} was kept" if job is not None and job.status == OPEN else ""
    named = f"row {row} ({option}): " if row is not None else ""
    measured = read_measured(given, noise_floor=state.specification.noise_floor, where=named, lease=lease)
    if minus is not None:
        _check_pairs(state, option, minus, named)
    notes = [*measured.notes, *([] if job is None else _about_lease(state, job, now))]
    body: dict[str, Any] = {
        "option": option,
        "minus": minus,
        "value": measured.value,
        "kind": measured.kind,
        "sigma": measured.sigma,
        "shown": measured.shown,
        "readings": measured.readings,
        "scatter": measured.scatter,
        "job": None if job is None else job.id,
        "notes": notes or None,
        **{name: _text(name, given.get(name), named) for name in ABOUT},
        **{name: None if given.get(name) is None else as_float(name, given[name]) for name in ("at", "cost")},
    }
    return {name: value for name, value in body.items() if value is not None}


def read_many(
    state: State, rows: list[dict[str, Any]], now: float, match: bool = False
) -> list[dict[str, Any]]:
    """The bodies of the rows of a table that were not told before; all rows are read, or none.

    Args:
        state: The study before them.
        rows: Arguments of `tell`.
        now: The time.
        match: Whether rows that name only an option answer suggestions that are under way, and empty rows
            are left for later.
    """
    fresh: list[dict[str, Any]] = []
    keys: dict[str, dict[str, Any]] = {}
    waiting: dict[str, list[str]] = {}
    for job in state.open_jobs(now) if match else ():
        waiting.setdefault(job.option, []).append(job.id)
    for row, given in enumerate(rows, start=1):
        if match and not any(name in given for name in ("value", *ERROR_WAYS)):
            continue  # a sheet may come back with rows that nobody measured yet
        body = read_told(state, given, now=now, row=row)
        if earlier_with_key(state, body, f"row {row}: ") is not None:
            continue
        if "key" in body and keys.setdefault(body["key"], body) is not body:
            if any(keys[body["key"]].get(part) != body.get(part) for part in CONTENT):
                raise ValueError(
                    f"row {row}: key {body['key']} stands twice in the table, with different content."
                )
            continue
        if "job" not in body and "minus" not in body and waiting.get(body["option"]):
            body["job"] = waiting[body["option"]].pop(0)
        fresh.append(body)
    return fresh


def earlier_with_key(state: State, body: dict[str, Any], where: str = "") -> int | None:
    """The number of a measurement that was told with the same key and content; another content is refused.

    What was told before a correction counts as told, too: importing the same file again changes nothing.
    """
    number = state.keys.get(body.get("key", ""))
    if number is None or "key" not in body:
        return None
    told = state.told[number - 1]
    for version in (told, *state.superseded.get(number, ())):
        if all(version.get(part) == body.get(part) for part in CONTENT):
            return number
    if told["value"] != body["value"]:
        differ = f"told with {told['value']:g}; you sent {body['value']:g}"
    else:
        part = next(part for part in CONTENT if told.get(part) != body.get(part))
        differ = f"told with {part}={told.get(part)!r}; you sent {body.get(part)!r}"
    raise ValueError(f"{where}key {body['key']} already {differ}. Use amend if this is a correction.")


def find_job(state: State, job: Any) -> Job:
    """A suggestion by itself or by its id."""
    id = job.id if isinstance(job, Job) else job
    if id not in state.jobs:
        recent = ", ".join(list(state.jobs)[-3:]) or "none"
        raise KeyError(f"`job` must be a suggestion of this study (the latest: {recent}); got {id!r}.")
    return state.jobs[id]


def find_option(state: State, option: Any, where: str = "") -> str:
    """An option's name, refused with the nearest ones if it is unknown."""
    name = str(option)
    if name in state.index:
        return name
    # A-7 means A-007 before it means A-97.
    same = [known for known in state.ids if _without_zeros(known) == _without_zeros(name)]
    close = [*same, *(known for known in get_close_matches(name, state.ids, n=2) if known not in same)][:2]
    hint = f" Nearest: {', '.join(close)}." if close else ""
    raise KeyError(f"{where}{name!r} is not in the catalogue ({len(state.ids)} options).{hint}")


def _without_zeros(name: str) -> str:
    return re.sub(r"(?<!\d)0+(?=\d)", "", name.casefold())


def find_measurement(state: State, measurement: Any) -> int:
    """The number of a measurement, given itself, its id or its key."""
    if isinstance(measurement, Measurement):
        return measurement.number
    if isinstance(measurement, str):
        if measurement in state.keys:
            return state.keys[measurement]
        if measurement.startswith("m-") and measurement[2:].isdigit():
            measurement = int(measurement[2:])
    if isinstance(measurement, int) and 1 <= measurement <= len(state.told):
        return measurement
    raise KeyError(
        f"`measurement` must be one of this study's {len(state.told)}, by its id (m-1, …) or key; "
        f"got {measurement!r}."
    )


def _probe(state: State, given: dict[str, Any], job: Job | None, where: str) -> tuple[str, str | None]:
    plus, minus, option = given.get("plus"), given.get("minus"), given.get("option")
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


def _check_pairs(state: State, option: str, minus: str, where: str) -> None:
    one, other = sorted((state.index[option], state.index[minus]))
    if state.model.model != "linear" and (one, other) not in state.pairs and len(state.pairs) >= MOST_PAIRS:
        raise ValueError(
            f"{where}{option} - {minus} would be pair number {MOST_PAIRS + 1}: the {state.model.model} model "
            f"keeps at most {MOST_PAIRS} distinct pairs, because every compared option is tied to every "
            'other. Compare all options with a few references, measure them directly, or use model="linear".'
        )


def _about_lease(state: State, job: Job, now: float) -> list[str]:
    late = now - job.expires.timestamp()
    if job.status == TOLD:
        return [f"{job.id} was told before; both results are kept as repeats."]
    if job.status in (FAILED, RELEASED):
        return [f"{job.id} was {job.status} before; the result is kept."]
    if late <= 0.0:
        return []
    heirs = [
        other for other in state.jobs.values() if other.option == job.option and other.expires > job.expires
    ]
    if not heirs:
        return [f"lease {job.id} expired {duration(late)} ago; the result is kept."]
    to = f" to worker {heirs[-1].by}" if heirs[-1].by else f" again as {heirs[-1].id}"
    return [
        f"lease {job.id} expired {duration(late)} ago and was given{to}; both results are kept as repeats."
    ]


def _text(name: str, value: Any, where: str) -> str | None:
    if value is None:
        return None
    text = str(value).strip()
    if not text:
        raise ValueError(f"{where}`{name}` must not be empty; leave it out instead.")
    return text
