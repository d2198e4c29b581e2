"""VAGE, variance-aware gap exploration: settle the closest races, and keep a share for what is known least.

Ours. Each round:

1. if the widest actions hold at most a share of the total precision, or of the total credit ``Σ min(1,
   W²/σ²)`` (W the largest width at the time), measure the widest action: two ledgers keep the paper's rate;
2. else find the leader (the best mean among the candidates) and its strongest challengers (the largest upper
   bounds on the difference);
3. measure whichever action, of **all**, most reduces the variances of those differences, the closest race
   counting most.

docs/rules.md has the proof, `races.py` the ledgers and the races.
"""

import math

import numpy as np

from noisewise.core.checks import check_positive, check_probability
from noisewise.core.model import squared_covariances
from noisewise.rules import races
from noisewise.rules.races import PRECISION
from noisewise.rules.rule import Rule


class Vage(Rule):
    """Variance-aware gap exploration: settle the race between the leader and its strongest challenger.

    Args:
        share: What the widest actions get of the precision and of the credit, at least; between 0 and 1 (and
            up to a fifth while few rounds carry most of the precision). Larger is safer against a wrong early
            leader, smaller is faster when the leader is right.
        challenge: A challenger is judged by its mean and this many times
            ``√(2·log((1 + log S)/delta))`` widths of its difference to the leader: larger looks at more
            challengers, smaller settles the nearest race first.
    """

    share: float = 0.03
    challenge: float = 0.85

    name = "vage"
    reference = "ours: docs/rules.md"
    guarantee = "anytime certificate; VAEE's rate up to 1/√share"
    cost = "3·n·dim"
    sees_sigma = "if announced"
    lists_only = True

    def prepare(self):
        check_probability("share", self.share)
        check_positive("challenge", self.challenge)

    def start(self):
        self.survivors = self.model.everyone()
        self.ledgers, self.noise = np.zeros(5), races.new_history(self.actions.n_actions)

    def choose(self, allowed, sigma):
        if not self.is_due():
            leader = self.recommend()
            rivals, weights = self.closest_races(leader)  # 2
            if weights[0] > 0.0:
                coming, arrays = math.nan if sigma is None else sigma, self.model.arrays
                action = races.most_settling(  # 3
                    arrays, rivals, leader, weights, self.noise, coming, allowed
                )
                if action >= 0:
                    return action
        return self.model.widest(allowed)

    def is_due(self):  # 1
        return races.are_due(self.ledgers, self.share, self.limits.rank)

    def closest_races(self, leader):
        """The strongest challengers, and what each race counts."""
        rivals, weights = np.empty(races.RACES, np.int64), np.empty(races.RACES)
        reach = self.reach()
        races.closest_races(self.model.arrays, self.survivors, leader, reach, rivals, weights)
        return rivals, weights

    def reach(self):
        """How many widths of a difference a challenger is given, ``c·√(2·log((1 + log P)/δ))``.

        P is the total precision in units of the largest possible value. The certificate's radius grows with
        √dim: it must hold for all differences at once, while this only ranks them.
        """
        most = self.limits.norm_bound * self.limits.max_norm
        precision = max(1.0, most * most * self.ledgers.item(PRECISION))
        return self.challenge * math.sqrt(2.0 * math.log((1.0 + math.log(precision)) / self.delta))

    def learn(self, action, reward, sigma):  # book it, learn it, and drop the candidates that it rules out
        races.book(self.model.arrays, self.ledgers, self.noise, action, sigma)
        self.model.learn(action, reward, sigma)
        self.model.drop_ruled_out(self.survivors, self.beta())

    def imagine(self, action, sigma):
        races.book(self.model.arrays, self.ledgers, self.noise, action, sigma)
        self.model.imagine(action, sigma)

    def recommend(self):  # the leader
        return self.model.best(self.survivors)

    def candidates(self):
        return self.survivors

    def explain(self, action):  # which race it settles, or that it is the turn of what is known least
        model, label, leader = self.model, self.actions.label, self.recommend()
        widest = model.squared_widths[action] >= model.squared_widths.max()
        known = f"{label(action)} is known to ±{model.width(action):.2g}{', the least of all' * bool(widest)}"
        rivals, weights = self.closest_races(leader)
        challengers = rivals[weights > 0.0]
        if not challengers.size:
            return f"Nothing can still beat {label(leader)}; {known}, if anything is to be measured at all."
        if self.is_due():
            share = races.share_of_precision(self.ledgers, self.share, self.limits.rank)
            return f"{known}, and {share:.0%} of all precision is kept for such checks."
        noise = (
            races.average_variance(self.noise) * self.noise.relative[action] + model.squared_widths[action]
        )
        gains = [
            squared_covariances(model.arrays, challengers[j : j + 1], leader, np.ones(1))[action] / noise
            for j in range(challengers.size)
        ]
        most = int(np.argmax(weights[: challengers.size] * gains))
        challenger = int(challengers[most])
        variance = model.contrast_widths(leader)[challenger] ** 2
        before, after = math.sqrt(variance), math.sqrt(max(0.0, variance - gains[most]))
        title = "its strongest challenger" if most == 0 else "one of its strongest challengers"
        race = f"{label(leader)}, the best so far, from {label(challenger)}, {title}"
        return (
            f"To tell {race}: measuring {label(action)} is expected to bring the standard error of their "
            f"difference from {before:.2g} to {after:.2g}."
        )
