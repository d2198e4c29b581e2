"""What was measured beside what was claimed: one row each, an interval and a tick."""

from typing import Any

import altair as alt
import polars as pl

from noisewise.charts.drawing.axes import Span, make_span
from noisewise.charts.drawing.canvas import Drawing
from noisewise.charts.drawing.tables import check_above_zero, check_order, check_unique, read_table, to_rows
from noisewise.charts.drawing.theme import ACCENT, BLUE, WIDTH
from noisewise.charts.intervals import STEP

_MEASURED, _CLAIMED = "measured, with its confidence interval", "claimed"


def measured_and_claimed(
    frame: Any,
    *,
    title: str,
    x_title: str,
    subtitle: str = "",
    claimed: str = _CLAIMED,
    log: bool = False,
    height_per_row: int = STEP + 2,
) -> alt.LayerChart:
    """A row per quantity: what was measured as a point with its interval, what was claimed as a tick.

    Args:
        frame: Columns ``label``, ``mean``, ``low``, ``high`` and ``claimed``; a claim may be missing (null).
        title: One sentence.
        x_title: What the numbers are.
        subtitle: How to read it.
        claimed: What the ticks are.
        log: Whether the axis is logarithmic; all numbers must then be above 0.
        height_per_row: Pixels.

    Example:
        >>> chart = measured_and_claimed(
        ...     {"label": ["slope"], "mean": [-0.49], "low": [-0.5], "high": [-0.48], "claimed": [-0.5]},
        ...     title="A slope",
        ...     x_title="Slope",
        ... )
        >>> chart.to_dict()["height"]
        19
    """
    table = read_table(frame, text=("label",), numbers=("mean", "low", "high"))
    check_unique(table, "label")
    check_order(table)
    if log:
        check_above_zero(table, "low", "on a log axis")
    made = frame if isinstance(frame, pl.DataFrame) else pl.DataFrame(frame, strict=False)
    table = table.with_columns(claimed=made["claimed"].cast(pl.Float64))
    claims = table.filter(pl.col("claimed").is_not_null())
    if log and len(claims):
        check_above_zero(claims, "claimed", "on a log axis")
    x = make_span([*table["low"], *table["high"], *claims["claimed"]], log=log, pixels=WIDTH, air=0.03)
    drawing = Drawing()
    _draw(drawing, table, claims, x, x_title, claimed)
    said = [subtitle] if subtitle else []
    return drawing.finish(title=title, subtitle=said, height=height_per_row * len(table))


def _draw(
    drawing: Drawing, table: pl.DataFrame, claims: pl.DataFrame, x: Span, x_title: str, claimed: str
) -> None:
    names = table["label"].to_list()
    kinds = [_MEASURED, claimed] if len(claims) else [_MEASURED]
    axis = alt.Axis(title=None, grid=True, ticks=False, domain=False, labelLimit=330, labelPadding=8)
    row = alt.Y("label:N", sort=names, axis=axis, scale=alt.Scale(domain=names))
    across = x.axis(x_title)
    legend = alt.Legend(title=None, orient="top", direction="horizontal", offset=8, labelLimit=330)
    colour = alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=[BLUE, ACCENT]), legend=legend)
    shape = alt.Shape("kind:N", scale=alt.Scale(domain=kinds, range=["circle", "stroke"]), legend=legend)
    data = drawing.table("measured", to_rows(table.with_columns(kind=pl.lit(_MEASURED)).drop("claimed")))
    tooltip = ["label:N"] + [alt.Tooltip(f"{name}:Q", format=".4~r") for name in ("mean", "low", "high")]
    bars = data.mark_rule(strokeWidth=2).encode(
        alt.X("low:Q", scale=x.scale(), axis=across), row, x2="high:Q", color=colour, tooltip=tooltip
    )
    points = data.mark_point(filled=True, size=55, opacity=1).encode(
        alt.X("mean:Q", scale=x.scale(), axis=across), row, color=colour, shape=shape, tooltip=tooltip
    )
    ticks = drawing.table("claimed", to_rows(claims.with_columns(kind=pl.lit(claimed))))
    marks = ticks.mark_point(size=170, strokeWidth=2.6, opacity=1, angle=90).encode(
        alt.X("claimed:Q", scale=x.scale(), axis=across),
        row,
        color=colour,
        shape=shape,
        tooltip=["label:N", alt.Tooltip("claimed:Q", format=".4~r")],
    )
    drawing.layers += [bars, points, marks]
