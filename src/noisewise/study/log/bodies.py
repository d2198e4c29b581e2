"""What events say: one declaration for each kind, checked before an event is written and when a log is read.

An event that passes can always be applied, and everything computed from it stays finite. A log with an event
that does not pass, which must have been edited, is refused as a whole.
"""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import msgspec
import numpy as np
from msgspec import Meta

from noisewise.core.checks import AMOUNT, COST, COUNT, SQUARES, TIME, VALUE, Range
from noisewise.core.text import printable
from noisewise.study.log.items import items_flaw
from noisewise.study.log.model_choice import ModelChoice
from noisewise.study.log.specification import PolicyChoice
from noisewise.study.telling.error_bars import BOUNDED, COUNTS, ITEMS, KNOWN, NONE, READINGS, of_logarithms

if TYPE_CHECKING:
    from noisewise.study.log.state import State

Columns = Mapping[str, Sequence[Any]]

Name = Annotated[str, Meta(min_length=1)]
Number = Annotated[int, Meta(ge=1)]
Count = Annotated[int, Meta(ge=int(COUNT.least), le=int(COUNT.most))]
Amount = Annotated[float, Meta(ge=AMOUNT.least, le=AMOUNT.most)]
Value = Annotated[float, Meta(ge=VALUE.least, le=VALUE.most)]
Time = Annotated[float, Meta(ge=TIME.least, le=TIME.most)]

#: What a measurement may say, as one event "tell" or as a column of an event "table".
TOLD: dict[str, Any] = {
    "option": Name,
    "minus": Name,
    "value": Value,
    "kind": Literal["known", "readings", "counts", "none", "items", "bounded"],
    "sigma": Amount,
    "shown": Annotated[float, Meta(ge=0.0, le=AMOUNT.most)],
    "readings": Count,
    "scatter": Annotated[float, Meta(ge=SQUARES.least, le=SQUARES.most)],
    "values": list[Value],
    "block": Name,
    "instrument": Name,
    "arm": bool,
    "key": Name,
    "job": Name,
    "by": str,
    "note": str,
    "notes": list[str],
    "at": Time,
    "cost": Annotated[float, Meta(ge=COST.least, le=COST.most)],
    "row": Count,
    "places": str,
    "items": str,
    "names": list[Name],
}
NEEDED = ("option", "value", "kind")
#: Kinds whose standard error is said, and kinds whose is estimated.
WITH_SIGMA, WITHOUT_SIGMA = frozenset((KNOWN, COUNTS, BOUNDED, ITEMS)), frozenset((READINGS, NONE))

ToldColumns = msgspec.defstruct(
    "ToldColumns",
    [(n, list[t]) if n in NEEDED else (n, list[t] | None, None) for n, t in TOLD.items()],  # type: ignore[valid-type]
    forbid_unknown_fields=True,
    kw_only=True,
)


class EventBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What an event says, and who made the change, where that is known."""

    by: str | None = None


class AskBody(EventBody, frozen=True):
    """A suggestion: see `noisewise.study.log.records.Job`."""

    id: Name
    option: Name
    why: str
    expires: Time
    sigma: Amount | None = None
    minus: Name | None = None
    block: Name | None = None
    together: Name | None = None
    items: list[Name] = []
    fresh: Annotated[int, Meta(ge=0, le=int(COUNT.most))] = 0
    fresh_from: Count = 1


class CloseBody(EventBody, frozen=True):
    """A suggestion could not be measured, or was given back."""

    job: Name
    reason: str | None = None


class VoidBody(EventBody, frozen=True):
    """A measurement does not count any more."""

    number: Number
    reason: str | None = None


class AmendBody(EventBody, frozen=True):
    """A measurement is replaced by a corrected one."""

    number: Number
    content: dict[str, Any]
    reason: str | None = None


class ExcludeBody(EventBody, frozen=True):
    """An option is left out, or taken in again."""

    option: Name
    reason: str | None = None


class AddBody(EventBody, frozen=True):
    """There are new options."""

    ids: Annotated[list[Name], Meta(min_length=1)]
    values: list[list[float]]
    costs: list[Amount] | None = None


class PolicyBody(EventBody, frozen=True):
    """Another policy asks from now on."""

    policy: PolicyChoice


class SwitchBody(EventBody, frozen=True):
    """Another model holds from now on, or bounds hold for one look only."""

    model: ModelChoice
    looks: Literal["once"] | None = None
    costs: str | None = None
    reason: str | None = None


class SkipBody(EventBody, frozen=True):
    """Rows of a table without keys were recognised as measurements that are known."""

    measurements: str


class TableBody(EventBody, frozen=True):
    """Many measurements, in columns."""

    columns: dict[str, list[Any]]


Kind = TypeVar("Kind")
_PLACE = re.compile(r" - at `\$\.?(\w*)(?:\[(\d+)\])?.*`$")


class FlawError(ValueError):
    """An event that cannot happen, with the reason."""

    def __init__(self, why: str, place: int = 0) -> None:
        super().__init__(why)
        self.place = place  # of the measurement, among those that were checked together


def read(body: Any, kind: type[Kind]) -> Kind:
    """The body of an event as it was declared."""
    try:
        return msgspec.convert(body, kind)
    except msgspec.ValidationError as problem:
        said = str(problem)
        found = _PLACE.search(said)
        name, place = (found[1], int(found[2] or 0)) if found else ("", 0)
        what = f"{name}: " if name else ""
        raise FlawError(f"{what}{printable(said.split(' - at ')[0]).lower()}", place) from None


def of_one(body: Mapping[str, Any]) -> Columns:
    """One measurement as columns."""
    return {name: (part,) for name, part in body.items()}


def check_told(state: "State", told: Columns, number: int | None = None) -> None:
    """Refuse measurements that this study cannot have.

    Args:
        state: The study before them.
        told: What they say, in columns; all say the same things.
        number: The measurement that they correct, if they correct one.
    """
    read(told, ToldColumns)
    if len({len(column) for column in told.values()}) > 1:
        raise FlawError("its columns have different lengths")
    kinds = set(told["kind"])
    for name in ("option", "minus"):
        if not state.index.keys() >= set(told.get(name, ())):
            place = next(place for place, one in enumerate(told[name]) if one not in state.index)
            raise FlawError(f"{told[name][place]!r} is not in the catalogue", place)
    if "minus" in told:
        _check_differences(told, kinds)
    wrong = kinds & (WITHOUT_SIGMA if "sigma" in told else WITH_SIGMA)
    if wrong:
        place = next(place for place, kind in enumerate(told["kind"]) if kind in wrong)
        has = "has" if "sigma" in told else "lacks"
        raise FlawError(f"it {has} `sigma`, and is of kind {told['kind'][place]!r}", place)
    logs = state.specification.value_scale.log
    if COUNTS in kinds:
        _within(told, "value", Range(0.0, 1.0), COUNTS)
    if logs:
        _check_logarithms(told, kinds)
    if "arm" in told and not ("block" in told and "minus" not in told and all(told["arm"])):
        raise FlawError("an arm belongs to the study that its block names, and is not a difference")
    if BOUNDED in kinds or (logs and "values" in told and READINGS in kinds):
        for place, kind in enumerate(told["kind"]):
            body = {name: column[place] for name, column in told.items()}
            if kind == BOUNDED:
                _check_bounded(state, body, place)
            elif kind == READINGS:
                _check_readings(body, place)
    if ITEMS in kinds:
        if len(told["kind"]) > 1:
            raise FlawError("items are in a table of measurements")
        try:
            flaw = items_flaw(state, {name: one for name, (one,) in told.items()}, number)
        except (ValueError, TypeError, KeyError) as problem:
            flaw = printable(problem)
        if flaw is not None:
            raise FlawError(flaw)


def _check_differences(told: Columns, kinds: set[str]) -> None:
    for place, (one, other) in enumerate(zip(told["option"], told["minus"], strict=True)):
        if one == other:
            raise FlawError("it is a difference of an option to itself", place)
    for kind, what in ((BOUNDED, "a reading between bounds"), (COUNTS, "a share of successes")):
        if kind in kinds:
            raise FlawError(f"{what} cannot be a difference", list(told["kind"]).index(kind))


def _within(told: Columns, name: str, accepted: Range, kind: str | None = None) -> None:
    for place, number in enumerate(told[name]):
        if not accepted.holds(number) and kind in (None, told["kind"][place]):
            raise FlawError(
                f"{name}={number!r} must be a number from {accepted.least:g} to {accepted.most:g}", place
            )


def _check_logarithms(told: Columns, kinds: set[str]) -> None:
    if COUNTS in kinds or {"minus", "arm"} & told.keys():
        raise FlawError(f"`value={told['value'][0]!r}` has no logarithm, and the study takes logarithms")
    _within(told, "value", AMOUNT)


def _check_bounded(state: "State", body: Mapping[str, Any], place: int) -> None:
    """Readings between bounds: each of them must be there, and lie there."""
    bounds = state.specification.bounds
    if bounds is None:
        raise FlawError("it is a reading between bounds, and this study has none", place)
    singles, readings = body.get("values", [body["value"]]), body.get("readings", 1)
    if len(singles) != readings:
        raise FlawError(f"it does not have the {readings} readings that it says it has", place)
    if not all(bounds[0] <= one <= bounds[1] for one in singles):
        raise FlawError(f"a reading lies outside of the bounds, {bounds[0]:g} to {bounds[1]:g}", place)
    mean = of_logarithms(np.array(singles))[0] if state.specification.value_scale.log else np.mean(singles)
    if not abs(float(mean) - body["value"]) <= 1e-9 * max(abs(bounds[0]), abs(bounds[1])):
        raise FlawError("its value is not the mean of its readings", place)


def _check_readings(body: Mapping[str, Any], place: int) -> None:
    """Readings that were kept for their logarithms: value and scatter must be theirs."""
    singles = body["values"]
    if len(singles) != body.get("readings", 1):
        raise FlawError("it does not have the readings that it says it has", place)
    if not all(map(AMOUNT.holds, singles)):
        raise FlawError("a reading has no logarithm", place)
    mean, scatter = of_logarithms(np.array(singles, dtype=np.float64))
    told = body.get("scatter", 0.0)
    right = abs(mean / body["value"] - 1.0) <= 1e-9
    if not (right and abs(scatter - told) <= 1e-6 * scatter + 1e-18 * mean**2):
        raise FlawError("its value and scatter are not those of its readings", place)
