"""Why an event cannot happen: one check per kind, made before an event is written and when a log is read.

An event that passes can always be applied, and everything that is computed from it stays finite. A log with
an event that does not pass, which somebody must have edited, is refused as a whole.
"""

import itertools
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from noisewise.core.checks import AMOUNT, COUNT, SQUARES, TIME, VALUE, Range
from noisewise.core.text import printable
from noisewise.study.log.events import Event
from noisewise.study.log.item_order import items_flaw
from noisewise.study.log.model_choice import ModelChoice, choose_model
from noisewise.study.log.specification import ONCE, PolicyChoice
from noisewise.study.telling.error_bars import BOUNDED, COUNTS, ITEMS, KNOWN, NONE, READINGS, of_logarithms
from noisewise.study.telling.items import read_ranges

if TYPE_CHECKING:
    from noisewise.study.log.state import State

#: Measurements that are looked at together; numbers of which an array takes longer than a look at each.
CHUNK, FEW = 16_384, 8
_WITH_SIGMA, _WITHOUT_SIGMA = frozenset((KNOWN, COUNTS)), frozenset((READINGS, NONE))
_NEEDED = frozenset(("option", "value", "kind"))
_TEXTS = ("block", "instrument", "key", "job")
_RANGES = {
    "value": VALUE,
    "sigma": AMOUNT,
    "shown": Range(0.0, AMOUNT.most),
    "readings": COUNT,
    "scatter": SQUARES,
}
_SHARE = Range(0.0, 1.0)
_NUMBERS = {float, int}


class FlawError(ValueError):
    """An event that cannot happen, with the reason."""


def rehearse(state: "State", events: Sequence[Event]) -> None:
    """Refuse events that could not be applied, before they are written.

    Options and items that an event adds are known to those behind it.
    """
    trial = None
    for alone, run in itertools.groupby(events, key=_changes_others):
        some = list(run)
        for first in range(0, 0 if alone else len(some), CHUNK):
            for flaw in flawed(trial or state, [one.body for one in some[first : first + CHUNK]]).values():
                _refuse(flaw)
        for event in some if alone else ():
            _refuse(find_flaw(trial or state, event.kind, event.body))
            if len(events) > 1 and event.kind == "add":
                trial = trial or state.trial()
                trial.apply(event)
            elif len(events) > 1 and event.kind == "tell":
                trial = trial or state.trial()
                trial.items.tell(trial.index[event.body["option"]], len(state.told) + 1, event.body)


def _changes_others(event: Event) -> bool:
    """Whether an event is not a measurement, or one with items: others depend on it."""
    return event.kind != "tell" or (isinstance(event.body, dict) and event.body.get("kind") == ITEMS)


def _refuse(flaw: str | None) -> None:
    if flaw is not None:
        raise ValueError(f"{flaw}. Nothing was written.")


def find_flaw(state: "State", kind: str, body: Any) -> str | None:
    """Why an event of a known kind cannot happen after this state; None if it can."""
    try:
        if not isinstance(body, dict):
            raise FlawError("it has no content")
        _CHECKS[kind](state, body)
    except FlawError as flaw:
        return str(flaw)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as problem:
        return f"its content is not that of an event {kind!r} ({printable(problem)})"
    return None


