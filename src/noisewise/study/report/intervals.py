"""The certificate's own intervals, as a table and as a chart.

The certificate compares every option with the recommended one, and its promise is about the best option,
which is one of them. So a bar has two ends of different meaning, both of the certificate's own statement:

- the better end (above the estimate for goal "max"): as far as this option can be better than the recommended
  one, *if it is the best*. An option whose bar does not reach the recommended estimate is not;
- the worse end: as far as it can be behind *if the recommended option is the best*.

One of all options is the best, so with the stated confidence either its own better end holds, or the worse
ends of all others. Evidence suspects means on one side, so both ends are not equally far from the estimate.
While the certificate is withheld there are no such intervals: estimates are shown with
their standard errors, and nothing is said about who may be the best.
"""

from typing import Any, NamedTuple

import numpy as np
import polars as pl

from noisewise.core.text import in_unit
from noisewise.study.certificates.certificate import Certificate
from noisewise.study.certificates.claims import UNDECIDED
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.fit import display_errors, only_differences

#: From which ratio on values on a log scale are drawn on an axis of their own kind.
WIDE = 4.0
WITHHELD_TITLE = "Estimates: the certificate is withheld, nothing is certified"


class View(NamedTuple):
    """How the options are shown: the certificate's intervals, or estimates while there are none."""

    table: pl.DataFrame  # option, mean, low, high, candidate
    title: str  # the verdict, for a chart without a page
    heading: str  # for one below the verdict
    said: list[str]  # how to read it
    axis: str  # what the numbers are
    number: str  # the heading of the numbers beside them
    apart: bool  # whether values are differences to the recommended option
    edge: float | None  # the recommended estimate, if there is one
    log: bool = False  # whether the axis is logarithmic


def view_of(analysis: Analysis, certificate: Certificate) -> View | None:
    """What may be shown of the options; None if there is nothing."""
    if certificate.option is None:
        return None
    scale = certificate.value_scale
    unit = None if certificate.unit is None else f"({certificate.unit})"
    if not certificate.may_show_bounds:
        level = ", on the level of the average block" if only_differences(analysis.sums) else ""
        return View(
            table=(drawn := estimates(analysis, certificate)),
            title=WITHHELD_TITLE,
            heading=WITHHELD_TITLE,
            said=["Bars are one standard error to either side."],
            axis=in_unit("Estimate", unit) + level,
            number="Estimate ± standard error",
            apart=False,
            edge=None,
            log=scale.log and _is_wide(drawn),
        )
    apart = only_differences(analysis.sums)
    table = comparison(analysis, certificate, ratios=True)
    wide = scale.log and _is_wide(table)
    if scale.log and apart and not wide:
        table = comparison(analysis, certificate)
    said = [
        "A bar says how far the difference to the recommended option can be off: towards better values if "
        "this option is the best, towards worse ones if the recommended option is. One that reaches beyond "
        "the broken line may still be better."
    ]
    if apart:
        what = "Ratios" if wide else "Differences"
        said.append(f"{what} are shown because nothing else is known: levels of blocks are their own.")
        unit = None if wide or scale.unit_of_bounds is None else f"({scale.unit_of_bounds})"
    number = "Estimate" if not apart else "Ratio" if wide else "Difference"
    mean = table.filter(pl.col("option") == certificate.option)["mean"]
    return View(
        table=table,
        title=title_of(certificate),
        heading=f"Every option compared with {certificate.option}",
        said=said,
        axis=in_unit(f"{number} to {certificate.option}" if apart else number, unit),
        number=f"{number} ± standard error",
        apart=apart,
        edge=float(mean[0]) if len(mean) else None,
        log=wide,
    )


def _is_wide(table: pl.DataFrame) -> bool:
    """Whether values above 0 differ so much that their axis should be logarithmic."""
    low, high = table["low"].to_numpy(), table["high"].to_numpy()
    return bool(low.size and high.max() > WIDE * low.min())


