"""Linear Thompson sampling: measure what is best under a draw from the variance-weighted posterior.

Each round: draw ``θ̃`` from ``N(θ̂, scale²·V⁻¹)``, measure the action of the largest ``<θ̃, a>``, learn it
with its sigma. ``N(θ̂, V⁻¹)`` is the posterior of the prior ``N(0, I/λ)`` under Gaussian noise.
"""

from noisewise.core.checks import check_not_negative
from noisewise.rules._baselines import Widest


class LinearThompson(Widest):
    """Thompson sampling: draw a parameter from the weighted posterior, measure what is best under it.

    Args:
        scale: Multiplies the posterior's standard deviations; 0 is `greedy`, 1 the posterior itself.
    """

    scale: float = 1.0

    name = "linear_thompson"
    reference = "Thompson 1933; linear: Agrawal and Goyal, ICML 2013, weighted by the variances"
    year = 2013
    guarantee = "anytime certificate, whatever the scale; regret on average over the prior at scale 1"
    cost = "n·dim + dim²"
    random = True
    pools = False

    def prepare(self):
        check_not_negative("scale", self.scale)

    def choose(self, allowed, sigma):
        normals = self.rng.standard_normal(self.model.n_unknowns)
        return self.model.best_of_draw(allowed, normals, self.scale)
