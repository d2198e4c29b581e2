"""What a policy on an infinite set believes, as arrays and as functions of vectors."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from noisewise.core.model.dense import Floats
from noisewise.core.support.checks import check_count
from noisewise.policies.shell.rule import ANYTIME


@dataclass(frozen=True, eq=False)
class SetEstimate:
    """What a policy on an infinite set believes at one moment.

    ``<theta, a> ± radius·‖a‖`` (the width, in the norm of the covariance) holds for all actions and at all
    times with probability 1 - delta; the recommended one is at most ``regret_bound`` below the best.
    """

    theta: Floats  # (dim,)
    covariance: Floats  # (dim, dim): V⁻¹
    radius: float
    recommended: Floats  # (dim,)
    mean: float
    """The estimated value of the recommended action."""
    width: float
    """Its standard error."""
    regret_bound: float
    regret_found: float
    """The largest regret that was found to be possible: how tight the bound is."""
    total_precision: float
    n_told: int
    delta: float
    certificate: str

    def means(self, vectors: ArrayLike) -> Floats:
        """The estimated values of some vectors, (n,)."""
        return np.asarray(self._rows(vectors) @ self.theta)

    def widths(self, vectors: ArrayLike) -> Floats:
        """Their standard errors, (n,)."""
        rows = self._rows(vectors)
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows @ self.covariance, rows)))

    def ellipse(self, n: int = 181) -> Floats:
        """The outline of the confidence ellipsoid of theta in two dimensions, (n, 2)."""
        if self.theta.size != 2:
            raise ValueError(f"`ellipse` needs two features; got {self.theta.size}.")
        angles = np.linspace(0.0, 2.0 * np.pi, check_count("n", n, least=4))
        circle = np.column_stack([np.cos(angles), np.sin(angles)])
        return np.asarray(self.theta + self.radius * circle @ np.linalg.cholesky(self.covariance).T)

    @property
    def label(self) -> str:
        """The recommended action in words."""
        shown = ", ".join(f"{entry:.3g}" for entry in self.recommended[:6])
        return f"[{shown}{', …' if self.recommended.size > 6 else ''}]"

    def _rows(self, vectors: ArrayLike) -> Floats:
        rows = np.atleast_2d(np.asarray(vectors, dtype=np.float64))
        if rows.ndim != 2 or rows.shape[1] != self.theta.size:
            raise ValueError(
                f"`vectors` must have {self.theta.size} numbers per row; got an array of shape {rows.shape}."
            )
        return rows

    def __repr__(self) -> str:
        return (
            f"SetEstimate(after {self.n_told} measurements: recommends {self.label}, at most "
            f"{self.regret_bound:.3g} below the best with {1 - self.delta:.0%} confidence"
            f"{'' if self.certificate == ANYTIME else ' (' + self.certificate + ')'})"
        )
