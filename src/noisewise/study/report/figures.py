"""The charts of a study: ``study.plot.bound()`` and the others, and those of the report.

The report draws the options (a row for each, with its picture, its number and what may be said about it), the
bound, what was worth most, residuals and the plan.
"""

import itertools
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from noisewise.charts.svg import (
    SHAPES,
    Plane,
    Point,
    Scale,
    Tick,
    axis_row,
    band_row,
    bar_row,
    interval_row,
    scale_of,
)
from noisewise.core.text import about, aligned, counted, in_unit, percent
from noisewise.study.certificates.certificate import Certificate
from noisewise.study.certificates.check import residuals_to_show
from noisewise.study.certificates.claims import EXCLUDED, MAY_BE_BEST, NOT_KNOWN, RULED_OUT, UNBOUNDED
from noisewise.study.models.analysis import Analysis
from noisewise.study.planning.worth import Worth
from noisewise.study.report.elements import NOTHING, Column, figure, folded, paragraph, table, text
from noisewise.study.report.intervals import View, draw
from noisewise.study.telling.scale import ValueScale

if TYPE_CHECKING:  # it simulates studies, which takes much to load
    from noisewise.study.planning.plan import Plan
    from noisewise.study.study import Study


#: Bars that differ by less than this are as good as equal.
ALIKE = 0.9


class Plots:
    """Charts of one study; `noisewise.charts.save_chart` writes any of them to a file."""

    def __init__(self, study: "Study") -> None:
        self._study = study

    def __repr__(self) -> str:
        return "plot.intervals(), .bound(), .worth(), .residuals(), .plan()"

    def intervals(self, most: int = 40) -> Any:
        """How far each difference to the recommended option can be off, as the certificate sees it."""
        return draw(self._study.analysis(), self._study.certificate(), most)

    def bound(self) -> Any:
        """How the bound fell, with quiet measurements marked."""
        return draw_bound(self._study.worth(), self._study.specification.eps, self._study.specification.unit)

    def worth(self, most: int = 25) -> Any:
        """The measurements that taught most."""
        return draw_worth(self._study.worth(looks=8), most)

    def residuals(self) -> Any:
        """How far each measurement lies from the fit, in its own standard errors."""
        return draw_residuals(self._study.analysis())

    def plan(self, plan: "Plan | None" = None, **options: Any) -> Any:
        """What it takes until the bound is small enough; a plan, or what `Study.plan` takes."""
        return draw_plan(self._study.plan(**options) if plan is None else plan)


def draw_bound(worth: Worth, eps: float | None, unit: str | None = None) -> Any:
    """The bound after each measurement."""
    from noisewise.charts import bound_over_measurements

    if worth.withheld:
        raise ValueError(f"there is no bound: the certificate is withheld ({'; '.join(worth.withheld)}).")
    course = course_of(worth)
    if course.is_empty():
        raise ValueError("there is no bound yet: too little was measured.")
    scale = worth.scale
    drawn = course.with_columns(bound=pl.Series(scale.drawn(course["bound"].to_numpy())))
    level = None if eps is None else float(scale.drawn(eps))
    title = title_of_course(course, replace(scale, unit=unit))
    return bound_over_measurements(drawn, eps=level, title=title, unit="%" if scale.log else None)


def title_of_course(course: pl.DataFrame, scale: ValueScale) -> str:
    """Say how large the bound is after the last measurement, rounded as in the certificate."""
    last = float(course["bound"][-1])
    known = f"at most {scale.far(last)} from the best" if last > 0.0 else "the bound is 0"
    return f"After {counted(course['measurement'][-1], 'measurement')}: {known}"


def course_of(worth: Worth) -> pl.DataFrame:
    """The measurements after which there was a bound: their number, the bound, whether they were quiet."""
    numbered = worth.ledger.with_row_index("measurement", offset=1)
    known = numbered.filter(pl.col("bound_after").is_not_null())
    return known.select("measurement", pl.col("bound_after").alias("bound"), "quiet")


