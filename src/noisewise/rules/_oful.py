"""OFUL (Abbasi-Yadkori, Pál and Szepesvári 2011): optimism that takes all measurements for equally good.

Each round: measure the action of the largest ``<θ̂, a> + β·‖a‖``, learn it with the assumed sigma ``s``.
With the default radius ``β = √(2·log(1/δ) + log det(V/λ)) + √λ·B``, where ``V = λ·I + Σ a aᵀ/s²``.
"""

from noisewise.core.checks import check_positive
from noisewise.rules.rule import Rule, below


class Oful(Rule):
    """OFUL: optimism with unweighted least squares. It never looks at sigma.

    Args:
        noise_level: The sigma assumed for every measurement; the certificate holds if none is noisier.
        scale: Multiplies the stochastic part of the radius; 1 is faithful.
    """

    noise_level: float = 1.0
    scale: float = 1.0
    radius: str | float = "self-normalised"

    name = "oful"
    reference = "Abbasi-Yadkori, Pál and Szepesvári, NeurIPS 2011"
    year = 2011
    guarantee = "anytime certificate if sigma ≤ noise_level; cumulative regret d·√T, up to logarithms"
    cost = "n·dim + dim²"
    sees_sigma = "never"

    def limits_for(self, actions):
        level = check_positive("noise_level", self.noise_level)
        return self.make_limits(actions, ridge=self.ridge_at(level))

    def prepare(self):
        check_positive("scale", self.scale)

    def choose(self, allowed, sigma):
        return self.model.most_optimistic(allowed, self.beta())

    def learn(self, action, reward, sigma):
        self.model.learn(action, reward, self.noise_level)

    def beta(self):  # only the stochastic part is scaled
        return self.scaled(super().beta(), self.scale)

    def most_sigma(self):
        return self.noise_level

    def certificate(self):
        level = f"if no sigma exceeds noise_level={self.noise_level:g}"
        return self.anytime(level, unproven=below("scale", self.scale))
