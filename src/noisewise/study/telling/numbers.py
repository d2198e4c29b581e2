"""Numbers as people write them: 12.34(5), 12.34 ± 0.05, or an object that carries its own error.

A text is a number if it has digits, at most one point, a sign and an exponent, and nothing else. Python would
also take 1_000 and 0x10, and other readers take commas; all of these are refused.
"""

import math
import re
from typing import Any, NamedTuple

from noisewise.core.checks import AMOUNT, VALUE, as_float
from noisewise.core.text import printable

NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?"
_NUMBER = re.compile(NUMBER)
#: Characters of a number; a longer text is none.
LONGEST = 500
SHORTHAND = re.compile(r"^\s*([+-]?[0-9]+(?:\.([0-9]*))?)\(([0-9]{1,15})\)(?:[eE]([+-]?[0-9]{1,4}))?\s*$")
PLUS_MINUS = re.compile(r"^\s*(\S+)\s*(?:±|\+/-|\+-)\s*(\S+)\s*$")
#: What a column of numbers may also hold: a measurement that is none, which is refused by its own sentence.
_NO_NUMBER = ("nan", "inf", "-inf", "+inf")


class Written(NamedTuple):
    """A value, and its standard error if it was written with it."""

    value: float
    se: float | None


def read_value(given: Any) -> Written:
    """A number, a string such as "12.34(5)", or an object with ``nominal_value`` and ``std_dev``."""
    if hasattr(given, "nominal_value") and hasattr(given, "std_dev"):
        return Written(as_float("value", given.nominal_value), as_float("value", given.std_dev))
    if isinstance(given, str):
        return _read_text(given)
    return Written(as_float("value", given), None)


def carries_error(given: Any) -> bool:
    """Whether a value brings its own standard error."""
    if isinstance(given, str):
        given = given.strip()
        if len(given) > 2 * LONGEST:
            return False
        return SHORTHAND.match(given) is not None or PLUS_MINUS.match(given) is not None
    return hasattr(given, "std_dev")


def _read_text(text: str) -> Written:
    short = text.strip()[: 2 * LONGEST + 1]  # anything longer is not a number
    if len(short) <= 2 * LONGEST and (match := SHORTHAND.match(short)):
        number, decimals, digits, exponent = match.groups()
        power = float(f"1e{exponent or 0}")
        last_digit = 10.0 ** -len(decimals or "")
        return Written(float(number) * power, int(digits) * last_digit * power)
    match = PLUS_MINUS.match(short) if len(short) <= 2 * LONGEST else None
    if match and _is_number(match[1]) and _is_number(match[2]):
        return Written(float(match[1]), float(match[2]))
    if _is_number(text.strip()) or text.strip().casefold() in _NO_NUMBER:
        return Written(float(text), None)
    from noisewise.study.tables.cells import comma_hint, why_no_value  # which loads polars

    raise ValueError(
        f'`value` must be a number, or a number with its standard error such as "12.34(5)" or '
        f'"12.34 ± 0.05"; got {printable(text[:60])!r}.{comma_hint(text) or why_no_value(short)}'
    )


def read_number(name: str, text: str, where: str = "") -> float:
    """The number that a text is, to the last digit."""
    plain = text.strip()
    if _is_number(plain) or plain.casefold() in _NO_NUMBER:
        return float(plain)
    from noisewise.study.tables.cells import hint_for  # as above

    raise ValueError(f"{where}`{name}` must be a number; got {printable(text[:60])!r}.{hint_for(text)}")


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def check_value(value: float, *, positive: bool = False) -> float:
    """Refuse what is not a finite number, or has no logarithm where that is taken."""
    if not math.isfinite(value):
        raise ValueError(
            f"`value` must be a finite number; got {value}. "
            "If the measurement failed, release its job instead."
        )
    if not VALUE.holds(value):
        raise ValueError(
            f"`value={value:g}` must lie between {VALUE.least:g} and {VALUE.most:g}: change the unit."
        )
    if positive and value < AMOUNT.least:
        raise ValueError(
            f'`value={value:g}` has no logarithm: in a study with `scale="log"` values are above 0. '
            "If the measurement failed, release its job instead; for values of any sign, "
            "make a study without `scale=`."
        )
    return value
