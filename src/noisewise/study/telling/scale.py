"""The scale of a study's values: as they are, or logarithms, where amounts are per cent and ratios.

In a study with ``scale="log"`` everything that is computed is computed on natural logarithms, and everything
that people say or read is in their unit. This module is the way there and back:

- a value x enters as log x, and an estimate m is shown as exp m, a geometric mean;
- a bound b is about the ratio of the recommended value to the best one. Goal "min": it is at most exp b,
  "at most 100 (exp b - 1) % above the best". Goal "max": it is at least exp(-b), "at most
  100 (1 - exp(-b)) % below the best". What is good enough (eps) is read the same way round;
- a standard error is given as a part of its value: 2 % is a standard error of 0.02 of the logarithm.
"""

import math
import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from noisewise.core.checks import check_amount
from noisewise.core.text import estimated, in_unit, number, rounded_up
from noisewise.study.telling.numbers import NUMBER

#: The scales by name: values as they are, and logarithms of values.
LINEAR, LOG = SCALES = ("linear", "log")
#: Units of time: where small is good, more of them is slower.
TIMES = frozenset(
    ("s", "sec", "second", "seconds", "ms", "us", "µs", "μs", "ns", "min", "minute", "minutes", "h", "hour",
     "hours", "d", "day", "days")
)  # fmt: skip
#: Ratios beyond this are said as factors; per cent would be large numbers, or hardly less than 100.
FACTOR = 10.0
#: What taking logarithms may cost is at most this part of the difference that matters.
COST = 0.1
#: Standard errors and scatters are never larger parts of their values than these.
MOST_ERROR, MOST_SCATTER = 0.1, 0.2
_PERCENT = re.compile(rf"\s*({NUMBER})\s*%\s*")
_TIMES = re.compile(rf"\s*({NUMBER})\s*x\s*")
_PLAIN = re.compile(rf"\s*({NUMBER})\s*")


class LogLimits(NamedTuple):
    """How rough a measurement may be whose logarithm is taken after averaging, as parts of its value."""

    error: float  # of a value with a standard error
    scatter: float  # of the readings that a mean is of


def log_limits(resolution: float) -> LogLimits:
    """The limits in a study where this difference of logarithms matters.

    With c = se/value, the logarithm of a value with a normal error is too small by c²/2 in expectation; and
    where several are averaged, the larger ones come with the smaller c and weigh more, which makes up to
    2c². So what is estimated is off by at most 1.5c². The logarithm of a mean of readings exceeds the mean of
    their logarithms by c²/2, with c their standard deviation over their mean.
    """
    allowed = COST * resolution
    return LogLimits(min(MOST_ERROR, math.sqrt(allowed / 1.5)), min(MOST_SCATTER, math.sqrt(2.0 * allowed)))


