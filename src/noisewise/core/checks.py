"""Checks on what people hand in: each raises one sentence that names the value and what to do."""

import inspect
import math
import operator
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple


def check_number(name: str, value: Any) -> float:
    """Return ``value`` as a finite float."""
    number = as_float(name, value)
    if not math.isfinite(number):
        raise ValueError(f"`{name}` must be a finite number; got {value!r}.")
    return number


def check_positive(name: str, value: Any) -> float:
    """Return ``value`` as a finite float above 0."""
    number = as_float(name, value)
    if not (math.isfinite(number) and number > 0.0):
        raise ValueError(f"`{name}` must be a finite number above 0; got {value!r}.")
    return number


def check_not_negative(name: str, value: Any) -> float:
    """Return ``value`` as a finite float of at least 0."""
    number = check_number(name, value)
    if number < 0.0:
        raise ValueError(f"`{name}` must be at least 0; got {value!r}.")
    return number


def check_sigma(value: Any) -> float:
    """Return a standard deviation whose weight 1/sigma² is a usable number."""
    sigma = check_positive("sigma", value)
    if not 1e-100 < sigma < 1e100:
        raise ValueError(f"`sigma` must lie between 1e-100 and 1e100; got {value!r}.")
    return sigma


def check_probability(name: str, value: Any) -> float:
    """Return ``value`` as a float strictly between 0 and 1."""
    number = as_float(name, value)
    if not 0.0 < number < 1.0:
        raise ValueError(f"`{name}` must lie strictly between 0 and 1; got {value!r}.")
    return number


def check_count(name: str, value: Any, least: int = 1) -> int:
    """Return ``value`` as an integer of at least ``least``."""
    if _is_bool(value) or not hasattr(value, "__index__"):
        raise TypeError(f"`{name}` must be a whole number; got {value!r}.")
    count = operator.index(value)
    if count < least:
        raise ValueError(f"`{name}` must be at least {least}; got {count}.")
    return count


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Return ``value`` if it is one of ``choices``; suggest the nearest otherwise."""
    if value in choices:
        return str(value)
    listed = ", ".join(repr(choice) for choice in choices)
    raise ValueError(f"`{name}` must be one of {listed}; got {value!r}.{nearest(value, choices)}")


def check_names(what: str, given: Collection[Any], known: Sequence[str], required: Sequence[str]) -> None:
    """Refuse names that are not ``known``, and the absence of those that are ``required``."""
    for name in given:
        if name not in known:
            raise ValueError(f"{what} has the unknown field {name!r}.{nearest(name, known)}")
    for name in required:
        if name not in given:
            raise ValueError(f"{what} lacks the field {name!r}.")


def check_options(what: str, name: str, function: Callable[..., Any], options: dict[str, Any]) -> None:
    """Refuse options that ``function`` does not take, naming those it does."""
    # The simulator itself provides the generator of schedules and noise, and how many numbers it wants.
    provided = {"schedule": ("horizon", "rng"), "noise": ("rng", "size")}.get(what, ())
    known = [option for option in inspect.signature(function).parameters if option not in provided]
    for option in options:
        if option not in known:
            listed = ", ".join(known) or "none"
            raise ValueError(f"`{what}` {name!r} has no option {option!r}; it has {listed}.")
    parameters = inspect.signature(function).parameters
    missing = [o for o in known if o not in options and parameters[o].default is inspect.Parameter.empty]
    if missing:
        raise ValueError(f"`{what}` {name!r} needs the option {missing[0]!r}: {name}:{missing[0]}=…")


def nearest(value: Any, choices: Sequence[str]) -> str:
    """A sentence that proposes the nearest name, or nothing."""
    from difflib import get_close_matches

    close = get_close_matches(str(value), choices, n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def as_float(name: str, value: Any) -> float:
    """Return ``value`` as a float, refusing what is not a number."""
    if isinstance(value, str | bytes) or _is_bool(value):
        raise TypeError(f"`{name}` must be a number; got {value!r}.")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"`{name}` must be a number; got {value!r}.") from None


def _is_bool(value: Any) -> bool:
    return type(value).__name__ in ("bool", "bool_")


class Range(NamedTuple):
    """The least and the largest number of a kind: wide enough for any unit, and no square overflows.

    With standard errors from 1e-50 to 1e50 and values up to 1e50 a weight is at most 1e100, a weighted
    square at most 1e200, and a million of them stay below the largest number there is, 1.8e308.
    """

    least: float
    most: float

    def holds(self, number: float) -> bool:
        """Whether a number lies in it; NaN does not."""
        return self.least <= number <= self.most


#: Standard errors, and everything else that is a positive amount in the unit of the values.
AMOUNT = Range(1e-50, 1e50)
VALUE = Range(-1e50, 1e50)
#: Sums of squared deviations of readings; 0 if all are equal.
SQUARES = Range(0.0, 1e120)
COST = Range(0.0, 1e50)
#: Seconds since 1970: the years 1 to 9999.
TIME = Range(-62_135_596_800.0, 253_402_300_799.0)
#: Seconds of a lease: up to a hundred years.
LEASE = Range(1e-3, 100 * 365.25 * 86_400.0)
CONFIDENCE = Range(0.01, 1.0 - 1e-12)
#: Readings or trials of one measurement: exact as a float, also when a million of them are added.
COUNT = Range(1, 10**12)
#: Suggestions of one question.
ASKED = Range(1, 10_000)
SEED = Range(0, 2**63 - 1)


def check_within(name: str, value: Any, accepted: Range) -> float:
    """Return ``value`` as a float of a range."""
    number = as_float(name, value)
    if not accepted.holds(number):
        raise ValueError(f"`{name}` must lie between {_said(accepted)}; got {value!r}.")
    return number


def check_amount(name: str, value: Any) -> float:
    """Return a positive amount in the unit of the values."""
    return check_within(name, check_positive(name, value), AMOUNT)


def check_count_within(name: str, value: Any, accepted: Range, least: int | None = None) -> int:
    """Return ``value`` as a whole number of a range, of at least ``least``."""
    count = check_count(name, value, least=int(accepted.least) if least is None else least)
    if count > accepted.most:
        raise ValueError(f"`{name}` must be at most {accepted.most:,}; got {_short(count)}.")
    return count


def _said(accepted: Range) -> str:
    return f"{accepted.least:.15g} and {accepted.most:.15g}"


def _short(count: int) -> str:
    return f"{count:,}" if count < 10**30 else f"a number of {count.bit_length() * 0.30103:.0f} digits"
