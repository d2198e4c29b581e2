"""The resolution of a study: which differences its measurements so far can tell apart."""

import math
from typing import NamedTuple

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.core.support.words import number
from noisewise.study.inputs.error_bars import COUNTS, ITEMS
from noisewise.study.log.amounts import amount
from noisewise.study.log.measurements import KINDS
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.fit import difference_errors

#: The quantile of the normal distribution for a probability of 80 %.
FOUR_IN_FIVE = 0.8416


class Resolution(NamedTuple):
    """The smallest difference that would be told apart in four of five studies like this one."""

    difference: float  # on the scale that is computed with
    text: str  # in a sentence


def resolution_of(
    analysis: Analysis, option: str | None, count: str | None = None, such: str = "studies"
) -> Resolution | None:
    """Which differences to an option can be told apart; None where nothing is bounded.

    A difference is told apart if its estimate, which has a standard error, exceeds the half-width.
    So four of five studies tell apart a difference of the half-width and 0.84 standard errors.

    Args:
        analysis: The fits.
        option: The recommended option.
        count: What there is, in words; default: the measurements.
        such: What there are four of five of.
    """
    if option is None or analysis.sigmas.waiting or analysis.specification.noise is not None:
        return None
    at = analysis.state.index[option]
    half = analysis.boundary.half_widths(at)
    others = analysis.state.allowed() & np.isfinite(half)
    others[at] = False
    if not others.any():
        return None
    errors = _paired(analysis, at) if (analysis.columns.kind == KINDS.index(ITEMS)).all() else None
    errors = difference_errors(analysis.certified, at) if errors is None else errors
    apart = float(np.median((half + FOUR_IN_FIVE * np.nan_to_num(errors))[others]))
    if not math.isfinite(apart) or apart <= 0.0:
        return None
    scale, kinds = analysis.specification.value_scale, set(np.unique(analysis.columns.kind).tolist())
    far = scale.amount(apart)
    shares = kinds == {KINDS.index(COUNTS)} or (kinds == {KINDS.index(ITEMS)} and _right_or_wrong(analysis))
    if shares:
        far = f"{number(100.0 * apart, 2)} percentage points"
    with_this = count or _items(analysis) or f"these {amount(analysis.state, analysis.columns)}"
    return Resolution(
        apart,
        f"Resolution: {with_this} can tell apart options that differ by {far} (in 4 of 5 such {such}).",
    )


def _items(analysis: Analysis) -> str | None:
    if not (analysis.columns.kind == KINDS.index(ITEMS)).all():
        return None
    seen = [analysis.state.items.of(int(k)).prefix for k in np.flatnonzero(analysis.state.allowed())]
    return f"these {int(np.median(seen)):,} items"


def _paired(analysis: Analysis, at: int) -> Floats:
    """Standard errors of the means of paired differences to an option, (n,)."""
    items, errors = analysis.state.items, np.full(analysis.n, np.nan)
    for other in range(analysis.n):
        count = min(items.of(at).prefix, items.of(other).prefix)
        if count > 1:
            apart = items.of(at).values[:count] - items.of(other).values[:count].astype(np.float64)
            errors[other] = items.width * float(np.std(apart, ddof=1)) / math.sqrt(count)
    return errors


def _right_or_wrong(analysis: Analysis) -> bool:
    items = analysis.state.items
    return items.width == 1.0 and all(items.of(k).values.dtype == np.int8 for k in items.options)
