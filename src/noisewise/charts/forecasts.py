"""How many more measurements: for each way of going on, the median and the band of 80 %."""

from typing import Any

import altair as alt

from noisewise.charts.drawing.axes import make_span
from noisewise.charts.drawing.canvas import Drawing
from noisewise.charts.drawing.tables import check_above_zero, check_unique, read_table, to_rows
from noisewise.charts.drawing.theme import BLUE, WIDTH

#: Pixels per way of going on.
STEP = 44


def forecast_bands(
    frame: Any, *, what: str = "More measurements", title: str | None = None
) -> alt.LayerChart:
    """A point and a band per way of going on.

    Args:
        frame: Columns ``name``, ``median``, ``low``, ``high``, all above 0.
        what: What is counted.
        title: Default: what the chart shows.

    Example:
        >>> chart = forecast_bands(
        ...     {"name": ["with", "without"], "median": [50, 700], "low": [30, 300], "high": [90, 2000]}
        ... )
        >>> chart.to_dict()["title"]["text"]
        ['What it takes until the bound is small enough']
    """
    table = read_table(frame, text=("name",), numbers=("median", "low", "high"))
    check_unique(table, "name")
    check_above_zero(table, "low", "on a log axis")
    names = table["name"].to_list()
    x = make_span([*table["low"], *table["high"]], log=True, pixels=WIDTH, air=0.06)
    axis = x.axis(what)
    drawing = Drawing()
    data = drawing.table("ways", to_rows(table))
    rows = alt.Axis(title=None, grid=False, ticks=False, domain=False, labelLimit=220, labelPadding=8)
    row = alt.Y("name:N", sort=names, scale=alt.Scale(domain=names), axis=rows)
    tips = ["name:N", *(alt.Tooltip(f"{part}:Q", format=",.4~r") for part in ("median", "low", "high"))]
    bands = data.mark_bar(color=BLUE, opacity=0.25, height=16).encode(
        alt.X("low:Q", scale=x.scale(), axis=axis), row, x2="high:Q", tooltip=tips
    )
    points = data.mark_point(filled=True, size=110, color=BLUE, opacity=1, shape="diamond").encode(
        alt.X("median:Q", scale=x.scale(), axis=axis), row, tooltip=tips
    )
    words = data.mark_text(dy=-16, fontSize=12).encode(
        alt.X("median:Q", scale=x.scale(), axis=axis), row, text=alt.Text("median:Q", format=",.3~r")
    )
    drawing.layers += [bands, points, words]
    return drawing.finish(
        title=title or "What it takes until the bound is small enough",
        subtitle=["Diamonds: half of the simulated studies need fewer. Bars: four of five lie within."],
        height=STEP * len(names),
    )
