"""The certificate's own intervals, as a table and as a chart.

The certificate compares every option with the recommended one. Around each estimate stands how far the
difference to the recommended option can be off: an option whose bar reaches beyond the recommended estimate
may still be better.
"""

from typing import Any

import numpy as np
import polars as pl

from noisewise.study.analysis import Analysis
from noisewise.study.certificate import Certificate


def comparison(analysis: Analysis, certificate: Certificate) -> pl.DataFrame:
    """Columns option, mean, low, high, candidate, of every option that can be compared."""
    if certificate.option is None or analysis.sigmas.waiting:
        raise ValueError(f"there are no intervals yet: {certificate.sentence}")
    fit, state = analysis.certified, analysis.state
    recommended = state.index[certificate.option]
    widths = analysis.boundary.half_widths(recommended)
    widths[recommended] = 0.0
    means = analysis.specification.sign * (fit.means + analysis.sums.centre)
    known = np.flatnonzero(state.allowed() & (fit.group == fit.group[recommended]) & np.isfinite(widths))
    candidates = set(certificate.candidates)
    names = [state.ids[k] for k in known]
    return pl.DataFrame(
        {
            "option": names,
            "mean": means[known],
            "low": means[known] - widths[known],
            "high": means[known] + widths[known],
            "candidate": [name in candidates for name in names],
        }
    )


def draw(analysis: Analysis, certificate: Certificate, most: int) -> Any:
    """The table as a chart."""
    from noisewise.charts import intervals_per_option

    finite = np.isfinite(certificate.bound)
    return intervals_per_option(
        comparison(analysis, certificate),
        recommended=certificate.option,
        bound=certificate.bound if finite else None,
        goal="max" if certificate.goal == "max" else "min",
        most=most,
    )
