"""What the options' values may be, given the measurements: worlds drawn from the posterior.

The certificate takes options as they come. Looking ahead needs a guess of how far apart they are, or the best
of many options that were measured once would look far better than it is. So the values (the features'
weights in the linear model) are normal around a common mean with an unknown spread τ; all sizes of τ on a
log scale are equally likely at first, and the measurements say which they rather are:

    p(τ | data)  ∝  ∫ p(data | values)·p(values | τ).

With a `span`, options that are spread normally have a range of about ``span``, or up to `spreads.GENEROUS`
times less, all equally likely; still smaller ones are less likely, as their squares. The same is believed
before the first measurement and after it: a belief about what was likely at first that changed because
something was measured would plan for other studies than there are. Deviations come on top, of the size that
the model has.
"""

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.study.evidence.separate import SeparateOptions
from noisewise.study.models.analysis import Analysis

#: How often worlds whose options differ by more than the span are drawn again; then the span must be wrong.
REDRAWN = 8


def draw_worlds(analysis: Analysis, count: int, rng: np.random.Generator, span: float | None) -> Floats:
    """Values of all options in ``count`` worlds, (count, n): large is good, in the fit's own zero.

    Args:
        analysis: What was measured.
        count: How many worlds.
        rng: Where chance comes from.
        span: By how much options differ at most; None if that was never stated.
    """
    worlds = _draw(analysis, count, rng, span)
    if span is None:
        return worlds
    for _ in range(REDRAWN):
        beyond = np.flatnonzero(np.ptp(worlds, axis=1) > span)
        if not beyond.size:
            break
        worlds[beyond] = _draw(analysis, beyond.size, rng, span)
    return worlds


def _draw(analysis: Analysis, count: int, rng: np.random.Generator, span: float | None) -> Floats:
    certified = not analysis.sigmas.waiting
    fit = analysis.certified if certified else analysis.estimates
    sums = analysis.certified_sums if certified else analysis.sums
    if certified and analysis.columns.value.size and not fit.connected:
        boundary = analysis.boundary
        if isinstance(boundary, SeparateOptions):  # shares near 0 or 1 are known better than error bars say
            fit = fit._replace(own=boundary.variances())
    return analysis.model.draw_worlds(fit, sums, count, rng, span)
