"""A set of actions in the plane: where it ends, what was measured, what is known of the parameter."""

from typing import Any

import altair as alt
import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from noisewise.charts.drawing.axes import Span
from noisewise.charts.drawing.canvas import Drawing
from noisewise.charts.drawing.tables import check_above_zero, has_column, read_table, to_rows
from noisewise.charts.drawing.theme import ACCENT, BLUE, FADED, INK, WIDTH

_SET, _BELIEF = "the set of actions", "where theta may be"
_MEASURED, _ADVICE, _ESTIMATE = "measured", "recommended", "estimate of theta"
#: The share of the area between the extremes that is left free around them.
_AIR = 0.06
#: The plotting area is square, so that circles are round.
_SIDE = WIDTH * 7 // 8


def set_in_the_plane(
    outline: ArrayLike,
    measured: Any,
    *,
    ellipse: ArrayLike | None = None,
    theta: ArrayLike | None = None,
    recommended: ArrayLike | None = None,
    title: str | None = None,
) -> alt.LayerChart:
    """The outline of a set, the vectors measured in it, and the confidence ellipsoid of theta.

    Args:
        outline: The edge of the set in order, ``(n, 2)``: ``actions.outline()``.
        measured: Columns ``x`` and ``y``, and if wanted ``sigma``: points grow with the precision 1/σ².
        ellipse: The edge of the confidence ellipsoid, ``(n, 2)``: ``estimate.ellipse()``.
        theta: The estimate, ``(2,)``.
        recommended: The recommended action, ``(2,)``.
        title: Default: what the chart shows.

    Example:
        >>> square = [[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]]
        >>> chart = set_in_the_plane(square, {"x": [1.0, -1.0], "y": [1.0, 1.0]}, recommended=[1.0, 1.0])
        >>> chart.to_dict()["title"]["subtitle"]
        ['2 measurements.']
    """
    edge = _pairs("outline", outline)
    table = read_table(measured, numbers=("x", "y"))
    sized = has_column(measured, "sigma")
    if sized:
        sigmas = read_table(measured, numbers=("sigma",))
        check_above_zero(sigmas, "sigma", "to be a standard deviation")
        # Areas as the square root of the precision: over four decades both ends can still be seen.
        table = table.with_columns(size=1.0 / sigmas["sigma"])
    belief = None if ellipse is None else _pairs("ellipse", ellipse)
    marks = [
        {"x": float(point[0]), "y": float(point[1]), "what": what}
        for what, given in ((_ESTIMATE, theta), (_ADVICE, recommended))
        if given is not None
        for point in _pairs(what, np.atleast_2d(np.asarray(given, dtype=np.float64)))
    ]
    x, y = _square([edge, table.select("x", "y").to_numpy(), *([] if belief is None else [belief])])
    drawing = Drawing()
    _draw_edges(drawing, edge, belief, x, y)
    _draw_points(drawing, table, marks, sized, x, y)
    said = [f"{len(table):,} measurement{'' if len(table) == 1 else 's'}."]
    if sized:
        said = [f"{said[0][:-1]}; the larger the point, the smaller its sigma."]
    if belief is not None:
        said.append("Actions and theta share the plane; the best action lies furthest in theta's direction.")
    return drawing.finish(
        title=title or "What was measured, and what is known", subtitle=said, height=_SIDE, width=_SIDE
    )


def _pairs(name: str, points: ArrayLike) -> Any:
    try:
        array = np.array(points, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.ndim != 2 or array.shape[1] != 2 or len(array) == 0 or not np.isfinite(array).all():
        raise ValueError(f"`{name}` must be pairs of finite numbers, (n, 2); got {points!r}.")
    return array


def _square(parts: list[Any]) -> tuple[Span, Span]:
    """Axes of one scale that hold all points."""
    points = np.vstack(parts)
    middle = (points.min(axis=0) + points.max(axis=0)) / 2.0
    half = float((points.max(axis=0) - points.min(axis=0)).max()) * (0.5 + _AIR) or 0.5
    spans = [Span(float(c - half), float(c + half), False, _SIDE) for c in middle]
    return spans[0], spans[1]


def _draw_edges(drawing: Drawing, edge: Any, belief: Any, x: Span, y: Span) -> None:
    names = [_SET] if belief is None else [_SET, _BELIEF]
    rows = []
    for name, points in zip(names, [edge] if belief is None else [edge, belief], strict=True):
        closed = np.vstack([points, points[:1]])
        rows += [{"x": a, "y": b, "order": k, "what": name} for k, (a, b) in enumerate(closed.tolist())]
    table = to_rows(pl.DataFrame(rows).cast({"x": pl.Float64, "y": pl.Float64}))
    legend = alt.Legend(title=None, orient="top", direction="horizontal", offset=6)
    colour = alt.Color(
        "what:N", scale=alt.Scale(domain=names, range=[INK, BLUE][: len(names)]), legend=legend
    )
    dash = alt.StrokeDash(
        "what:N", scale=alt.Scale(domain=names, range=[[1, 0], [6, 3]][: len(names)]), legend=legend
    )
    drawing.layers.append(
        drawing.table("edges", table)
        .mark_line(strokeWidth=2, clip=True)
        .encode(
            alt.X("x:Q", scale=x.scale(), axis=x.axis("First feature")),
            alt.Y("y:Q", scale=y.scale(), axis=y.axis("Second feature")),
            colour,
            dash,
            order="order:Q",
        )
    )


def _draw_points(
    drawing: Drawing, table: pl.DataFrame, marks: list[dict[str, Any]], sized: bool, x: Span, y: Span
) -> None:
    across, up = alt.X("x:Q", scale=x.scale()), alt.Y("y:Q", scale=y.scale())
    size = alt.Size("size:Q", scale=alt.Scale(range=[15, 400]), legend=None) if sized else alt.value(60)
    points = drawing.table("measured", to_rows(table.with_columns(what=pl.lit(_MEASURED))))
    names = [_MEASURED, *dict.fromkeys(mark["what"] for mark in marks)]
    looks = {_MEASURED: ("circle", FADED), _ESTIMATE: ("cross", BLUE), _ADVICE: ("diamond", ACCENT)}
    legend = alt.Legend(title=None, orient="top", direction="horizontal", offset=6, symbolOpacity=1)
    shape = alt.Shape(
        "what:N", scale=alt.Scale(domain=names, range=[looks[n][0] for n in names]), legend=legend
    )
    fill = alt.Fill(
        "what:N", scale=alt.Scale(domain=names, range=[looks[n][1] for n in names]), legend=legend
    )
    tooltip = [alt.Tooltip("x:Q", format=".4~r"), alt.Tooltip("y:Q", format=".4~r")]
    drawing.layers.append(
        points.mark_point(opacity=0.55, stroke=INK, strokeWidth=0.5).encode(
            across, up, shape, fill, size=size, tooltip=tooltip
        )
    )
    if marks:
        drawing.layers.append(
            drawing.table("marks", marks)
            .mark_point(size=190, opacity=1, stroke="white", strokeWidth=1)
            .encode(across, up, shape, fill, tooltip=["what:N", *tooltip])
        )
