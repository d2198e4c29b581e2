"""What was measured when: a row per option, a mark per measurement, and the quiet rounds standing out."""

from typing import Any

import altair as alt
import polars as pl

from noisewise.charts.drawing.axes import make_span, plain
from noisewise.charts.drawing.canvas import Drawing
from noisewise.charts.drawing.tables import check_above_zero, least_of, most_of, read_table, to_rows
from noisewise.charts.drawing.theme import ACCENT, BLUE, INK, SOFT_INK, WIDTH
from noisewise.charts.intervals import STEP
from noisewise.core.support.checks import check_probability

#: Rows; the options measured least often share one row more.
MOST = 40
#: With more measurements than this, rounds are drawn in stretches.
SINGLE_MARKS = 1500
_STRETCHES = 128


def who_was_measured(frame: Any, *, quiet_share: float = 0.1, title: str | None = None) -> alt.LayerChart:
    """Which option was measured in which round, and how precisely.

    Args:
        frame: Columns ``round``, ``option`` and ``sigma``, a row per measurement.
        quiet_share: The share of the measurements, those with the smallest sigmas, that is drawn as
            quiet. Equal sigmas stay together, so that it may be less; it is more if the smallest sigma
            alone is shared by more (up to half of the measurements).
        title: Default: what the chart shows.

    Example:
        >>> chart = who_was_measured({"round": [1, 2, 3], "option": ["A", "B", "A"], "sigma": [1, 0.1, 1]})
        >>> chart.to_dict()["title"]["subtitle"][0]
        'Diamonds are the quiet measurements: 1 of 3 (sigma up to 0.1), with 98 % of all precision.'
    """
    table = read_table(frame, text=("option",), numbers=("round", "sigma"))
    check_above_zero(table, "sigma", "to carry information")
    threshold = quiet_threshold(table["sigma"], check_probability("quiet_share", quiet_share))
    table = table.with_columns(quiet=pl.col("sigma") <= threshold)
    counts = table["option"].value_counts(sort=True).sort("count", "option", descending=[True, False])
    kept = counts["option"][: MOST if len(counts) > MOST + 1 else MOST + 1].to_list()
    n_others = len(counts) - len(kept)
    others = f"{n_others:,} others"
    table = table.with_columns(
        row=pl.when(pl.col("option").is_in(kept)).then(pl.col("option")).otherwise(pl.lit(others))
    )
    rows = kept + ([others] if n_others else [])
    said = [_quiet_in_words(table, threshold)]
    if n_others:
        said.append(f"The {n_others:,} options measured least often share the last row.")
    first, last = least_of(table["round"]), most_of(table["round"])
    x = make_span([first - 0.5, last + 0.5], log=False, pixels=WIDTH, air=0.008)
    across = alt.X("round:Q", scale=x.scale(), axis=x.axis("Round", grid=False, whole=True))
    down = alt.Y(
        "row:N",
        sort=rows,
        scale=alt.Scale(domain=rows),
        axis=alt.Axis(
            title="Option", grid=True, ticks=False, domain=False, zindex=0, labelLimit=200, labelPadding=8
        ),
    )
    drawing = Drawing()
    if len(table) > SINGLE_MARKS:
        length = max(1, round((last - first + 1) / _STRETCHES))
        rounds = "1 round" if length == 1 else f"{length:,} rounds"
        said.append(f"A cell stands for {rounds}: the darker, the more measurements.")
        _draw_stretches(drawing, table, first, length, across, down)
    else:
        if table["sigma"].filter(~table["quiet"]).n_unique() > 1:
            said.append("The darker a tick, the smaller its sigma.")
        _draw_single_rounds(drawing, table, across, down)
    _draw_totals(drawing, table, down)
    return drawing.finish(
        title=title or "What was measured when", subtitle=said, height=STEP * len(rows), margin=50
    )


def quiet_threshold(sigma: pl.Series, share: float) -> float:
    """The largest sigma that counts as quiet; 0 if none does.

    Example:
        >>> quiet_threshold(pl.Series([1.0, 1.0, 0.1, 1.0]), 0.3), quiet_threshold(pl.Series([1.0, 1.0]), 0.3)
        (0.1, 0.0)
    """
    levels = sigma.value_counts().sort(sigma.name)
    below = levels["count"].cum_sum() / len(sigma)
    few = levels.filter(below <= share)
    if not few.is_empty():
        return float(few[sigma.name][-1])
    return float(levels[sigma.name][0]) if below[0] <= 0.5 else 0.0


