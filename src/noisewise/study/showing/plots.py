"""The charts of a study: ``study.plot.bound()`` and the others, for notebooks, files and the report."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from noisewise.core.support.words import counted, percent
from noisewise.study.certificates.certificate import Certificate
from noisewise.study.certificates.check import residuals_to_show
from noisewise.study.inputs.value_scale import ValueScale
from noisewise.study.log.specification import Specification
from noisewise.study.models.analysis import Analysis
from noisewise.study.planning.worth import Worth
from noisewise.study.showing.intervals import draw

if TYPE_CHECKING:  # it simulates studies, which takes much to load
    from noisewise.study.planning.plan import Plan

#: Bars that differ by less than this are as good as equal.
ALIKE = 0.9


class Drawn(Protocol):
    """What charts need of a study."""

    @property
    def specification(self) -> Specification:
        """The question."""

    def analysis(self) -> Analysis:
        """The fits."""

    def certificate(self) -> Certificate:
        """What is recommended."""

    def worth(self, looks: int = ...) -> Worth:
        """What each measurement contributed."""

    @property
    def plan(self) -> "Callable[..., Plan]":
        """What it takes."""


class Plots:
    """Charts of one study; `noisewise.charts.save_chart` writes any of them to a file."""

    def __init__(self, study: Drawn) -> None:
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
    """Where the bound stands after the last measurement, rounded as in the certificate."""
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
