"""How far apart options may be: possible spreads, and how likely each is before anything is measured."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.core.model.dense import Floats
from noisewise.core.support.distributions import normal_quantile

#: How much too large a span easily is, and at most.
GENEROUS, AT_MOST = 10.0, 300.0
SIZES = 41


class Spreads(NamedTuple):
    """Possible spreads, and how likely each is."""

    tau: Floats  # (SIZES,)
    probability: Floats  # (SIZES,)

    def weighed(self, evidence: Floats) -> "Spreads":
        """With the logarithm of what the data say about each."""
        likely = self.probability * np.exp(evidence - evidence.max())
        return Spreads(self.tau, likely / likely.sum())

    def draw(self, rng: np.random.Generator, count: int) -> NDArray[np.intp]:
        """The places of some of them, (count,)."""
        return rng.choice(self.tau.size, size=count, p=self.probability)


def possible_spreads(n: int, span: float | None, scale: float) -> Spreads:
    """Standard deviations that n options may have.

    Args:
        n: How many options there are.
        span: By how much they differ at most; None if that was never stated.
        scale: Without a span, the largest spread to reckon with; infinite if nothing says how large.
    """
    if span is None and math.isinf(scale):
        raise ValueError(
            "`span` (a number by which no two options differ more) must be given to look ahead before two "
            "options were measured: nothing else says how far apart they may be."
        )
    n = max(2, n)
    expected_range = 2.0 * normal_quantile((n - 0.375) / (n + 0.25))  # of n standard normal numbers (Blom)
    top = scale if span is None else span / expected_range
    tau = np.geomspace(top / AT_MOST, top, SIZES)
    # Without a span the top comes from the measurements, and may itself be far too large.
    likely = np.ones(SIZES) if span is None else np.minimum(1.0, (tau * GENEROUS / top) ** 2)
    return Spreads(tau, likely / likely.sum())