@dataclass(frozen=True)
class ValueScale:
    """How numbers of a study are read and shown."""

    log: bool = False
    goal: str = "max"
    unit: str | None = None

    def undone(self, values: Any) -> Any:
        """Computed values in the unit of the recorded ones; numbers beyond all floats are infinite."""
        if not self.log:
            return values
        import numpy as np  # a worker that only asks and records does without

        with np.errstate(over="ignore"):
            return np.exp(values)

    def entered(self, value: float) -> float:
        """A value in the user's unit as it is computed with."""
        return math.log(value) if self.log else value

    def value(self, shown: float) -> str:
        """An estimate in words, given in the user's unit."""
        return in_unit(estimated(shown), self.unit)

    def ratio(self, bound: float | None) -> float | None:
        """The recommended value over the best one where a bound is just met; None without a bound."""
        if not self.log or bound is None or not math.isfinite(bound):
            return None
        ratio = math.exp(min(bound, 700.0) * (1.0 if self.goal == "min" else -1.0))
        return ratio

    def to_plain(self, **bounds: float | None) -> dict[str, Any]:
        """What JSON says beside bounds on a log scale: that it is one, and each as a ratio."""
        if not self.log:
            return {}
        return {"scale": LOG, **{f"{name}_ratio": self.ratio(bound) for name, bound in bounds.items()}}

    def drawn(self, bounds: Any) -> Any:
        """Bounds as charts draw them: in the unit of the values, or in per cent."""
        if not self.log:
            return bounds
        import numpy as np

        limited = np.minimum(bounds, 700.0)
        return 100.0 * (np.expm1(limited) if self.goal == "min" else -np.expm1(-limited))

    def differences(self, apart: Any) -> Any:
        """Differences to an option as charts and pages show them: in the unit of the values, or per cent."""
        if not self.log:
            return apart
        import numpy as np

        with np.errstate(over="ignore"):
            return 100.0 * np.expm1(apart)

    @property
    def unit_of_bounds(self) -> str | None:
        """The unit of what `drawn` and `differences` give."""
        return "%" if self.log else self.unit

    def part(self, bound: float) -> float:
        """The same as a part of the best value: 0.02 for 2 %."""
        return math.expm1(min(bound, 700.0)) if self.goal == "min" else -math.expm1(-bound)

    def far(self, bound: float) -> str:
        """A bound in words, never smaller than it is: "0.3 ms", "1.8 %", "a factor 12"."""
        return self.short(bound) if self.log else in_unit(rounded_up(bound), self.unit)

    def short(self, bound: float) -> str:
        """The same without a unit, where it is said often: "0.3", "1.8 %"."""
        if not self.log:
            return rounded_up(bound)
        if not math.isfinite(bound):
            return number(bound)
        if bound > math.log(FACTOR):
            return f"a factor {rounded_up(math.exp(min(bound, 700.0)))}"
        return f"{rounded_up(100.0 * self.part(bound))} %"

    def amount(self, difference: float) -> str:
        """A difference between values in words, rounded."""
        return self.apart(difference) if self.log else in_unit(number(difference), self.unit)

    def apart(self, difference: float) -> str:
        """The same without a unit."""
        if not self.log:
            return number(difference)
        if difference > math.log(FACTOR):
            return f"a factor {number(math.exp(min(difference, 700.0)))}"
        return f"{number(100.0 * self.part(difference))} %"

    def close(self, eps: float) -> str:
        """What is good enough, in words and with all its digits."""
        return self.stated(eps) if self.log else in_unit(f"{eps:g}", self.unit)

    def stated(self, eps: float) -> str:
        """The same without a unit."""
        return f"{100.0 * self.part(eps):.10g} %" if self.log else f"{eps:g}"

    def error(self, sigma: float, digits: int = 3) -> str:
        """A standard error, or another standard deviation, of what is computed with, in words."""
        return f"{number(100.0 * sigma, digits)} %" if self.log else number(sigma, digits)

    def error_stated(self, sigma: float) -> str:
        """The same as it was stated."""
        return f"{100.0 * sigma:.6g} %" if self.log else f"{sigma:g}"

    def told(self, value: float, digits: int = 4) -> str:
        """A value that is computed with, in the user's unit and without naming it."""
        return number(float(self.undone(value)), digits)

    @property
    def side(self) -> str:
        """On which side of the best the recommended option may be, after "at most 2 %"."""
        if self.log and self.goal == "min" and self.unit in TIMES:
            return "slower than"
        return "below" if self.goal == "max" else "above"

    def read_eps(self, given: Any, name: str = "eps") -> float:
        """How far from the best is good enough, as computed with.

        Args:
            given: An amount in the unit of the values; on a log scale a part of the best value (0.02, "2%").
            name: How messages call it.
        """
        if not self.log:
            return check_amount(name, _plain(name, given))
        part = self.read_part(given, name)
        if self.goal == "min":
            return math.log1p(part)
        if part >= 1.0:
            raise ValueError(
                f'`{name}` must be below "100%" where large values are best: no positive value lies further '
                f"below another; got {given!r}."
            )
        return -math.log1p(-part)

    def read_error(self, given: Any, name: str) -> float:
        """A standard error of coming measurements, or another standard deviation, as computed with."""
        return self.read_part(given, name) if self.log else check_amount(name, _plain(name, given))

    def read_size(self, given: Any, name: str) -> Any:
        """The size of deviations or extra scatter: on a log scale a part of a value; words are kept."""
        numbers = not isinstance(given, str) or bool(_PERCENT.fullmatch(given) or _PLAIN.fullmatch(given))
        if given is None or not numbers or given == 0:
            return given
        return self.read_part(given, name) if self.log else _plain(name, given)

    def read_span(self, given: Any) -> float:
        """By how much options differ at most, as computed with: on a log scale a factor (3, "3x", "200%")."""
        if not self.log:
            return check_amount("span", _plain("span", given))
        percent = _PERCENT.fullmatch(given) if isinstance(given, str) else None
        times = _TIMES.fullmatch(given) if isinstance(given, str) else None
        if percent:
            return math.log1p(self.read_part(given, "span"))
        factor = check_amount("span", float(times[1]) if times else _number("span", given))
        if factor <= 1.0:
            raise ValueError(
                '`span` is a factor in a study with `scale="log"`, above 1: 3 or "3x" if no option has more '
                f"than three times the value of another; got {given!r}."
            )
        return math.log(factor)

    def read_part(self, given: Any, name: str) -> float:
        """A part of a value: 0.02, or "2%"."""
        percent = _PERCENT.fullmatch(given) if isinstance(given, str) else None
        if percent:
            return check_amount(name, float(percent[1]) / 100.0)
        part = check_amount(name, _number(name, given))
        if part >= 1.0:
            raise ValueError(
                f'`{name}` is a part of a value on a log scale, such as 0.02 or "2%"; got '
                f'{given!r}. If you mean more than all of it, write per cent: "{100.0 * part:g}%".'
            )
        return part


#: Values as they were told, without a unit.
AS_TOLD = ValueScale()


def _plain(name: str, given: Any) -> Any:
    """What is read in a study without a scale; per cent say nothing there."""
    if isinstance(given, str) and (percent := _PERCENT.fullmatch(given)):
        raise ValueError(
            f"`{name}` must be a number in the unit of your values; got {given!r}. If cells of your table "
            f"have per cent signs, values are hundredths: write {float(percent[1]) / 100.0:g}. Per cent of "
            f'the best value need a study on the scale of logarithms: `scale="{LOG}"`.'
        )
    return given


def _number(name: str, given: Any) -> Any:
    """A number, also as a text, which is how commands hand it over."""
    plain = _PLAIN.fullmatch(given) if isinstance(given, str) else None
    if isinstance(given, str) and not plain:
        raise ValueError(f'`{name}` must be a part such as 0.02, or per cent such as "2%"; got {given!r}.')
    return float(plain[1]) if plain else given
