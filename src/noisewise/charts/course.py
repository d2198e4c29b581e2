"""How the bound fell: its size after each measurement, and which measurements were quiet."""

from typing import Any

import altair as alt
import polars as pl

from noisewise.charts.drawing.axes import make_span, plain, round_below
from noisewise.charts.drawing.canvas import Drawing
from noisewise.charts.drawing.tables import check_above_zero, read_flags, read_table, to_rows
from noisewise.charts.drawing.theme import ACCENT, BLUE, HEIGHT, INK, WIDTH
from noisewise.core.support.checks import check_positive
from noisewise.core.support.words import in_unit, rounded_up

_QUIET = "quiet measurement"


def bound_over_measurements(
    frame: Any, *, eps: float | None = None, title: str | None = None, unit: str | None = None
) -> alt.LayerChart:
    """The bound after each measurement on a log scale, with quiet measurements marked.

    Args:
        frame: Columns ``measurement`` (1 for the first), ``bound``, and ``quiet``: whether this measurement
            was much less noisy than most.
        eps: What is good enough, drawn as a line.
        title: Default: what the chart shows.
        unit: Of bounds and `eps`, such as "%".

    Example:
        >>> chart = bound_over_measurements(
        ...     {"measurement": [1, 2, 3], "bound": [3.0, 2.0, 0.4], "quiet": [False, False, True]}, eps=0.5
        ... )
        >>> chart.to_dict()["title"]["text"]
        ['After 3 measurements: at most 0.4 from the best']
    """
    table = read_table(frame, numbers=("measurement", "bound"))
    table = table.with_columns(quiet=read_flags(frame, "quiet")).sort("measurement")
    check_above_zero(table, "measurement", "as counted from 1")
    eps = None if eps is None else check_positive("eps", eps)
    said = ["How far the recommended option can be from the best, after each measurement."]
    last = table.row(-1, named=True)
    positive = table["bound"].filter(table["bound"] > 0.0).to_list() + ([eps] if eps else [])
    floor = round_below(min(positive) / 1.5) if positive else 1.0
    if (table["bound"] < floor).any():
        said.append(f"A bound of 0 (no other option is better) is drawn at {plain(floor)}, the lower edge.")
    if table["quiet"].any():
        said.append(f"Dots are quiet measurements: {int(table['quiet'].sum()):,} are shown.")
    shown = table.with_columns(pl.col("bound").clip(lower_bound=floor))
    x = make_span([0.0, *shown["measurement"]], log=False, pixels=WIDTH, from_zero=True, air=0.01)
    ends = [*shown["bound"], *([eps] if eps else [])]
    y = make_span(ends, log=True, pixels=HEIGHT, air=0.04)
    drawing = Drawing()
    data = drawing.table("course", to_rows(shown))
    across = alt.X("measurement:Q", scale=x.scale(), axis=x.axis("Measurements", whole=True))
    up = alt.Y("bound:Q", scale=y.scale(), axis=y.axis(_bound(unit)))
    tips = [alt.Tooltip("measurement:Q", format=",d"), alt.Tooltip("bound:Q", format=".4~r"), "quiet:N"]
    if eps is not None:
        _mark_eps(drawing, in_unit(plain(eps), unit), eps, y.scale(), y.axis(_bound(unit)))
    line = data.mark_line(interpolate="step-after", color=BLUE, strokeWidth=2.2)
    dots = data.transform_filter("datum.quiet").mark_point(
        filled=True, size=75, color=ACCENT, opacity=1, stroke="white", strokeWidth=0.7
    )
    hover = data.mark_circle(size=90, opacity=0)
    drawing.layers += [
        line.encode(across, up),
        dots.encode(across, up, tooltip=tips),
        hover.encode(across, up, tooltip=tips),
    ]
    return drawing.finish(title=title or _verdict(last), subtitle=said)


def _verdict(last: dict[str, Any]) -> str:
    count = int(last["measurement"])
    after = f"After {count:,} measurement{'' if count == 1 else 's'}"
    return (
        f"{after}: the bound is 0"
        if last["bound"] <= 0.0
        else (f"{after}: at most {rounded_up(last['bound'])} from the best")
    )


def _bound(unit: str | None) -> str:
    return in_unit("Bound", None if unit is None else f"({unit})")


def _mark_eps(drawing: Drawing, said: str, eps: float, scale: alt.Scale, axis: alt.Axis) -> None:
    limit = drawing.table("eps", [{"eps": eps, "text": f"eps {said}: good enough"}])
    up = alt.Y("eps:Q", scale=scale, axis=axis)
    line = limit.mark_rule(color=INK, strokeDash=[4, 3], strokeWidth=1).encode(up)
    words = limit.mark_text(align="left", dx=4, dy=-4, baseline="bottom", fontSize=11, color=INK)
    drawing.layers += [line, words.encode(up, x=alt.value(0), text="text:N")]