def worth_alike(ledger: pl.DataFrame, most: int) -> str | None:
    """What to say instead of drawing bars where all of them would be equally long; None if they differ."""
    top = ledger.sort("share", descending=True)["share"][:most]
    if not len(top) or float(top[-1]) < ALIKE * float(top[0]):
        return None
    which = "All measurements" if len(top) == len(ledger) else f"The {len(top):,} that taught most"
    least, largest = percent(float(top[-1]), 1), percent(float(top[0]), 1)
    each = f"{largest} each" if least == largest else f"{least} to {largest} each"
    return f"{which} were worth about the same: {each} of all that was learnt."


def draw_worth(worth: Worth, most: int) -> Any:
    """The measurements that taught most."""
    from noisewise.charts import worth_per_measurement

    if worth.ledger.is_empty():
        raise ValueError("nothing was measured yet.")
    name = pl.concat_str("id", "option", pl.col("minus"), separator=" ", ignore_nulls=True)
    table = worth.ledger.select(name.alias("measurement"), "share", "quiet")
    alike = worth_alike(worth.ledger, most)
    return worth_per_measurement(table, most=most, title=alike and alike.removesuffix("."))


def draw_residuals(analysis: Analysis) -> Any:
    """Residuals of the estimates' fit."""
    from noisewise.charts import residuals_over_measurements

    if not analysis.columns.value.size:
        raise ValueError("nothing was measured yet.")
    columns, residuals = residuals_to_show(analysis)
    frame = pl.DataFrame(
        {
            "measurement": range(1, columns.value.size + 1),
            "option": [analysis.state.ids[k] for k in columns.plus],
            "residual": residuals,
        }
    )
    return residuals_over_measurements(frame)


def draw_plan(plan: "Plan") -> Any:
    """The forecasts that have an end above 0."""
    from noisewise.charts import forecast_bands

    rows, what = forecast_rows(plan)
    if not rows:
        raise ValueError(f"there is nothing to draw. {plan.sentence}")
    title = f"What it takes until the bound is at most {plan.eps_text}"
    return forecast_bands(pl.DataFrame(rows), what=what, title=title)


def forecast_rows(plan: "Plan") -> tuple[list[dict[str, Any]], str]:
    """Name, median, low and high of every forecast that has an end above 0, and what these count."""
    parts, what = ("median", "low", "high"), "More measurements"
    if plan.by_cost:
        parts, what = ("cost", "cost_low", "cost_high"), "Cost"
    elif plan.forecasts[0].unit is not None and all(forecast.blocks_high for forecast in plan.forecasts):
        parts, what = ("blocks", "blocks_low", "blocks_high"), f"More {plan.forecasts[0].unit}s"
    rows = []
    for forecast in plan.forecasts:
        median, low, high = (float(getattr(forecast, part)) for part in parts)
        if math.isfinite(high) and high > 0.0:
            least = 0.5 if not plan.by_cost else high / 1000.0
            rows.append(
                {"name": forecast.name, "median": max(least, median), "low": max(least, low), "high": high}
            )
    return rows, what


RECOMMENDED, LEADS, GOOD_ENOUGH = "recommended", "leads, without a bound", "good enough"
#: The shape of options that are good enough, whether or not they may be the best.
ENOUGH = "enough"
#: The shape of each standing.
KINDS = {
    RECOMMENDED: "recommended",
    LEADS: "recommended",
    MAY_BE_BEST: "may",
    RULED_OUT: "out",
    NOT_KNOWN: "uncertain",
}


class OptionLine(NamedTuple):
    """One option as it is shown."""

    option: str
    standing: str
    value: float | None
    error: float | None
    measured: int
    ends: tuple[float, float, float] | None  # low end, estimate and high end, if there are such
    remark: str = ""

    @property
    def kind(self) -> str:
        """Its shape in charts."""
        return ENOUGH if self.remark == GOOD_ENOUGH else KINDS.get(self.standing, "uncertain")


