"""The least-squares fit behind estimates, certificate and check: the form that every model's fit has.

A value in a block is the option's value plus the block's offset, which is unknown and has no prior.
"""

from typing import Any, NamedTuple

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.core.model.independent import quadratic_forms
from noisewise.study.log.measurements import Codes
from noisewise.study.models.connected_parts import Component
from noisewise.study.models.exact.twofold import Twofold, add, subtract, twofold
from noisewise.study.models.sums import Sums

NONE_TOUCHED: Codes = np.empty(0, dtype=np.int64)
NO_BORDER = np.zeros((0, 0))


class Fit(NamedTuple):
    """Estimates and their covariance, in the form of `noisewise.core.model.independent`."""

    means: Floats  # (n,)
    own: Floats  # (n,): variances of an option's own; infinite for an option that was never measured
    precision: Floats  # (n,): the precision of an option's value were all else known
    group: Codes  # (n,): which options are connected; UNMEASURED if never measured
    offsets: Floats  # (n_blocks,): 0 for those that were set to 0 or never measured
    offset_precision: Floats  # (n_blocks,): the precision of each offset were all else known
    residuals: Floats  # (rows of the sums,): from the fit without ridge
    rank: int  # how many unknowns were determined
    level: float = 0.0  # what to add to the means to have values as in the block others are compared with
    touched: Codes = NONE_TOUCHED  # (rows,): the options that depend on a border
    loads: Floats = NO_BORDER  # (rows, k): how they do
    covariance: Floats = NO_BORDER  # (q, q) of all unknowns of the border; loads refer to the first k of them
    fine: Floats | None = None  # (n,): what the means lack as doubles; see `exact/twofold.py`
    slack: float = 0.0  # what rounding may have cost, in standard errors
    # Of independent options.
    log_det: float = 0.0  # of the precision of what was determined
    components: tuple[Component, ...] = ()  # the connected parts of a study with blocks or differences
    # Of the linear models.
    penalty: float = 0.0  # Σ (deviation/size)² of the fit without ridge
    ridge: float = 0.0  # prior precision of the weights
    dim: int = 0  # features in the border; offsets of blocks come before them
    weights: Floats | None = None  # (dim,): of the features
    parts: Any = None  # what their boundaries need, `features/linear_fit.py`

    def differences(self, option: int) -> Floats:
        """By how much each option is estimated above this one, (n,): without the rounding of the means."""
        apart = self.means - self.means[option]
        if self.fine is not None:
            apart = apart + (self.fine - self.fine[option])
        return np.asarray(apart)

    def squares(self, sums: Sums) -> float:
        """What the fit leaves: chi-square on as many degrees of freedom as measurements exceed the rank."""
        return sums.within + float(np.sum(sums.weight * self.residuals**2)) + self.penalty

    def variances(self) -> Floats:
        """Squared standard errors of the options, (n,)."""
        variances = self.own.copy()
        k = self.loads.shape[1]
        variances[self.touched] += quadratic_forms(self.loads, self.covariance[:k, :k])
        return variances


def reference_place(precision: Floats, blocks: Codes | None = None) -> int:
    """Where the block stands that others are compared with.

    It is the block without a name, if anything was measured there, else the one with the most precision.

    Args:
        precision: Of the offsets of some blocks, (blocks,).
        blocks: Which these are, sorted; default: all. The block without a name is number 0.
    """
    nameless = precision[0] > 0.0 and (blocks is None or blocks[0] == 0)
    return 0 if nameless else int(np.argmax(precision))


def left_over(
    sums: Sums,
    means: Floats,
    offsets: Floats,
    fine_means: Floats | None = None,
    fine_offsets: Floats | None = None,
) -> Floats:
    """What each row was measured above its option (less the other one) and its block's offset."""
    level = sums.minus < 0
    value = twofold(sums.value, sums.fine)
    mean = twofold(means, fine_means)
    offset = twofold(offsets, fine_offsets)
    beside = Twofold(
        np.where(level, offset.high[sums.block], -mean.high[sums.minus]),
        np.where(level, offset.low[sums.block], -mean.low[sums.minus]),
    )
    return subtract(value, add(mean.at(sums.plus), beside)).plain
