"""Lines with confidence bands, one per series, each named at its end."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from noisewise.charts.draw import (
    FADED,
    GAP,
    HEIGHT,
    MARKER,
    SHAPES,
    WIDTH,
    Drawing,
    End,
    Span,
    check_above_zero,
    check_order,
    label_ends,
    least_of,
    make_span,
    plain,
    read_table,
    round_below,
    tell_apart,
    to_rows,
)

Reference = tuple[ArrayLike, ArrayLike, str]
#: Markers per line; more would hide the dashes.
_MARKERS = 7


def lines_with_bands(
    frame: Any,
    *,
    x: str,
    x_title: str,
    y_title: str,
    title: str,
    subtitle: str = "",
    log_x: bool = True,
    log_y: bool = True,
    reference: Sequence[Reference] = (),
) -> alt.LayerChart:
    """One line and one band per series, named at its end.

    Args:
        frame: Columns ``policy`` (the name of the series), the one that ``x`` names, and ``mean``, ``low``,
            ``high``.
        x: The column of the horizontal axis.
        x_title: What it is.
        y_title: What the mean is.
        title: One sentence.
        subtitle: How to read it.
        log_x: Whether the horizontal axis is logarithmic.
        log_y: Whether the vertical axis is. What lies at or below 0 is then drawn at the lower edge, and the
            subtitle says so.
        reference: Curves to compare with, as (x, y, label).
    """
    table = read_table(frame, text=("policy",), numbers=(x, "mean", "low", "high"))
    check_order(table)
    if log_x:
        check_above_zero(table, x, "on a log axis")
    # With nothing above 0 there is no log axis to draw.
    log_y = log_y and bool((table["high"] > 0.0).any())
    curves = [_read_reference(curve, log_x, log_y) for curve in reference]
    said = [subtitle] if subtitle else []
    floor = _floor(table) if log_y else -np.inf
    below = (table["low"] < floor).any() or (table["mean"] < floor).any()
    if log_y and below:
        said.append(
            f"What lies below {plain(floor)} is drawn at {plain(floor)}, the lower edge of this log axis."
        )
        table = table.with_columns(pl.col("mean", "low", "high").clip(lower_bound=floor))
    names = table["policy"].unique(maintain_order=True).to_list()
    height = max(HEIGHT, round(GAP * (len(names) + len(curves))))
    x_values = np.concatenate([table[x], *(curve["x"] for curve in curves)])
    y_values = np.concatenate([table["low"], table["high"], *(curve["y"] for curve in curves)])
    across = make_span(x_values, log=log_x, pixels=WIDTH)
    up = make_span(y_values, log=log_y, pixels=height, from_zero=True, air=0.02)
    if log_y and below:
        up = up._replace(low=float(y_values.min()))
    table = _thin(table.rename({x: "x"}), across)
    series = [End(name, *_end(table, name)) for name in names]
    grey = [End(curve["label"][0], curve["x"][-1], curve["y"][-1]) for curve in curves]
    drawing = Drawing()
    label_ends(drawing, series, grey, across, up)
    for number, curve in enumerate(curves):
        line = drawing.table(f"curve {number}", to_rows(curve)).mark_line(color=FADED, strokeWidth=1.2)
        places = alt.X("x:Q", scale=across.scale()), alt.Y("y:Q", scale=up.scale())
        drawing.layers.append(line.encode(*places))
    _draw_lines(drawing, table, names, (across, x_title), (up, y_title))
    return drawing.finish(title=title, subtitle=said, height=height, margin=100)


def _floor(table: pl.DataFrame) -> float:
    """A round number below all means above 0; a confidence band may reach below it, down to nothing."""
    means, highs = (table[name].filter(table[name] > 0.0) for name in ("mean", "high"))
    return round_below(least_of(means if len(means) else highs) / 2.0)


def _read_reference(curve: Reference, log_x: bool, log_y: bool) -> pl.DataFrame:
    x, y, label = curve
    xs, ys = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if xs.ndim != 1 or xs.shape != ys.shape or xs.size < 2:
        raise ValueError(
            f"`reference` {label!r} must have x and y of the same length, at least 2; "
            f"got shapes {xs.shape} and {ys.shape}."
        )
    for values, log in ((xs, log_x), (ys, log_y)):
        odd = values[~np.isfinite(values) | (log & (values <= 0.0))]
        if odd.size:
            wanted = "finite numbers above 0 on a log axis" if log else "finite numbers"
            raise ValueError(f"`reference` {label!r} must hold {wanted}; got {float(odd[0])!r}.")
    return pl.DataFrame({"x": xs, "y": ys, "label": [str(label)] * xs.size}).sort("x")


def _thin(table: pl.DataFrame, x: Span) -> pl.DataFrame:
    """What can be seen: per policy and pixel the first, last, lowest and highest; a few carry a marker."""
    pixel = pl.Series([round(x.place(value)) for value in table["x"]])
    spot = ["policy", "pixel"]
    table = table.with_columns(pixel=pixel).sort("x", maintain_order=True)
    table = table.with_columns(row=pl.int_range(pl.len()).over(spot), last=pl.len().over(spot) - 1)
    lowest, highest = (pl.col("low").arg_min().over(spot), pl.col("high").arg_max().over(spot))
    kept = (pl.lit(0), pl.col("last"), lowest, highest)
    table = table.filter(pl.any_horizontal(pl.col("row") == row for row in kept))
    stretch = x.pixels / _MARKERS
    # Every policy starts its markers a little further on, so that they do not lie on top of each other.
    number = pl.col("policy").rank("dense").cast(pl.Float64) / len(SHAPES)
    table = table.with_columns(stretch=(pl.col("pixel") / stretch + number).floor())
    first = pl.struct("policy", "stretch").is_first_distinct()
    return table.with_columns(marker=first).drop("pixel", "row", "last", "stretch")


def _end(table: pl.DataFrame, name: str) -> tuple[float, float]:
    x, mean = table.filter(pl.col("policy") == name).select("x", "mean").row(-1)
    return float(x), float(mean)


def _draw_lines(
    drawing: Drawing,
    table: pl.DataFrame,
    names: list[str],
    horizontal: tuple[Span, str],
    vertical: tuple[Span, str],
) -> None:
    (x, x_title), (y, y_title) = horizontal, vertical
    data = drawing.table("lines", to_rows(table))
    across = alt.X("x:Q", scale=x.scale(), axis=x.axis(x_title))
    up = alt.Y("mean:Q", scale=y.scale(), axis=y.axis(y_title))
    colour, shape, dash = tell_apart("policy", names)
    tooltip = [
        alt.Tooltip("policy:N", title="policy"),
        alt.Tooltip("x:Q", title=x_title.lower(), format=",.4~r"),
        *(alt.Tooltip(f"{name}:Q", title=name, format=".3~r") for name in ("mean", "low", "high")),
    ]
    band = data.mark_area(opacity=0.13).encode(
        across, alt.Y("low:Q", scale=y.scale()), y2="high:Q", color=colour
    )
    line = data.mark_line(strokeWidth=2.2).encode(across, up, color=colour, strokeDash=dash)
    points = data.transform_filter("datum.marker").mark_point(**MARKER)
    hover = data.mark_circle(size=120, opacity=0).encode(across, up, tooltip=tooltip)
    drawing.layers += [band, line, points.encode(across, up, color=colour, shape=shape), hover]


_HOW_TO_READ = (
    "How far the recommended option is below the best: the mean over replications, with its confidence band."
)


def regret_over_rounds(
    frame: Any,
    *,
    title: str | None = None,
    subtitle: str | None = None,
    log: bool = True,
    reference: Sequence[Reference] = (),
) -> alt.LayerChart:
    """Mean simple regret over the rounds, one line and one band per policy.

    Args:
        frame: Columns ``policy``, ``rounds``, ``mean``, ``low``, ``high``: the mean regret and the ends of
            its confidence interval.
        title: Default: what the chart shows.
        subtitle: Default: how to read it.
        log: Both axes logarithmic. What lies at or below 0 is then drawn at the lower edge, and the
            subtitle says so.
        reference: Curves to compare with, as (x, y, label).

    Example:
        >>> chart = regret_over_rounds(
        ...     {"policy": ["vaee"] * 2, "rounds": [1, 9], "mean": [1, 0.3], "low": [1, 0.2], "high": [1, 1]}
        ... )
        >>> chart.to_dict()["title"]["text"]
        ['Simple regret over rounds']
    """
    title = title or "Simple regret over rounds"
    return _regret(frame, "rounds", "Rounds", title, subtitle, log, reference)


def regret_over_precision(
    frame: Any,
    *,
    title: str | None = None,
    subtitle: str | None = None,
    log: bool = True,
    reference: Sequence[Reference] = (),
) -> alt.LayerChart:
    """Mean simple regret over the total precision, one line and one band per policy.

    As `regret_over_rounds`, with a column ``precision`` instead of ``rounds``: the sum of 1/σ² so far.
    """
    name = "Total precision, the sum of 1/σ²"
    return _regret(
        frame, "precision", name, title or "Simple regret over total precision", subtitle, log, reference
    )


def _regret(
    frame: Any,
    x: str,
    x_title: str,
    title: str,
    subtitle: str | None,
    log: bool,
    reference: Sequence[Reference],
) -> alt.LayerChart:
    return lines_with_bands(
        frame,
        x=x,
        x_title=x_title,
        y_title="Mean simple regret",
        title=title,
        subtitle=subtitle or _HOW_TO_READ,
        log_x=log,
        log_y=log,
        reference=reference,
    )
