"""What is known of every option: its mean and its confidence interval, and which may still be the best."""

from typing import Any, Literal

import altair as alt
import polars as pl

from noisewise.charts.draw import (
    ACCENT,
    BLUE,
    FADED,
    INK,
    WIDTH,
    Drawing,
    check_order,
    check_unique,
    least_of,
    make_span,
    most_of,
    read_flags,
    read_table,
    to_rows,
)
from noisewise.core.checks import check_choice, check_count, check_number, nearest
from noisewise.core.text import rounded_up

#: Pixels per option.
STEP = 17
#: What an option can be, with its colour, shape, size of the point, thickness and opacity of the interval.
_STATES = {
    "recommended": (ACCENT, "diamond", 150, 3.4, 1.0),
    "may still be the best": (BLUE, "circle", 60, 2.2, 1.0),
    "ruled out": (FADED, "cross", 28, 1.2, 0.8),
    "nothing certified": (FADED, "circle", 60, 2.2, 1.0),
}
_UNCERTIFIED = "nothing certified"
#: What the bars are, in words and as the title of the axis.
_BARS: dict[bool | str, tuple[str, str]] = {
    False: ("Bars are confidence intervals.", "Mean and confidence interval"),
    True: (
        "Bars say how far the difference to the recommended option can be off: towards better values if "
        "this option is the best, towards worse ones if the recommended option is.",
        "Estimate, and how far its difference to the recommended one can be off",
    ),
    _UNCERTIFIED: ("Bars are one standard error.", "Estimate and standard error"),
}


def intervals_per_option(
    frame: Any,
    *,
    recommended: Any,
    bound: float | None = None,
    most: int = 40,
    goal: Literal["max", "min"] = "max",
    of_differences: bool = False,
    missing: int = 0,
    title: str | None = None,
    x_title: str | None = None,
    log: bool = False,
) -> alt.LayerChart:
    """A horizontal interval per option, the best mean on top.

    Args:
        frame: Columns ``option`` (names or numbers), ``mean``, ``low``, ``high`` (the ends of the
            confidence interval) and ``candidate`` (whether it may still be the best).
        recommended: The option recommended now; None if nothing is certified, so that bars are estimates
            with their standard errors, of which none is called the best or ruled out.
        bound: How far it can be from the best, if that is certified.
        most: Options shown; with more, the best means, and always the recommended one.
        goal: Whether large or small is good.
        of_differences: Whether the intervals are those of the differences to the recommended option, which
            has none itself.
        missing: Options that have no row because nothing compares them with the recommended one yet, or
            because nothing says how far behind it they can be.
        title: Default: the recommendation, and the bound if there is one.
        x_title: What the numbers are; default: means or estimates.
        log: Whether the axis is logarithmic; then all numbers are above 0.

    Example:
        >>> chart = intervals_per_option(
        ...     {
        ...         "option": ["A", "B"],
        ...         "mean": [1.0, 0.2],
        ...         "low": [0.7, -0.2],
        ...         "high": [1.3, 0.6],
        ...         "candidate": [True, False],
        ...     },
        ...     recommended="A",
        ...     bound=0.1,
        ... )
        >>> chart.to_dict()["title"]["text"]
        ['A is at most 0.1 below the best']
    """
    table = read_table(frame, text=("option",), numbers=("mean", "low", "high"))
    flags = read_flags(frame, "candidate")
    check_unique(table, "option")
    check_order(table)
    check_count("most", most)
    up = check_choice("goal", goal, ("max", "min")) == "max"
    best = None if recommended is None else _check_recommended(recommended, table["option"].to_list())
    table = table.with_columns(state=_states(best, flags)).sort("mean", descending=up, maintain_order=True)
    shown = table[:most]
    if best is not None and best not in shown["option"]:
        shown = pl.concat([table[: most - 1], table.filter(pl.col("option") == best)])
    edge = most_of(table["low"]) if up else least_of(table["high"])
    edge_in_words = "largest low end" if up else "smallest high end"
    if (
        of_differences and best is not None
    ):  # a bar that reaches beyond it belongs to an option that may be better
        edge = float(table.filter(pl.col("option") == best)["mean"][0])
        edge_in_words = ""  # its point is on the line, and a word would lie on bars
    bars = _BARS[_UNCERTIFIED if best is None else of_differences]
    said = [bars[0] if best is None else f"{bars[0]} {_state_in_words(table, bound, missing)}"]
    if len(shown) < len(table):
        said.append(_left_out(table, shown))
    drawing = Drawing()
    _draw(drawing, shown, (edge, edge_in_words), x_title or bars[1], log)
    verdict = "Estimates: nothing is certified" if best is None else _verdict(best, bound, up)
    return drawing.finish(title=title or verdict, subtitle=said, height=STEP * len(shown))


def _states(best: str | None, flags: pl.Series) -> Any:
    """What may be said about each option."""
    if best is None:
        return pl.lit(_UNCERTIFIED)
    others = pl.when(flags).then(pl.lit("may still be the best")).otherwise(pl.lit("ruled out"))
    return pl.when(pl.col("option") == best).then(pl.lit("recommended")).otherwise(others)


def _check_recommended(recommended: Any, options: list[str]) -> str:
    if str(recommended) not in options:
        raise ValueError(
            f"`recommended` must be one of the options in `frame`; got {recommended!r}."
            f"{nearest(recommended, options)}"
        )
    return str(recommended)