def options_figure(
    frame: pl.DataFrame, view: View | None, certificate: Certificate, most: int, *, table_too: bool = True
) -> str:
    """The chart of all options, or of the best of them, and a table of all.

    Args:
        frame: `Study.frame("options")`.
        view: The intervals; None if nothing was measured.
        certificate: What may be claimed.
        most: Rows of the chart.
        table_too: Whether a table lists all of them below, where the chart does not.
    """
    rows = _rows(frame, view, certificate)
    shown = [row for row in rows if row.ends is not None][:most]
    missing = [row for row in rows if row.option == certificate.option and row.ends is not None]
    if missing and missing[0] not in shown:
        shown[-1] = missing[0]
    rest = [row for row in rows if row.ends is None][: max(0, most - len(shown))]
    left = len(rows) - len(shown) - len(rest)
    listed = _listed(rows, certificate) if left and table_too else ""
    if view is None or not shown:
        return _listed(rows, certificate)
    said = [*view.said, *([f"{left:,} more options are in the table below."] if listed else [])]
    return (
        figure("intervals", view.heading, said, _keys(shown), _table_of_options([*shown, *rest], view))
        + listed
    )


def _rows(frame: pl.DataFrame, view: View | None, certificate: Certificate) -> list[OptionLine]:
    found = option_lines(frame, view, certificate)
    sign = -1.0 if certificate.goal == "max" else 1.0
    found.sort(key=lambda row: (row.ends is None, row.value is None, sign * (row.value or 0.0)))
    return found


def option_lines(frame: pl.DataFrame, view: View | None, certificate: Certificate) -> list[OptionLine]:
    """The options of a frame in its order: all of `Study.frame("options")`, or some of its rows."""
    bars = None if view is None else view.table
    if bars is not None and len(frame) < len(bars):
        bars = bars.filter(pl.col("option").is_in(frame["option"].to_list()))
    ends = {} if bars is None else {row["option"]: row for row in bars.iter_rows(named=True)}
    apart, ratios = (False, False) if view is None else (view.apart, view.apart and view.log)
    found = []
    for row in frame.iter_rows(named=True):
        bar = ends.get(row["option"])
        found.append(
            OptionLine(
                row["option"],
                _standing(row, certificate),
                *_numbers(row, apart, ratios),
                row["measurements"],
                None if bar is None else (bar["low"], bar["mean"], bar["high"]),
                _remark(row, bar is None, certificate),
            )
        )
    return found


def _numbers(row: dict[str, Any], apart: bool, ratios: bool) -> tuple[float | None, float | None]:
    """Return the number beside the picture, with its standard error: differences or ratios, where drawn."""
    if not apart:
        return row["estimate"], row["se"]
    if "ratio" not in row:
        return row["difference"], row["difference_se"]
    ratio, error = row["ratio"], row["ratio_se"]
    if ratios:
        return ratio, error
    return None if ratio is None else 100.0 * (ratio - 1.0), None if error is None else 100.0 * error


def _standing(row: dict[str, Any], certificate: Certificate) -> str:
    if row["excluded"] is not None:
        return EXCLUDED
    if row["recommended"]:
        return LEADS if certificate.verdict == UNBOUNDED else RECOMMENDED
    return {True: MAY_BE_BEST, False: RULED_OUT, None: NOT_KNOWN}[row["may_be_best"]]


def _remark(row: dict[str, Any], no_bar: bool, certificate: Certificate) -> str:
    if row["excluded"] is not None:
        return str(row["excluded"])
    if not no_bar:
        return GOOD_ENOUGH if row.get("good_enough") and not row["recommended"] else ""
    if not row["measurements"]:
        return "never measured"
    if not row.get("linked", True):
        return "not linked"
    return "without a bound yet" if certificate.verdict == UNBOUNDED else ""


def standing_in_words(row: OptionLine) -> str:
    """What may be said about an option, with a remark."""
    standing = "" if row.standing == NOT_KNOWN and row.remark else row.standing
    return ", ".join(part for part in (standing, row.remark) if part)


