"""Which numbers are accepted: wide enough for any unit, narrow enough that no square of one overflows.

With standard errors from 1e-50 to 1e50 and values up to 1e50 a weight is at most 1e100, a weighted square at
most 1e200, and a million of them stay below the largest number there is, 1.8e308.
"""

from typing import Any, NamedTuple

from noisewise.core.support.checks import as_float, check_count, check_positive


class Range(NamedTuple):
    """The least and the largest number of a kind."""

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
