"""Rules that measure in phases, each by a design that is tracked in precision."""

import math

import numpy as np

from noisewise.core.selection import first_largest
from noisewise.rules.rule import Rule

#: Directions that a phase's vectors have a smaller share of are rounding.
SPANNED = 1e-10


class Tracking(Rule):
    """Phases in which a design is tracked in precision; a rule says in `end_phase` what follows."""

    lists_only = fixed_set = True

    def track(self, phase, wanted, left):
        """The next phase, which ends when nothing is left to do."""
        self.survivors = self.model.everyone() if phase == 1 else self.survivors
        self.phase, self.wanted, self.left = phase, wanted, left
        self.given, self.sums = np.zeros(wanted.size), np.zeros(wanted.size)  # Σ 1/σ² and Σ reward/σ² in it
        self.lag = np.where(wanted > 0.0, 0.0, -np.inf)  # -given/wanted, -∞ where nothing is wanted

    def choose(self, allowed, sigma):  # the action of the design that lags most in precision
        if self.left <= 0:  # on a copy, with what is under way
            self.end_phase()
        action = first_largest(self.lag, allowed)
        return action if self.lag[action] > -np.inf else self.model.widest(allowed)

    def learn(self, action, reward, sigma):
        self.book(action, reward, sigma)
        if self.left <= 0:
            self.end_phase()

    def imagine(self, action, sigma):
        self.book(action, self.model.mean(action), sigma)

    def book(self, action, reward, sigma):
        self.model.learn(action, reward, sigma)
        weight = 1.0 / (sigma * sigma)
        self.given[action] += weight
        self.sums[action] += weight * reward
        if self.wanted[action] > 0.0:
            self.lag[action] = -self.given[action] / self.wanted[action]

    def end_phase(self):
        raise NotImplementedError


class Phased(Tracking):
    """Phases that want a precision of each action, and end when all of it is there.

    A rule says in `first`, set by `prepare`, what the first phase wants.
    """

    def start(self):
        self.begin(1, self.first)

    def begin(self, phase, wanted):
        """The next phase; a design that wants nothing never ends."""
        self.track(phase, wanted, np.count_nonzero(wanted) or math.inf)

    def book(self, action, reward, sigma):
        if self.lag[action] == -np.inf:
            # Beyond the plan: it may have been chosen by its values, and stays out of the phase.
            self.model.learn(action, reward, sigma)
            return
        super().book(action, reward, sigma)
        if self.given[action] >= self.wanted[action]:
            self.lag[action] = -np.inf
            self.left -= 1

    def error(self, phase):
        """``ε_ℓ``: values are between ± norm_bound·max_norm, and every phase halves what is not known."""
        return 0.5**phase * self.norm_bound * self.actions.max_norm


class BudgetPhases(Tracking):
    """A budget of rounds that is divided into phases, each with shares of its precision.

    A rule says in `first` and `first_rounds`, set by `prepare`, how it begins.

    Args:
        horizon: The number of measurements planned (a simulation brings its own).
    """

    horizon: int | None = None

    needs_horizon = True

    def start(self):
        self.begin(1, self.first, self.first_rounds)

    def begin(self, phase, shares, rounds):
        """The next phase."""
        self.track(phase, shares, max(1.0, rounds))

    def keep_going(self):
        """After the budget is used up the present design goes on."""
        self.left = math.inf

    def book(self, action, reward, sigma):  # every measurement counts for the phase
        super().book(action, reward, sigma)
        self.left -= 1.0

    def recommend(self):
        return best_survivor(self)


def best_survivor(rule):
    """The largest mean, over all measurements, among the survivors that the certificate allows."""
    possible = Rule.candidates(rule)
    left = possible & rule.survivors
    return rule.model.best(left if left.any() else possible)


def phase_estimate(vectors, given, sums):
    """Least squares on the measurements of one phase alone, and a root W of ``V⁻¹ = W·Wᵀ`` on their span.

    What is spanned is judged by the vectors alone: beside one measurement of weight 1e16 all others would
    look like rounding. For the same reason V is never formed, and heavy rows come first.
    """
    from scipy.linalg import qr, solve_triangular

    used = np.flatnonzero(given)
    used = used[np.argsort(-given[used], kind="stable")]
    rows = np.asarray(vectors[used], dtype=np.float64)
    _, sizes, directions = np.linalg.svd(rows, full_matrices=False)
    basis = directions[sizes > SPANNED * sizes.max(initial=0.0)].T
    if basis.shape[1] == 0:
        return np.zeros(len(basis)), basis
    weights = np.sqrt(given[used])
    rotation, triangle, order = qr(rows @ basis * weights[:, None], mode="economic", pivoting=True)
    root = basis[:, order] @ solve_triangular(triangle, np.eye(order.size))
    return root @ (rotation.T @ (sums[used] / weights)), root
