"""OD-LinBAI (Yang and Tan 2022): a budget in phases; half of the survivors go after each."""

import math

import numpy as np

from noisewise.core.checks import check_count
from noisewise.rules.phases import BudgetPhases, phase_estimate

#: How far a phase's design may be from the best.
GAP = 0.01


class OdLinbai(BudgetPhases):
    """OD-LinBAI: divide a budget into ⌈log₂ dim⌉ phases, and keep ⌈dim/2^r⌉ actions after phase r.

    Every phase measures the survivors alone, by their G-optimal design, and judges them by its own
    measurements. An action that informs but cannot be the best is lost early: on Soare's instance it fails.
    Our reconstruction: the shares are of precision, and the last action is chosen by all measurements.
    """

    name = "od_linbai"
    reference = (
        "Yang and Tan, Minimax optimal fixed-budget best arm identification in linear bandits, "
        "Algorithm 1; shares of precision instead of counts here"
    )
    year = 2022
    guarantee = "minimax optimal error exponent for equal sigmas; anytime certificate"
    cost = "n·dim, and a design per phase"
    reconstruction = True

    def prepare(self):
        """A phase spends ``m = (T - min(n, d(d+1)/2) - Σ_r ⌈d/2^r⌉)/⌈log₂ d⌉`` before rounding up."""
        n, dim = self.actions.n_actions, self.actions.rank
        self.n_phases = max(1, math.ceil(math.log2(max(1, dim))))
        rounding = sum(math.ceil(dim / 2**r) for r in range(1, self.n_phases))
        kept = min(n, dim * (dim + 1) // 2)
        self.rounds = max(1.0, (check_count("horizon", self.horizon) - kept - rounding) / self.n_phases)
        self.first = self.design(np.arange(n))
        self.first_rounds = self.rounds_of(self.first)

    def design(self, rows):
        """A G-optimal design of the survivors, in the space that they span."""
        from noisewise.designs import optimal_design

        shares = np.zeros(self.actions.n_actions)
        vectors = np.ascontiguousarray(self.actions.vectors[rows])
        shares[rows] = 1.0 / rows.size
        if rows.size > 1 and vectors.any():
            shares[rows] = optimal_design(vectors, gap=GAP).dense()
        return shares

    def rounds_of(self, shares):  # Σ ⌈m·share⌉
        return float(np.ceil(self.rounds * shares).sum())

    def end_phase(self):  # the best ⌈d/2^r⌉ survivors by its measurements alone stay
        if self.phase > self.n_phases:
            self.keep_going()
            return
        estimate, _ = phase_estimate(self.actions.vectors, self.given, self.sums)
        values = np.where(self.survivors, estimate @ self.actions.columns, -np.inf)
        best = np.argsort(-values, kind="stable")[: math.ceil(self.limits.rank / 2**self.phase)]
        kept = np.zeros(values.size, np.bool_)
        kept[best] = True
        self.survivors &= kept
        shares = self.design(np.flatnonzero(self.survivors))
        self.begin(self.phase + 1, shares, self.rounds_of(shares))
