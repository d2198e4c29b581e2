"""Charts of a study: how its bound fell, what measurements were worth, how they fit, how many are needed."""

from typing import Any

import altair as alt
import polars as pl

from noisewise.charts.draw import (
    ACCENT,
    BLUE,
    FADED,
    HEIGHT,
    INK,
    WIDTH,
    Drawing,
    check_above_zero,
    check_unique,
    make_span,
    plain,
    read_flags,
    read_table,
    round_below,
    to_rows,
)
from noisewise.charts.intervals import STEP
from noisewise.core.checks import check_count, check_positive
from noisewise.core.text import in_unit, rounded_up


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


#: Pixels per way of going on.
TALL = 44


def forecast_bands(
    frame: Any, *, what: str = "More measurements", title: str | None = None
) -> alt.LayerChart:
    """A point and a band per way of going on.

    Args:
        frame: Columns ``name``, ``median``, ``low``, ``high``, all above 0.
        what: What is counted.
        title: Default: what the chart shows.

    Example:
        >>> chart = forecast_bands(
        ...     {"name": ["with", "without"], "median": [50, 700], "low": [30, 300], "high": [90, 2000]}
        ... )
        >>> chart.to_dict()["title"]["text"]
        ['What it takes until the bound is small enough']
    """
    table = read_table(frame, text=("name",), numbers=("median", "low", "high"))
    check_unique(table, "name")
    check_above_zero(table, "low", "on a log axis")
    names = table["name"].to_list()
    x = make_span([*table["low"], *table["high"]], log=True, pixels=WIDTH, air=0.06)
    axis = x.axis(what)
    drawing = Drawing()
    data = drawing.table("ways", to_rows(table))
    rows = alt.Axis(title=None, grid=False, ticks=False, domain=False, labelLimit=220, labelPadding=8)
    row = alt.Y("name:N", sort=names, scale=alt.Scale(domain=names), axis=rows)
    tips = ["name:N", *(alt.Tooltip(f"{part}:Q", format=",.4~r") for part in ("median", "low", "high"))]
    bands = data.mark_bar(color=BLUE, opacity=0.25, height=16).encode(
        alt.X("low:Q", scale=x.scale(), axis=axis), row, x2="high:Q", tooltip=tips
    )
    points = data.mark_point(filled=True, size=110, color=BLUE, opacity=1, shape="diamond").encode(
        alt.X("median:Q", scale=x.scale(), axis=axis), row, tooltip=tips
    )
    words = data.mark_text(dy=-16, fontSize=12).encode(
        alt.X("median:Q", scale=x.scale(), axis=axis), row, text=alt.Text("median:Q", format=",.3~r")
    )
    drawing.layers += [bands, points, words]
    return drawing.finish(
        title=title or "What it takes until the bound is small enough",
        subtitle=["Diamonds: half of the simulated studies need fewer. Bars: four of five lie within."],
        height=TALL * len(names),
    )
