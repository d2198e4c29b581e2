"""Numbers as people write them: 12.34(5), 12.34 ± 0.05, or an object that carries its own error."""

import math
import re
from typing import Any, NamedTuple

from noisewise.core.checks import as_float

SHORTHAND = re.compile(r"^\s*([+-]?\d+(?:\.(\d*))?)\((\d+)\)(?:[eE]([+-]?\d+))?\s*$")
PLUS_MINUS = re.compile(r"^\s*(\S+)\s*(?:±|\+/-|\+-)\s*(\S+)\s*$")


class Written(NamedTuple):
    """A value, and its standard error if it was written with it."""

    value: float
    se: float | None


def read_value(given: Any) -> Written:
    """A number, a string such as "12.34(5)", or an object with ``nominal_value`` and ``std_dev``."""
    if hasattr(given, "nominal_value") and hasattr(given, "std_dev"):
        return Written(float(given.nominal_value), float(given.std_dev))
    if isinstance(given, str):
        return _read_text(given)
    return Written(as_float("value", given), None)


def _read_text(text: str) -> Written:
    if match := SHORTHAND.match(text):
        number, decimals, digits, exponent = match.groups()
        power = 10.0 ** int(exponent or 0)
        last_digit = 10.0 ** -len(decimals or "")
        return Written(float(number) * power, int(digits) * last_digit * power)
    try:
        if match := PLUS_MINUS.match(text):
            return Written(float(match[1]), float(match[2]))
        return Written(float(text), None)
    except ValueError:
        raise ValueError(
            f'`value` must be a number, or a number with its standard error such as "12.34(5)" or '
            f'"12.34 ± 0.05"; got {text!r}.'
        ) from None


def check_value(value: float, lease: str) -> float:
    """Refuse what is not a finite number."""
    if math.isnan(value):
        raise ValueError(f"value is NaN. Use fail for a failed measurement{lease}.")
    if math.isinf(value):
        raise ValueError(f"value is {value}. A measurement must be finite; use fail for a failed one{lease}.")
    return value
