"""Where values lie along an axis that is as wide as its page, in per cent; ticks and their labels."""

import math
from collections.abc import Iterable
from typing import NamedTuple

#: Ticks are 1, 2 or 5 times a power of ten apart.
STEPS = (1, 2, 5)
#: Labels nearer to an end than this, in per cent, are not centred: they would stand out of the page.
EDGE = 7.0


class Tick(NamedTuple):
    """A mark on an axis."""

    place: float  # in per cent from the low end
    text: str


class Scale(NamedTuple):
    """The range of an axis."""

    low: float
    high: float
    log: bool = False

    def place(self, value: float) -> float:
        """Where a value lies, in per cent from the low end; what lies outside is kept at the edge."""
        low, high, at = (math.log(v) if self.log else v for v in (self.low, self.high, value))
        return round(100.0 * min(1.0, max(0.0, (at - low) / (high - low))), 2)

    def ticks(self, most: int = 5, *, whole: bool = False) -> list[Tick]:
        """Round values inside the range, at most so many, and how they are written; of counts whole ones."""
        values = log_ticks(self.low, self.high, most) if self.log else round_ticks(self.low, self.high, most)
        if whole:
            values = [value for value in values if value == round(value)]
        texts = [tick_label(value) for value in values] if self.log else alike(values)
        return [Tick(self.place(value), text) for value, text in zip(values, texts, strict=True)]


def scale_of(values: Iterable[float], *, log: bool = False, air: float = 0.03, zero: bool = False) -> Scale:
    """A range that holds all values, with a share of it left free at both ends.

    Args:
        values: At least one; above 0 on a log scale.
        log: Whether the scale is logarithmic.
        air: The share that is left free; not below 0 where the range begins there.
        zero: Whether 0 belongs to it.
    """
    known = [float(value) for value in values]
    low, high = min(known), max(known)
    if log:
        spread = math.log(high / low) if high > low else math.log(10.0)
        middle = math.sqrt(low) * math.sqrt(high)
        reach = math.exp(spread * (0.5 + air))
        return Scale(middle / reach, middle * reach, True)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        half = 0.5 * abs(high) or 0.5
        return Scale(low - half, high + half)
    free = air * (high - low)
    return Scale(low if zero and low == 0.0 else low - free, high + free)


def round_ticks(low: float, high: float, most: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten inside a range.

    Example:
        >>> round_ticks(-0.13, 0.42, 5)
        [0.0, 0.2, 0.4]
    """
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next((m * power for m in (*STEPS, 10, 20) if (high - low) / (m * power) <= most), 10.0 * power)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """Powers of ten inside a range, with 2 and 5 between where there is room; never an end that is not round.

    Example:
        >>> log_ticks(0.03, 4.0, 6)
        [0.05, 0.1, 0.2, 0.5, 1.0, 2.0]
        >>> log_ticks(0.11, 0.19, 5)
        [0.12, 0.14, 0.16, 0.18]
    """
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in (STEPS, (1, 3), (1,)):
        ticks = [float(f"{m}e{n}") for n in exponents for m in steps]
        ticks = [tick for tick in ticks if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]
        if len(ticks) <= most:
            break
    if len(ticks) > most:
        every = math.ceil(len(ticks) / most)
        ticks = [tick for tick in ticks if round(math.log10(tick)) % every == 0]
    return ticks if len(ticks) > 2 else round_ticks(low, high, most)


def tick_label(value: float) -> str:
    """A round number: plain while that is short, like 1e-7 beyond.

    Example:
        >>> [tick_label(value) for value in (0.002, 20000.0, 1e-07, 0.0)]
        ['0.002', '20,000', '1e-7', '0']
    """
    if value != 0.0 and not 1e-4 <= abs(value) < 1e7:
        digits, exponent = f"{value:.3e}".split("e")
        return f"{float(digits):g}e{int(exponent)}".replace("-", "−", 1 if value < 0.0 else 0)
    return f"{value:,.10f}".rstrip("0").rstrip(".").replace("-", "−")


def alike(values: list[float]) -> list[str]:
    """Round numbers with the same number of decimals.

    Example:
        >>> alike([-0.5, 0.0, 0.5])
        ['−0.5', '0.0', '0.5']
    """
    plain = [tick_label(value) for value in values]
    if any("e" in text for text in plain):
        return plain
    decimals = max((len(text.partition(".")[2]) for text in plain), default=0)
    return [f"{value + 0.0:,.{decimals}f}".replace("-", "−") for value in values]


def anchor(place: float) -> str:
    """How a label at this place is aligned, so that it stays on the page."""
    return "start" if place < EDGE else "end" if place > 100.0 - EDGE else "middle"
