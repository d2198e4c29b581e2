"""How the error probability of a study is divided among the bounds that may be needed.

It is the same for all studies of a model, so that the order of telling decides nothing. A part that may never
be needed costs little: δ enters bounds through its logarithm.
"""

import math
from typing import NamedTuple

import numpy as np

from noisewise.core.blocks import Floats


class Tuning(NamedTuple):
    """One choice of P, and its share of δ."""

    on_pair: float  # ρ, times 1/resolution²
    elsewhere: float  # Λ, times 1/resolution²
    share: float


#: Of the linear models where offsets are in the mixture.
LINEAR = (Tuning(0.0, 1e3, 0.15), Tuning(0.0, 1e2, 0.25), Tuning(0.0, 1e1, 0.35), Tuning(0.0, 1e0, 0.25))

#: Shares of δ: pairs of options once some were excluded; pairs with added options.
CHANGED, ADDED = 0.015, 0.015
#: Upper limits of scatter; the same where sizes are estimated from the beginning.
LIMITS, LIMITS_OF_SIZES = 0.03, 0.1
#: The cap on evidence that limits need beside them.
CAPPED = 0.01
#: Bounds on connected options, once measurements without a block may have certified something.
CONNECTED = 0.05
#: Where a study begins with items that options share: the part of pairs, and of both of the above.
PAIRED, LITTLE = 0.98, 0.01
#: Comparisons in the linear models.
COMPARING = 0.86


class Shares(NamedTuple):
    """How δ is divided.

    Differences between options that were there from the beginning, as long as none was added or excluded,
    have most of it. Once the catalogue changed, the best of those that remain may be any of them: every
    ordered pair has a share, and pairs with the i-th added option share 6/(π²i²) of what is set aside for
    added ones.
    """

    delta: float
    n_first: int
    n_now: int
    changed: bool
    limits: float = LIMITS  # the part of upper limits
    connected: float = CONNECTED  # the part of connected options, where others may have been certified

    @property
    def comparing(self) -> float:
        """The part of comparisons between options that were there from the beginning."""
        return 1.0 - CHANGED - ADDED - CAPPED - self.limits - self.connected

    @property
    def cap(self) -> float:
        """What the logarithm of no option's evidence exceeds; every added option has half of 6/(π²i²)."""
        added = self.n_now - self.n_first
        return math.log(2.0 * max(self.n_first, math.pi**2 / 6.0 * added**2) / (CAPPED * self.delta))

    def doubt(self, option: int) -> Floats:
        """``log(1/share)`` of every pair with this option, (n_now,)."""
        first, now = self.n_first, self.n_now
        if not self.changed:
            return np.full(now, math.log(max(1, first - 1) / (self.comparing * self.delta)))
        doubts = np.full(now, math.log(max(1, first * (first - 1)) / (CHANGED * self.delta)))
        latest = np.maximum(np.arange(now), option)
        added = latest >= first
        which = latest[added] - first + 1.0
        pairs = 2.0 * latest[added]
        doubts[added] = np.log(which**2 * (math.pi**2 / 6.0) * pairs / (ADDED * self.delta))
        return doubts
