"""Limits of an estimated size that hold at every moment at once.

An estimate that stopping looks at must not be trusted: where errors are larger than the size, it is 0 now
and then, and these are the moments at which a certificate would be reached. If τ is the true size, the ratio
of likelihoods ``L(f·τ)/L(τ)`` is a martingale with mean 1 for every fixed f, and so is a mean of several. By
Ville

    Σ L(f·τ)/L(τ) over F fractions f  <=  F/δ      at all times, with probability 1 - δ:

a τ that is less likely than parts of itself, by that much, is too large. The largest that is not is the upper
limit. (The limit of a pooled scatter is the same with normal likelihoods written out.) With multiples in the
place of fractions it is a lower limit. The restricted likelihood has the weights integrated out, so that all
this holds exactly if what to measure does not depend on the values, and nearly otherwise.
"""

import math
from collections.abc import Callable, Iterable

import numpy as np

from noisewise.core.blocks import Floats

#: Parts of a size that it is compared with; their inverses, 0 apart, serve lower limits.
FRACTIONS = (0.9, 0.75, 0.5, 0.0)
#: How far beyond the sizes tried an upper limit is looked for, in steps of theirs.
BEYOND = 24


def upper_size(minus_log: Callable[[float], float], estimate: float, tried: Floats, delta: float) -> float:
    """The largest size that cannot be excluded.

    Args:
        minus_log: -2·log L of a size.
        estimate: The most likely size.
        tried: Sizes in the order of magnitude that is of interest, ascending by one factor.
        delta: Error probability.
    """
    start, factor = max(estimate, float(tried[0])), float(tried[-1] / tried[-2]) if tried.size > 1 else 2.0
    further = tried[-1] * factor ** np.arange(1.0, BEYOND + 1.0)
    outward = [float(size) for size in (*tried, *further) if size > start]
    return _first_excluded(minus_log, start, outward, FRACTIONS, delta)


def lower_size(minus_log: Callable[[float], float], estimate: float, tried: Floats, delta: float) -> float:
    """The smallest size that cannot be excluded; 0 if none of those tried is."""
    multiples = [1.0 / fraction for fraction in FRACTIONS if fraction]
    outward = [float(size) for size in tried[::-1] if size < estimate]
    found = _first_excluded(minus_log, estimate, outward, multiples, delta) if outward else 0.0
    return found if outward and found > outward[-1] else 0.0


def _first_excluded(
    minus_log: Callable[[float], float],
    start: float,
    outward: Iterable[float],
    factors: Iterable[float],
    delta: float,
) -> float:
    """Where exclusion begins on the way outward; the end of the way if nowhere."""
    from scipy.optimize import brentq

    factors = list(factors)
    enough = math.log(len(factors) / delta)

    def excess(log: float) -> float:
        size = math.exp(log)
        here = minus_log(size)
        ratios = [0.5 * (here - minus_log(factor * size)) for factor in factors]
        return float(np.logaddexp.reduce(ratios)) - enough

    inside = start
    for outside in outward:
        if excess(math.log(outside)) > 0.0:
            if excess(math.log(inside)) > 0.0:  # only where nothing as small as the first is likely
                return inside
            return math.exp(brentq(excess, math.log(inside), math.log(outside), xtol=1e-4))
        inside = outside
    return inside
