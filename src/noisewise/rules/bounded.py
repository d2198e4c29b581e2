"""Rules for noise within a bound, which have a radius of their own."""

import math

from noisewise.core.checks import check_count, check_positive
from noisewise.rules.rule import Rule, below, fixed


class BoundedNoise(Rule):
    """What such rules share.

    Args:
        horizon: The number of measurements planned; no sigma below 1/√horizon is believed.
        noise_bound: R; the certificate holds for noise within ``±noise_bound``.
        scale: Multiplies the stochastic part of the radius; 1 is the reconstruction as derived.
    """

    horizon: int | None = None
    noise_bound: float = 1.0
    scale: float = 1.0
    radius: str | float = fixed("mixture")
    sigma_min: float | None = fixed(None)

    lists_only = True
    needs_horizon = True
    is_ball = False

    def most_sigma(self):  # noise within ±R has no larger standard deviation
        return self.noise_bound

    def certificate(self):
        within = f"if noise stays within ±noise_bound={self.noise_bound:g}"
        return self.anytime(within, unproven=below("scale", self.scale))


class Cautious(BoundedNoise):
    """Weights that also fear the actions that are still uncertain, as in Weighted OFUL+.

    With ``R`` the bound on the noise, ``α = 1/√K`` and ``γ² = R/√d``, a measurement enters with the sigma
    ``√max(σ², α², γ²·‖a‖)``, its width ``‖a‖`` taken before.
    """

    def prepare(self):
        check_positive("noise_bound", self.noise_bound)
        check_positive("scale", self.scale)
        self.rank = max(1, self.limits.rank)
        self.alpha = 1.0 / math.sqrt(check_count("horizon", self.horizon))
        self.caution = self.noise_bound / math.sqrt(self.rank)  # γ²

    def cautious_sigma(self, action, sigma):  # γ² times the width itself, not its square
        return math.sqrt(max(sigma * sigma, self.alpha * self.alpha, self.caution * self.model.width(action)))

    def learn(self, action, reward, sigma):
        self.model.learn(action, reward, self.cautious_sigma(action, sigma))

    def beta(self):
        """``β_k + √λ·B`` after k measurements; only the stochastic part β_k is scaled."""
        limits, k = self.limits, self.model.n_told
        if k == 0.0:
            return limits.bias
        # A large floor would make the inner logarithm negative; its bound is 0 then.
        peeled = max(0.0, math.log(self.caution / self.alpha)) + 1.0
        z = math.log(32.0 * peeled * k * k / self.delta)
        spread = k * (limits.max_norm / self.alpha) ** 2 / (self.rank * limits.ridge)
        stochastic = 12.0 * math.sqrt(self.rank * math.log1p(spread) * z)
        stochastic += 30.0 * z * self.noise_bound / self.caution
        return limits.bias + self.scale * stochastic
