"""How uncertain every option still is: its width, the standard error of its mean."""

from typing import Any

import altair as alt
import polars as pl

from noisewise.charts.drawing.axes import make_span
from noisewise.charts.drawing.canvas import Drawing
from noisewise.charts.drawing.tables import (
    check_unique,
    has_column,
    least_of,
    read_flags,
    read_table,
    to_rows,
)
from noisewise.charts.drawing.theme import BLUE, FADED, WIDTH
from noisewise.charts.intervals import STEP
from noisewise.core.support.checks import check_count

_ALIVE, _OUT = "may still be the best", "ruled out"


def widths_per_option(frame: Any, *, most: int = 40, title: str | None = None) -> alt.LayerChart:
    """A bar per option as long as its width, the least known on top.

    Args:
        frame: Columns ``option`` and ``width``, and if wanted ``candidate``: whether it may still be the
            best.
        most: Options shown; with more, the widest.
        title: Default: what the chart shows.

    Example:
        >>> chart = widths_per_option({"option": ["A", "B", "C"], "width": [0.1, 0.3, 0.2]}, most=2)
        >>> chart.to_dict()["title"]["subtitle"][-1]
        '1 more option is not shown, with smaller widths.'
    """
    table = read_table(frame, text=("option",), numbers=("width",))
    check_unique(table, "option")
    check_count("most", most)
    if least_of(table["width"]) < 0.0:
        raise ValueError(f"Column 'width' must be at least 0; got {least_of(table['width'])!r}.")
    marked = has_column(frame, "candidate")
    flags = read_flags(frame, "candidate") if marked else pl.repeat(True, len(table), eager=True)
    table = table.with_columns(state=pl.when(flags).then(pl.lit(_ALIVE)).otherwise(pl.lit(_OUT)))
    # What may still be the best is shown before what is ruled out.
    table = table.sort("state", "width", descending=[False, True], maintain_order=True)
    shown, left = table[:most].sort("width", descending=True, maintain_order=True), len(table) - most
    said = ["The standard error of the mean; measuring an option, or others like it, makes it smaller."]
    if left > 0:
        alive = int((table[most:]["state"] == _ALIVE).sum()) if marked else None
        said.append(_left_out(left, alive))
    drawing = Drawing()
    _draw(drawing, shown, marked)
    return drawing.finish(
        title=title or "How uncertain each option is", subtitle=said, height=STEP * len(shown)
    )


def _left_out(left: int, alive: int | None) -> str:
    options = "1 more option is" if left == 1 else f"{left:,} more options are"
    if alive is None:
        return f"{options} not shown, with smaller widths."
    return f"{options} not shown; {alive or 'none'} of them may still be the best."


def _draw(drawing: Drawing, shown: pl.DataFrame, marked: bool) -> None:
    names = shown["option"].to_list()
    x = make_span([0.0, *shown["width"]], log=False, pixels=WIDTH)
    x = x._replace(low=0.0, high=x.high * 1.02)
    states = [state for state in (_ALIVE, _OUT) if state in shown["state"]]
    colours = {_ALIVE: BLUE, _OUT: FADED}
    shapes = {_ALIVE: "circle", _OUT: "cross"}
    legend = alt.Legend(title=None, orient="top", direction="horizontal", offset=8) if marked else None
    data = drawing.table("options", to_rows(shown))
    axis = alt.Axis(title=None, grid=False, ticks=False, domain=False, labelLimit=220, labelPadding=8)
    row = alt.Y("option:N", sort=names, axis=axis, scale=alt.Scale(domain=names))
    across = alt.X("width:Q", scale=x.scale(), axis=x.axis("Width, the standard error of the mean"))
    colour = alt.Color(
        "state:N", scale=alt.Scale(domain=states, range=[colours[state] for state in states]), legend=legend
    )
    shape = alt.Shape(
        "state:N", scale=alt.Scale(domain=states, range=[shapes[state] for state in states]), legend=legend
    )
    tooltip = ["option:N", alt.Tooltip("width:Q", format=".4~r")]
    stems = data.mark_rule(strokeWidth=2).encode(across, row, x2=alt.datum(0), color=colour, tooltip=tooltip)
    heads = data.mark_point(filled=True, size=60, opacity=1).encode(
        across, row, color=colour, shape=shape, tooltip=tooltip
    )
    drawing.layers += [stems, heads]
