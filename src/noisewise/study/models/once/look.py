"""What a bound for one look is made from."""

from typing import NamedTuple

import numpy as np

from noisewise.core.choice.selection import Mask
from noisewise.core.model.dense import Floats
from noisewise.study.inputs.error_bars import COUNTS
from noisewise.study.log.measurements import KINDS, Codes, Columns
from noisewise.study.models.fit import Fit
from noisewise.study.models.once.multipliers import at_most, no_heavier_than_normal
from noisewise.study.models.sums import Sums

#: The part of δ of upper limits of scatter and of sizes, where there are any.
ONE_LOOK_LIMITS = 0.1


class Errors(NamedTuple):
    """What is known of the errors."""

    freedom: float | None = None  # of the one standard deviation that all of them share, if it is estimated
    limited: bool = False  # whether some standard errors are upper limits
    shares: bool = False  # whether some are shares of successes, which are no heavier than normal

    def one_by_one(self, count: float, delta: float) -> float:
        """The multiplier for this many comparisons, whatever connects them."""
        if self.shares:
            return no_heavier_than_normal(count, delta)
        return at_most(count, delta, self.freedom)


class OneLook(NamedTuple):
    """The measurements at the one look, and the error probability of all comparisons with one option."""

    fit: Fit  # with the certificate's standard errors
    sums: Sums
    columns: Columns
    sigma: Floats  # (N,): of the columns
    sign: float
    delta: float
    may_win: Mask  # (n,): the options that may be recommended
    errors: Errors

    @property
    def comparisons(self) -> int:
        """Comparisons with one option, at most."""
        return max(1, int(self.may_win.sum()) - 1)

    @property
    def is_share(self) -> Mask:
        """Which measurements are shares of successes, (N,)."""
        return np.asarray(self.columns.kind == KINDS.index(COUNTS))


def never_compared(half: Floats, option: int, group: Codes) -> Floats:
    """Half-widths that are infinite where nothing links two options, and 0 for one and the same, (n,)."""
    half = np.where((group == group[option]) & (group[option] >= 0) & ~np.isnan(half), half, np.inf)
    half[option] = 0.0
    return half
