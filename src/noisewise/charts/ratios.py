"""Rules against one of them: a heat map over cells, and their means with intervals."""

from typing import Any

import altair as alt
import polars as pl

from noisewise.charts.drawing.axes import make_span
from noisewise.charts.drawing.canvas import Drawing
from noisewise.charts.drawing.tables import check_above_zero, check_unique, read_table, to_rows
from noisewise.charts.drawing.theme import ACCENT, BLUE, FADED, INK, WIDTH

#: Pixels per cell or rule.
STEP = 22
#: Ratios further from 1 than this factor have the same colour.
STRONGEST = 4.0


def ratio_heat_map(frame: Any, *, against: str, title: str | None = None) -> alt.LayerChart:
    """A square per cell and rule: blue where its regret is smaller than that of one rule, red where larger.

    Args:
        frame: Columns ``cell``, ``policy``, ``ratio``, ``low``, ``high``: the ratio and its interval.
        against: The rule that all are compared with.
        title: Default: what the chart shows.

    Example:
        >>> chart = ratio_heat_map(
        ...     {"cell": ["a"], "policy": ["vage"], "ratio": [0.5], "low": [0.4], "high": [0.6]},
        ...     against="vaee",
        ... )
        >>> chart.to_dict()["title"]["text"]
        ['Simple regret, as a multiple of that of vaee']
    """
    table = read_table(frame, text=("cell", "policy"), numbers=("ratio", "low", "high"))
    check_above_zero(table, "ratio", "to be compared")
    cells = table["cell"].unique(maintain_order=True).to_list()
    rules = table["policy"].unique(maintain_order=True).to_list()
    shade = (pl.col("ratio").log() / pl.lit(STRONGEST).log()).clip(-1.0, 1.0)
    sure = (pl.col("high") < 1.0) | (pl.col("low") > 1.0)
    drawing = Drawing()
    data = drawing.table("cells", to_rows(table.with_columns(shade=shade, sure=sure)))
    x = alt.X(
        "policy:N",
        sort=rules,
        scale=alt.Scale(domain=rules),
        axis=alt.Axis(title=None, orient="top", labelAngle=-40, ticks=False, domain=False, labelLimit=260),
    )
    y = alt.Y(
        "cell:N",
        sort=cells,
        scale=alt.Scale(domain=cells),
        axis=alt.Axis(title=None, ticks=False, domain=False, labelLimit=320, labelPadding=8),
    )
    colour = alt.Color(
        "shade:Q",
        legend=None,
        scale=alt.Scale(domain=[-1.0, 0.0, 1.0], range=[BLUE, "#ffffff", ACCENT], interpolate="rgb"),
    )
    tips = ["cell:N", "policy:N", *(alt.Tooltip(f"{name}:Q", format=".3~r") for name in NUMBERS)]
    drawing.layers.append(data.mark_rect(stroke="white", strokeWidth=2).encode(x, y, colour, tooltip=tips))
    ink = (
        alt.when("abs(datum.shade) > 0.55")
        .then(alt.value("white"))
        .when("datum.sure")
        .then(alt.value(INK))
        .otherwise(alt.value(FADED))
    )
    drawing.layers.append(
        data.mark_text(fontSize=11).encode(x, y, alt.Text("ratio:Q", format=".2f"), color=ink, tooltip=tips)
    )
    said = "Blue is better, red is worse; a figure in grey is one whose 95 % interval contains 1."
    return drawing.finish(
        title=title or f"Simple regret, as a multiple of that of {against}",
        subtitle=[said],
        height=STEP * len(cells),
    )


NUMBERS = ("ratio", "low", "high")


def ratio_intervals(frame: Any, *, against: str, title: str | None = None) -> alt.LayerChart:
    """A point and an interval per rule: the geometric mean of its ratios to one rule.

    Args:
        frame: Columns ``policy``, ``geometric_mean``, ``low``, ``high``.
        against: The rule that all are compared with.
        title: Default: what the chart shows.
    """
    table = read_table(frame, text=("policy",), numbers=("geometric_mean", "low", "high"))
    check_unique(table, "policy")
    check_above_zero(table, "low", "to be compared")
    names = table["policy"].to_list()
    span = make_span([1.0, *table["low"], *table["high"]], log=True, pixels=WIDTH, air=0.03)
    drawing = Drawing()
    data = drawing.table("rules", to_rows(table))
    y = alt.Y(
        "policy:N",
        sort=names,
        scale=alt.Scale(domain=names),
        axis=alt.Axis(title=None, grid=False, ticks=False, domain=False, labelLimit=260, labelPadding=8),
    )
    axis = span.axis("Geometric mean of the ratios")
    line = alt.Chart(alt.NamedData(name="one")).mark_rule(color=FADED, strokeDash=[4, 3])
    drawing.table("one", [{"at": 1.0}])
    drawing.layers.append(line.encode(alt.X("at:Q", scale=span.scale(), axis=axis)))
    ends = data.mark_rule(color=BLUE, strokeWidth=2.2)
    drawing.layers.append(ends.encode(alt.X("low:Q", scale=span.scale(), axis=axis), y, x2="high:Q"))
    tips = [
        "policy:N",
        *(alt.Tooltip(f"{name}:Q", format=".3~r") for name in ("geometric_mean", *NUMBERS[1:])),
    ]
    points = data.mark_point(filled=True, size=70, color=BLUE, opacity=1.0)
    drawing.layers.append(
        points.encode(alt.X("geometric_mean:Q", scale=span.scale(), axis=axis), y, tooltip=tips)
    )
    return drawing.finish(
        title=title or f"Over all cells, as a multiple of {against}",
        subtitle=[
            "Geometric means of the ratios of mean simple regret, with 95 % intervals; left is better."
        ],
        height=STEP * len(names),
    )
