"""Bodies of events that change a study: corrections, options, model. Each follows from the newest state."""

import json
import math
from dataclasses import asdict
from typing import Any

from noisewise.core.text import NOTE_LENGTH, check_text, composed, printable
from noisewise.study.log.events import encode
from noisewise.study.log.looks import switched_looks
from noisewise.study.log.model_choice import check_room, facts_of, named_models, switched
from noisewise.study.log.specification import HEAVY, check_tails
from noisewise.study.log.state import OPEN, State
from noisewise.study.telling.error_bars import BOUNDED, COUNTS, ITEMS, KNOWN, NONE, READINGS
from noisewise.study.telling.finding import MOST_PAIRS, find_job, find_measurement, find_option
from noisewise.study.telling.item_rows import amended_items
from noisewise.study.telling.numbers import carries_error
from noisewise.study.telling.rows import ABOUT, ERROR_WAYS, about, read_told, refuse_unsuited

#: Arguments of `tell` that bring their own value.
BRING_VALUES = ("values", "successes", "trials")
#: What a measurement is called in sentences.
NAMES_OF_KINDS = {
    KNOWN: "a value with an error bar",
    READINGS: "a mean of readings",
    COUNTS: "a share of successes",
    NONE: "a value without an error bar",
    BOUNDED: "a reading between bounds",
    ITEMS: "a set of items",
}
_SCATTER = ("shown", "readings", "scatter")
_MEASURED = ("value", "kind", "sigma", "values", *_SCATTER)


def require_reason(reason: Any, name: str = "reason") -> str:
    """A reason in words: readers of the log will want to know it later."""
    if reason is None or not str(reason).strip():
        raise ValueError(f"`{name}` must say why, in a few words; got nothing.")
    return check_text(name, reason, most=NOTE_LENGTH)


def voided(state: State, measurement: Any, reason: str) -> dict[str, Any]:
    """Return the body of an event "void"."""
    number = find_measurement(state, measurement)
    if number in state.voided:
        raise ValueError(f"m-{number} was voided before: {state.voided[number]}.")
    return {"number": number, "reason": require_reason(reason)}


def excluded(state: State, option: str, reason: str) -> dict[str, Any]:
    """Return the body of an event "exclude"."""
    name, before = find_option(state, option), state.excluded
    if state.index[name] in before:
        raise ValueError(f"{name} is excluded already: {before[state.index[name]]}.")
    return {"option": name, "reason": require_reason(reason)}


def included(state: State, option: str) -> dict[str, Any]:
    """Return the body of an event "include"."""
    name = find_option(state, option)
    if state.index[name] not in state.excluded:
        raise ValueError(f"{name} is not excluded.")
    return {"option": name}


def closed(state: State, job: Any, reason: str | None) -> list[dict[str, Any]]:
    """Return the bodies of events "fail" or "release": one for each suggestion."""
    jobs = list(job) if isinstance(job, list | tuple | set | frozenset) else [job]
    if not jobs:
        raise ValueError("`job` must be at least one suggestion; got none.")
    found = [find_job(state, one) for one in jobs]
    for one in found:
        if one.status != OPEN:
            raise ValueError(f"{one.id} is not under way: it was {one.status}.")
    return [{"job": id, "reason": reason} for id in dict.fromkeys(one.id for one in found)]


def amended(state: State, measurement: Any, given: dict[str, Any], reason: str, now: float) -> dict[str, Any]:
    """Return the body of an event "amend"."""
    number = find_measurement(state, measurement)
    content = amended_content(state, number, given, now=now)
    return {"number": number, "reason": require_reason(reason), "content": content}


