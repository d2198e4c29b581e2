"""How the values of options vary together, given the measurements: what a coming measurement would teach.

Given everything measured, the values are normal around their estimates. A measurement that is not made yet
lowers the variance of the difference of two options by ``covariance²/(variance of the measurement)``,
whatever comes out: these two are all that a rule needs.

Values are known up to a shift of all of them, where nothing fixes their level: only differences may be taken
of what a joint law says.
"""

from typing import NamedTuple

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.study.evidence.separate import SeparateOptions
from noisewise.study.log.measurements import Codes


class Joint:
    """Options that follow common unknowns, which are independent with variance 1, and vary by themselves.

    Args:
        own: What each varies by itself, (n,); infinite for options that were never measured.
        loads: How each follows the common unknowns, (n, q).
        separate: Whether a measurement of an option says nothing about any other.
    """

    def __init__(self, own: Floats, loads: Floats, *, separate: bool = False) -> None:
        self._own, self._loads, self.separate = own, loads, separate

    def variances(self) -> Floats:
        """Of every option, (n,)."""
        if self.separate:
            return self._own
        return np.asarray(self._own + np.einsum("ij,ij->i", self._loads, self._loads))

    def columns(self, options: Codes) -> Floats:
        """The covariances of every option with some, (n, k)."""
        found = self._loads @ self._loads[options].T
        found[options, np.arange(options.size)] += self._own[options]
        return np.asarray(found)

    def mixed(self, options: Codes, weights: Floats) -> Floats:
        """The covariances of every option with a weighted sum of some, (n,); one may be in it twice."""
        found = self._loads @ (weights @ self._loads[options])
        np.add.at(found, options, self._own[options] * weights)
        return np.asarray(found)


def separate_joint(own: Floats) -> Joint:
    """Options that share nothing, with these variances."""
    return Joint(own, np.zeros((own.size, 0)), separate=True)


class Knowledge(NamedTuple):
    """What is known of the options' values, and how half-widths of differences follow from it.

    Without deviations a half-width is a radius times the standard error of the difference. With them it is
    the sum of two parts: the same for the weights of the features, and ``quantile`` times the standard error
    that is left once these weights are known. Where options share nothing, half-widths after a measurement
    follow from the evidence itself, and the joint law is that of its precision.
    """

    joint: Joint
    given_weights: Joint | None = None
    quantile: float = 0.0
    evidence: SeparateOptions | None = None  # where half-widths follow from each option's own evidence
