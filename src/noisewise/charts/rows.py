"""A row per quantity or option: measured beside claimed, shares of a design, and ratios of rules."""

from typing import Any

import altair as alt
import polars as pl

from noisewise.charts.draw import (
    ACCENT,
    BLUE,
    FADED,
    INK,
    WIDTH,
    Drawing,
    Span,
    check_above_zero,
    check_order,
    check_unique,
    make_span,
    read_table,
    to_rows,
)
from noisewise.charts.intervals import STEP
from noisewise.core.checks import check_count

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


#: Pixels per cell or rule.
CELL = 22
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
        height=CELL * len(cells),
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
        height=CELL * len(names),
    )
