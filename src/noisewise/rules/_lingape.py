"""LinGapE (Xu, Honda and Sugiyama 2018): settle the one comparison that is most in doubt, again and again.

Each round: the leader is the best mean, its strongest rival the action that may be furthest above it; measure
the action, of all, that takes most off the width of their difference. As printed, ``C_t =
√(2·log(n²·√det(V/λ)/δ)) + √λ·R``.
"""

import math
from typing import Any, ClassVar

import numpy as np

from noisewise.core.checks import check_positive
from noisewise.core.selection import most_telling, strongest_rival
from noisewise.rules.rule import Rule, below


class Lingape(Rule):
    """LinGapE: measure what tells most about the best mean and its strongest rival. It never sees sigma.

    ``simulate(stop="gap", eps=…)`` stops where the paper does. The proof is for ``recommendation="best"``
    and for another way to choose the measurement, by the ratios of a linear programme; this is the greedy
    one of the paper's experiments.

    Args:
        noise_level: The sigma assumed for every measurement; the certificate holds if none is noisier.
        scale: Multiplies the stochastic part of the radius; 1 is faithful. The default ``radius="printed"``
            has a union over all pairs in it; ``radius="logarithmic"``, the heuristic ``√(2·(log 1/δ + 2·log(1
            + t)))`` of a published rerun, t the round that comes, is smaller, and proves nothing.
    """

    noise_level: float = 1.0
    scale: float = 1.0
    radius: str | float = "printed"

    name = "lingape"
    reference = (
        "Xu, Honda and Sugiyama, A fully adaptive algorithm for pure exploration in linear bandits, "
        "Algorithm 1 with greedy selection"
    )
    year = 2018
    guarantee = (
        "anytime certificate, if no sigma exceeds noise_level; stop='gap' is its stopping rule, for "
        "recommendation='best'"
    )
    cost = "n·dim"
    sees_sigma: ClassVar[Any] = "never"
    lists_only = True
    weighted = False

    def limits_for(self, actions):
        level = check_positive("noise_level", self.noise_level)
        own = self.radius in ("printed", "logarithmic")
        return self.make_limits(
            actions,
            radius="self-normalised" if own else self.radius,
            ridge=self.ridge_at(1.0 if self.weighted else level),
        )

    def prepare(self):
        check_positive("scale", self.scale)
        self.union = 4.0 * math.log(self.actions.n_actions)

    def start(self):
        self.unseen = self.model.everyone()
        self.n_unseen = self.unseen.size

    def choose(self, allowed, sigma):  # each action once; then what tells most about the leader and its rival
        if not self.weighted and self.n_unseen:
            unseen = allowed & self.unseen
            if unseen.any():
                return int(np.argmax(unseen))
        model = self.model
        leader = model.best(model.everyone())
        rival = strongest_rival(model.arrays, leader, self.beta())
        variance = self.noise_level**2
        if self.weighted and model.n_told > 0.0:
            variance = model.n_told / model.total_precision  # the harmonic mean of those told
        return most_telling(model.arrays, leader, rival, variance, allowed)

    def learn(self, action, reward, sigma):
        self.model.learn(action, reward, sigma if self.weighted else self.noise_level)
        if self.unseen[action]:
            self.unseen[action] = False
            self.n_unseen -= 1

    def beta(self):  # scaled but for the bias
        limits = self.limits
        if self.radius == "logarithmic":  # of the round that comes
            return self.scale * math.sqrt(limits.doubt + 4.0 * math.log(2.0 + self.model.n_told))
        if self.radius == "printed" and self.union > 0.0:
            return limits.bias + self.scale * math.sqrt(limits.doubt + self.union + self.model.log_det)
        return self.scaled(super().beta(), self.scale)

    def most_sigma(self):
        return math.inf if self.weighted else self.noise_level

    def certificate(self):
        if self.radius == "logarithmic":
            return "a heuristic radius, not proven"
        level = [] if self.weighted else [f"if no sigma exceeds noise_level={self.noise_level:g}"]
        return self.anytime(*level, unproven=below("scale", self.scale))


class WeightedLingape(Lingape):
    """LinGapE with weighted least squares: the same comparison, every measurement with its own weight.

    What a measurement will tell is judged with the harmonic mean of the variances told so far, and
    no action is measured merely because it has not been.

    Args:
        noise_level: The sigma expected of the first measurement.
        scale: Multiplies the stochastic part of the radius; 1 is faithful. ``radius="printed"`` is the
            paper's, with a union over all pairs in it.
    """

    radius: str | float = "mixture"

    name = "weighted_lingape"
    reference = Lingape.reference + "; weighted by 1/σ² here"
    guarantee = "anytime certificate; stop='gap' is its stopping rule, for recommendation='best'"
    sees_sigma = "after"
    weighted = True
