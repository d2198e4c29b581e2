"""Phased elimination (Lattimore and Szepesvári, chapter 22), in precision instead of counts.

In phase ℓ, with ``ε = 2^-ℓ`` times the largest possible value:

1. find a G-optimal design π of the survivors;
2. measure each of its actions until it has the precision ``2·g(π)·π(a)·log(2n·ℓ(ℓ+1)/δ)/ε²``: then every
   survivor's value is known to ε, except with probability ``δ/(ℓ(ℓ+1))``;
3. estimate θ from the measurements of this phase, and drop what is more than 2ε below the best.
"""

import math

import numpy as np

from noisewise.core.checks import check_positive
from noisewise.rules.phases import Phased, best_survivor

#: A phase may be this much longer than the best design would make it: exact designs take twice the time.
GAP = 0.05


class PhasedElimination(Phased):
    """Phased elimination: a G-optimal design of the survivors in every phase, each twice as exact.

    The textbook's phases count measurements; here they count precision, which is the same when all sigmas
    are equal. Survivors are judged by the measurements of one phase; the certificate
    is the anytime one of all measurements and does not rest on the phases.

    Args:
        scale: Multiplies the error allowed for noise, so a phase is scale² as long; 1 is faithful.
    """

    scale: float = 1.0

    name = "phased_elimination"
    reference = "Lattimore and Szepesvári, Bandit Algorithms, chapter 22; in precision instead of counts here"
    year = 2020
    guarantee = (
        "cumulative regret √(T·dim·log n) for equal sigmas, so simple regret for "
        "recommendation='uniform-played'; what survives a phase is within 4ε of the best; anytime certificate"
    )
    cost = "n·dim, and a design per phase"
    reconstruction = True

    def prepare(self):
        check_positive("scale", self.scale)
        self.first = self.plan(np.arange(self.actions.n_actions), phase=1)

    def plan(self, rows, phase):  # 1: the precision that the phase wants of each action
        from noisewise.designs import optimal_design  # loads SciPy

        shares, g_value = np.ones(1), 1.0  # with one survivor there is nothing to solve
        if rows.size > 1:
            design = optimal_design(np.ascontiguousarray(self.actions.vectors[rows]), gap=GAP)
            shares, g_value = design.dense(), design.g_value
        n = self.actions.n_actions
        doubt = math.log(2.0 * n * phase * (phase + 1) / self.delta)
        wanted = np.zeros(n)
        wanted[rows] = 2.0 * self.scale**2 * g_value * shares * doubt / self.error(phase) ** 2  # 2
        return wanted

    def end_phase(self):  # 3
        used = np.flatnonzero(self.given)
        roots = np.sqrt(self.given[used])
        rows = self.actions.vectors[used].astype(np.float64) * roots[:, None]
        theta = np.linalg.lstsq(rows, self.sums[used] / roots, rcond=None)[0]
        means = theta @ self.actions.columns
        self.survivors &= ~(means[self.survivors].max() - means > 2.0 * self.error(self.phase))
        self.begin(self.phase + 1, self.plan(np.flatnonzero(self.survivors), self.phase + 1))

    def recommend(self):
        return best_survivor(self)
