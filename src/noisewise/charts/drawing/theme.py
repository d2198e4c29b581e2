"""One look for all charts: readable in grey, by colour-blind readers, on paper and on a screen."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import altair as alt

#: The plotting area, in pixels.
WIDTH = 640
HEIGHT = 380

INK = "#1f1f1f"
SOFT_INK = "#595959"
GRID = "#e6e6e6"
FADED = "#8f8f8f"
ACCENT = "#B23A00"
BLUE = "#0A559C"

#: Eight colours of eight luminances, ordered so that the first few differ most; after Okabe and Ito, with
#: the yellow left out (invisible on white) and the lightness spread for grey printing.
COLOURS = ("#0A559C", "#E8A010", "#141414", "#C76AA3", "#5A1A66", "#469FD6", "#B23A00", "#00845D")
#: What each colour becomes in a dark page.
IN_THE_DARK = {
    "white": "#13161b",
    INK: "#e8eaed",
    SOFT_INK: "#a9b1bc",
    GRID: "#2b323b",
    FADED: "#949eaa",
    ACCENT: "#ff9a5c",
    BLUE: "#6cb2f7",
    "#141414": "#d8dade",
    "#5A1A66": "#c79ad6",
    "#00845D": "#3fc79a",
}
_STAR = "M0,-1.15L.29,-.4L1.09,-.36L.48,.15L.68,.93L0,.5L-.68,.93L-.48,.15L-1.09,-.36L-.29,-.4Z"
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right", _STAR)
DASHES = ((1, 0), (8, 3), (2, 2), (8, 3, 2, 3), (12, 3), (5, 5), (4, 2), (12, 3, 2, 3, 2, 3))

# Arial is what browsers have, Liberation Sans what the offline renderer brings along: the same widths.
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"


class Look(NamedTuple):
    """How one series is told from the others."""

    colour: str
    shape: str
    dash: tuple[int, ...]


def look(number: int) -> Look:
    """The look of series ``number``: the first eight differ in everything, the first 512 in something.

    Example:
        >>> look(0)
        Look(colour='#0A559C', shape='circle', dash=(1, 0))
    """
    turn, place = divmod(number, len(COLOURS))
    shape, dash = place + turn, place + turn + turn // len(SHAPES)
    return Look(COLOURS[place], SHAPES[shape % len(SHAPES)], DASHES[dash % len(DASHES)])


def tell_apart(
    field: str, names: Sequence[str], legend: alt.Legend | None = None
) -> tuple[alt.Color, alt.Shape, alt.StrokeDash]:
    """The encodings that give every series its look; without a legend where series are labelled."""
    colours, shapes, dashes = zip(*(look(number) for number in range(len(names))), strict=True)

    def scale(values: Sequence[Any]) -> alt.Scale:
        return alt.Scale(domain=list(names), range=list(values))

    return (
        alt.Color(f"{field}:N", scale=scale(colours), legend=legend),
        alt.Shape(f"{field}:N", scale=scale(shapes), legend=legend),
        alt.StrokeDash(f"{field}:N", scale=scale([list(dash) for dash in dashes]), legend=None),
    )


def config() -> alt.Config:
    """The look of axes, titles and legends."""
    axis: dict[str, Any] = {
        "labelColor": INK,
        "labelFontSize": 12,
        "titleColor": INK,
        "titleFontSize": 13,
        "titleFontWeight": "normal",
        "titlePadding": 10,
        "gridColor": GRID,
        "domainColor": FADED,
        "tickColor": FADED,
    }
    parts: dict[str, Any] = {
        "background": "white",
        "font": FONT,
        "padding": 16,
        "view": alt.ViewConfig(stroke=None),
        "axis": alt.AxisConfig(**axis),
        "title": alt.TitleConfig(
            anchor="start",
            frame="bounds",  # above names, too: no empty corner
            color=INK,
            fontSize=17,
            fontWeight="bold",
            subtitleColor=SOFT_INK,
            subtitleFontSize=13,
            subtitlePadding=6,
            subtitleLineHeight=17,
            offset=16,
        ),
        "legend": alt.LegendConfig(
            labelColor=INK, labelFontSize=12, titleColor=INK, titleFontSize=12, titleFontWeight="normal"
        ),
    }
    return alt.Config(**parts)
