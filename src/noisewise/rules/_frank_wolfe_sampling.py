"""Frank-Wolfe sampling, FWS (Wang, Tzeng and Proutiere 2021): a step towards the best shares every round."""

import math

import numpy as np

from noisewise.core.native.verbs import verb
from noisewise.core.selection import ROUNDING, TIE, first_largest, masked_argmax
from noisewise.rules.alternatives import (
    costs_of_rivals,
    first_unseen,
    inverse_of_moment,
    payoffs_of,
    rivals_within,
    with_vectors,
)
from noisewise.rules.rule import Rule

#: Rivals count as equally close within ``t^-SMOOTHING/n``, as in the authors' experiments; in nats.
SMOOTHING = 0.9
#: A reduced cost or a pivot below this is rounding; payoffs are brought between 1 and 2 first.
NOTHING = 1e-11


class FrankWolfeSampling(Rule):
    """FWS: step by step towards the shares that best tell the leader from its closest rivals.

    With equal sigmas it is the published rule; otherwise the shares are of precision, and least squares is
    weighted. ``simulate(stop="glr")`` is its stopping rule.
    """

    name = "frank_wolfe_sampling"
    reference = (
        "Wang, Tzeng and Proutiere, Fast pure exploration via Frank-Wolfe, Algorithm 1; shares of "
        "precision instead of counts here"
    )
    year = 2021
    guarantee = "anytime certificate; for equal sigmas asymptotically optimal with stop='glr'"
    cost = "n·dim² + dim³"
    lists_only = True

    def prepare(self):
        with_vectors(self.actions.columns)

    def start(self):
        n = self.actions.n_actions
        self.shares, self.given = np.full(n, 1.0 / n), np.zeros(n)  # what is aimed at, and Σ 1/σ²

    def choose(self, allowed, sigma):  # each action once; then the one furthest below its share
        unseen = first_unseen(self.given, allowed)
        if unseen >= 0:
            return unseen
        return first_largest(self.shares / np.maximum(self.given, 1e-300), allowed)

    def learn(self, action, reward, sigma):  # once there is a measurement of every action, step
        self.model.learn(action, reward, sigma)
        self.given[action] += 1.0 / (sigma * sigma)
        told = self.model.n_told
        if told >= self.given.size:
            self.shares += (self.step() - self.shares) / told

    def step(self):
        """The shares to step towards: equal ones now and then, else what lifts the closest rivals most."""
        arrays, n, told = self.model.arrays, self.shares.size, self.model.n_told
        equal = np.full(n, 1.0 / n)
        leader = self.recommend()
        root = math.floor(math.sqrt(told // n))
        if root * root == told // n or self.is_tied(leader):
            return equal
        inverse = inverse_of_moment(arrays, self.shares)
        costs = costs_of_rivals(arrays, inverse, leader)
        near = np.empty(n, np.int64)
        # In units of the mean precision, where the original has σ = 1.
        slack = told**-SMOOTHING / n * told / self.model.total_precision
        count = rivals_within(costs, slack, near)
        if count == 0:
            return equal
        return solve_game(payoffs_of(arrays, inverse, costs, leader, near[:count]))

    def is_tied(self, leader):
        """Whether another action is as good as the leader, up to rounding."""
        means, best = self.model.means, self.model.mean(leader)
        slack = TIE * self.model.width(leader) + ROUNDING * abs(best)
        others = self.model.everyone()
        others[leader] = False
        return means[masked_argmax(means, others)] >= best - slack


@verb
def solve_game(payoffs):
    """The shares z, (n,), that maximise the smallest ``<z, payoffs_j>`` over the rows j of (J, n).

    With positive payoffs the other player's programme, maximise ``Σ q`` subject to ``payoffsᵀq <= 1``, can
    start from 0; the shares are the prices of its constraints. Bland's order of pivots cannot cycle.
    """
    n_rows, n = payoffs.shape
    low, high = payoffs.min(), payoffs.max()
    if n_rows == 1 or high <= low:
        return 1.0 * (np.arange(n) == np.argmax(payoffs[0]))
    table = np.ones((n + 1, n_rows + 1))
    table[:n, :n_rows] += (payoffs.T - low) / (high - low)
    table[n] = -1.0
    table[n, n_rows] = 0.0
    # Labels of the variables: q_j is j, the slack of constraint k is n_rows + k.
    basic, free = np.arange(n_rows, n_rows + n), np.arange(n_rows)
    for _ in range(100 * (n + n_rows)):
        entering = improving(table, free)
        if entering < 0:
            break
        leaving = limiting(table, basic, entering)
        if leaving < 0:
            break
        exchange(table, leaving, entering)
        basic[leaving], free[entering] = free[entering], basic[leaving]
    prices = np.zeros(n)
    for j in range(n_rows):
        if free[j] >= n_rows:
            prices[free[j] - n_rows] = max(0.0, table[n, j])
    return prices / prices.sum()


def improving(table, free):
    """The variable with the lowest label among those whose increase would help; -1 if none would."""
    found, n = -1, len(table) - 1
    for j in range(free.size):
        if table[n, j] < -NOTHING and (found < 0 or free[j] < free[found]):
            found = j
    return found


def limiting(table, basic, entering):
    """The constraint that ends the increase of the entering variable; the lowest label of equals."""
    n, last = basic.size, table.shape[1] - 1
    found, least = -1, np.inf
    for k in range(n):
        if table[k, entering] > NOTHING:
            ratio = table[k, last] / table[k, entering]
            if ratio < least - NOTHING or (ratio <= least + NOTHING and basic[k] < basic[found]):
                found, least = k, min(least, ratio)
    return found


def exchange(table, row, column):
    """Let a basic and a free variable change places, in place."""
    pivot = table[row, column]
    pivot_row, pivot_column = table[row] / pivot, table[:, column].copy()
    table -= np.outer(pivot_column, pivot_row)
    table[row] = pivot_row
    table[:, column] = -pivot_column / pivot
    table[row, column] = 1.0 / pivot
