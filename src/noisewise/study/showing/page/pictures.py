"""The other charts of the report: the bound, what was worth most, residuals, the plan."""

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from noisewise.charts.svg import Plane, Point, Scale, axis_row, band_row, bar_row, scale_of
from noisewise.core.support.words import about, counted, in_unit, percent
from noisewise.study.certificates.check import residuals_to_show
from noisewise.study.inputs.value_scale import ValueScale
from noisewise.study.models.analysis import Analysis
from noisewise.study.planning.worth import Worth
from noisewise.study.showing.page.elements import figure, paragraph, text
from noisewise.study.showing.plots import (
    course_of,
    forecast_rows,
    title_of_course,
    worth_alike,
)

if TYPE_CHECKING:  # it simulates studies, which takes much to load
    from noisewise.study.planning.plan import Plan

#: Measurements in the chart of what was worth most, and points in that of residuals.
MOST_WORTH, MOST_POINTS = 12, 800
#: In standard errors: within the first lie 95 of 100 residuals; beyond the second something is odd; beyond
#: the third a point stands at the edge.
USUAL, ODD, EDGE = 2.0, 3.0, 8.0


def course_figure(worth: Worth, eps: float | None, unit: str | None) -> str:
    """How the bound fell."""
    thinned = ""
    if worth.looks < len(worth.ledger):
        thinned = (
            f"It was computed after {worth.looks:,} of {len(worth.ledger):,} measurements: those that "
            "taught most, and some evenly between."
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
        "worth", "The measurements that were worth most", said, _table(rows, "Measurement", "Share")
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
    return figure("plan", title, said, _table(drawn, "Way of going on", what, axis_row(ticks)))


def _pictured(name: str, drawn: str, value: str) -> str:
    return (
        f'<tr role="row"><th role="rowheader" scope="row">{text(name)}</th>'
        f'<td role="cell" class="plot">{drawn}</td>'
        f'<td role="cell" class="number main">{text(value)}</td></tr>'
    )


def _table(rows: list[str], name: str, value: str, axis: str = "") -> str:
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
