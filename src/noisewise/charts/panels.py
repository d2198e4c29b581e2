"""Small multiples: several quantities (rows) in several circumstances (columns), on common axes."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from noisewise.charts.drawing.axes import Span, make_span
from noisewise.charts.drawing.canvas import Drawing, wrap
from noisewise.charts.drawing.labels import MARKER
from noisewise.charts.drawing.tables import check_above_zero, read_table, to_rows
from noisewise.charts.drawing.theme import INK, config, tell_apart

#: The plotting area of one panel, in pixels.
WIDTH, HEIGHT = 210, 190


def lines_in_panels(frame: Any, *, title: str | None = None, subtitle: str | None = None) -> alt.VConcatChart:
    """One line per policy in every panel, both axes logarithmic; panels of a row share their axis.

    Args:
        frame: Columns ``quantity`` (a row of panels), ``panel`` (a column of them), ``policy``, ``rounds``
            and ``value``, both numbers above 0. Names keep the order in which they first appear.
        title: Default: what the chart shows.
        subtitle: How to read it.

    Example:
        >>> rows = {"quantity": ["error"] * 4, "panel": ["normal"] * 4, "policy": ["a", "a", "b", "b"]}
        >>> chart = lines_in_panels(rows | {"rounds": [1, 9, 1, 9], "value": [1, 0.3, 2, 0.5]})
        >>> len(chart.vconcat)
        1
    """
    table = read_table(frame, text=("quantity", "panel", "policy"), numbers=("rounds", "value"))
    for column in ("rounds", "value"):
        check_above_zero(table, column, "on a log axis")
    policies, panels, quantities = (_in_order(table[c]) for c in ("policy", "panel", "quantity"))
    x = make_span(table["rounds"], log=True, pixels=WIDTH)
    data = Drawing()
    rows = []
    for quantity in quantities:
        chosen = table.filter(pl.col("quantity") == quantity)
        y = make_span(chosen["value"], log=True, pixels=HEIGHT, air=0.03)
        cells = [
            _panel(data, chosen.filter(pl.col("panel") == panel), policies, x, y, quantity, panel, place)
            for place, panel in enumerate(panels)
        ]
        rows.append(alt.hconcat(*cells, spacing=22))
    heading = title or f"{' and '.join(quantities)} over rounds"
    said = subtitle or "Lower is better."
    across = len(panels) * (WIDTH + 40)
    return alt.VConcatChart(
        vconcat=rows,
        spacing=26,
        title=alt.TitleParams(text=wrap(heading, across, 8.5), subtitle=wrap(said, across, 6.1)),
        description=f"{heading}. {said}",
        datasets=data.tables,
        config=config(),
    )


def _in_order(names: pl.Series) -> list[str]:
    return [str(name) for name in names.unique(maintain_order=True)]


def _panel(
    data: Drawing,
    table: pl.DataFrame,
    policies: Sequence[str],
    x: Span,
    y: Span,
    quantity: str,
    panel: str,
    place: int,
) -> alt.LayerChart:
    source = data.table(f"{quantity}, {panel}", to_rows(table))
    legend = alt.Legend(
        title=None, orient="top", direction="horizontal", symbolSize=90, symbolStrokeWidth=0, labelLimit=260
    )
    colour, shape, dash = tell_apart("policy", policies, legend)
    narrow = alt.Axis(**{**x.axis("Rounds").to_dict(), "labelSeparation": 6})
    across = alt.X("rounds:Q", scale=x.scale(), axis=narrow)
    # The axis is the same in the whole row: its title stands once.
    axis = y.axis(quantity)
    if place > 0:
        axis = alt.Axis(**{**axis.to_dict(), "title": None, "labels": False})
    up = alt.Y("value:Q", scale=y.scale(), axis=axis)
    tooltip = ["policy:N", "rounds:Q", alt.Tooltip("value:Q", format=".3~r")]
    line = source.mark_line(strokeWidth=2).encode(across, up, color=colour, strokeDash=dash)
    marks = source.mark_point(**{**MARKER, "size": 34}).encode(
        across, up, color=colour, shape=shape, tooltip=tooltip
    )
    name = alt.TitleParams(text=panel, fontSize=13, fontWeight="normal", color=INK, offset=6)
    return alt.LayerChart(layer=[line, marks], width=WIDTH, height=HEIGHT, title=name)
