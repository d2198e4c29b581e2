"""A plane with two axes in a page: a line of steps, points, a band; as wide as the page, of fixed height."""

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from noisewise.charts.inline.scale import Scale, anchor

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
    """Marks from the bottom to the top; counts stand on the horizontal axis.

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
        """Dots; those that lie outside stand at the edge, as triangles that point there."""
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
