"""The model of options that share nothing: each option's value is an unknown of its own.

Its verbs have the names and meanings of those in `model.py`, which call these, so that rules do not notice.
Every one costs O(1) or O(n).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.core.any_model import count
from noisewise.core.blocks import Floats

NO_VECTORS = (
    "this rule looks at the options' feature vectors, and independent options have none: "
    'choose another policy, such as "vaee", or `model="linear"`.'
)


@dataclass(frozen=True, eq=False)
class Separate:
    """A placeholder for the vectors of options that have none."""

    n: int

    @property
    def shape(self) -> tuple[int, int]:
        """Unknowns and options, like the shape of a matrix of columns."""
        return self.n, self.n

    def __array__(self, *_: Any, **__: Any) -> Floats:
        """Refused: a rule that computes with vectors has nothing to compute with."""
        raise ValueError(NO_VECTORS)

    def __getitem__(self, _: Any) -> Floats:
        """Refused, like the whole."""
        raise ValueError(NO_VECTORS)

    @property
    def T(self) -> Floats:  # noqa: N802 - the name that arrays have
        """Refused, like the whole."""
        raise ValueError(NO_VECTORS)

    def astype(self, *_: Any, **__: Any) -> Floats:
        """Refused, like the whole."""
        raise ValueError(NO_VECTORS)


class IndependentModel(NamedTuple):
    """The state of knowledge about n options that share nothing; changed in place."""

    columns: Separate
    squared_widths: Floats  # (n,)
    means: Floats  # (n,)
    tally: Floats  # (7,): as in the other model
    scratch: Floats  # (n,)

    @property
    def has_vectors(self) -> bool:
        """Options are themselves, and nothing is made of features."""
        return False

    def learn(self, action: int, reward: float, sigma: float) -> None:
        """One measurement of an option."""
        variance, squared_width = sigma * sigma, float(self.squared_widths[action])
        count(self.tally, squared_width, sigma)
        gain = (reward - float(self.means[action])) / (variance + squared_width)
        self.means[action] += gain * squared_width
        self.squared_widths[action] = squared_width * (variance / (variance + squared_width))

    def estimate(self) -> Floats:
        """The means, (n,)."""
        return self.means.copy()

    def covariances(self, action: int) -> Floats:
        """0 but for the option itself."""
        covariances = np.zeros(self.means.size)
        covariances[action] = self.squared_widths[action]
        return covariances

    def squared_covariances(self, rivals: NDArray[np.int64], action: int, weights: Floats) -> Floats:
        """A difference of two options covaries with these two alone."""
        values = np.zeros(self.means.size)
        for rival, weight in zip(rivals, weights, strict=True):
            if rival != action:
                values[rival] += weight * self.squared_widths[rival] ** 2
                values[action] += weight * self.squared_widths[action] ** 2
        return values

    def perturbed_means(self, normals: Floats, scale: float) -> Floats:
        """One normal number per option."""
        return self.means + scale * np.sqrt(self.squared_widths) * normals


def new_independent(columns: Separate, ridge: float) -> IndependentModel:
    """Before any measurement: every option is 0 ± 1/√ridge."""
    widths, n = np.full(columns.n, 1.0 / ridge), columns.n
    return IndependentModel(columns, widths, np.zeros(n), np.zeros(7), np.empty(n))
