"""What measurements were worth: a bar for each, as long as its share of everything learnt."""

from typing import Any

import altair as alt
import polars as pl

from noisewise.charts.drawing.axes import make_span
from noisewise.charts.drawing.canvas import Drawing
from noisewise.charts.drawing.tables import check_unique, read_flags, read_table, to_rows
from noisewise.charts.drawing.theme import ACCENT, BLUE, WIDTH
from noisewise.charts.intervals import STEP
from noisewise.core.support.checks import check_count

_QUIET, _USUAL = "quiet", "usual"


def worth_per_measurement(frame: Any, *, most: int = 25, title: str | None = None) -> alt.LayerChart:
    """A bar per measurement as long as its share of what all of them taught, the largest on top.

    Args:
        frame: Columns ``measurement`` (its name), ``share`` (they sum to 1) and ``quiet``.
        most: Measurements shown, those worth most.
        title: Default: what the chart shows.

    Example:
        >>> chart = worth_per_measurement(
        ...     {"measurement": ["m-1", "m-2"], "share": [0.3, 0.7], "quiet": [False, True]}, most=1
        ... )
        >>> chart.to_dict()["title"]["subtitle"][-1]
        'They hold 70.0 % of it; 1 more measurement is not shown.'
    """
    table = read_table(frame, text=("measurement",), numbers=("share",))
    flags = read_flags(frame, "quiet")
    check_unique(table, "measurement")
    check_count("most", most)
    kind = pl.when(flags).then(pl.lit(_QUIET)).otherwise(pl.lit(_USUAL))
    table = table.with_columns(kind=kind).sort("share", descending=True, maintain_order=True)
    shown, left = table[:most], len(table) - most
    said = ["Each measurement's part of the growth of the log-determinant, at the time it came."]
    if left > 0:
        rest = "1 more measurement is" if left == 1 else f"{left:,} more measurements are"
        said.append(f"They hold {100.0 * float(shown['share'].sum()):.1f} % of it; {rest} not shown.")
    names = shown["measurement"].to_list()
    present = [one for one in (_QUIET, _USUAL) if one in shown["kind"]]
    colours = {_QUIET: ACCENT, _USUAL: BLUE}
    several = alt.Legend(title=None, orient="top", direction="horizontal", offset=8)
    legend = several if len(present) > 1 else None
    drawing = Drawing()
    data = drawing.table("measurements", to_rows(shown))
    x = make_span([0.0, *shown["share"]], log=False, pixels=WIDTH)
    x = x._replace(low=0.0, high=x.high * 1.02)
    axis = alt.Axis(title=None, grid=False, ticks=False, domain=False, labelLimit=220, labelPadding=8)
    bars = data.mark_bar(height={"band": 0.7}).encode(
        alt.X("share:Q", scale=x.scale(), axis=x.axis("Share of what was learnt")),
        alt.Y("measurement:N", sort=names, axis=axis, scale=alt.Scale(domain=names)),
        x2=alt.datum(0),
        color=alt.Color(
            "kind:N", scale=alt.Scale(domain=present, range=[colours[one] for one in present]), legend=legend
        ),
        tooltip=["measurement:N", alt.Tooltip("share:Q", format=".3~%"), "kind:N"],
    )
    drawing.layers.append(bars)
    return drawing.finish(
        title=title or "The measurements that were worth most", subtitle=said, height=STEP * len(shown)
    )
