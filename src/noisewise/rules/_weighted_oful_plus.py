"""Weighted OFUL+ (Zhou and Gu 2022): weights that also fear the actions that are still uncertain.

Each round ``k`` of ``K``, with ``R`` the bound on the noise, ``α = 1/√K`` and ``γ² = R/√d``:

1. measure the action of the largest ``<θ̂, a> + (β + √λ·B)·‖a‖``;
2. learn it with the sigma ``√max(σ², α², γ²·‖a‖)``, its width ``‖a‖`` taken before;
3. ``β = 12·√(d·log(1 + k·A²/(α²·d·λ))·z) + 30·z·R/γ²`` with ``z = log(32·(log(γ²/α) + 1)·k²/δ)``.

2 and 3 are in `bounded.py`. The theorem behind the radius was read where two papers of ICML 2023 restate it.
Its constants are worked out from there: noise and action divided by the sigma that enters have variance at
most 1 and product at most R/γ².
"""

from noisewise.rules.bounded import Cautious


class WeightedOfulPlus(Cautious):
    """Weighted OFUL+: optimism with weights that also depend on how uncertain an action is.

    Args:
        scale: Multiplies the stochastic part of the radius; 1 is faithful.
    """

    name = "weighted_oful_plus"
    reference = "Zhou and Gu, NeurIPS 2022, Theorem 4.3 as restated at ICML 2023"
    year = 2022
    guarantee = "anytime certificate; cumulative regret d·√(Σσ²) + d·R + d, up to logarithms"
    cost = "n·dim + dim²"

    def choose(self, allowed, sigma):
        return self.model.most_optimistic(allowed, self.beta())
