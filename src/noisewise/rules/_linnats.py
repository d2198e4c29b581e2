"""LinNATS (Xu, Min and Wang 2023), our reconstruction: Thompson sampling that adapts to the noise.

Known variance (`linnats`), each round, with weights and radius β of Weighted OFUL+:

1. draw ``ξ ~ N(0, I)`` and measure the action of the largest ``<θ̂ + spread·β·V^(-1/2)·ξ, a>``;
2. learn it with the sigma ``√max(σ², α², γ²·‖a‖)``.

Unknown variance (`linnats_unknown`), each round, with layers, weights and radii of SAVE: walk down to the
layer where a remaining action is wide, and draw there, ``<θ̂_l + spread·β_l·V_l^(-1/2)·ξ, a>``; measure the
best under the draw if it is wide, else the widest, and learn it in this layer. A narrow action would teach
the layer nothing.

Only the abstract could be read. It promises regret d^1.5·√(Σσ²) + d^1.5 by "stratified sampling" for
unknown variances; these have that rate by the same arguments, but are not the paper's algorithm.
"""

from noisewise.core.checks import check_not_negative
from noisewise.rules.bounded import Cautious
from noisewise.rules.layers import Layered


class Linnats(Cautious):
    """LinNATS for known variances (our reconstruction): Thompson sampling with cautious weights.

    Args:
        spread: The draw's standard deviations in radii; 1 as derived, 0 is greedy.
    """

    spread: float = 1.0

    name = "linnats"
    reference = "Xu, Min and Wang, NeurIPS 2023, for known variances"
    year = 2023
    guarantee = "anytime certificate; cumulative regret d^1.5·√(Σσ²) + d^1.5, up to logarithms"
    cost = "n·dim + dim²"
    reconstruction = True
    random = True

    def prepare(self):
        super().prepare()
        check_not_negative("spread", self.spread)

    def choose(self, allowed, sigma):  # the draw is as wide as the confidence set
        normals = self.rng.standard_normal(self.model.n_unknowns)
        return self.model.best_of_draw(allowed, normals, self.spread * self.beta())


class LinnatsUnknown(Layered):
    """LinNATS for unknown variances (our reconstruction): Thompson sampling in layers, blind to sigma.

    Args:
        scale: Multiplies the stochastic part of the radii; 1 is the reconstruction as derived.
        spread: The draw's standard deviations in radii; 1 as derived.
        trust_after: Layer l trusts its measured variance once 2ˡ exceeds this times a square root of a
            logarithm; 64 as in SAVE.
    """

    spread: float = 1.0

    name = "linnats_unknown"
    reference = "Xu, Min and Wang, NeurIPS 2023, on the layers of SAVE"
    year = 2023
    guarantee = "anytime certificate; the original: cumulative regret d^1.5·√(Σσ²) + d^1.5, up to logarithms"
    cost = "n·(dim + layers) + dim², log₂(R·T^1.5) layers at most"
    reconstruction = True
    random = True

    def prepare(self):
        super().prepare()
        check_not_negative("spread", self.spread)

    def choose(self, allowed, sigma):
        level, remaining, widest = self.descend_among(allowed)
        layer = self.layers[level]
        normals = self.rng.standard_normal(layer.n_unknowns)
        action = layer.best_of_draw(remaining, normals, self.spread * self.radii[level])
        if self.is_wide(level, action):
            return action
        return widest if self.is_wide(level, widest) else action