def _table_of_options(rows: list[OptionLine], view: View) -> str:
    drawn = [row.ends for row in rows if row.ends is not None]
    scale = scale_of([end for ends in drawn for end in ends], log=view.log)
    ticks = scale.ticks(5)
    values = aligned([row.value for row in rows], [row.error for row in rows])
    body = "".join(
        _line(row, number, scale, ticks, view.edge) for row, number in zip(rows, values, strict=True)
    )
    title = text(f"{view.axis} (log scale)" if view.log else view.axis)
    return (
        '<table class="pictured" role="table"><thead role="rowgroup"><tr role="row">'
        f'<th role="columnheader" scope="col">Option</th><th role="columnheader" class="plot" scope="col">'
        f'{title}</th><th role="columnheader" class="number" scope="col">{text(view.number)}</th>'
        '<th role="columnheader" class="number" scope="col">Measurements</th>'
        '<th role="columnheader" scope="col">Standing</th></tr></thead>'
        f'<tbody role="rowgroup">{body}</tbody>'
        f'<tfoot aria-hidden="true"><tr><td></td><td class="plot">{axis_row(ticks)}</td><td></td><td></td>'
        "<td></td></tr></tfoot></table>"
    )


def _line(
    row: OptionLine, value: tuple[str, str] | None, scale: Scale, ticks: list[Tick], edge: float | None
) -> str:
    kind = row.kind
    drawn = "" if row.ends is None else interval_row(scale, ticks, kind, row.ends, edge)
    shown = NOTHING if value is None else " ± ".join(part for part in value if part).replace("-", "−")
    bold = " class=recommended" if kind == "recommended" else ""
    return (
        f'<tr role="row"{bold}><th role="rowheader" scope="row">{text(row.option)}</th>'
        f'<td role="cell" class="plot">{drawn}</td><td role="cell" class="number main">{shown}</td>'
        f'<td role="cell" class="number count">{row.measured:,}</td>'
        f'<td role="cell" class="standing">{text(standing_in_words(row))}</td></tr>'
    )


def _keys(rows: list[OptionLine]) -> str:
    """What the shapes stand for."""
    present = {row.kind: GOOD_ENOUGH if row.kind == ENOUGH else row.standing for row in rows}
    words = {kind: present[kind] for kind in SHAPES if kind in present}
    if "uncertain" in words:
        words["uncertain"] = "nothing certified"
    keys = "".join(
        f'<span class="key"><svg aria-hidden="true"><svg x="50%" y="50%" overflow="visible">'
        f'<path class="{kind}" d="{SHAPES[kind]}"/></svg></svg>{text(said)}</span>'
        for kind, said in words.items()
    )
    return f'<p class="soft">{keys}</p>'


def _listed(rows: list[OptionLine], certificate: Certificate) -> str:
    numbers = aligned([row.value for row in rows], [row.error for row in rows])
    frame = pl.DataFrame(
        {
            "option": [row.option for row in rows],
            "value": [None if one is None else one[0] for one in numbers],
            "error": [None if one is None else one[1] or None for one in numbers],
            "count": [row.measured for row in rows],
            "standing": [standing_in_words(row) for row in rows],
        },
        schema_overrides={"value": pl.String, "error": pl.String},
    )
    columns = {
        "option": Column("option"),
        "value": Column("estimate", number=True),
        "error": Column("standard error", number=True),
        "count": Column("measurements", "{:,}", number=True),
        "standing": Column("standing"),
    }
    order = "largest" if certificate.goal == "max" else "smallest"
    return folded(f"All options, the {order} first", table(frame, columns, "options", first=True))


#: Measurements in the chart of what was worth most, and points in that of residuals.
MOST_WORTH, MOST_POINTS = 12, 800
#: In standard errors: within the first lie 95 of 100 residuals; beyond the second something is odd; beyond
#: the third a point is drawn at the edge.
USUAL, ODD, EDGE = 2.0, 3.0, 8.0


def course_figure(worth: Worth, eps: float | None, unit: str | None) -> str:
    """How the bound fell."""
    thinned = ""
    if worth.looks < len(worth.ledger):
        thinned = (
            f"It was computed after {worth.looks:,} of {len(worth.ledger):,} measurements: those that "
            "taught most, and geometrically."
        )
    return drawn_course(course_of(worth), replace(worth.scale, unit=unit), eps, thinned)


