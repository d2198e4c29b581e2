"""What all charts share: tables as they take them, axes, the canvas, labels and the look."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import altair as alt
import narwhals as nw
import numpy as np
import polars as pl

from noisewise.charts.svg import log_ticks

#: The plotting area, in pixels.
WIDTH = 640
HEIGHT = 380

INK = "#1f1f1f"
SOFT_INK = "#595959"
GRID = "#e6e6e6"
FADED = "#8f8f8f"
ACCENT = "#B23A00"
BLUE = "#0A559C"

#: Eight colours of eight luminances, ordered so that the first few differ most; after Okabe and Ito, with
#: the yellow left out (invisible on white) and the lightness spread for grey printing.
COLOURS = ("#0A559C", "#E8A010", "#141414", "#C76AA3", "#5A1A66", "#469FD6", "#B23A00", "#00845D")
#: What each colour becomes in a dark page.
IN_THE_DARK = {
    "white": "#13161b",
    INK: "#e8eaed",
    SOFT_INK: "#a9b1bc",
    GRID: "#2b323b",
    FADED: "#949eaa",
    ACCENT: "#ff9a5c",
    BLUE: "#6cb2f7",
    "#141414": "#d8dade",
    "#5A1A66": "#c79ad6",
    "#00845D": "#3fc79a",
}
_STAR = "M0,-1.15L.29,-.4L1.09,-.36L.48,.15L.68,.93L0,.5L-.68,.93L-.48,.15L-1.09,-.36L-.29,-.4Z"
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right", _STAR)
DASHES = ((1, 0), (8, 3), (2, 2), (8, 3, 2, 3), (12, 3), (5, 5), (4, 2), (12, 3, 2, 3, 2, 3))

# Arial is what browsers have, Liberation Sans what the offline renderer brings along: the same widths.
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"


class Look(NamedTuple):
    """How one series is told from the others."""

    colour: str
    shape: str
    dash: tuple[int, ...]


def look(number: int) -> Look:
    """The look of series ``number``: the first eight differ in everything, the first 512 in something.

    Example:
        >>> look(0)
        Look(colour='#0A559C', shape='circle', dash=(1, 0))
    """
    turn, place = divmod(number, len(COLOURS))
    shape, dash = place + turn, place + turn + turn // len(SHAPES)
    return Look(COLOURS[place], SHAPES[shape % len(SHAPES)], DASHES[dash % len(DASHES)])


def tell_apart(
    field: str, names: Sequence[str], legend: alt.Legend | None = None
) -> tuple[alt.Color, alt.Shape, alt.StrokeDash]:
    """The encodings that give every series its look; without a legend where series are labelled."""
    colours, shapes, dashes = zip(*(look(number) for number in range(len(names))), strict=True)

    def scale(values: Sequence[Any]) -> alt.Scale:
        return alt.Scale(domain=list(names), range=list(values))

    return (
        alt.Color(f"{field}:N", scale=scale(colours), legend=legend),
        alt.Shape(f"{field}:N", scale=scale(shapes), legend=legend),
        alt.StrokeDash(f"{field}:N", scale=scale([list(dash) for dash in dashes]), legend=None),
    )


def config() -> alt.Config:
    """The look of axes, titles and legends."""
    axis: dict[str, Any] = {
        "labelColor": INK,
        "labelFontSize": 12,
        "titleColor": INK,
        "titleFontSize": 13,
        "titleFontWeight": "normal",
        "titlePadding": 10,
        "gridColor": GRID,
        "domainColor": FADED,
        "tickColor": FADED,
    }
    parts: dict[str, Any] = {
        "background": "white",
        "font": FONT,
        "padding": 16,
        "view": alt.ViewConfig(stroke=None),
        "axis": alt.AxisConfig(**axis),
        "title": alt.TitleConfig(
            anchor="start",
            frame="bounds",  # above names, too: no empty corner
            color=INK,
            fontSize=17,
            fontWeight="bold",
            subtitleColor=SOFT_INK,
            subtitleFontSize=13,
            subtitlePadding=6,
            subtitleLineHeight=17,
            offset=16,
        ),
        "legend": alt.LegendConfig(
            labelColor=INK, labelFontSize=12, titleColor=INK, titleFontSize=12, titleFontWeight="normal"
        ),
    }
    return alt.Config(**parts)


#: Significant digits of the numbers in a specification: finer than a pixel, and a small file.
DIGITS = 6


def read_table(frame: Any, *, text: tuple[str, ...] = (), numbers: tuple[str, ...] = ()) -> pl.DataFrame:
    """The named columns of a frame (polars, pandas, pyarrow) or of a mapping of arrays, checked.

    Text columns are returned as strings, numbers as finite float64.
    """
    table = _as_polars(frame)
    for column in (*text, *numbers):
        _check_present(table, column)
    if table.is_empty():
        raise ValueError("`frame` must have at least one row; got none.")
    for column in text:
        _check_no_missing(table[column])
    return table.select(
        *(pl.col(column).cast(pl.String) for column in text),
        *(_finite(table[column]) for column in numbers),
    )


def read_flags(frame: Any, column: str) -> pl.Series:
    """A column of booleans."""
    table = _as_polars(frame)
    _check_present(table, column)
    flags = table[column]
    if flags.dtype != pl.Boolean or flags.null_count():
        odd = next((value for value in flags if not isinstance(value, bool)), flags.dtype)
        raise ValueError(f"Column {column!r} must hold True or False; got {odd!r}.")
    return flags


def check_unique(table: pl.DataFrame, column: str) -> None:
    """Refuse a table with a duplicate name."""
    doubles = table.filter(pl.col(column).is_duplicated())
    if not doubles.is_empty():
        raise ValueError(f"Column {column!r} must name each row once; got {doubles[column][0]!r} twice.")


def check_order(table: pl.DataFrame) -> None:
    """Refuse intervals that do not contain their mean."""
    wrong = table.filter((pl.col("low") > pl.col("mean")) | (pl.col("mean") > pl.col("high")))
    if not wrong.is_empty():
        low, mean, high = wrong.select("low", "mean", "high").row(0)
        raise ValueError(
            "Columns 'low', 'mean' and 'high' must be in this order; "
            f"got low={low!r}, mean={mean!r}, high={high!r}."
        )


def least_of(numbers: pl.Series) -> float:
    """The smallest of some floats."""
    return float(numbers.to_numpy().min())


def most_of(numbers: pl.Series) -> float:
    """The largest of some floats."""
    return float(numbers.to_numpy().max())


def check_above_zero(table: pl.DataFrame, column: str, why: str) -> None:
    """Refuse numbers that are not above 0."""
    least = least_of(table[column])
    if not least > 0.0:
        raise ValueError(f"Column {column!r} must be above 0 {why}; got {least!r}.")


def to_rows(table: pl.DataFrame) -> list[dict[str, Any]]:
    """The rows for a specification, with numbers of `DIGITS` significant digits."""
    floats = [name for name, kind in table.schema.items() if kind == pl.Float64]
    return table.with_columns(pl.col(floats).round_sig_figs(DIGITS)).to_dicts()


def _as_polars(frame: Any) -> pl.DataFrame:
    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, Mapping):
        return pl.DataFrame(dict(frame), strict=False)
    try:
        table: pl.DataFrame = nw.from_native(frame, eager_only=True).to_polars()
    except TypeError:
        raise TypeError(
            f"`frame` must be a data frame or a mapping of columns; got {type(frame).__name__}."
        ) from None
    return table


def _finite(series: pl.Series) -> pl.Series:
    _check_no_missing(series)
    if not series.dtype.is_numeric():
        raise TypeError(f"Column {series.name!r} must hold numbers; got {series[0]!r}.")
    floats = series.cast(pl.Float64)
    odd = floats.filter(~floats.is_finite())
    if not odd.is_empty():
        raise ValueError(f"Column {series.name!r} must hold finite numbers; got {odd[0]!r}.")
    return floats


def _check_present(table: pl.DataFrame, column: str) -> None:
    if column not in table.columns:
        present = ", ".join(repr(name) for name in table.columns) or "none"
        raise ValueError(f"`frame` must have a column {column!r}; got the columns {present}.")


def _check_no_missing(series: pl.Series) -> None:
    if series.null_count():
        row = series.is_null().arg_max()
        raise ValueError(f"Column {series.name!r} must have a value in every row; got none in row {row}.")


#: Plain numbers while they are short, like 1e-7 beyond.
_LOG_LABEL = (
    "datum.value > 9e-5 && datum.value < 2e6 ? format(datum.value, ',.6~r') : format(datum.value, '~e')"
)


#: Ticks of a logarithmic axis.
MOST_TICKS = 8


class Span(NamedTuple):
    """The range of an axis and how many pixels it has."""

    low: float
    high: float
    log: bool
    pixels: int

    def place(self, value: float) -> float:
        """Where a value lies, in pixels from the low end."""
        low, high, value = (math.log(v) if self.log else v for v in (self.low, self.high, value))
        return (value - low) / (high - low) * self.pixels

    def value_at(self, place: float) -> float:
        """The value at a place, in pixels from the low end; the inverse of `place`."""
        low, high = (math.log(v) if self.log else v for v in (self.low, self.high))
        value = low + place / self.pixels * (high - low)
        return math.exp(value) if self.log else value

    def scale(self) -> alt.Scale:
        """The scale of a specification."""
        return alt.Scale(type="log" if self.log else "linear", domain=[self.low, self.high], nice=False)

    def axis(self, title: str, *, grid: bool = True, whole: bool = False) -> alt.Axis:
        """The axis of a specification, with a title that says when the scale is logarithmic."""
        if not self.log:
            step = 1 if whole else alt.Undefined
            return alt.Axis(title=title, grid=grid, tickCount=6, tickMinStep=step, format=",~r")
        values = log_ticks(self.low, self.high, MOST_TICKS)
        return alt.Axis(
            title=f"{title} (log scale)", grid=grid, values=values, labelExpr=_LOG_LABEL, labelOverlap=True
        )


def make_span(values: Any, *, log: bool, pixels: int, from_zero: bool = False, air: float = 0.0) -> Span:
    """A range that holds all values, with a share of it left free at both ends."""
    low, high = float(min(values)), float(max(values))
    if from_zero and not log:
        low = min(low, 0.0)
    if low == high:
        return Span(low / 2, high * 2, True, pixels) if log else Span(low - 0.5, high + 0.5, False, pixels)
    span = Span(low, high, log, pixels)
    free = air * pixels
    bottom = low if from_zero and not log and low == 0.0 else span.value_at(-free)
    return Span(bottom, span.value_at(pixels + free), log, pixels)


def round_below(value: float) -> float:
    """The largest of 1, 2, 5 times a power of ten that does not exceed a value above 0.

    Example:
        >>> round_below(0.0031)
        0.002
    """
    exponent = math.floor(math.log10(value))
    tries = (float(f"{m}e{n}") for n in (exponent, exponent - 1) for m in (5, 2, 1))
    return next(number for number in tries if number <= value)


def plain(value: float) -> str:
    """A number as a sentence shows it, with three significant digits.

    Example:
        >>> [plain(value) for value in (0.12345, 1e-06, 1234567.0)]
        ['0.123', '1e-6', '1,230,000']
    """
    if value != 0.0 and not 1e-4 <= abs(value) < 1e7:
        digits, exponent = f"{value:.2e}".split("e")
        return f"{float(digits):g}e{int(exponent)}"
    return f"{float(f'{value:.3g}'):,.6f}".rstrip("0").rstrip(".")


class Drawing:
    """Layers from the bottom to the top, and the tables they draw by name."""

    def __init__(self) -> None:
        self.layers: list[alt.Chart] = []
        self.tables: dict[str, list[dict[str, Any]]] = {}

    def table(self, name: str, rows: list[dict[str, Any]]) -> alt.Chart:
        """Keep a table, and return a chart of it that has no mark yet."""
        self.tables[name] = rows
        # Referring by name spares copies and checks of the rows at every step of building a layer.
        return alt.Chart(alt.NamedData(name=name))

    def finish(
        self,
        *,
        title: str,
        subtitle: list[str],
        height: int = HEIGHT,
        width: int = WIDTH,
        margin: int = 0,
    ) -> alt.LayerChart:
        """The chart, with title, subtitle, spoken description and the common look.

        Args:
            title: One sentence.
            subtitle: Sentences, each on its own line.
            height: Of the plotting area.
            width: Of the plotting area.
            margin: Pixels used right of the plotting area, where title and subtitle may reach.
        """
        lines = [line for sentence in subtitle for line in wrap(sentence, width + margin, 6.1)]
        return alt.LayerChart(
            layer=self.layers,
            width=width,
            height=height,
            title=alt.TitleParams(text=wrap(title, width + margin, 8.5), subtitle=lines),
            description=" ".join(text if text.endswith(".") else f"{text}." for text in (title, *subtitle)),
            datasets=self.tables,
            config=config(),
        )


def wrap(sentence: str, width: int, per_character: float) -> list[str]:
    """Break a sentence into lines that fit; Vega does not break lines by itself."""
    return textwrap.wrap(sentence, int(width / per_character)) or [""]


#: Pixels between two labels.
GAP = 17.0
_KEY = 34
#: A point on a line: the white edge keeps it apart from what it covers.
MARKER: dict[str, Any] = {"filled": True, "size": 60, "opacity": 1, "stroke": "white", "strokeWidth": 0.7}


class End(NamedTuple):
    """Where a line ends, and its label."""

    label: str
    x: float
    y: float


def label_ends(drawing: Drawing, series: Sequence[End], curves: Sequence[End], x: Span, y: Span) -> None:
    """Draw leaders, samples of the lines, and names, right of the plotting area.

    Args:
        drawing: Where to draw.
        series: The ends of the lines that are told apart by their looks, in the order of the looks.
        curves: The ends of thin grey lines.
        x: The horizontal axis.
        y: The vertical axis.
    """
    ends = [*series, *curves]
    places = spread([y.place(end.y) for end in ends], GAP, 0.0, float(y.pixels))
    rows = [end._asdict() | {"to": y.value_at(place)} for end, place in zip(ends, places, strict=True)]
    height = alt.Y("to:Q", scale=y.scale())
    start = x.pixels + 12
    key = {"x": alt.value(start), "x2": alt.value(start + _KEY), "y": height}
    colour, shape, dash = tell_apart("label", [end.label for end in series])
    everything = drawing.table("ends", rows)
    styled = drawing.table("series", rows[: len(series)])
    leaders = everything.mark_rule(color=FADED, strokeWidth=0.7).encode(
        x=alt.X("x:Q", scale=x.scale()), x2=alt.value(start), y=alt.Y("y:Q", scale=y.scale()), y2="to:Q"
    )
    samples = styled.mark_rule(strokeWidth=2.2).encode(color=colour, strokeDash=dash, **key)
    points = styled.mark_point(**MARKER).encode(
        x=alt.value(start + _KEY / 2), y=height, color=colour, shape=shape
    )
    names = everything.mark_text(align="left", baseline="middle", fontSize=12, color=INK, limit=260).encode(
        x=alt.value(start + _KEY + 6), y=height, text="label:N"
    )
    drawing.layers += [leaders, samples, points, names]
    if curves:
        grey = drawing.table("grey", rows[len(series) :])
        drawing.layers.append(grey.mark_rule(color=FADED, strokeWidth=1.2).encode(**key))


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places as near as possible to those wanted, in their order, at least ``gap`` apart.

    They stay between ``low`` and ``high`` if there is room for all.

    Example:
        >>> spread([10.0, 11.0, 50.0], 4.0, 0.0, 100.0)
        [8.5, 12.5, 50.0]
    """
    order = np.argsort(np.asarray(wanted), kind="stable")
    # Least squares under "at least gap apart" is isotonic regression after taking the gaps out.
    blocks: list[tuple[float, int]] = []
    for rank, index in enumerate(order):
        mean, size = float(wanted[index]) - gap * rank, 1
        while blocks and blocks[-1][0] >= mean:
            before, count = blocks.pop()
            mean, size = (before * count + mean * size) / (count + size), count + size
        blocks.append((mean, size))
    flat = np.repeat([mean for mean, _ in blocks], [size for _, size in blocks])
    flat = np.maximum(np.minimum(flat, high - gap * (len(wanted) - 1)), low)
    places = np.empty(len(wanted))
    places[order] = flat + gap * np.arange(len(wanted))
    return [float(place) for place in places]
