"""Information-directed sampling (Kirschner and Krause 2018): little regret for much information.

Each round, sigma being known before the choice:

1. the gap of an action is the largest upper bound of all less its own lower bound;
2. its gain is what measuring it would tell, in nats;
3. draw from the mixture of actions with the least ``(E gap)²/E gain``, of which two are enough.
"""

import numpy as np
from numpy.typing import ArrayLike

from noisewise.core.checks import check_choice, check_positive
from noisewise.core.model import covariance_with
from noisewise.core.native.verbs import verb
from noisewise.core.selection import TIE, first_largest, first_near, masked_argmax
from noisewise.rules._rage import known_factors
from noisewise.rules.rule import Rule, below

#: A mixture counts as optimal when no action promises to improve it by more than this share.
OPTIMAL = 1e-9
#: Exchanges of actions in the mixture; a handful is usual.
MOST_EXCHANGES = 200


class InformationDirected(Rule):
    """Information-directed sampling: the least regret squared per information. Sees sigma beforehand.

    Args:
        information: ``"full"``: about everything; ``"optimistic"``: about the value of the most optimistic
            action.
        randomised: Whether to draw from the best mixture of two actions; otherwise the best one.
        action_sigma: Known noise per action: action k is measured with ``sigma·action_sigma[k]``. Default:
            the same for all. In a simulation the world says it.
        scale: Multiplies the stochastic part of the radius; 1 is faithful.
    """

    information: str = "full"
    randomised: bool = True
    action_sigma: ArrayLike | None = None
    scale: float = 1.0
    radius: str | float = "self-normalised"

    name = "information_directed"
    reference = "Kirschner and Krause, Information directed sampling and bandits with heteroscedastic noise"
    year = 2018
    guarantee = "cumulative regret, so simple regret for recommendation='uniform-played'; anytime certificate"
    cost = "n·dim"
    reconstruction = True
    sees_sigma = "before"
    random = True
    lists_only = True

    def prepare(self):
        check_choice("information", self.information, ("full", "optimistic"))
        check_positive("scale", self.scale)
        self.factors = known_factors(self.actions, self.action_sigma)

    def choose(self, allowed, sigma):
        radius = self.beta()
        gap, gain = self.gaps(allowed, radius), self.gains(allowed, sigma, radius)
        if not self.randomised:
            return first_largest(gain / np.maximum(gap, 1e-300) ** 2, allowed)
        one, other, share = best_mixture(gap, gain, allowed)  # 3
        return int(other if self.uniform() < share else one)

    def gaps(self, allowed, radius):  # 1
        slack = radius * np.sqrt(self.model.squared_widths)
        upper = self.model.means + slack
        return upper[masked_argmax(upper, allowed)] - (self.model.means - slack)

    def gains(self, allowed, sigma, radius):  # 2
        """About everything: ``½·log(1 + ‖a‖²/ρ²)``, ρ the noise of that action.

        About the most optimistic action u: half the logarithm by which its squared width would shrink,
        ``(uᵀV⁻¹a)²/(ρ² + ‖a‖²)`` of ``‖u‖²``.
        """
        squared, variances = self.model.squared_widths, (sigma * self.factors) ** 2
        if self.information == "full":
            return 0.5 * np.log1p(squared / variances)
        optimistic = self.model.most_optimistic(allowed, radius)
        own = max(squared[optimistic], 1e-300)
        told = covariance_with(self.model.arrays, optimistic) ** 2 / (variances + squared) / own
        return -0.5 * np.log1p(-np.minimum(told, 1.0 - 1e-15))

    def imagine(self, action, sigma):
        self.model.imagine(action, sigma)

    def beta(self):  # √β_t, its stochastic part scaled
        return self.scaled(super().beta(), self.scale)

    def certificate(self):
        return self.anytime(unproven=below("scale", self.scale))


def share_of_second(gap, gain, other_gap, other_gain):
    """The share of a second action at which a mixture of two has the least ``(E gap)²/E gain``."""
    more_gap, more_gain = other_gap - gap, other_gain - gain
    if more_gap == 0.0 or more_gain == 0.0:
        better = other_gain > gain if more_gap == 0.0 else other_gap < gap
        return 1.0 if better else 0.0
    # Zero of the derivative: 2·more_gap·(E gain) = more_gain·(E gap). The ratio is convex.
    share = (more_gain * gap - 2.0 * more_gap * gain) / (more_gap * more_gain)
    if more_gap * more_gain < 0.0:
        share = 1.0 if more_gain > 0.0 else 0.0  # one of them is better in both
    return min(1.0, max(0.0, share))


@verb
def best_mixture(gap, gain, allowed):
    """Two actions, and the share of the second, with the least ``(E gap)²/E gain`` of all mixtures.

    That ratio is convex in the mixture and two actions are enough. Its derivative towards an action is
    proportional to ``2·gap - (E gap/E gain)·gain``: exchange one of the two for the action where this is
    least, until no action lies below the mixture itself, where it is E gap.
    """
    one = first_largest(gain / np.maximum(gap, 1e-300) ** 2, allowed)  # the best without mixing
    other, share = one, 0.0
    for _ in range(MOST_EXCHANGES):
        mean_gap = (1.0 - share) * gap[one] + share * gap[other]
        mean_gain = (1.0 - share) * gain[one] + share * gain[other]
        if not mean_gain > 0.0:
            break
        rate = mean_gap / mean_gain
        slope = 2.0 * gap - rate * gain
        least_slope = masked_argmax(-slope, allowed)
        terms = 2.0 * gap[least_slope] + rate * gain[least_slope]
        entering = first_near(-slope, allowed, least_slope, TIE * terms)
        if slope[entering] >= mean_gap * (1.0 - OPTIMAL):
            break
        least, kept, part = mean_gap * mean_gap / mean_gain, -1, 0.0
        for candidate in (one, other):
            q = share_of_second(gap[candidate], gain[candidate], gap[entering], gain[entering])
            mixed_gap = (1.0 - q) * gap[candidate] + q * gap[entering]
            mixed_gain = (1.0 - q) * gain[candidate] + q * gain[entering]
            if mixed_gain > 0.0 and mixed_gap * mixed_gap / mixed_gain < least:
                least, kept, part = mixed_gap * mixed_gap / mixed_gain, candidate, q
        if kept < 0:
            break
        one, other, share = kept, entering, part
    return np.array([one, other, share])