def amended_content(state: State, number: int, given: dict[str, Any], *, now: float) -> dict[str, Any]:
    """Return the corrected content of a measurement: what is not said anew stays as it was.

    What was recorded and what is said now are put together as arguments of `tell`, and read like a new one.
    """
    if number in state.voided:
        raise ValueError(
            f"m-{number} was voided ({state.voided[number]}): tell the measurement again instead."
        )
    old = state.told[number - 1]
    said = {name: value for name, value in given.items() if value is not None}
    if not said:
        raise ValueError(
            f"say what to correct about m-{number}: `value=`, `option=`, an error bar, `block=`, "
            "`instrument=` or `note=`; got none of them."
        )
    if state.keys.get(key := composed(str(said.get("key", "")).strip())) not in (None, number):
        raise ValueError(
            f"`key` must be one that no other measurement has; got {printable(key)}, the key of "
            f"m-{state.keys[key]}."
        )
    kept = {name: old[name] for name in (*ABOUT, "arm", "at", "cost") if name in old}
    if old.get("kind") == ITEMS or "items" in said:
        content = _amended_items(state, number, said, kept)
    else:
        content = _amended_value(state, number, said, kept, now=now)
    content |= {name: old[name] for name in ("job", "row") if name in old}
    if content.get("job") not in state.jobs:
        content.pop("job", None)
    # Through JSON, as what is recorded went; notes are remarks on the first row.
    new, before = (
        {name: value for name, value in body.items() if name != "notes"}
        for body in (json.loads(encode(content)), old)
    )
    if new == before:
        raise ValueError(f"nothing would change: m-{number} was told with exactly this.")
    return content


def _amended_value(
    state: State, number: int, said: dict[str, Any], kept: dict[str, Any], *, now: float
) -> dict[str, Any]:
    """A measurement of anything but items, corrected."""
    old = state.told[number - 1]
    says_error = any(name in said for name in ERROR_WAYS) or carries_error(said.get("value"))
    merged = kept | said
    if not any(name in said for name in ("option", "plus", "minus")):
        two = "minus" in old
        merged |= {"plus": old["option"], "minus": old["minus"]} if two else {"option": old["option"]}
    merged |= _told_as(number, old, said, says_error=says_error)
    content = read_told(state, merged, now=now)
    if not says_error:
        if content["kind"] != old["kind"]:
            raise ValueError(
                f"m-{number} is {NAMES_OF_KINDS[old['kind']]} and would become "
                f"{NAMES_OF_KINDS[content['kind']]}: void it, and tell it as it should be."
            )
        same = _MEASURED if "value" not in said else _SCATTER if old["kind"] == READINGS else ()
        # What is kept stays as it was to the last bit.
        content = {name: part for name, part in content.items() if name not in same}
        content |= {name: old[name] for name in same if name in old}
    if (job := state.jobs.get(old.get("job", ""))) is not None:
        refuse_unsuited(state, content, content.get("minus"), job, "")
    return content


def _told_as(number: int, old: dict[str, Any], said: dict[str, Any], *, says_error: bool) -> dict[str, Any]:
    """The arguments of `tell` that stand for the value and the error bar of a measurement that are kept."""
    kind = old["kind"]
    ways = {name for name in ERROR_WAYS if name in said}
    brings = {name for name in ("value", *BRING_VALUES) if name in said}
    if kind == COUNTS:
        trials = old.get("readings", 1)
        successes = round(old["value"] * trials)
        if ways and ways <= {"successes", "trials"}:
            return {"successes": said.get("successes", successes), "trials": said.get("trials", trials)}
        if not says_error and "value" not in said:
            return {"successes": successes, "trials": trials}
        if not (says_error and brings):
            raise ValueError(
                f"m-{number} is {successes} successes out of {trials} trials: correct it by "
                "`successes=` and `trials=`, or say both its value and its error bar."
            )
        return {}
    several = old.get("values")
    if several is not None and not says_error:
        if "value" in said:
            raise ValueError(
                f"m-{number} has {len(several)} readings, which are kept: correct them with `values=[...]`."
            )
        return {"values": several}
    value = {} if brings else {"value": old["value"]}
    if says_error:
        if value and (several is not None or kind == BOUNDED):
            raise ValueError(
                f"m-{number} is {NAMES_OF_KINDS[kind]}, whose error follows from the readings: correct it by "
                "`value=` or `values=[...]`, or say both its value and its error bar."
            )
        if kind == READINGS and ways and ways <= {"sd", "n"}:
            value |= {"sd": said.get("sd", _sd_of(old)), "n": said.get("n", old["readings"])}
        return value
    if kind == KNOWN:
        return value | {"se": old["shown"]}
    return value | ({"sd": _sd_of(old), "n": old["readings"]} if kind == READINGS else {})


