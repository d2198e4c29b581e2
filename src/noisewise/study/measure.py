"""What a measurement is and how its errors behave: arguments of `create_study` that need more than a word.

Each can be written as a record, as a mapping (JSON) or as a text (a command line): ``Ratings(1, 5)`` is
``{"ratings": [1, 5]}`` is ``"ratings:1,5"``.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from noisewise.core.checks import check_choice, check_names, nearest
from noisewise.study.log.specification import COUNTED, ERROR_BARS, HEAVY, NORMAL, READ, SYMMETRIC, TAILS
from noisewise.study.telling.items import check_pool

ROUNDS = "rounds"
#: What a measurement can be, in a word.
WORDS = (ERROR_BARS, COUNTED, READ, ROUNDS)
#: What it can be, with numbers.
WITH_NUMBERS = ("ratings", "items", ROUNDS)


@dataclass(frozen=True)
class Ratings:
    """Readings within bounds, such as ratings from 1 to 5; nothing else is assumed about their scatter."""

    low: float
    high: float


@dataclass(frozen=True)
class Items:
    """Values of items that every option is measured on: questions, inputs, seeds.

    Attributes:
        pool: Names of all items, or how many there are.
        low: The least value of an item.
        high: The largest value of an item.
    """

    pool: Iterable[Any] | int
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Rounds:
    """Rounds in which every option is measured once; ratios or differences within a round are symmetric.

    Attributes:
        low: The least possible value, for differences; ratios (on a log scale) need none.
        high: The largest possible value.
    """

    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Errors:
    """How the errors of measurements behave.

    Attributes:
        tails: "normal", or "heavy": any tails, as long as error bars are true standard errors.
        extra: Scatter that every error bar lacks: a standard deviation, or "estimate".
        floor: The least standard error, such as the resolution of an instrument; smaller ones are raised to
            it.
        scatter: Scatter of readings: "own" for each option, or "pooled"; default: by what is recorded first.
    """

    tails: str = NORMAL
    extra: float | str | None = None
    floor: float | str | None = None
    scatter: str | None = None


Measure = str | Mapping[str, Any] | Ratings | Items | Rounds


def read_measure(measure: Any, errors: "Errors") -> dict[str, Any]:
    """The parts of a question that say what a measurement is, with the tails of its errors."""
    found = _measure_in(measure)
    tails = None if check_choice("tails", errors.tails, TAILS) == NORMAL else HEAVY
    parts: dict[str, Any] = {"bounds": None, "items": None, "noise": tails, "measure": None}
    if isinstance(found, str):
        parts["measure"] = found
    elif found is not None:
        if (found.low is None) != (found.high is None):
            raise ValueError(f"`measure` must have both bounds or none; got {found!r}.")
        parts["bounds"] = None if found.low is None else (found.low, found.high)
        if isinstance(found, Rounds):
            if tails is not None:
                raise ValueError(
                    '`measure="rounds"` assumes nothing about tails: leave `tails` out of nw.Errors.'
                )
            parts["noise"] = SYMMETRIC
        parts["items"] = check_pool(found.pool) if isinstance(found, Items) else None
    return parts


def read_errors(errors: Any) -> Errors:
    """How errors behave, as a record."""
    if errors is None or isinstance(errors, Errors):
        return errors or Errors()
    given = _pairs(errors) if isinstance(errors, str) else errors
    if not isinstance(given, Mapping):
        raise TypeError(f"`errors` must be nw.Errors(...), or a mapping with its parts; got {errors!r}.")
    check_names("`errors`", dict(given), [one.name for one in fields(Errors)], [])
    return Errors(**given)


def read_model(model: Any) -> tuple[str | None, float | str | None]:
    """The name of a model, and the size of deviations where it is stated: ``"linear+deviation:0.3"``."""
    if not isinstance(model, str) or ":" not in model:
        return model, None
    name, _, size = model.partition(":")
    return name, size


def read_policy(policy: Any) -> tuple[str | None, dict[str, Any]]:
    """The name of a policy and its options: ``"vaee:horizon=50"``, or a pair of a name and a mapping."""
    if isinstance(policy, tuple | list) and len(policy) == 2 and isinstance(policy[1], Mapping):
        return policy[0], dict(policy[1])
    if policy is not None and not isinstance(policy, str):
        raise TypeError(
            f'`policy` must be a name, "name:`option=value`", or (name, options); got {policy!r}.'
        )
    name, *parts = (policy or "").split(":")
    return name.strip() or None, _options("policy", parts)


def _measure_in(measure: Any) -> str | Ratings | Items | Rounds | None:
    if measure is None or isinstance(measure, Ratings | Items | Rounds):
        return measure
    if isinstance(measure, Mapping) and len(measure) == 1:
        ((word, given),) = measure.items()
    elif isinstance(measure, str):
        word, colon, text = measure.partition(":")
        if not colon:
            if word in WORDS:
                return Rounds() if word == ROUNDS else word
            raise _unknown_measure(measure)
        given = _numbers(word, text, measure)
    else:
        raise _unknown_measure(measure)
    if word == "items":
        several = isinstance(given, list | tuple) and len(given) == 2 and isinstance(given[1], list | tuple)
        pool, bounds = given if several else (given, (None, None))
        return Items(pool, *bounds)
    if word not in WITH_NUMBERS or not isinstance(given, list | tuple) or len(given) != 2:
        raise _unknown_measure(measure)
    return (Ratings if word == "ratings" else Rounds)(*given)


def _numbers(word: str, text: str, whole: str) -> Any:
    """Read what follows a colon: ``1,5``, ``100`` items, or ``100:1,5`` for items within bounds."""
    try:
        if word != "items":
            return [float(part) for part in text.split(",")]
        pool, colon, bounds = text.partition(":")
        return (int(pool), [float(part) for part in bounds.split(",")]) if colon else int(pool)
    except ValueError:
        raise _unknown_measure(whole) from None


def _unknown_measure(measure: Any) -> ValueError:
    words = ", ".join(f'"{word}"' for word in WORDS)
    hint = nearest(measure, [*WORDS, "ratings", "items"]) if isinstance(measure, str) else ""
    return ValueError(
        f'`measure` must be {words}, nw.Ratings(low, high) ("ratings:1,5"), nw.Items(pool) ("items:100") or '
        f'nw.Rounds(low, high) ("rounds:0,1"); got {measure!r}.{hint}'
    )


def _pairs(text: str) -> dict[str, Any]:
    return _options("errors", [part.strip() for part in text.split(",") if part.strip()], values=_amount)


def _options(what: str, parts: list[str], values: Any = None) -> dict[str, Any]:
    options = {}
    for part in parts:
        name, equals, value = part.partition("=")
        if not (equals and name.strip()):
            raise ValueError(f"`{what}` must have parts like `name=value`; got {part!r}.")
        options[name.strip().replace("-", "_")] = (values or _json)(value.strip())
    return options


def _json(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        return value


def _amount(value: str) -> float | str:
    try:
        return float(value)
    except ValueError:
        return value


__all__ = ["HEAVY", "Errors", "Items", "Measure", "Ratings", "Rounds", "read_errors", "read_measure"]
