"""From told items to what a measurement holds of them: their mean, their places, their values."""

import math
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.core.text import composed, printable
from noisewise.study.inputs.error_bars import ITEMS
from noisewise.study.inputs.items import Places, item_name, read_values, write_places, write_values
from noisewise.study.log.item_order import why_not_next
from noisewise.study.log.items import ROUNDING, ItemAnswers
from noisewise.study.log.looks import is_once
from noisewise.study.log.state import State

#: What items bring themselves, or make meaningless.
_INSTEAD = (
    "value", "se", "var", "sd", "n", "ci", "level", "values", "successes", "trials", "plus", "minus", "block",
    "instrument",
)  # fmt: skip


def items_content(state: State, given: Mapping[str, Any], where: str) -> dict[str, Any]:
    """What a measurement holds of the items that were told, whether or not they come next.

    Args:
        state: The study before.
        given: What was told; ``items`` maps names to values.
        where: How messages begin.
    """
    check_items_belong(state, where)
    for name in _INSTEAD:
        if given.get(name) is not None:
            raise ValueError(
                f"{where}items= bring their own value and error, of one option and in no block; leave "
                f"{name}= out."
            )
    told = given["items"]
    if not isinstance(told, Mapping) or not told:
        raise TypeError(
            f'{where}`items` must map names of items to values, such as {{"q17": 1, "q18": 0}}; got '
            f"{printable(repr(told)[:60])}."
        )
    names = [composed(name) if type(name) is str else item_name(name) for name in told]
    return content_of(state, names, list(told.values()), where)


def check_items_belong(state: State, where: str) -> None:
    """Refuse items where options are not compared one by one."""
    if state.model.uses_features:
        raise ValueError(
            f"{where}items are compared option by option, which the {state.model.model} model does not do: "
            'use model="independent", or tell successes= and trials= of items that were drawn anew for every '
            "option."
        )
    if is_once(state):
        raise ValueError(
            f"{where}items do not go with final=True: a bound for one look does not hold for them. "
            f"Make a new "
            "study."
        )
    if state.specification.value_scale.log and state.items.low <= 0.0:
        raise ValueError(
            f'{where}items in a study with scale="log" need bounds in `measure`, the least and the '
            f"largest value that "
            "an item can have, both above 0: make the study with them."
        )
    if len(state.told) and not state.begins_with_items:
        raise ValueError(
            f"{where}this study began with other measurements, and its error probability is divided for "
            "them: items are told first, or to a study made with items=. Make a new one, and tell it both."
        )


def content_of(state: State, names: Sequence[str], values: Sequence[Any], where: str) -> dict[str, Any]:
    """What a measurement of these items holds, in the order that all options share; new ones come last."""
    items = state.items
    numbers = _numbers(state, names, values, where)
    known = items.place
    places = np.array([known.get(name, -1) for name in names], dtype=np.int64)
    new = np.flatnonzero(places < 0)
    if new.size and items.pool is not None:
        raise unknown_item(state, names[int(new[0])], where)
    if len(set(names)) < len(names):
        raise ValueError(f"{where}an item stands twice among the items told; each counts once.")
    fresh = [item_name(names[at]) for at in new.tolist()]
    places[new] = len(items.names) + np.arange(new.size)
    order = np.argsort(places)
    content = items_summary(items, numbers[order], places[order])
    return content | ({"names": fresh} if fresh else {})


def items_summary(items: ItemAnswers, numbers: Floats, places: Places) -> dict[str, Any]:
    """What a measurement holds of values at rising places."""
    count, (mean, scatter, width) = numbers.size, items.mean(numbers)
    return {
        "value": mean,
        "kind": ITEMS,
        # A mean of n numbers in [0, 1] is 1/(2√n)-sub-Gaussian whatever its expectation (Hoeffding).
        "sigma": 0.5 * width / math.sqrt(count),
        "shown": math.sqrt(scatter / count / count),
        "readings": count,
        "places": write_places(places),
        "items": write_values(numbers),
    }


def amended_items(state: State, number: int, told: Any) -> dict[str, Any]:
    """The content of a measurement with some of its items corrected."""
    old = state.told[number - 1]
    before = state.items.read(old)
    given = items_content(state, {"items": told}, "")
    after = state.items.read(given)
    numbers = read_values(old["items"], old["readings"])
    strangers = after.places[~np.isin(after.places, before.places)]
    if strangers.size:
        place = int(strangers[0])
        name = state.items.names[place] if place < len(state.items.names) else given["names"][0]
        raise ValueError(
            f"m-{number} has no item {name!r}: correct the items that it has, or tell others with tell()."
        )
    numbers[np.searchsorted(before.places, after.places)] = read_values(given["items"], given["readings"])
    return old | items_summary(state.items, numbers, before.places)


def check_next(state: State, body: dict[str, Any], where: str = "") -> None:
    """Refuse items that were told before or do not come next."""
    if body["kind"] != ITEMS:
        return
    places = state.items.read(body).places
    if (why := why_not_next(state, body["option"], places, body.get("job"))) is not None:
        raise ValueError(f"{where}{why}. `study.next_items({body['option']!r})` says which come next.")


def _numbers(state: State, names: Sequence[str], values: Sequence[Any], where: str) -> Floats:
    low, high = state.items.low, state.items.high
    slack = ROUNDING * max(abs(low), abs(high))
    try:
        if any(isinstance(value, str) for value in values):
            raise TypeError
        numbers = np.array(values, dtype=np.float64)
        good = (numbers >= low - slack) & (numbers <= high + slack)
    except (TypeError, ValueError, OverflowError):
        good = np.array([_is_number(value) and low - slack <= value <= high + slack for value in values])
        numbers = np.zeros(len(values))
    if good.all() and numbers.shape == (len(values),):
        return np.clip(numbers, low, high)
    at = int(np.argmin(good))
    if values[at] is None or values[at] != values[at]:
        said = "`items` must have a value for every item: one that could not be measured counts as failed"
    else:
        said = f"`items` must have values from {low:g} to {high:g} (`measure`, which a study is made with)"
    raise ValueError(f"{where}{said}; got {printable(repr(values[at])[:60])} for {names[at]!r}.")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number | np.bool_)


def unknown_item(state: State, name: str, where: str) -> KeyError:
    """The refusal of an item that the pool does not have."""
    close = get_close_matches(name, state.items.names[:10_000], n=2)
    hint = f" Nearest: {', '.join(map(printable, close))}." if close else ""
    return KeyError(
        f"{where}{printable(name[:60])!r} is not among the {len(state.items.names):,} items of this study."
        f"{hint}"
    )
