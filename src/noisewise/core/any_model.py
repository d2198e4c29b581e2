"""What all models have in common: numbers per action, verbs that each answers in its own way, and a tally.

`model.py` has one unknown per feature, `independent.py` one per option. Rules read ``means`` and
``squared_widths`` and call the verbs of `model.py`, which call these methods.
"""

import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from noisewise.core.blocks import Floats


class AnyModel(Protocol):
    """The state of knowledge about n actions; changed in place."""

    @property
    def columns(self) -> Any:
        """(unknowns, n): the actions' vectors, or a placeholder for them."""

    @property
    def squared_widths(self) -> Floats:
        """(n,): the squared standard errors of the actions' values."""

    @property
    def means(self) -> Floats:
        """(n,): the actions' estimated values."""

    @property
    def tally(self) -> Floats:
        """What was counted; the places have names above."""

    @property
    def scratch(self) -> Floats:
        """(n,): an array to work in."""

    @property
    def has_vectors(self) -> bool:
        """Whether actions are vectors of features, so that what is learnt of one is learnt of others."""

    def learn(self, action: int, reward: float, sigma: float) -> None:
        """One measurement of an action."""

    def estimate(self) -> Floats:
        """The estimates of the unknowns, as far as actions are made of them."""

    def covariances(self, action: int) -> Floats:
        """The covariances of one action with all actions, (n,)."""

    def squared_covariances(self, rivals: NDArray[np.int64], action: int, weights: Floats) -> Floats:
        """``Σ_j w_j·cov(a_j - b, a_k)²`` over some rivals of one action, (n,)."""

    def perturbed_means(self, normals: Floats, scale: float) -> Floats:
        """The actions' values under a draw from the posterior, (n,)."""


LOG_DET = 0
TOTAL_PRECISION = 1
TOLD = 2
#: Measurements since all widths were computed afresh.
AGE = 3
#: The sum of squared residuals of all rotations.
RESIDUAL = 4
SINCE_CENTRED = 5
#: Not a count: the action whose lower bound was the largest when it was last looked for. Only a hint.
SAFEST = 6


def count(tally: Floats, squared_width: float, sigma: float) -> None:
    """Book one measurement: ``det V`` grows by the factor ``1 + ‖a‖²/σ²``."""
    weight = 1.0 / (sigma * sigma)
    tally[LOG_DET] += math.log1p(squared_width * weight)
    tally[TOTAL_PRECISION] += weight
    tally[TOLD] += 1.0
    tally[AGE] += 1.0
    tally[SINCE_CENTRED] += 1.0


def log_det(model: AnyModel) -> float:
    """``log det V - dim·log ridge``: twice the information gathered, in nats."""
    return float(model.tally[LOG_DET])


def total_precision(model: AnyModel) -> float:
    """``Σ 1/σ²`` over all measurements: the currency of everything."""
    return float(model.tally[TOTAL_PRECISION])