def comparison(analysis: Analysis, certificate: Certificate, *, ratios: bool = False) -> pl.DataFrame:
    """Columns option, mean, low, high, candidate, of every option that can be compared.

    Where blocks or differences leave only differences to be known, means are differences to the recommended
    option; of values on a log scale in per cent, or with ``ratios`` as ratios.
    """
    if certificate.option is None or not certificate.may_show_bounds:
        raise ValueError(f"there are no intervals yet: {certificate.sentence}")
    fit, state = analysis.certified, analysis.state
    recommended = state.index[certificate.option]
    better, worse = (
        widths(recommended) for widths in (analysis.boundary.half_widths, analysis.boundary.lead_widths)
    )
    better[recommended] = worse[recommended] = 0.0
    # Evidence that does not heed outliers can leave an estimate outside of its limits: the bar ends there.
    better, worse = np.maximum(better, 0.0), np.maximum(worse, 0.0)
    up, down = (better, worse) if analysis.specification.sign > 0.0 else (worse, better)
    scale = analysis.specification.value_scale
    means, ratios = analysis.levelled_values(fit), ratios or not only_differences(analysis.sums)
    shown = scale.undone if ratios else scale.differences
    if only_differences(analysis.sums):
        means = analysis.specification.sign * fit.differences(recommended)
    bounded = np.isfinite(shown(means + better)) & np.isfinite(shown(means + worse))
    known = np.flatnonzero(state.allowed() & (fit.group == fit.group[recommended]) & bounded)
    candidates = set(certificate.candidates)
    names = [state.ids[k] for k in known]
    return pl.DataFrame(
        {
            "option": names,
            "mean": shown(means[known]),
            "low": shown(means[known] - down[known]),
            "high": shown(means[known] + up[known]),
            "candidate": [name in candidates for name in names],
        }
    )


def estimates(analysis: Analysis, certificate: Certificate) -> pl.DataFrame:
    """Columns as of `comparison` where nothing is certified: estimates with one standard error either way."""
    if certificate.option is None:
        raise ValueError(f"there are no estimates yet: {certificate.sentence}")
    fit, state = analysis.estimates, analysis.state
    errors = display_errors(fit, analysis.sums)
    leader = state.index[certificate.option]
    known = np.flatnonzero(state.allowed() & (fit.group == fit.group[leader]) & np.isfinite(errors))
    means, shown = analysis.levelled_values(fit)[known], analysis.specification.value_scale.undone
    return pl.DataFrame(
        {
            "option": [state.ids[k] for k in known],
            "mean": shown(means),
            "low": shown(means - errors[known]),
            "high": shown(means + errors[known]),
            "candidate": [True] * known.size,
        }
    )


def draw(analysis: Analysis, certificate: Certificate, most: int) -> Any:
    """The table as a chart; it says what the certificate says, and no more."""
    from noisewise.charts import intervals_per_option

    view = view_of(analysis, certificate)
    if view is None:
        raise ValueError(f"there are no estimates yet: {certificate.sentence}")
    certified, goal = certificate.may_show_bounds, certificate.goal
    return intervals_per_option(
        view.table,
        recommended=certificate.option if certified else None,
        bound=certificate.bound if np.isfinite(certificate.bound) else None,
        goal=goal,  # type: ignore[arg-type]
        most=most,
        of_differences=certified,
        missing=certificate.n_options - len(view.table) if certified else 0,
        title=view.title,
        x_title=view.axis,
        log=view.log,
    )


def title_of(certificate: Certificate) -> str:
    """The certificate's verdict, with the bound rounded as in its sentence."""
    name = certificate.option
    if not np.isfinite(certificate.bound):
        return f"{name} leads, without a bound yet"
    if certificate.n_options == 1:
        return f"{name} is the only option"
    if certificate.bound == 0.0:
        return f"{name} is the best, {certificate.sure}"
    decided = "Nothing is decided yet: " if certificate.verdict == UNDECIDED else ""
    far = f"{certificate.bound_text} {certificate.value_scale.side}"
    return f"{decided}{name} is at most {far} the best"