def flawed(state: "State", bodies: Sequence[Any]) -> dict[int, str]:
    """The places of measurements that cannot be used, with the reasons; in bulk, because logs are long."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for place, body in enumerate(bodies):
        groups.setdefault(tuple(body) if isinstance(body, dict) else (), []).append(place)
    found = {}
    for names, places in groups.items():
        group = bodies if len(groups) == 1 else [bodies[place] for place in places]
        if not _all_usable(state, names, group):
            flaws = ((place, find_flaw(state, "tell", bodies[place])) for place in places)
            found.update({place: flaw for place, flaw in flaws if flaw is not None})
    return found


def _all_usable(state: "State", names: tuple[str, ...], bodies: Sequence[dict[str, Any]]) -> bool:
    """Whether measurements that have the same names in the same order can all be used.

    False means that at least one of them has to be looked at by itself.
    """
    if not set(names) >= _NEEDED:
        return False
    logs = state.specification.value_scale.log
    if logs and {"minus", "arm", "values"} & set(names):
        return False
    column = dict(zip(names, zip(*map(itemgetter(*names), bodies), strict=True), strict=True))
    try:
        kinds, known = set(column["kind"]), state.index.keys()
        right = kinds <= (_WITH_SIGMA if "sigma" in names else _WITHOUT_SIGMA)
        right = right and not (logs and COUNTS in kinds)
        right = right and known >= set(column["option"])
        if COUNTS in kinds:
            told = zip(column["kind"], column["value"], strict=True)
            right = right and _are_within([value for kind, value in told if kind == COUNTS], _SHARE)
        if "minus" in names:
            same = any(one == other for one, other in zip(column["option"], column["minus"], strict=True))
            right = right and COUNTS not in kinds and not same and known >= set(column["minus"])
    except TypeError:  # lists where names should be
        return False
    return (
        right
        and set(map(type, column.get("readings", ()))) <= {int}
        and all(_are_within(column[name], accepted) for name, accepted in _RANGES.items() if name in names)
        and (not logs or _are_within(column["value"], AMOUNT))
        and all(_are_texts(column[name]) for name in _TEXTS if name in names)
        and ("arm" not in names or ("block" in names and "minus" not in names and _all_true(column["arm"])))
    )


def _has_logarithm(body: dict[str, Any]) -> bool:
    """Whether a measurement whose value is a number goes with logarithms."""
    return body["value"] >= AMOUNT.least and body["kind"] != COUNTS and not {"minus", "arm"} & set(body)


def _are_texts(texts: Sequence[Any]) -> bool:
    return set(map(type, texts)) <= {str} and all(texts)


def _all_true(marks: Sequence[Any]) -> bool:
    return all(mark is True for mark in marks)


def _are_within(numbers: Sequence[Any], accepted: Range) -> bool:
    if not set(map(type, numbers)) <= _NUMBERS:
        return False
    try:
        if len(numbers) < FEW:
            return all(accepted.least <= float(number) <= accepted.most for number in numbers)
        column = np.array(numbers, dtype=np.float64)
    except OverflowError:
        return False
    return bool(((column >= accepted.least) & (column <= accepted.most)).all())


def _check_content(state: "State", body: dict[str, Any], number: int | None = None) -> None:
    _known_option(state, body, "option")
    kind = body.get("kind")
    _within(body, "value", _SHARE if kind == COUNTS else VALUE)
    if "minus" in body:
        _known_option(state, body, "minus")
        if body["minus"] == body["option"]:
            raise FlawError("it is a difference of an option to itself")
        if kind == BOUNDED:
            raise FlawError("a reading between bounds was told as a difference, which it is not")
        if kind == COUNTS:
            raise FlawError("a share of successes was told as a difference, which it is not")
    if state.specification.value_scale.log and not _has_logarithm(body):
        raise FlawError(f"`value={body['value']!r}` was told where logarithms are taken, and it has none")
    if kind in _WITH_SIGMA or kind in (BOUNDED, ITEMS):
        _within(body, "sigma", AMOUNT)
    elif kind in _WITHOUT_SIGMA:
        if "sigma" in body:
            raise FlawError(f"`sigma={body['sigma']!r}` was told for a measurement whose error is estimated")
    else:
        raise FlawError(f"its error bar is of an unknown kind, {kind!r}")
    for name in ("readings", "scatter", "shown"):
        if name in body:
            _within(body, name, _RANGES[name])
    if type(body.get("readings", 1)) is not int:
        raise FlawError(f"readings={body['readings']!r} is not a whole number")
    if kind == BOUNDED:
        _check_bounded(state, body)
    elif kind == READINGS and "values" in body and state.specification.value_scale.log:
        _check_logarithms(body)
    for name in _TEXTS:
        if name in body:
            _text(body, name)
    if "arm" in body and not (body["arm"] is True and "block" in body and "minus" not in body):
        raise FlawError("an arm belongs to the study that its block names, and is no difference")
    if kind == ITEMS:
        _refuse_items(items_flaw(state, body, number))


def _refuse_items(flaw: str | None) -> None:
    if flaw is not None:
        raise FlawError(flaw)


def _check_bounded(state: "State", body: dict[str, Any]) -> None:
    """Readings between bounds: each of them must be there, and lie there."""
    bounds = state.specification.bounds
    if bounds is None:
        raise FlawError("it is a reading between bounds, and this study has none")
    singles, readings = body.get("values", [body["value"]]), body.get("readings", 1)
    if not isinstance(singles, list) or len(singles) != readings:
        raise FlawError(f"it has not the {readings} readings that it says it has")
    if not _are_within(singles, Range(*bounds)):
        raise FlawError(f"a reading lies outside of the bounds, {bounds[0]:g} to {bounds[1]:g}")
    mean = of_logarithms(np.array(singles))[0] if state.specification.value_scale.log else np.mean(singles)
    if not abs(float(mean) - body["value"]) <= 1e-9 * max(abs(bounds[0]), abs(bounds[1])):
        raise FlawError("its value is not the mean of its readings")


def _check_logarithms(body: dict[str, Any]) -> None:
    """Readings that were kept for their logarithms: value and scatter must be theirs."""
    singles = body["values"]
    if not isinstance(singles, list) or len(singles) != body.get("readings", 1):
        raise FlawError("it has not the readings that it says it has")
    if not _are_within(singles, AMOUNT):
        raise FlawError("a reading has no logarithm")
    mean, scatter = of_logarithms(np.array(singles, dtype=np.float64))
    told = body.get("scatter", 0.0)
    if not (
        abs(mean / body["value"] - 1.0) <= 1e-9 and abs(scatter - told) <= 1e-6 * scatter + 1e-18 * mean**2
    ):
        raise FlawError("its value and scatter are not those of its readings")


def _check_ask(state: "State", body: dict[str, Any]) -> None:
    _known_option(state, body, "option")
    _text(body, "id")
    if body["id"] in state.jobs:
        raise FlawError(f"{body['id']!r} was asked before")
    _within(body, "expires", TIME)
    if body.get("sigma") is not None:
        _within(body, "sigma", AMOUNT)
    if body.get("minus") is not None:
        _known_option(state, body, "minus")
        if body["minus"] == body["option"]:
            raise FlawError("it asks for the difference of an option to itself")
    for name in ("block", "together"):
        if body.get(name) is not None:
            _text(body, name)
    items, fresh = body.get("items", []), body.get("fresh", 0)
    if not (
        isinstance(items, list) and all(type(name) is str and name in state.items.place for name in items)
    ):
        raise FlawError("it names items that this study does not have")
    start = body.get("fresh_from", 1)
    if not (type(fresh) is type(start) is int and 0 <= fresh <= COUNT.most and 1 <= start <= COUNT.most):
        raise FlawError(f"fresh={fresh!r} from {start!r} on is not a number of items")


def _check_closing(state: "State", body: dict[str, Any]) -> None:
    if body.get("job") not in state.jobs:
        raise FlawError(f"there is no suggestion {body.get('job')!r}")


def _check_void(state: "State", body: dict[str, Any]) -> None:
    number = body.get("number")
    if type(number) is not int or not 1 <= number <= len(state.told):
        raise FlawError(f"there is no measurement m-{number!r}")


def _check_amend(state: "State", body: dict[str, Any]) -> None:
    _check_void(state, body)
    number, content = body["number"], body["content"]
    old = state.told[number - 1]
    if ITEMS in (old.get("kind"), content.get("kind")):
        same = all(old.get(name) == content.get(name) for name in ("option", "kind", "places", "readings"))
        if not (same and state.measurements.is_live(number)):
            raise FlawError(f"m-{number} would be about other items than it was")
    _check_content(state, content, number)


def _check_skip(state: "State", body: dict[str, Any]) -> None:
    if read_ranges(body["measurements"])[-1] > len(state.told):
        raise FlawError("it names measurements that there are not")


def _check_exclude(state: "State", body: dict[str, Any]) -> None:
    _known_option(state, body, "option")


def _check_include(state: "State", body: dict[str, Any]) -> None:
    _known_option(state, body, "option")
    if state.index[body["option"]] not in state.excluded:
        raise FlawError(f"{body['option']!r} was not excluded")


def _check_add(state: "State", body: dict[str, Any]) -> None:
    ids = body["ids"]
    if not (isinstance(ids, list) and ids and all(type(name) is str and name for name in ids)):
        raise FlawError("it adds no options")
    taken = next((name for name in ids if name in state.index), None)
    if taken is not None or len(set(ids)) < len(ids):
        raise FlawError(f"{taken or ids[0]!r} is in the catalogue already")
    if state.costs is not None and not (
        isinstance(body["costs"], list)
        and len(body["costs"]) == len(ids)
        and _are_within(body["costs"], AMOUNT)
    ):
        raise FlawError("its options have no costs")
    if state.whitening is not None:
        values = np.array(body["values"], dtype=np.float64)
        if values.shape != (len(ids), state.whitening.centre.size) or not np.isfinite(values).all():
            raise FlawError("its options do not have the features of this study")


def _check_policy(state: "State", body: dict[str, Any]) -> None:
    choice = PolicyChoice(**body["policy"])
    if not isinstance(choice.name, str) or not isinstance(choice.options, dict):
        raise FlawError("it names no policy")


def _check_switch(state: "State", body: dict[str, Any]) -> None:
    model = ModelChoice(**body["model"])
    if model.uses_features and state.items:
        raise FlawError(f"items were told, and the {model.model} model does not compare options item by item")
    choose_model(model.model, model.deviation, model.extra_scatter)
    if model.uses_features and state.whitening is None:
        raise FlawError(f"the {model.model} model needs features, and this study has none")
    if body.get("looks", ONCE) != ONCE:
        raise FlawError(f"`looks={body['looks']!r}` cannot be switched to")


def _known_option(state: "State", body: dict[str, Any], name: str) -> None:
    if body.get(name) not in state.index:
        raise FlawError(f"{body.get(name)!r} is not in the catalogue")


def _within(body: dict[str, Any], name: str, accepted: Range) -> None:
    number: Any = body.get(name)
    if type(number) not in _NUMBERS or not accepted.holds(number):
        raise FlawError(f"{name}={number!r} must be a number from {accepted.least:g} to {accepted.most:g}")


def _text(body: dict[str, Any], name: str) -> None:
    if type(body[name]) is not str or not body[name]:
        raise FlawError(f"{name}={body[name]!r} is not a text")


_CHECKS: dict[str, Callable[["State", dict[str, Any]], None]] = {
    "tell": _check_content,
    "ask": _check_ask,
    "fail": _check_closing,
    "release": _check_closing,
    "void": _check_void,
    "amend": _check_amend,
    "exclude": _check_exclude,
    "include": _check_include,
    "add": _check_add,
    "policy": _check_policy,
    "switch": _check_switch,
    "skip": _check_skip,
}