def _sd_of(old: dict[str, Any]) -> float:
    return math.sqrt(old.get("scatter", 0.0) / (old["readings"] - 1))


def _amended_items(state: State, number: int, said: dict[str, Any], kept: dict[str, Any]) -> dict[str, Any]:
    """A measurement of items with some values corrected: it stays one of the same items and option."""
    old = state.told[number - 1]
    others = [name for name in said if name not in ("items", "key", "by", "note", "at", "cost")]
    if others or old.get("kind") != ITEMS:
        what = f"{others[0]}=" if others else "`items=`"
        raise ValueError(
            f"m-{number} cannot be corrected by {what}: what holds items is corrected by `items=` with the "
            "right values of some of them, and only that; otherwise void it, and tell it as it should be."
        )
    content = amended_items(state, number, said["items"]) if "items" in said else old
    return {name: part for name, part in content.items() if name != "notes"} | about(kept | said, "")


def added_options(state: State, options: Any, id: str | None, decimal: str | None = None) -> dict[str, Any]:
    """The body of an event "add"."""
    from noisewise.study.tables.sheet import is_plain_list, read_whole
    from noisewise.study.telling.options import read_catalogue

    specification = state.specification
    catalogue = specification.catalogue
    source = options if is_plain_list(options) else read_whole("options", options)
    names = [feature.name for feature in catalogue.features]
    if id is None and not is_plain_list(source) and catalogue.id_column in source.frame.columns:
        id = catalogue.id_column
    cost = None if catalogue.costs is None else catalogue.cost_column
    found = read_catalogue(
        source, id=id, features=names or None, cost=cost, needs_features=bool(names),
        known=catalogue.features, decimal=decimal,
    )  # fmt: skip
    for option in found.ids:
        if option in state.index:
            raise ValueError(f"option {option!r} is in the catalogue already.")
    check_room(state.model.facts, len(state.ids) + len(found.ids))
    if state.whitening is not None:
        outside = state.whitening.outside(found.values)
        if outside.max() > 1e-6:
            option = found.ids[int(outside.argmax())]
            raise ValueError(
                f"option {option!r} combines features in a way that no option of this study does: its value "
                "cannot be known from theirs. Make a new study with all options."
            )
    return {"ids": found.ids, "values": found.values.tolist(), "costs": found.costs}


def switched_model(
    state: State, *, model: Any, deviation: Any, extra_scatter: Any, final: Any, reason: Any
) -> dict[str, Any]:
    """The body of an event "switch": the whole model that holds from now on, and how often one may look."""
    if state.items and model is not None and facts_of(model).uses_features:
        raise ValueError(
            f"`model` must stay independent: items were told, and the {model} model does not compare options "
            "item by item."
        )
    looked, scale = switched_looks(state, final), state.specification.value_scale
    deviation = scale.read_size(deviation, "deviation")
    extra_scatter = scale.read_size(extra_scatter, "extra_scatter")
    chosen = state.model
    if not looked or any(given is not None for given in (model, deviation, extra_scatter)):
        chosen = switched(state.model, model, deviation, extra_scatter, state.whitening is not None)
    if state.specification.noise == HEAVY:
        check_tails(chosen, None)
    check_room(chosen.facts, len(state.ids))
    if chosen.facts.limits_pairs and len(state.pairs) > MOST_PAIRS:
        raise ValueError(
            f"`model` must be {named_models(lambda facts: not facts.limits_pairs)} for {len(state.pairs)} "
            f"distinct pairs of compared options: the {chosen.model} model keeps at most {MOST_PAIRS}."
        )
    return {
        "model": asdict(chosen),
        **looked,
        **({"reason": require_reason(reason)} if reason is not None else {}),
    }
