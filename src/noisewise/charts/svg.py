"""Charts inside a page: plain SVG that grows and shrinks with it; no script, no library."""

import itertools
import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

#: Ticks are 1, 2 or 5 times a power of ten apart.
STEPS = (1, 2, 5)
#: Labels nearer to an end than this, in per cent, are not centred: they would leave the page.
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


#: The width of a letter, in per cent of a cell that is 230 points wide.
LETTER = 3.0
#: Shapes around (0, 0): what may be read off without colour.
SHAPES = {
    "recommended": "M0-7L7 0L0 7L-7 0Z",
    "enough": "M-5-5L5-5L5 5L-5 5Z",
    "may": "M-5 0A5 5 0 1 0 5 0A5 5 0 1 0-5 0Z",
    "out": "M-4-4L4 4M-4 4L4-4",
    "uncertain": "M-4.5 0A4.5 4.5 0 1 0 4.5 0A4.5 4.5 0 1 0-4.5 0Z",
}


def interval_row(
    scale: Scale, ticks: Sequence[Tick], kind: str, ends: tuple[float, float, float], edge: float | None
) -> str:
    """An interval with its point.

    Args:
        scale: Of all rows.
        ticks: Positions of grid lines.
        kind: One of `SHAPES`.
        ends: Low end, point and high end.
        edge: A value that all rows are compared with, drawn as a broken line.
    """
    low, middle, high = (scale.place(value) for value in ends)
    parts = [grid(ticks), "" if edge is None else _upright("edge", scale.place(edge))]
    if high > low:
        parts.append(f'<line class="bar {kind}" x1="{low}%" x2="{high}%" y1="50%" y2="50%"/>')
    parts.append(_shape(middle, kind, SHAPES[kind]))
    return picture(*parts)


def bar_row(scale: Scale, ticks: Sequence[Tick], kind: str, value: float) -> str:
    """A bar from 0 to a value."""
    width = scale.place(value)
    return picture(grid(ticks), f'<rect class="fill {kind}" x="0" y="25%" width="{width}%" height="50%"/>')


def band_row(scale: Scale, ticks: Sequence[Tick], ends: tuple[float, float, float]) -> str:
    """A wide band with a diamond at its middle."""
    low, middle, high = (scale.place(value) for value in ends)
    width = round(max(high - low, 0.4), 2)
    return picture(
        grid(ticks),
        f'<rect class="band" x="{low}%" y="25%" width="{width}%" height="50%" rx="3"/>',
        _shape(middle, "may", SHAPES["recommended"]),
    )


def axis_row(ticks: Sequence[Tick]) -> str:
    """The numbers below the rows; every second one where they would touch."""
    while any(_end(one) > _begin(other) for one, other in itertools.pairwise(ticks)):
        ticks = ticks[::2]
    labels = "".join(
        f'<text x="{tick.place}%" y="1.1em" text-anchor="{anchor(tick.place)}">{tick.text}</text>'
        for tick in ticks
    )
    return f'<svg class="axis" aria-hidden="true" focusable="false">{labels}</svg>'


def _begin(tick: Tick) -> float:
    """Where a label begins, in per cent of its cell."""
    return tick.place - {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor(tick.place)] * LETTER * len(
        tick.text
    )


def _end(tick: Tick) -> float:
    """Where a label ends, with a letter of space behind it."""
    return _begin(tick) + LETTER * (len(tick.text) + 1)


def grid(ticks: Sequence[Tick]) -> str:
    """A line from top to bottom at every tick."""
    return "".join(_upright("grid", tick.place) for tick in ticks)


def _shape(place: float, kind: str, path: str) -> str:
    return f'<svg x="{place}%" y="50%" overflow="visible"><path class="{kind}" d="{path}"/></svg>'


def _upright(kind: str, place: float) -> str:
    return f'<line class="{kind}" x1="{place}%" x2="{place}%" y1="0" y2="100%"/>'


def picture(*parts: str) -> str:
    """A drawing whose content the words beside it say."""
    return f'<svg aria-hidden="true" focusable="false">{"".join(parts)}</svg>'


#: In pixels.
HEIGHT = 240
#: The path of a line is drawn in this many parts of the width.
PARTS = 1000


