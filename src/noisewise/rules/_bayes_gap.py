"""BayesGap (Hoffman, Shahriari and de Freitas 2014): narrow the gap between the safest and its best rival.

Each round, with bounds of β standard errors:

1. the gap of an action is the largest upper bound of the others less its own lower bound; the safest, J, has
   the smallest gap, and its rival is the other action of the largest upper bound;
2. measure the wider of the two;
3. recommend the J of the smallest gap so far.

``β² = ((T - n)·w̄ + κ·ridge)/(4·H_eps)`` is what the rest of the budget can afford: w̄ the mean precision so
far, where the original has 1/σ²; ``κ = Σ 1/‖a‖²``; an unknown T is taken as twice what was told.
"""

import math

import numpy as np

from noisewise.core.checks import check_positive
from noisewise.core.native.verbs import verb
from noisewise.core.selection import ROUNDING, TIE, first_best, first_near
from noisewise.rules.rule import Rule

#: Gaps are guessed by bounds of this many standard errors, as the authors do.
GUESS = 3.0


class BayesGap(Rule):
    """BayesGap: narrow the gap between the action that is safest to recommend and its best rival.

    Args:
        eps: A regret that does not matter; keeps the guessed hardness finite.
        horizon: The number of measurements it plans for (a simulation brings its own); default: as many again
            as were told.
    """

    eps: float = 0.01
    horizon: int | None = None

    name = "bayes_gap"
    reference = "Hoffman, Shahriari and de Freitas 2014"
    year = 2014
    guarantee = "anytime certificate; a budget bound for equal sigmas"
    cost = "n·dim"
    reconstruction = True
    lists_only = True

    def prepare(self):
        check_positive("eps", self.eps)
        squared = np.einsum("ij,ij->j", self.actions.columns, self.actions.columns)
        self.kappa = float((1.0 / squared[squared > 0.0]).sum())

    def start(self):
        self.smallest_gap, self.safest = math.inf, None
        self.find()

    def find(self):  # 1
        model = self.model
        everyone, means = model.everyone(), model.means
        slack = self.exploration() * np.sqrt(model.squared_widths)
        upper = means + slack
        others = best_of_others(upper)
        lead = (means - slack) - others  # of lower bounds: the gap, with the other sign
        safest = int(lead.argmax())
        rounding = ROUNDING * (abs(others[safest]) + abs(means[safest]))
        safest = first_near(lead, everyone, safest, TIE * slack[safest] + rounding)
        if slack.size > 1:
            everyone[safest] = False
        self.pair = safest, first_best(upper, model.squared_widths, everyone)
        return safest, -lead[safest]

    def exploration(self):  # β
        model = self.model
        n, told = model.means.size, model.n_told
        horizon = self.horizon or 2.0 * told
        precision = model.total_precision / told if told > 0.0 else 0.0
        budget = max(0.0, horizon - n) * precision + self.kappa * self.limits.ridge
        return math.sqrt(budget / (4.0 * hardness(model.arrays, self.eps)))

    def choose(self, allowed, sigma):  # 2
        safest, rival = self.pair
        widths = self.model.squared_widths
        wider, other = (safest, rival) if widths[safest] >= widths[rival] * (1.0 - TIE) else (rival, safest)
        if allowed[wider]:
            return wider
        return other if allowed[other] else self.model.widest(allowed)

    def learn(self, action, reward, sigma):
        self.model.learn(action, reward, sigma)
        safest, gap = self.find()
        if gap <= self.smallest_gap:
            self.smallest_gap, self.safest = gap, safest

    def imagine(self, action, sigma):
        self.model.imagine(action, sigma)
        self.find()

    def recommend(self):  # 3; the best mean if the certificate has ruled it out
        candidates = self.candidates()
        if self.safest is not None and candidates[self.safest]:
            return self.safest
        return self.model.best(candidates)


@verb
def hardness(model, eps):
    """``H_eps = Σ max((gap + eps)/2, eps)⁻²``, with gaps guessed from bounds."""
    slack = GUESS * np.sqrt(model.squared_widths)
    guessed = best_of_others(model.means + slack) - (model.means - slack)
    return float((np.maximum((guessed + eps) / 2.0, eps) ** -2.0).sum())


@verb
def best_of_others(upper):
    """For each action the largest upper bound of the others, (n,); its own if there are none."""
    top = int(np.argmax(upper))
    others = np.full(upper.size, upper[top])
    if upper.size > 1:
        others[top] = max(upper[:top].max(initial=-np.inf), upper[top + 1 :].max(initial=-np.inf))
    return others
