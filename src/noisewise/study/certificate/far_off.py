"""Are error bars standard errors, where errors may have any tails? Then few measurements can lie far off.

A chi-square says nothing here: one large error may carry it anywhere. But whatever the tails, at most one
measurement in k² lies more than k standard errors off (Chebyshev).
"""

from typing import NamedTuple

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.core.distributions import f_tails
from noisewise.study.log.measurements import Codes

#: From how many standard errors on a measurement counts as far off, and of how many the share that may be is
#: reckoned: the estimate itself may be off by the difference.
FAR, ALLOWED = 4.0, 3.0


class FarOff(NamedTuple):
    """How many of the repeated measurements lie far from the estimates."""

    many: int
    of: int

    @property
    def chance(self) -> float:
        """The probability of so many at least, if error bars are standard errors."""
        share = ALLOWED**-2.0
        if self.many <= share * self.of:
            return 1.0
        rest = self.of - self.many + 1.0
        # A binomial tail is one of the beta law, and so of the F law.
        return f_tails(2.0 * self.many, 2.0 * rest, rest / self.many * share / (1.0 - share)).lower

    def __str__(self) -> str:
        return (
            f"{self.many} of {self.of} repeated measurements lie more than {FAR:g} standard errors off "
            f"(whatever the tails of errors, at most one in {ALLOWED**2:g} lies more than {ALLOWED:g} off)"
        )


def far_off(options: Codes, residuals: Floats) -> FarOff:
    """Counted over options that were measured twice or more.

    Args:
        options: Of which option each measurement is, (N,).
        residuals: How many standard errors each lies from its option's estimate, (N,).
    """
    repeated = np.bincount(options)[options] > 1
    return FarOff(int((np.abs(residuals[repeated]) > FAR).sum()), int(repeated.sum()))
