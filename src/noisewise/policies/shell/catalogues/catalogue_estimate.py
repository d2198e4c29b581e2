"""What a policy on a catalogue believes, as numbers and as functions of vectors."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from noisewise.core.model.dense import Floats
from noisewise.policies.shell.rule import ANYTIME


@dataclass(frozen=True, eq=False)
class CatalogueEstimate:
    """What a policy on a catalogue believes at one moment.

    ``<theta, a> ± radius·‖a‖`` (the width, in the norm of the covariance) holds for all rows and at all
    times with probability 1 - delta; the recommended one is at most ``regret_bound`` below the best. Which
    rows may still be the best, `CataloguePolicy.survivors` finds.
    """

    theta: Floats  # (dim,)
    covariance: Floats  # (dim, dim): V⁻¹
    radius: float
    recommended: int
    mean: float
    """The estimated value of the recommended row."""
    width: float
    """Its standard error."""
    regret_bound: float
    total_precision: float
    n_told: int
    delta: float
    label: str
    certificate: str

    def means(self, vectors: ArrayLike) -> Floats:
        """The estimated values of some vectors, such as ``catalogue.take(rows)``, (n,)."""
        return np.asarray(self._rows(vectors) @ self.theta)

    def widths(self, vectors: ArrayLike) -> Floats:
        """Their standard errors, (n,)."""
        rows = self._rows(vectors)
        return np.asarray(np.sqrt(np.maximum(np.einsum("ij,ij->i", rows @ self.covariance, rows), 0.0)))

    def _rows(self, vectors: ArrayLike) -> Floats:
        rows = np.atleast_2d(np.asarray(vectors, dtype=np.float64))
        if rows.ndim != 2 or rows.shape[1] != self.theta.size:
            raise ValueError(
                f"`vectors` must have {self.theta.size} numbers per row; got an array of shape {rows.shape}."
            )
        return rows

    def __repr__(self) -> str:
        return (
            f"CatalogueEstimate(after {self.n_told} measurements: recommends {self.label}, at most "
            f"{self.regret_bound:.3g} below the best with {1 - self.delta:.0%} confidence"
            f"{'' if self.certificate == ANYTIME else ' (' + self.certificate + ')'})"
        )
