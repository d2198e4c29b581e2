"""Layers of models, each for measurements of equal influence: what SAVE and its relatives share.

Layer ``l`` learns a measurement of ``a`` with the weight ``w² = 4⁻ˡ/‖a‖²`` while the action is wide there,
``‖a‖ > 2⁻ˡ``: no single measurement then has more influence than ``‖w·a‖ = 2⁻ˡ``. Nothing is known of
sigma; the weight comes from the width alone. Actions of length A and rewards of size A·B are treated as if
divided by them, which the ridge ``A²·4⁻ˡ`` does.
"""

import math

import numpy as np

from noisewise.core.any_model import RESIDUAL
from noisewise.core.checks import check_count, check_positive
from noisewise.core.model import squared_norm
from noisewise.core.selection import keep_near_best
from noisewise.rules.bounded import BoundedNoise
from noisewise.rules.rule import below, fixed

#: Trusting measured variances from an earlier layer on is more than the proof allows.
PROVEN_TRUST = 64.0


class Layered(BoundedNoise):
    """What rules in layers share, which have a ridge of their own as well.

    Args:
        horizon: The number of measurements planned, which decides how many layers there are.
        trust_after: Layer l trusts its measured variance once 2ˡ exceeds this times a square root of a
            logarithm.
    """

    trust_after: float = PROVEN_TRUST
    ridge: float | str = fixed(1.0)

    sees_sigma = "never"

    def limits_for(self, actions):
        return self.make_limits(actions, ridge=((actions.max_norm or 1.0) / 2.0) ** 2)

    def prepare(self):  # α and L, in units in which no action is longer than 1 and no value above 1
        check_positive("noise_bound", self.noise_bound)
        check_positive("scale", self.scale)
        check_positive("trust_after", self.trust_after)
        self.reach = (self.actions.max_norm or 1.0) * self.norm_bound  # A·B: no value is further from 0
        rounds = check_count("horizon", self.horizon)
        self.narrowest = self.reach / (self.noise_bound * rounds**1.5)  # α
        self.depth = max(1, math.ceil(-math.log2(self.narrowest)))  # L
        # A squared width above this is wide in the layer; the last has 2⁻ᴸ ≤ α.
        limits = 0.5 ** np.arange(1.0, self.depth + 1.0)
        limits[-1] = max(limits[-1], self.narrowest)
        self.wide = (limits * limits).tolist()
        # The printed guarantee has probability 1 - 3δ; ours is to have 1 - delta.
        self.doubt = self.delta / 3.0

    def start(self):  # layer l has the ridge A²·4⁻ˡ, an estimate of 0 and the radius 2·A·B·2⁻ˡ
        ridges = self.limits.ridge * 4.0 ** -np.arange(self.depth)
        self.layers = [self.model, *(self.model.fresh(ridge) for ridge in ridges[1:])]
        self.radii = (2.0 * self.reach * 0.5 ** np.arange(1.0, self.depth + 1.0)).tolist()
        self.rounds = 0
        self.remaining = self.model.everyone()
        self.walked = self.descend(self.remaining)
        self.reported = 0  # the layer to believe

    def is_wide(self, level, action):
        return self.layers[level].squared_widths.item(action) > self.wide[level]

    def descend(self, remaining):
        """Walk down while no remaining action is wide, dropping what each layer rules out.

        It ends where an action is wide or, in the last layer at the latest, all are narrower than α: the
        layer, what remains there, and the widest of that.
        """
        for level, layer in enumerate(self.layers):
            widest = layer.widest(remaining)
            squared = layer.squared_widths.item(widest)
            if squared <= self.narrowest * self.narrowest or squared > self.wide[level]:
                break
            if level < self.depth - 1:
                keep_near_best(layer.means, remaining, 2.0 * 0.5 ** (level + 1) * self.radii[level])
        return level, remaining, widest

    def descend_among(self, allowed):
        """The end of the walk among the allowed actions."""
        return self.walked if allowed.all() else self.descend(allowed.copy())

    def learning_layer(self, action):
        """The first layer in which the action is wide, which is where it is chosen; -1 if none is.

        The original learns nothing once all actions are narrower than α in a layer. Here a deeper layer
        learns then; while the same actions are allowed nothing looks at it, because the walk ends above.
        """
        for level in range(self.depth):
            if self.is_wide(level, action):
                return level
        return -1

    def learn(self, action, reward, sigma):  # in one layer, with the influence 2⁻ˡ; then walk down again
        self.rounds += 1
        level = self.learning_layer(action)
        if level >= 0:
            layer = self.layers[level]
            # A weight of w² = 4⁻ˡ/‖a‖² is a sigma of ‖a‖·2ˡ.
            layer.learn(action, reward, layer.width(action) * 2.0 ** (level + 1))
            self.radii[level] = self.layer_radius(level)
        self.remaining[:] = True
        self.walked = reached, _, widest = self.descend(self.remaining)
        self.reported = max(0, reached - 1) if self.is_wide(reached, widest) else reached
        self.model = self.layers[self.reported]

    def layer_radius(self, level):
        """The radius of layer l after round k; only its stochastic part, all but ``2·A·B·2⁻ˡ``, is scaled."""
        influence, noise_bound, layer = 0.5 ** (level + 1), self.noise_bound, self.layers[level]
        bias = 2.0 * influence * self.reach
        log_next = math.log(4.0 * (self.rounds + 1.0) ** 2 * self.depth / self.doubt)  # G
        log_now = math.log(4.0 * self.rounds**2 * self.depth / self.doubt)  # H
        if 1.0 / influence >= self.trust_after * math.sqrt(log_next):
            # Σ w²·(r - <θ̂, a>)²: what the fit minimised, without its penalty. NaN stays NaN.
            ridge = self.limits.ridge * 0.25**level
            variance = max(layer.arrays.tally.item(RESIDUAL) - ridge * squared_norm(layer.arrays), 0.0)
        else:
            variance = noise_bound * noise_bound * layer.n_told
        total = 8.0 * variance + 6.0 * noise_bound**2 * log_next + 4.0 * bias * bias
        stochastic = 16.0 * influence * math.sqrt(total * log_now) + 6.0 * influence * noise_bound * log_now
        return bias + self.scale * stochastic

    def imagine(self, action, sigma):  # it goes to the layer where it would be learnt
        level = max(0, self.learning_layer(action))
        self.learn(action, self.layers[level].mean(action), sigma)

    def recommend(self):  # the best mean of the finished layer among what all finished layers leave
        return self.model.best(self.remaining)

    def beta(self):
        return self.radii[self.reported]

    def candidates(self):
        return self.remaining

    def certificate(self):
        doubts = (below("scale", self.scale), below("trust_after", self.trust_after, PROVEN_TRUST))
        within = f"if noise stays within ±noise_bound={self.noise_bound:g}"
        return self.anytime(within, unproven=" and ".join(doubt for doubt in doubts if doubt))
