"""From JSON to the objects of a study and back: jobs, measurements, certificates, events."""

import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any, NoReturn

from noisewise.core.checks import as_float
from noisewise.study.certificates.certificate import Certificate
from noisewise.study.log.events import Event
from noisewise.study.log.jobs import Job
from noisewise.study.log.told import GENERATED, Measurement

#: Numbers of a measurement; `value` and `se` may also be texts, such as "12.3(4)" and "2%".
NUMBERS = ("value", "se", "var", "sd", "n", "level", "successes", "trials", "cost", "at")
LISTS = ("ci", "values")
TEXTS = ("option", "plus", "minus", "block", "instrument", "key", "by", "note")
_FIELDS = tuple(one.name for one in fields(Certificate))


def job_from(row: Mapping[str, Any]) -> Job:
    """A suggestion."""
    known = {one.name: row[one.name] for one in fields(Job) if one.name in row}
    return Job(**known | {"expires": datetime.fromisoformat(row["expires"]), "items": tuple(row["items"])})


def measurement_from(row: Mapping[str, Any]) -> Measurement:
    """A measurement."""
    known = {one.name: row[one.name] for one in fields(Measurement) if one.name in row}
    number = int(str(row["id"]).removeprefix("m-"))
    return Measurement(**known | {"number": number, "notes": tuple(row["notes"])})


def certificate_from(plain: Mapping[str, Any]) -> Certificate:
    """A certificate; a bound that does not exist is infinite."""
    known = {name: _frozen(plain[name]) for name in _FIELDS if name in plain}
    infinite = {name: math.inf for name in ("bound", "spread") if known.get(name) is None}
    return Certificate(**known | infinite)


def event_from(row: Mapping[str, Any]) -> Event:
    """An event of the log."""
    return Event(
        int(row["number"]), float(row["at"]), str(row["kind"]), dict(row["body"]),
        str(row.get("append") or ""), str(row.get("hash") or ""), str(row.get("request") or ""),
    )  # fmt: skip


def told_to_send(job: Job | str | None, value: Any, told: Mapping[str, Any]) -> dict[str, Any]:
    """What `tell` was called with, as JSON values.

    Args:
        job: The suggestion.
        value: What came out.
        told: All else.
    """
    said: dict[str, Any] = {"job": job_id(job), "value": value, **told}
    if hasattr(value, "nominal_value") and hasattr(value, "std_dev"):  # of the package uncertainties
        if any(told.get(name) is not None for name in ("se", "var", "sd", "ci", "values")):
            raise ValueError("say the error bar once: the value brings its own.")
        said |= {"value": value.nominal_value, "se": value.std_dev}
    for name in TEXTS:
        if said.get(name) is not None:
            said[name] = text_to_send(name, said[name])
    for name in (*NUMBERS, *LISTS):
        if said.get(name) is not None:
            said[name] = number_to_send(name, said[name])
    if said.get("items") is not None:
        said["items"] = {str(item): number_to_send("items", one) for item, one in said["items"].items()}
    return {name: part for name, part in said.items() if part is not None}


def number_to_send(name: str, given: Any) -> Any:
    """A number, several, or a text, as JSON has them."""
    if isinstance(given, str):
        return given
    if hasattr(given, "tolist"):
        given = given.tolist()  # of NumPy
    if name in LISTS or (name == "se" and isinstance(given, Sequence)):
        return [number_to_send("number", one) for one in given]
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    number = as_float(name, given)
    if not math.isfinite(number) and name == "value":
        return str(number)  # which JSON has no number for; the study says what to do
    if not math.isfinite(number):
        raise ValueError(f"`{name}` must be a finite number; got {given!r}.")
    return number


def job_id(job: Any) -> str | None:
    """The id that a suggestion is known by."""
    if isinstance(job, Job):
        return job.id
    return job if job is None or isinstance(job, str) else _no_text("job", job)


def measurement_id(measurement: Any) -> str:
    """The id or key that a measurement is known by."""
    if isinstance(measurement, Measurement):
        return measurement.id
    if type(measurement) is int:
        return f"m-{measurement}"
    return measurement if isinstance(measurement, str) else _no_text("measurement", measurement)


def text_to_send(name: str, given: Any) -> str | None:
    """What a study takes for a text: whatever has one, but no list of them."""
    if given is None or isinstance(given, str):
        return given
    if isinstance(given, bytes | list | tuple | set | dict) or given != given:
        return _no_text(name, given)
    return str(given)


def _no_text(name: str, given: Any) -> NoReturn:
    raise TypeError(f"`{name}` must be one text; got {given!r}.")


def new_key() -> str:
    """A key that nobody else has."""
    return f"{GENERATED}{secrets.token_urlsafe(15)}"


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
