"""Axes whose range and tick marks are decided here, so that labels can be placed next to lines."""

import math
from typing import Any, NamedTuple

import altair as alt

from noisewise.charts.inline.scale import log_ticks

#: Plain numbers while they are short, like 1e-7 beyond.
_LOG_LABEL = (
    "datum.value > 9e-5 && datum.value < 2e6 ? format(datum.value, ',.6~r') : format(datum.value, '~e')"
)


#: Ticks of a logarithmic axis.
MOST_TICKS = 8


class Span(NamedTuple):
    """The range of an axis and how many pixels it has."""

    low: float
    high: float
    log: bool
    pixels: int

    def place(self, value: float) -> float:
        """Where a value lies, in pixels from the low end."""
        low, high, value = (math.log(v) if self.log else v for v in (self.low, self.high, value))
        return (value - low) / (high - low) * self.pixels

    def value_at(self, place: float) -> float:
        """The value at a place, in pixels from the low end; the inverse of `place`."""
        low, high = (math.log(v) if self.log else v for v in (self.low, self.high))
        value = low + place / self.pixels * (high - low)
        return math.exp(value) if self.log else value

    def scale(self) -> alt.Scale:
        """The scale of a specification."""
        return alt.Scale(type="log" if self.log else "linear", domain=[self.low, self.high], nice=False)

    def axis(self, title: str, *, grid: bool = True, whole: bool = False) -> alt.Axis:
        """The axis of a specification, with a title that says when the scale is logarithmic."""
        if not self.log:
            step = 1 if whole else alt.Undefined
            return alt.Axis(title=title, grid=grid, tickCount=6, tickMinStep=step, format=",~r")
        values = log_ticks(self.low, self.high, MOST_TICKS)
        return alt.Axis(
            title=f"{title} (log scale)", grid=grid, values=values, labelExpr=_LOG_LABEL, labelOverlap=True
        )


def make_span(values: Any, *, log: bool, pixels: int, from_zero: bool = False, air: float = 0.0) -> Span:
    """A range that holds all values, with a share of it left free at both ends."""
    low, high = float(min(values)), float(max(values))
    if from_zero and not log:
        low = min(low, 0.0)
    if low == high:
        return Span(low / 2, high * 2, True, pixels) if log else Span(low - 0.5, high + 0.5, False, pixels)
    span = Span(low, high, log, pixels)
    free = air * pixels
    bottom = low if from_zero and not log and low == 0.0 else span.value_at(-free)
    return Span(bottom, span.value_at(pixels + free), log, pixels)


def round_below(value: float) -> float:
    """The largest of 1, 2, 5 times a power of ten that does not exceed a value above 0.

    Example:
        >>> round_below(0.0031)
        0.002
    """
    exponent = math.floor(math.log10(value))
    tries = (float(f"{m}e{n}") for n in (exponent, exponent - 1) for m in (5, 2, 1))
    return next(number for number in tries if number <= value)


def plain(value: float) -> str:
    """A number as it stands in a sentence, with three significant digits.

    Example:
        >>> [plain(value) for value in (0.12345, 1e-06, 1234567.0)]
        ['0.123', '1e-6', '1,230,000']
    """
    if value != 0.0 and not 1e-4 <= abs(value) < 1e7:
        digits, exponent = f"{value:.2e}".split("e")
        return f"{float(digits):g}e{int(exponent)}"
    return f"{float(f'{value:.3g}'):,.6f}".rstrip("0").rstrip(".")
