"""How well measurements fit: each one's distance from the fit, in its own standard errors."""

from typing import Any

import altair as alt
import polars as pl

from noisewise.charts.drawing.axes import make_span
from noisewise.charts.drawing.canvas import Drawing
from noisewise.charts.drawing.tables import read_table, to_rows
from noisewise.charts.drawing.theme import ACCENT, BLUE, FADED, HEIGHT, WIDTH
from noisewise.core.support.checks import check_count

#: In standard errors: within the first lie 95 of 100 residuals; beyond the second something is odd.
USUAL, ODD = 2.0, 3.0


def residuals_over_measurements(frame: Any, *, most: int = 2000, title: str | None = None) -> alt.LayerChart:
    """A point per measurement: how many standard errors it lies above or below the fit.

    Args:
        frame: Columns ``measurement`` (1 for the first), ``option`` and ``residual``.
        most: Points drawn; with more, all beyond two standard errors and some of the others.
        title: Default: how many lie where they should.

    Example:
        >>> chart = residuals_over_measurements(
        ...     {"measurement": [1, 2, 3], "option": ["A", "B", "A"], "residual": [0.3, -1.0, 4.0]}
        ... )
        >>> chart.to_dict()["title"]["text"]
        ['67 % of the residuals lie within two standard errors']
    """
    table = read_table(frame, text=("option",), numbers=("measurement", "residual"))
    check_count("most", most)
    size = table["residual"].abs()
    within = float((size <= USUAL).mean())  # type: ignore[arg-type]
    said = ["If model and error bars are right, about 95 % do (the band), and nearly none are beyond three."]
    shown = table
    if len(table) > most:
        beyond = table.filter(size > USUAL)[:most]
        rest = table.filter(size <= USUAL)
        room = max(1, most - len(beyond))
        step = -(-len(rest) // room)
        shown = pl.concat([beyond, rest.gather_every(step)])
        said.append(
            f"{len(shown):,} of {len(table):,} are drawn: all beyond two standard errors, some of the others."
        )
    state = pl.when(pl.col("residual").abs() > ODD).then(pl.lit("beyond three")).otherwise(pl.lit("usual"))
    shown = shown.with_columns(state=state).sort("measurement")
    drawing = Drawing()
    x = make_span([0.0, *table["measurement"]], log=False, pixels=WIDTH, from_zero=True, air=0.01)
    reach = max(ODD, float(size.max())) * 1.05  # type: ignore[arg-type]
    y = make_span([-reach, reach], log=False, pixels=HEIGHT)
    up_axis = y.axis("Residual, in standard errors")
    band = drawing.table("band", [{"low": -USUAL, "high": USUAL}]).mark_rect(color=FADED, opacity=0.15)
    drawing.layers.append(band.encode(alt.Y("low:Q", scale=y.scale(), axis=up_axis), y2="high:Q"))
    data = drawing.table("residuals", to_rows(shown))
    points = data.mark_point(filled=True, size=32, opacity=0.8).encode(
        alt.X("measurement:Q", scale=x.scale(), axis=x.axis("Measurement", whole=True)),
        alt.Y("residual:Q", scale=y.scale(), axis=up_axis),
        color=alt.Color(
            "state:N",
            scale=alt.Scale(domain=["usual", "beyond three"], range=[BLUE, ACCENT]),
            legend=None,
        ),
        tooltip=[
            alt.Tooltip("measurement:Q", format=",d"),
            "option:N",
            alt.Tooltip("residual:Q", format="+.2f"),
        ],
    )
    drawing.layers.append(points)
    return drawing.finish(
        title=title or f"{within:.0%} of the residuals lie within two standard errors".replace("%", " %"),
        subtitle=said,
    )