def _quiet_in_words(table: pl.DataFrame, threshold: float) -> str:
    n_quiet = int(table["quiet"].sum())
    if n_quiet == 0:
        return "No measurements stand out as quiet: more than half have the smallest sigma."
    weight = table["sigma"] ** -2.0
    held = float(weight.filter(table["quiet"]).sum()) / float(weight.sum())
    # Rounding to "100 %" would say that the others were worth nothing.
    share = "more than 99 %" if 0.99 < held < 1.0 else f"{100 * held:.0f} %"
    return (
        f"Diamonds are the quiet measurements: {n_quiet:,} of {len(table):,} "
        f"(sigma up to {plain(threshold)}), with {share} of all precision."
    )


def _draw_single_rounds(drawing: Drawing, table: pl.DataFrame, across: alt.X, down: alt.Y) -> None:
    data = drawing.table("measurements", to_rows(table.select("round", "row", "option", "sigma", "quiet")))
    tooltip = ["option:N", alt.Tooltip("round:Q", format=","), alt.Tooltip("sigma:Q", format=".3~r")]
    loud = data.transform_filter("!datum.quiet").mark_tick(color=BLUE, thickness=1.3, size=STEP - 6)
    quiet = data.transform_filter("datum.quiet").mark_point(
        filled=True, shape="diamond", color=ACCENT, size=75, opacity=1, stroke="white", strokeWidth=0.6
    )
    drawing.layers += [
        loud.encode(across, down, _darkness(table), tooltip=tooltip),
        quiet.encode(across, down, tooltip=tooltip),
    ]


def _darkness(table: pl.DataFrame) -> alt.Opacity | alt.OpacityValue:
    """The more precise, the darker, among those that are not quiet."""
    loud = table["sigma"].filter(~table["quiet"])
    if loud.n_unique() < 2:
        return alt.OpacityValue(0.6)
    scale = alt.Scale(type="log", domain=[least_of(loud), most_of(loud)], range=[0.9, 0.3])
    return alt.Opacity("sigma:Q", scale=scale, legend=None)


def _draw_stretches(
    drawing: Drawing, table: pl.DataFrame, first: float, length: int, across: alt.X, down: alt.Y
) -> None:
    start = ((pl.col("round") - first) / length).floor() * length + first
    cells = (
        table.group_by("row", start.alias("round"))
        .agg(pl.len().alias("count"), pl.col("quiet").sum().alias("quiet"))
        .with_columns(end=pl.col("round") + length)
        .sort("round", "row")
    )
    data = drawing.table("cells", to_rows(cells))
    tooltip = ["row:N", "round:Q", "end:Q", "count:Q", "quiet:Q"]
    most = most_of(cells["count"])
    shade = alt.Color(
        "count:Q", scale=alt.Scale(type="sqrt", domain=[0, most], range=["#f4f8fb", BLUE]), legend=None
    )
    squares = data.mark_rect(height=STEP - 4).encode(across, down, x2="end:Q", color=shade, tooltip=tooltip)
    quiet = data.transform_filter("datum.quiet > 0").transform_calculate(
        round="(datum.round + datum.end) / 2"
    )
    marks = quiet.mark_point(
        filled=True, shape="diamond", color=ACCENT, opacity=1, stroke="white", strokeWidth=0.5
    ).encode(
        across,
        down,
        size=alt.Size("quiet:Q", scale=alt.Scale(domain=[1, 10], range=[60, 150], clamp=True), legend=None),
        tooltip=tooltip,
    )
    drawing.layers += [squares, marks]


def _draw_totals(drawing: Drawing, table: pl.DataFrame, down: alt.Y) -> None:
    """How often each option was measured, right of its row."""
    totals = table.group_by("row").agg(pl.len().alias("count")).sort("row")
    numbers = (
        drawing.table("totals", to_rows(totals))
        .mark_text(align="right", fontSize=12, color=INK)
        .encode(down, x=alt.value(WIDTH + 44), text=alt.Text("count:Q", format=","))
    )
    heading = (
        drawing.table("heading", [{"text": "times"}])
        .mark_text(align="right", baseline="bottom", fontSize=12, color=SOFT_INK)
        .encode(x=alt.value(WIDTH + 44), y=alt.value(-4), text="text:N")
    )
    drawing.layers += [numbers, heading]