def drawn_course(course: pl.DataFrame, scale: ValueScale, eps: float | None, thinned: str = "") -> str:
    """How a bound fell.

    Args:
        course: As `course_of` makes it, with at least one row.
        scale: Of the values.
        eps: What is good enough.
        thinned: What to say where it was not computed after every measurement.
    """
    bounds = scale.drawn(course["bound"].to_numpy())
    good_enough = "" if eps is None else f"good enough: {scale.close(eps)}"
    eps, unit = None if eps is None else float(scale.drawn(eps)), scale.unit_of_bounds
    positive = [*bounds[bounds > 0.0].tolist(), *([eps] if eps else [])] or [1.0]
    floor = min(positive) / 2.0
    said = ["How far the recommended option can be from the best, after each measurement; log scale."]
    if (bounds < floor).any():
        said.append("A bound of 0 (no other option is better) is drawn at the lower edge.")
    if thinned:
        said.append(thinned)
    count = course["measurement"].to_numpy()
    up = scale_of([*positive, *([floor] if (bounds < floor).any() else [])], log=True, air=0.08)
    title = title_of_course(course, scale)
    plane = Plane(
        Scale(0.0, float(count[-1])), up, f"{title}. {' '.join(said)}",
        ("Measurements", in_unit("Bound", None if unit is None else f"({unit})")),
    )  # fmt: skip
    if eps is not None:
        plane.level(eps, good_enough)
    heights = np.maximum(bounds, up.low)
    plane.steps(list(zip(count.tolist(), heights.tolist(), strict=True)))
    quiet = course["quiet"].to_numpy()
    if quiet.any():
        said.append("Dots are quiet measurements, whose error bars are at most half of the usual one.")
    points = [
        Point(x, y, "odd", f"measurement {x:,}: {scale.short(bound)}")
        for x, y, bound, dot in zip(count.tolist(), heights.tolist(), course["bound"], quiet, strict=True)
        if dot
    ]
    plane.points(points)
    return figure("bound", title, said, plane.drawn())


def worth_figure(worth: Worth) -> str:
    """The measurements that taught most; a sentence instead if they taught equally."""
    if (alike := worth_alike(worth.ledger, MOST_WORTH)) is not None:
        return paragraph(alike)
    groups = _groups(worth.ledger)[:MOST_WORTH]
    scale = Scale(0.0, groups[0][0]["share"] * 1.02)
    rows = []
    for first, *others in groups:
        what = first["option"] if first["minus"] is None else f"{first['option']} − {first['minus']}"
        name = f"{first['id']}: {what}" if not others else f"{first['id']} and {len(others):,} more"
        share = percent(first["share"], 1) + (" each" if others else "")
        kind = "recommended" if first["quiet"] else "may"
        rows.append(_pictured(name, bar_row(scale, [], kind, first["share"]), share))
    shown = [row for group in groups for row in group]
    left = len(worth.ledger) - len(shown)
    held = percent(sum(row["share"] for row in shown), 1)
    said = ["Each one's part of all that was learnt, at the time it came."]
    if left:
        said.append(f"Together {held}; {left:,} more {'holds' if left == 1 else 'hold'} the rest.")
    quiet = [row["quiet"] for row in shown]
    if any(quiet) and not all(quiet):
        said.append("Those in another colour are quiet: their error bars are at most half of the usual one.")
    return figure(
        "worth", "The measurements that were worth most", said, _pictured_table(rows, "Measurement", "Share")
    )


def _groups(ledger: pl.DataFrame) -> list[list[dict[str, Any]]]:
    """The measurements that taught most, three or more that taught the same together."""
    found: list[list[dict[str, Any]]] = []
    columns = ledger.select("id", "option", "minus", "share", "quiet")
    rows = columns.sort("share", descending=True, maintain_order=True).iter_rows(named=True)
    for _, several in itertools.groupby(rows, key=lambda row: (f"{row['share']:.3g}", row["quiet"])):
        alike = list(several)
        found += [alike] if len(alike) > 2 else [[row] for row in alike]
        if len(found) >= MOST_WORTH:
            break
    return found


