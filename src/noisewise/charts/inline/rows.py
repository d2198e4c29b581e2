"""Pictures for the rows of a table: an interval, a bar, a band; all rows of a table share one scale.

Every mark stands at a per cent of its cell, so a row is drawn anew at every width. What a mark is, its class
says; colours are those of the page, light or dark.
"""

import itertools
from collections.abc import Sequence

from noisewise.charts.inline.scale import Scale, Tick, anchor

#: The width of a letter, in per cent of a cell that is 230 points wide.
LETTER = 3.0
#: Shapes around (0, 0): what may be read off without colour.
SHAPES = {
    "recommended": "M0-7L7 0L0 7L-7 0Z",
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
        ticks: Where grid lines stand.
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
    """A drawing whose content stands beside it in words."""
    return f'<svg aria-hidden="true" focusable="false">{"".join(parts)}</svg>'
