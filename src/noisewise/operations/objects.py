"""From JSON to the objects of a study and back: jobs, measurements, certificates, events."""

import math
import secrets
from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from noisewise.study.certificates.certificate import Certificate
from noisewise.study.certificates.good_enough import GoodEnough
from noisewise.study.log.events import Event
from noisewise.study.log.jobs import Job
from noisewise.study.log.told import GENERATED, Measurement

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
    if (sets := known.get("good_enough")) is not None:
        known["good_enough"] = GoodEnough(**{name: _frozen(part) for name, part in sets.items()})
    infinite = {name: math.inf for name in ("bound", "spread") if known.get(name) is None}
    return Certificate(**known | infinite)


def event_from(row: Mapping[str, Any]) -> Event:
    """An event of the log."""
    return Event(
        int(row["number"]), float(row["at"]), str(row["kind"]), dict(row["body"]),
        str(row.get("append") or ""), str(row.get("hash") or ""), str(row.get("request") or ""),
    )  # fmt: skip


def measurement_id(measurement: Any) -> str:
    """The id or key that a measurement is known by."""
    if isinstance(measurement, Measurement):
        return measurement.id
    if type(measurement) is int:
        return f"m-{measurement}"
    if not isinstance(measurement, str):
        raise TypeError(f"`measurement` must be one text; got {measurement!r}.")
    return measurement


def new_key() -> str:
    """A new key."""
    return f"{GENERATED}{secrets.token_urlsafe(15)}"


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