def _verdict(best: str, bound: float | None, up: bool) -> str:
    best = _name(best)
    if bound is None:
        return f"{best} is recommended"
    if check_number("bound", bound) < 0.0:
        raise ValueError(f"`bound` must be at least 0; got {bound!r}.")
    if bound == 0.0:
        return f"{best} is the best"
    return f"{best} is at most {rounded_up(bound)} {'below' if up else 'above'} the best"


def _name(option: str) -> str:
    return f"Option {option}" if option.isdigit() else option


def _state_in_words(table: pl.DataFrame, bound: float | None, missing: int) -> str:
    others = int((table["state"] == "may still be the best").sum())
    if missing:
        # Where there is a bound it covers all of them: what lacks is how far behind they can be.
        why = "cannot be compared with it yet" if bound is None else "are known too little for a bar"
        left = f"{missing:,} more {why}"
        return f"{others:,} of {len(table) - 1:,} others may still be the best, and {left}."
    if bound == 0.0 and others:
        # Comparing two options directly is sharper than comparing their intervals.
        return "Compared directly, no option is better, even where bars overlap."
    if others == 0:
        return "All others are ruled out." if len(table) > 1 else "There is no other option."
    return f"Besides the recommended option, {others:,} of {len(table) - 1:,} others may still be the best."


def _left_out(table: pl.DataFrame, shown: pl.DataFrame) -> str:
    hidden = table.filter(~pl.col("option").is_in(shown["option"].to_list()))
    left = f"{len(hidden):,} more options with worse means are not shown"
    if _UNCERTIFIED in hidden["state"]:
        return f"{left}."
    alive = int((hidden["state"] != "ruled out").sum())
    return f"{left}; {alive or 'none'} of them may still be the best."


def _draw(
    drawing: Drawing, shown: pl.DataFrame, limit_at: tuple[float, str], bars_in_words: str, log: bool
) -> None:
    edge, text = limit_at
    names = shown["option"].to_list()
    x = make_span([*shown["low"], *shown["high"], edge], log=log, pixels=WIDTH, air=0.02)
    present = [state for state in _STATES if state in shown["state"]]
    looks = [_STATES[state] for state in present]
    data = drawing.table("options", to_rows(shown))

    def scale(part: int) -> alt.Scale:
        # Ordinal, or a single state would be given the middle of a range that has no end.
        return alt.Scale(type="ordinal", domain=present, range=[one[part] for one in looks])

    legend = alt.Legend(title=None, orient="top", direction="horizontal", symbolOpacity=1, offset=8)
    row = alt.Y("option:N", sort=names, axis=_names(shown), scale=alt.Scale(domain=names))
    certified = _UNCERTIFIED not in shown["state"]
    across = x.axis(bars_in_words)
    colour = alt.Color("state:N", scale=scale(0), legend=legend)
    opacity = alt.Opacity("state:N", scale=scale(4), legend=None)
    tooltip = ["option:N", "state:N"] + [
        alt.Tooltip(f"{name}:Q", format=".4~r") for name in ("mean", "low", "high")
    ]
    bars = data.mark_rule().encode(
        alt.X("low:Q", scale=x.scale(), axis=across),
        row,
        x2="high:Q",
        color=colour,
        opacity=opacity,
        strokeWidth=alt.StrokeWidth("state:N", scale=scale(3), legend=None),
        tooltip=tooltip,
    )
    points = data.mark_point(filled=True).encode(
        alt.X("mean:Q", scale=x.scale(), axis=across),
        row,
        color=colour,
        opacity=opacity,
        shape=alt.Shape("state:N", scale=scale(1), legend=legend),
        size=alt.Size("state:N", scale=scale(2), legend=legend),
        tooltip=tooltip,
    )
    limit = drawing.table("edge", [{"edge": edge, "text": text}])
    across_limit = alt.X("edge:Q", scale=x.scale(), axis=across)
    line = limit.mark_rule(color=INK, strokeDash=[4, 3], strokeWidth=1).encode(across_limit)
    height = STEP * len(names)
    words = _in_white_and_ink(limit, across_limit, x.place(edge) > WIDTH / 2, height) if text else []
    drawing.layers += [line, bars, points, *words] if certified else [bars, points]


def _in_white_and_ink(limit: alt.Chart, across: alt.X, leftwards: bool, height: int) -> list[Any]:
    """The word at the broken line; written first in white, with a broad edge, so that it keeps bars off."""
    place: dict[str, Any] = {
        "align": "right" if leftwards else "left",
        "dx": -5 if leftwards else 5,
        "dy": -3,
    }
    inks: tuple[dict[str, Any], ...] = (
        {"color": "white", "stroke": "white", "strokeWidth": 4},
        {"color": INK},
    )
    return [
        limit.mark_text(baseline="bottom", fontSize=11, **place, **ink).encode(
            across, y=alt.value(height), text="text:N"
        )
        for ink in inks
    ]


def _names(shown: pl.DataFrame) -> alt.Axis:
    bold = shown.filter(pl.col("state") == "recommended")["option"].to_list() or [""]
    return alt.Axis(
        title=None,  # names say what they are, and a title would cover long ones
        grid=False,
        ticks=False,
        domain=False,
        labelLimit=220,
        labelPadding=8,
        labelOverlap=False,
        labelFontWeight=alt.condition(
            alt.FieldEqualPredicate(field="value", equal=bold[0]), alt.value("bold"), alt.value("normal")
        ),
    )
