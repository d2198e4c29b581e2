"""LinGame (Degenne, Ménard, Shang and Valko 2020): shares learnt against the most confusing alternative.

Each round, after every action was measured once:

1. the leader's learner, AdaHedge, gives shares of the precision;
2. the alternative is the cheapest parameter that puts a rival level with the leader, under these shares;
3. the learner gains, for each action, what a measurement of it may tell about the alternative;
4. measure the action that is furthest behind the precision that the learners want for it.
"""

import math

import numpy as np

from noisewise.core.checks import check_choice
from noisewise.core.native.verbs import verb
from noisewise.core.selection import first_largest
from noisewise.rules.alternatives import (
    closest_rival,
    costs_of_rivals,
    first_unseen,
    inverse_of_moment,
    shifts_towards,
    with_vectors,
)
from noisewise.rules.rule import Rule

#: Where the learners' doubt starts, as in the authors' experiments; in nats.
FIRST_DOUBT = 0.01
#: A learner per action has a loss per action: more would not fit into memory.
MOST_ACTIONS = 5000


class Lingame(Rule):
    """LinGame: a learner's shares of the precision against the alternative that they tell least about.

    With equal sigmas it is the published rule; otherwise the shares are of precision, and least squares is
    weighted. ``simulate(stop="glr")`` is its stopping rule.

    Args:
        learners: ``"per-answer"``: one for each action that leads, as published; ``"single"``: one for all,
            as in a later rerun by one of the authors.
        optimistic: Whether learners are told what an action may tell at most; the rerun does without.
    """

    learners: str = "per-answer"
    optimistic: bool = True

    name = "lingame"
    reference = (
        "Degenne, Ménard, Shang and Valko, Gamification of pure exploration for linear bandits, "
        "LinGame; in precision instead of counts here"
    )
    year = 2020
    guarantee = "anytime certificate; for equal sigmas asymptotically optimal with stop='glr'"
    cost = "n·dim² + dim³"
    lists_only = True

    def prepare(self):
        single = check_choice("learners", self.learners, ("per-answer", "single")) == "single"
        n = self.actions.n_actions
        if not single and n > MOST_ACTIONS:
            raise ValueError(
                f"`actions` must be at most {MOST_ACTIONS} for learners='per-answer', which keeps a number "
                f"for every two of them; got {n}: use learners='single'."
            )
        self.n_learners = 1 if single else n
        with_vectors(self.actions.columns)

    def start(self):
        n, m = self.actions.n_actions, self.n_learners
        self.losses = np.zeros((m, n))  # the sums of what each action lost, minus what it would have told
        self.doubts = np.full(m, FIRST_DOUBT)  # the sums of mixability gaps, which set the learning rates
        self.given, self.wanted = np.zeros(n), np.zeros(n)  # Σ 1/σ², and the learners' shares of it

    def choose(self, allowed, sigma):  # 4
        unseen = first_unseen(self.given, allowed)
        if unseen >= 0:
            return unseen
        return first_largest(self.wanted - self.given, allowed)

    def learn(self, action, reward, sigma):
        precision = 1.0 / (sigma * sigma)
        self.model.learn(action, reward, sigma)
        self.given[action] += precision
        told, n = self.model.n_told, self.given.size
        if told <= n:
            self.wanted[action] += precision
        if told >= n:
            self.wanted += precision * self.play()

    def play(self):
        """One round of the game: the shares of the leader's learner, which then learns what they missed."""
        arrays = self.model.arrays
        leader = self.recommend()
        learner = leader if self.n_learners > 1 else 0
        losses = self.losses[learner]
        shares = hedged(losses, self.doubts[learner])  # 1
        inverse = inverse_of_moment(arrays, shares)
        rival = closest_rival(costs_of_rivals(arrays, inverse, leader))  # 2
        if rival >= 0:
            gains = self.information(shifts_towards(arrays, inverse, leader, rival))  # 3
            self.doubts[learner] += mixability_gap(shares, losses, gains, self.doubts[learner])
            losses -= gains
        return shares

    def information(self, shifts):
        """What a measurement of each action would tell about the alternative, in nats.

        It is ``<a_k, θ̂ - λ>²·w/2``, w the mean precision so far, which is 1 where the original has σ = 1.
        Optimistic: as much as it may tell if θ̂ is wrong, ``|<a_k, θ̂ - λ>| + √(2·log t)·‖a_k‖``, but at most
        log t.
        """
        told = self.model.n_told
        half = 0.5 * self.model.total_precision / told
        if not self.optimistic:
            return half * shifts * shifts
        reach = np.abs(shifts) + np.sqrt(2.0 * math.log(told) * self.model.squared_widths)
        return np.minimum(half * reach * reach, math.log(told))


@verb
def hedged(losses, doubt):
    """AdaHedge: shares proportional to ``exp(-rate·loss)``, with the rate ``log n/doubt``."""
    rate = math.log(losses.size) / doubt
    unscaled = np.exp(-rate * (losses - losses.min()))
    return unscaled / unscaled.sum()


@verb
def mixability_gap(shares, losses, gains, doubt):
    """How much less the shares gain than the best that their rate can hope for; at least 0.

    That is by how much the soft minimum of the losses falls. From the losses: a share may be 0 by rounding.
    """
    if losses.size == 1:
        return 0.0
    rate = math.log(losses.size) / doubt
    hoped = soft_minimum(losses, rate) - soft_minimum(losses - gains, rate)
    return max(0.0, float(hoped - (shares * gains).sum()))


def soft_minimum(losses, rate):
    """``-log(Σ exp(-rate·loss))/rate``."""
    least = losses.min()
    return float(least - math.log(np.exp(-rate * (losses - least)).sum()) / rate)
