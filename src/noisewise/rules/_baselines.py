"""Rules to compare with: the widest action, the best so far, actions in turn and at random."""

import numpy as np

from noisewise.rules.rule import Rule


class Widest(Rule):
    """Always measure the widest action; recommend the largest mean. VAEE without elimination."""

    name = "widest"
    reference = "uncertainty sampling: Algorithm 1 of Breaking the Total Variance Barrier, nothing eliminated"
    guarantee = "anytime certificate; simple regret 2·radius·x, as vaee, for recommendation='best'"
    cost = "n·dim"
    pools = True

    def chooses_by_width(self):
        return type(self) is Widest

    def choose(self, allowed, sigma):
        return self.model.widest(allowed)


class Greedy(Widest):
    """Always measure the action with the largest mean, and recommend it."""

    name = "greedy"
    reference = "baseline"
    guarantee = "anytime certificate, which need not shrink"

    def choose(self, allowed, sigma):
        return self.model.best(allowed)


class RoundRobin(Widest):
    """Measure the actions in turn; recommend the largest mean."""

    name = "round_robin"
    reference = "baseline"
    guarantee = "anytime certificate"
    lists_only = True
    pools = False

    def choose(self, allowed, sigma):
        rows = np.flatnonzero(allowed)
        return int(rows[int(self.model.n_told) % rows.size])


class Uniform(Widest):
    """Measure actions uniformly at random; recommend the largest mean."""

    name = "uniform"
    reference = "baseline"
    guarantee = "anytime certificate"
    random = True
    pools = False

    def choose(self, allowed, sigma):
        if allowed is None:  # of a set, the best for a random direction: of a ball, a point of its surface
            return self.model.best_for(self.rng.standard_normal(self.actions.dim))
        rows = np.flatnonzero(allowed)
        return int(rows[min(int(self.uniform() * rows.size), rows.size - 1)])
