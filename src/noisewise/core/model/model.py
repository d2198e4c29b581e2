"""What a model is to rules: numbers per action, and verbs that every kind of model answers in its own way.

`dense.py` has one unknown per feature, `independent.py` one per option. Rules read ``means`` and
``squared_widths`` and call the verbs of `dense.py` and `covariances.py`, which hand over to these methods;
simulations, which know dense models only, compile loops in their place.
"""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from noisewise.core.support.blocks import Floats


class AnyModel(Protocol):
    """The state of knowledge about n actions; changed in place."""

    @property
    def columns(self) -> Any:
        """(unknowns, n): the actions' vectors, or what stands for them."""

    @property
    def squared_widths(self) -> Floats:
        """(n,): the squared standard errors of the actions' values."""

    @property
    def means(self) -> Floats:
        """(n,): the actions' estimated values."""

    @property
    def tally(self) -> Floats:
        """What was counted; the places have names in `dense.py`."""

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

    def write_covariances(self, out: Floats, action: int) -> None:
        """The covariances of one action with all actions, (n,)."""

    def squared_covariances(self, rivals: NDArray[np.int64], action: int, weights: Floats) -> Floats:
        """``Σ_j w_j·cov(a_j - b, a_k)²`` over some rivals of one action, (n,)."""

    def perturbed_means(self, normals: Floats, scale: float) -> Floats:
        """The actions' values under a draw from the posterior, (n,)."""