def residuals_figure(analysis: Analysis) -> str:
    """How far each measurement lies from the fit, in its own standard errors."""
    columns, residuals = residuals_to_show(analysis)
    size = np.abs(residuals)
    within = percent(float((size <= USUAL).mean()), 0)
    said = ["If model and error bars are right, about 95 % do (the band), and nearly none are beyond three."]
    if size.size < analysis.columns.value.size:
        left = analysis.columns.value.size - size.size
        said.append(f"{counted(left, 'measurement')} whose error bars cannot be judged are left out.")
    shown = np.flatnonzero(size > USUAL)[:MOST_POINTS]
    rest = np.flatnonzero(size <= USUAL)
    room = max(1, MOST_POINTS - shown.size)
    shown = np.sort(np.concatenate([shown, rest[:: -(-rest.size // room) or 1]]))
    if shown.size < size.size:
        said.append(
            f"{shown.size:,} of {size.size:,} are drawn: those beyond two standard errors, some others."
        )
    reach = min(EDGE, max(ODD, float(size.max())) * 1.08)
    if (size > reach).any():
        said.append("Triangles at the edge lie further out.")
    title = f"{within} of the residuals lie within two standard errors"
    plane = Plane(
        Scale(0.0, size.size + 1.0), Scale(-reach, reach), f"{title}. {' '.join(said)}",
        ("Measurement", "Residual, in standard errors"),
    )  # fmt: skip
    plane.band(-USUAL, USUAL)
    ids = analysis.state.ids
    plane.points(
        Point(
            k + 1.0, residuals[k], "odd" if size[k] > ODD else "",
            f"m-{columns.number[k]} {ids[columns.plus[k]]}: {residuals[k]:+.1f}" if size[k] > USUAL else "",
        )
        for k in shown.tolist()
    )  # fmt: skip
    return figure("residuals", title, said, plane.drawn())


def plan_figure(plan: "Plan") -> str:
    """What it takes in each way of going on."""
    rows, what = forecast_rows(plan)
    scale = scale_of([value for row in rows for value in (row["low"], row["high"])], log=True, air=0.05)
    ticks = scale.ticks(5)
    drawn = [
        _pictured(
            row["name"],
            band_row(scale, ticks, (row["low"], row["median"], row["high"])),
            f"{about(row['median'])} ({about(row['low'])} to {about(row['high'])})",
        )
        for row in rows
    ]
    said = ["Diamonds: half of the simulated studies need fewer. Bars: four of five lie within. Log scale."]
    title = f"What it takes until the bound is at most {plan.eps_text}"
    return figure("plan", title, said, _pictured_table(drawn, "Way of going on", what, axis_row(ticks)))


def _pictured(name: str, drawn: str, value: str) -> str:
    return (
        f'<tr role="row"><th role="rowheader" scope="row">{text(name)}</th>'
        f'<td role="cell" class="plot">{drawn}</td>'
        f'<td role="cell" class="number main">{text(value)}</td></tr>'
    )


def _pictured_table(rows: list[str], name: str, value: str, axis: str = "") -> str:
    below = f'<tfoot aria-hidden="true"><tr><td></td><td class="plot">{axis}</td><td></td></tr></tfoot>'
    return (
        '<table class="pictured few" role="table"><thead role="rowgroup"><tr role="row">'
        f'<th role="columnheader" scope="col">{text(name)}</th>'
        '<td role="cell" class="plot"></td>'
        f'<th role="columnheader" class="number" scope="col">{text(value)}</th></tr></thead>'
        f'<tbody role="rowgroup">{"".join(rows)}</tbody>{below if axis else ""}</table>'
    )


def groups_of(worth: Worth, what: str) -> pl.DataFrame | None:
    """What blocks or instruments were worth, if there are several."""
    if worth.ledger.is_empty() or worth.ledger[what].n_unique() < 2:
        return None
    groups = worth.by(what).with_columns(pl.col(what).fill_null(f"no {what}"))
    return groups.with_columns(
        pl.Series(name, [percent(share, 1) for share in groups[name]], dtype=pl.String)
        for name in ("precision_share", "share")
    )