class Point(NamedTuple):
    """A point, and what is said when one points at it."""

    x: float
    y: float
    kind: str
    says: str = ""


class Plane:
    """Marks from the bottom to the top; counts are on the horizontal axis.

    Args:
        across: The horizontal axis.
        up: The vertical axis.
        words: What the chart shows, for people who do not see it.
        titles: Of the horizontal and of the vertical axis.
    """

    def __init__(self, across: Scale, up: Scale, words: str, titles: tuple[str, str]) -> None:
        self._across, self._up, self._words, self._titles = across, up, words, titles
        self._marks: list[str] = []

    def _height(self, value: float) -> float:
        return round(HEIGHT * (1.0 - self._up.place(value) / 100.0), 1)

    def band(self, low: float, high: float) -> None:
        """What lies between two values, all the way across."""
        top, bottom = self._height(high), self._height(low)
        self._marks.append(
            f'<rect class="band" x="0" width="100%" y="{top}" height="{round(bottom - top, 1)}"/>'
        )

    def level(self, value: float, text: str) -> None:
        """A broken line at one value, with words on it."""
        at = self._height(value)
        self._marks.append(f'<line class="edge" x1="0" x2="100%" y1="{at}" y2="{at}"/>')
        beside = at - 6 if at > 24 else at + 16
        self._marks.append(f'<text class="note" x="4" y="{round(beside, 1)}">{escape(text)}</text>')

    def steps(self, points: Sequence[tuple[float, float]]) -> None:
        """A line that keeps each value until the next comes."""
        at = [(self._across.place(x) * PARTS / 100.0, self._height(y)) for x, y in points]
        path = f"M{at[0][0]:g} {at[0][1]:g}" + "".join(f"H{x:g}V{y:g}" for x, y in at[1:])
        self._marks.append(
            f'<svg viewBox="0 0 {PARTS} {HEIGHT}" width="100%" height="{HEIGHT}" '
            f'preserveAspectRatio="none"><path class="line" d="{path}"/></svg>'
        )

    def points(self, points: Iterable[Point]) -> None:
        """Dots; those that lie outside are drawn at the edge, as triangles that point there."""
        for point in points:
            says = f"<title>{escape(point.says)}</title>" if point.says else ""
            x, y = self._across.place(point.x), self._height(point.y)
            outside = point.y < self._up.low or point.y > self._up.high
            if outside:
                tip = "M0-5L5 4L-5 4Z" if y < HEIGHT / 2 else "M0 5L5-4L-5-4Z"
                inside = 6 if y < HEIGHT / 2 else HEIGHT - 6
                self._marks.append(
                    f'<svg x="{x}%" y="{inside}" overflow="visible">'
                    f'<path class="dot {point.kind}" d="{tip}">{says}</path></svg>'
                )
            else:
                self._marks.append(
                    f'<circle class="dot {point.kind}" cx="{x}%" cy="{y}" r="3">{says}</circle>'
                )

    def drawn(self) -> str:
        """The chart: numbers on the left, the plane, numbers below."""
        rows, columns = self._up.ticks(6), self._across.ticks(6, whole=True)
        lines = [
            f'<line class="grid" x1="0" x2="100%" y1="{at}" y2="{at}"/>'
            for at in (round(HEIGHT * (1.0 - tick.place / 100.0), 1) for tick in rows)
        ]
        left = "".join(
            f'<text x="100%" y="{round(HEIGHT * (1.0 - tick.place / 100.0), 1)}" dy=".35em" '
            f'text-anchor="end">{tick.text}</text>'
            for tick in rows
        )
        below = "".join(
            f'<text x="{tick.place}%" y="1.2em" text-anchor="{anchor(tick.place)}">{tick.text}</text>'
            for tick in columns
        )
        longest = max((len(tick.text) for tick in rows), default=1)
        words, (across, up) = escape(self._words), map(escape, self._titles)
        return (
            f'<div class="plane" role="img" aria-label="{words}"><p class="title">{up}</p>'
            f'<svg class="left w{min(9, math.ceil(longest))}" height="{HEIGHT}">{left}</svg>'
            f'<svg class="field" height="{HEIGHT}">{"".join(lines)}{"".join(self._marks)}</svg>'
            f'<svg class="below">{below}</svg><p class="title across">{across}</p></div>'
        )
