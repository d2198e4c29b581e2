"""How far the recommended option is from the best: against rounds, and against total precision."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from noisewise.charts.lines import Reference, lines_with_bands

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
