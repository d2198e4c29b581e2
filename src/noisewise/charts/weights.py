"""What a design says: which options to measure, and in which shares."""

from typing import Any

import altair as alt

from noisewise.charts.drawing.axes import make_span
from noisewise.charts.drawing.canvas import Drawing
from noisewise.charts.drawing.tables import check_above_zero, check_unique, read_table, to_rows
from noisewise.charts.drawing.theme import BLUE, WIDTH
from noisewise.charts.intervals import STEP
from noisewise.core.support.checks import check_count


def design_weights(
    frame: Any, *, g_value: float, rank: int, most: int = 40, title: str | None = None
) -> alt.LayerChart:
    """A bar per option of the design as long as its share of the precision, the largest on top.

    Args:
        frame: Columns ``option`` and ``weight``.
        g_value: The design's certificate, the largest g over all options.
        rank: What g cannot fall below.
        most: Options shown; with more, those of the largest shares.
        title: Default: what the chart shows.

    Example:
        >>> chart = design_weights({"option": ["A", "B"], "weight": [0.4, 0.6]}, g_value=2.1, rank=2)
        >>> chart.to_dict()["title"]["text"]
        ['What to measure, in which shares']
    """
    table = read_table(frame, text=("option",), numbers=("weight",))
    check_unique(table, "option")
    check_above_zero(table, "weight", "in a design")
    check_count("most", most)
    shown = table.sort("weight", descending=True, maintain_order=True)[:most]
    loss = g_value / rank - 1.0
    said = [
        f"With these shares no option is more than {loss:.2g} (relatively) above the least possible variance."
    ]
    if left := len(table) - len(shown):
        rest = 1.0 - float(shown["weight"].sum()) / float(table["weight"].sum())
        said.append(f"{left:,} more options are not shown; together they have a share of {rest:.1%}.")
    names = shown["option"].to_list()
    drawing = Drawing()
    data = drawing.table("options", to_rows(shown))
    x = make_span([0.0, *shown["weight"]], log=False, pixels=WIDTH)
    x = x._replace(low=0.0, high=x.high * 1.02)
    axis = alt.Axis(title=None, grid=False, ticks=False, domain=False, labelLimit=220, labelPadding=8)
    bars = data.mark_bar(color=BLUE, height={"band": 0.7}).encode(
        alt.X("weight:Q", scale=x.scale(), axis=x.axis("Share of the precision")),
        alt.Y("option:N", sort=names, axis=axis, scale=alt.Scale(domain=names)),
        x2=alt.datum(0),
        tooltip=["option:N", alt.Tooltip("weight:Q", format=".4~r")],
    )
    drawing.layers.append(bars)
    return drawing.finish(
        title=title or "What to measure, in which shares", subtitle=said, height=STEP * len(shown)
    )
