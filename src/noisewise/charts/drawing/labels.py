"""Labels beside the ends of lines, moved apart where they would overlap, each with a sample of its line."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import altair as alt
import numpy as np

from noisewise.charts.drawing.axes import Span
from noisewise.charts.drawing.canvas import Drawing
from noisewise.charts.drawing.theme import FADED, INK, tell_apart

#: Pixels between two labels.
GAP = 17.0
_KEY = 34
#: A point on a line: the white edge keeps it apart from what it covers.
MARKER: dict[str, Any] = {"filled": True, "size": 60, "opacity": 1, "stroke": "white", "strokeWidth": 0.7}


class End(NamedTuple):
    """Where a line ends, and what stands beside it."""

    label: str
    x: float
    y: float


def label_ends(drawing: Drawing, series: Sequence[End], curves: Sequence[End], x: Span, y: Span) -> None:
    """Draw leaders, samples of the lines, and names, right of the plotting area.

    Args:
        drawing: Where to draw.
        series: The ends of the lines that are told apart by their looks, in the order of the looks.
        curves: The ends of thin grey lines.
        x: The horizontal axis.
        y: The vertical axis.
    """
    ends = [*series, *curves]
    places = spread([y.place(end.y) for end in ends], GAP, 0.0, float(y.pixels))
    rows = [end._asdict() | {"to": y.value_at(place)} for end, place in zip(ends, places, strict=True)]
    height = alt.Y("to:Q", scale=y.scale())
    start = x.pixels + 12
    key = {"x": alt.value(start), "x2": alt.value(start + _KEY), "y": height}
    colour, shape, dash = tell_apart("label", [end.label for end in series])
    everything = drawing.table("ends", rows)
    styled = drawing.table("series", rows[: len(series)])
    leaders = everything.mark_rule(color=FADED, strokeWidth=0.7).encode(
        x=alt.X("x:Q", scale=x.scale()), x2=alt.value(start), y=alt.Y("y:Q", scale=y.scale()), y2="to:Q"
    )
    samples = styled.mark_rule(strokeWidth=2.2).encode(color=colour, strokeDash=dash, **key)
    points = styled.mark_point(**MARKER).encode(
        x=alt.value(start + _KEY / 2), y=height, color=colour, shape=shape
    )
    names = everything.mark_text(align="left", baseline="middle", fontSize=12, color=INK, limit=260).encode(
        x=alt.value(start + _KEY + 6), y=height, text="label:N"
    )
    drawing.layers += [leaders, samples, points, names]
    if curves:
        grey = drawing.table("grey", rows[len(series) :])
        drawing.layers.append(grey.mark_rule(color=FADED, strokeWidth=1.2).encode(**key))


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places as near as possible to those wanted, in their order, at least ``gap`` apart.

    They stay between ``low`` and ``high`` if there is room for all.

    Example:
        >>> spread([10.0, 11.0, 50.0], 4.0, 0.0, 100.0)
        [8.5, 12.5, 50.0]
    """
    order = np.argsort(np.asarray(wanted), kind="stable")
    # Least squares under "at least gap apart" is isotonic regression after taking the gaps out.
    blocks: list[tuple[float, int]] = []
    for rank, index in enumerate(order):
        mean, size = float(wanted[index]) - gap * rank, 1
        while blocks and blocks[-1][0] >= mean:
            before, count = blocks.pop()
            mean, size = (before * count + mean * size) / (count + size), count + size
        blocks.append((mean, size))
    flat = np.repeat([mean for mean, _ in blocks], [size for _, size in blocks])
    flat = np.maximum(np.minimum(flat, high - gap * (len(wanted) - 1)), low)
    places = np.empty(len(wanted))
    places[order] = flat + gap * np.arange(len(wanted))
    return [float(place) for place in places]
