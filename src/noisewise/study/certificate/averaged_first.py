"""Logarithms of values that were averaged first, or have error bars: how far they may be off.

With c the standard error over the value, what is estimated may be shifted by 1.5c²; with c the standard
deviation of readings over their mean, by c²/2 (`value_scale.log_limits` has the reasons). The value in c is
that which is estimated for the option, not that which was measured: an error bar is no larger because its
value happened to come out small.
"""

from typing import NamedTuple

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.core.support.words import number
from noisewise.study.log.measurements import KINDS
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.sums import block_places, totals
from noisewise.study.telling.error_bars import KNOWN


class LargestParts(NamedTuple):
    """The largest part of a value that an error bar, or the scatter of averaged readings, is."""

    error: float  # 0 if there are none
    scatter: float
    error_of: int  # the option
    scatter_of: int


def largest_shift(analysis: Analysis) -> float:
    """By how much logarithms may be shifted at most; 0 where none are taken, or of single readings only."""
    if not analysis.specification.value_scale.log:
        return 0.0
    parts = _parts(analysis)
    return max(1.5 * parts.error**2, 0.5 * parts.scatter**2)


def too_rough_for_logarithms(analysis: Analysis) -> list[str]:
    """Reasons to withhold the certificate: the shift is more than a tenth of the difference that matters."""
    limits = analysis.specification.log_limits
    if limits is None:
        return []
    parts, ids = _parts(analysis), analysis.state.ids
    found = []
    for what, part, most, option in (
        ("error bars", parts.error, limits.error, parts.error_of),
        ("readings behind means (sd=)", parts.scatter, limits.scatter, parts.scatter_of),
    ):
        if part > most:
            verb = "are" if what == "error bars" else "scatter by"
            found.append(
                f"{what} of {ids[option]} {verb} {number(100.0 * part)} % of its value, and may be at most "
                f"{number(100.0 * most)} % for this eps, because the logarithm of a mean is not the mean of "
                'logarithms: tell single readings (values=), or make a study without scale="log"; voiding '
                "some of them would keep those that happen to be large"
            )
    return found


def _parts(analysis: Analysis) -> LargestParts:
    columns, n = analysis.columns, analysis.n
    if not columns.value.size:
        return LargestParts(0.0, 0.0, 0, 0)
    over = np.exp(columns.value - _fitted(analysis))  # the measured value over the estimated one
    known = columns.kind == KINDS.index(KNOWN)
    averaged = np.isin(columns.number, list(analysis.state.measurements.averaged))
    errors = np.where(known, columns.sigma * over, 0.0)
    scatter = totals(columns.plus, np.where(averaged, columns.scatter * over**2, 0.0), n)
    freedom = totals(columns.plus, np.where(averaged, columns.readings - 1.0, 0.0), n)
    spread = np.sqrt(scatter / np.maximum(freedom, 1.0))
    worst = int(np.argmax(errors))
    return LargestParts(
        float(errors[worst]), float(spread.max()), int(columns.plus[worst]), int(np.argmax(spread))
    )


def _fitted(analysis: Analysis) -> Floats:
    """The logarithm that is estimated for each measurement, its block's offset included, (N,)."""
    columns, sums, fit = analysis.columns, analysis.sums, analysis.estimates
    offsets = fit.offsets[block_places(columns, sums.blocks)]
    return np.asarray(analysis.specification.sign * (sums.centre + fit.means[columns.plus] + offsets))
