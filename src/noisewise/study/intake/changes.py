"""Changes to a study after it was made: corrections, options, policy, model. Each is an event."""

import json
from dataclasses import asdict
from typing import Any

from noisewise.core.support.text import NOTE_LENGTH, check_text
from noisewise.study.inputs.error_bars import ITEMS
from noisewise.study.intake.entry import ABOUT, ERROR_WAYS, MOST_PAIRS, read_told
from noisewise.study.intake.item_entry import amended_items
from noisewise.study.log.looks import switched_looks
from noisewise.study.log.model_choice import facts_of, named_models, switched
from noisewise.study.log.specification import HEAVY, check_tails
from noisewise.study.log.state import State
from noisewise.study.stores.protocol import to_json


def require_reason(reason: Any, name: str = "reason") -> str:
    """A reason in words: readers of the log will want to know it later."""
    if reason is None or not str(reason).strip():
        raise ValueError(f"`{name}` must say why, in a few words; got nothing.")
    return check_text(name, reason, most=NOTE_LENGTH)


def amended(state: State, number: int, given: dict[str, Any], *, now: float) -> dict[str, Any]:
    """The corrected content of a measurement: what is not said anew stays as it was."""
    if number in state.voided:
        raise ValueError(
            f"m-{number} was voided ({state.voided[number]}): tell the measurement again instead."
        )
    old = state.told[number - 1]
    if ITEMS in (old.get("kind"), ITEMS if given.get("items") is not None else None):
        return _amended_items(state, number, given)
    merged = {name: value for name, value in given.items() if value is not None}
    if not merged:
        raise ValueError(
            f"say what to correct about m-{number}: value=, option=, an error bar, block=, instrument= or "
            "note=; got none of them."
        )
    if not any(name in merged for name in ("option", "plus", "minus")):
        # A measurement that could not be used may lack anything; then it has to be said now.
        two = "minus" in old
        merged |= {"plus": old.get("option"), "minus": old["minus"]} if two else {"option": old.get("option")}
    says_error = any(name in merged for name in ERROR_WAYS)
    if "values" in old and not says_error:
        if "value" in merged:
            raise ValueError(
                f"m-{number} has {len(old['values'])} readings, which are kept: correct them with "
                "values=[...]."
            )
        merged["values"] = old["values"]
    if "value" not in merged and not any(name in merged for name in ("values", "successes", "trials")):
        merged["value"] = old.get("value")
    merged = {name: old[name] for name in (*ABOUT, "arm", "at", "cost") if name in old} | merged
    content = read_told(state, merged, now=now)
    broken = any(one.number == number for one in state.ignored.values())
    if not says_error and content["kind"] == "none" and not broken:
        kept = ("kind", "sigma", "shown", "readings", "scatter")
        content = {name: value for name, value in content.items() if name not in kept}
        content |= {name: old[name] for name in kept if name in old}
    content |= {"job": old["job"]} if old.get("job") in state.jobs else {}
    # Through JSON, as what was told went; notes are remarks on how it was told.
    said, before = (
        {name: value for name, value in body.items() if name != "notes"}
        for body in (json.loads(to_json(content)), old)
    )
    if said == before:
        raise ValueError(f"nothing would change: m-{number} was told with exactly this.")
    return content


def _amended_items(state: State, number: int, given: dict[str, Any]) -> dict[str, Any]:
    """A measurement of items with some values corrected: it stays one of the same items and option."""
    others = [name for name, value in given.items() if value is not None and name not in ("items", "note")]
    if others or given.get("items") is None or state.told[number - 1].get("kind") != ITEMS:
        what = f"{others[0]}=" if others else "items="
        raise ValueError(
            f"m-{number} cannot be corrected by {what}: what holds items is corrected by items= with the "
            "right values of some of them, and only that; otherwise void it, and tell it as it should be."
        )
    content = amended_items(state, number, given["items"])
    if content == state.told[number - 1] and given.get("note") is None:
        raise ValueError(f"nothing would change: m-{number} was told with exactly this.")
    note = {} if given.get("note") is None else {"note": check_text("note", given["note"], most=NOTE_LENGTH)}
    return {name: value for name, value in content.items() if name != "notes"} | note


def added_options(state: State, options: Any, id: str | None, decimal: str | None = None) -> dict[str, Any]:
    """The body of an event "add"."""
    from noisewise.study.inputs.catalogue_table import read_catalogue
    from noisewise.study.inputs.tables import is_plain_list, read_whole

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
    state: State, *, model: Any, span: Any, deviation: Any, extra_scatter: Any, looks: Any, reason: Any
) -> dict[str, Any]:
    """The body of an event "switch": the whole model that holds from now on, and how often one may look."""
    if state.items and model is not None and facts_of(model).uses_features:
        raise ValueError(
            f"`model` must stay independent: items were told, and the {model} model does not compare options "
            "item by item."
        )
    looked, scale = switched_looks(state, looks), state.specification.value_scale
    span = None if span is None else scale.read_span(span)
    deviation = scale.read_size(deviation, "deviation")
    extra_scatter = scale.read_size(extra_scatter, "extra_scatter")
    chosen = state.model
    if not looked or any(given is not None for given in (model, span, deviation, extra_scatter)):
        chosen = switched(state.model, model, span, deviation, extra_scatter, state.whitening is not None)
    if state.specification.noise == HEAVY:
        check_tails(chosen, None)
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
