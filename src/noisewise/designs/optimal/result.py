"""The answer: weights on few actions, and the certificate that belongs to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise.designs.shared.rows import Floats, Indices


@dataclass(frozen=True, eq=False, repr=False)
class Design:
    """Weights on the actions ``indices``, with the largest g over *all* actions.

    ``g_value`` is max over actions of a^T V^+ a, V the moment matrix of the design; no design
    has less than ``rank``, and this one is at most ``gap`` above: g_value = (1 + gap) rank.
    ``g_support`` are the values on the support (all equal to the rank at the optimum).
    ``reads`` counts how many times the whole matrix was streamed to find and to prove this.
    """

    indices: Indices
    weights: Floats
    g_support: Floats
    g_value: float
    rank: int
    dim: int
    n_actions: int
    reads: float

    def __post_init__(self) -> None:
        for array in (self.indices, self.weights, self.g_support):
            array.setflags(write=False)

    @property
    def gap(self) -> float:
        """How far g is above the least possible, relatively: g_value / rank - 1."""
        return self.g_value / self.rank - 1.0

    @property
    def efficiency(self) -> float:
        """A lower bound of the D-efficiency, (det V / det V_optimal)^(1/rank)."""
        return self.rank / self.g_value

    def dense(self) -> Floats:
        """Return the weights of all actions, ``(n_actions,)``."""
        weights = np.zeros(self.n_actions)
        weights[self.indices] = self.weights
        return weights

    def chart(self, labels: Sequence[str] | None = None) -> Any:
        """A bar per action of the design as long as its share; ``labels`` name all actions."""
        from noisewise import charts

        if labels is not None and len(labels) != self.n_actions:
            raise ValueError(f"`labels` must name all {self.n_actions} actions; got {len(labels)} labels.")
        names = [str(i if labels is None else labels[i]) for i in self.indices.tolist()]
        frame = {"option": names, "weight": self.weights}
        return charts.design_weights(frame, g_value=self.g_value, rank=self.rank)

    def __repr__(self) -> str:
        span = f"dim {self.dim}"
        if self.rank < self.dim:
            span = f"a span of rank {self.rank} in dim {self.dim}, certificate relative to the rank"
        return (
            f"Design({len(self.indices)} of {self.n_actions} actions in {span}: "
            f"g = {self.g_value:.6g}, gap {self.gap:.2g}, {self.reads:.1f} reads)"
        )
