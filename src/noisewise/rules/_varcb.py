"""VarCB (Jia, Qian, Rakhlin and Wei 2024), our reconstruction: chance by gaps, sharper in quiet rounds.

Each round, sigma being known before the choice, with weights, radius, α and γ² of Weighted OFUL+ and
``s² = max(σ², α²)``:

1. an action is plausible if its upper bound reaches the largest lower bound;
2. if ``γ²·‖a‖ > s²`` for a plausible action: measure the widest plausible one;
3. else, with S the sum of s² over all rounds that came here, this one included, ``η = √(8·n·S/E)`` and
   ``E = d·log(1 + T·A²/(d·λ·α²)) + log(1/δ)``: measure a plausible action ``a`` other than the best with
   probability ``1/(m + (η/s²)·gap(a))``, m the number of plausible ones, else the best;
4. learn it with the sigma ``√max(s², γ²·‖a‖)``.

Only the abstract could be read: the two branches and the rate are the paper's, thresholds and constants are
ours.
"""

import math

import numpy as np

from noisewise.rules.bounded import Cautious

#: Below 1, so that the share of the last action is never passed by.
ALMOST_1 = 1.0 - 1e-12


class Varcb(Cautious):
    """VarCB (our reconstruction): inverse gap weighting that must know sigma before it chooses."""

    name = "varcb"
    reference = "Jia, Qian, Rakhlin and Wei, NeurIPS 2024"
    year = 2024
    guarantee = "anytime certificate; the original: cumulative regret √(n·d·Σσ²) + d², up to logarithms"
    cost = "n·dim + dim²"
    reconstruction = True
    sees_sigma = "before"
    random = True

    def prepare(self):
        super().prepare()
        # α = 1/√T: T·A²/α² = A²/α⁴.
        spread = self.limits.max_norm**2 / (self.alpha**4 * self.rank * self.limits.ridge)
        self.complexity = self.rank * math.log1p(spread) + math.log(1.0 / self.delta)  # E

    def start(self):
        self.variance = 0.0  # S, of the rounds that were left to chance

    def believed(self, sigma):  # s²
        return max(sigma, self.alpha) ** 2

    def is_uncertain(self, action, sigma):  # what it could teach is more than what the noise could hide
        return self.caution * self.model.width(action) > self.believed(sigma)

    def choose(self, allowed, sigma):
        plausible = self.model.plausible(allowed, self.beta())  # 1
        wide = self.model.widest(plausible)
        if self.is_uncertain(wide, sigma):  # 2
            return wide
        variance = self.believed(sigma)  # 3
        eta = math.sqrt(8.0 * allowed.size * (self.variance + variance) / self.complexity)
        shares = shares_by_gap(self.model.means, plausible, self.model.best(plausible), eta / variance)
        passed = np.cumsum(shares)
        return int(np.searchsorted(passed, min(self.uniform(), ALMOST_1) * passed[-1], side="right"))

    def learn(self, action, reward, sigma):  # 4
        # Only a round left to chance has no uncertain plausible action: the action tells which it was.
        if not self.is_uncertain(action, sigma):
            self.variance += self.believed(sigma)
        super().learn(action, reward, sigma)


def shares_by_gap(means, plausible, best, sharpness):
    """The probabilities of inverse gap weighting: ``1/(m + sharpness·gap)``, and the rest for the best."""
    gaps = np.maximum(means[best] - means, 0.0)
    shares = plausible / (plausible.sum() + sharpness * gaps)
    shares[best] = 0.0
    shares[best] = 1.0 - shares.sum()
    return shares
