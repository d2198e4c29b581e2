"""Precision tracking: designs for the differences that still matter, tracked in precision, phase by phase.

Ours; docs/rules.md has the proof. In a phase:

1. a design gives shares of precision under which the widest difference of what may be the best is narrowest;
2. measure, of the design's actions that lag behind their shares, the one that the phase knows least;
3. when sigmas alone say so, look: spend a share of delta, rule out, and claim a regret bound (`looks.py`);
4. begin a new phase if even from nothing it needs much less precision for the next claim.
"""

import math

import numpy as np

from noisewise.core.checks import check_choice, check_number
from noisewise.core.model import fold, new_dense
from noisewise.rules.looks import FIRST as FIRST_LEVEL
from noisewise.rules.looks import Looks, claims_of, delta_at, multiplier, squared_width_at, whitened
from noisewise.rules.rule import Rule

#: The ridge of a phase shifts no difference by more than this share of its width.
PULL = 1e-3
#: A design may need so much more precision than the best one: exact designs take longer to compute.
GAP = 0.1
#: A phase ends early if a new one, which starts from nothing, needs at most this share of what is left.
WORTH_IT = 0.5
#: New designs are looked for when this share of the compared has been ruled out.
RULED_OUT = 0.3
#: With fewer measurements per dimension that carry a phase's precision, it is too dear to be given up.
LUMPS = 2.0
#: By then widths have fallen by forty decades.
MOST_LEVELS = 1000


class PrecisionTracking(Rule):
    """Precision tracking: learn the differences of what may be the best, and certify them without √dim.

    Args:
        eps: The regret bound to reach: looks are planned around it, and nothing finer is aimed at. 0: go on
            forever.
        noise: ``"gaussian"``: exact quantiles for comparisons with the best; ``"sub-gaussian"``: a union
            bound.
    """

    eps: float = 0.0
    noise: str = "gaussian"

    name = "precision_tracking"
    reference = "ours: docs/rules.md"
    guarantee = "anytime certificate, half of it by fixed designs: no √dim, if no sigma depends on values"
    cost = "3·n·dim, a comparison of all candidates per look, a design per phase"
    lists_only = fixed_set = True

    def limits_for(self, actions):  # the other half is for the looks
        return self.make_limits(actions, delta=self.delta / 2.0)

    def prepare(self):
        eps = check_number("eps", self.eps)
        if eps < 0.0:
            raise ValueError(f"`eps` must be at least 0; got {self.eps!r}.")
        gaussian = check_choice("noise", self.noise, ("gaussian", "sub-gaussian")) == "gaussian"
        self.looks = Looks(self.delta / 2.0, PULL, eps, gaussian)
        self.first, _ = self.design(np.arange(self.actions.n_actions))

    def design(self, rows):  # 1: shares of precision, and the square of the widest difference under them
        from noisewise.designs import Pairs, transductive_design

        vectors = np.ascontiguousarray(self.actions.vectors, dtype=np.float64)
        if not np.ptp(vectors[rows], axis=0).any():
            return np.full(len(vectors), 1.0 / len(vectors)), 0.0  # nothing to tell apart
        found = transductive_design(vectors, Pairs(vectors[rows]), gap=GAP)
        return found.dense(), found.value

    def start(self):
        self.left = self.model.everyone()  # what may still be the best
        self.claims = np.full(self.left.size, np.inf)  # the smallest regret bound that any look has given
        self.number = 0
        self.begin_phase(self.first, reference=0)

    def begin_phase(self, shares, reference):
        """Forget the measurements of the last phase; compare what is left."""
        self.phase = self.model.fresh((PULL / self.norm_bound) ** 2)
        self.compared, self.shares, self.given = self.left.copy(), shares, np.zeros(shares.size)
        self.number += 1
        claim = min(self.limits.largest_gap, float(self.claims.min()))
        first = FIRST_LEVEL * self.looks.eps
        # A later phase need not look before it can say more than is known.
        self.begun = claim if first == 0.0 else first if self.number == 1 else min(first, claim)
        self.reference, self.squares = reference, 0.0  # widths are taken to the reference; Σ 1/σ⁴
        self.level = 1
        self.wait()

    def wait(self):
        """The squared width that the next level waits for; 0 after the last one."""
        count = int(np.count_nonzero(self.compared))
        self.next = 0.0
        if self.level <= MOST_LEVELS:
            self.next = squared_width_at(self.looks, self.begun, self.number, self.level, count)

    def choose(self, allowed, sigma):  # 2
        lagging = allowed & (self.shares > 0.0) & (self.given <= self.shares * self.given.sum())
        return self.phase.widest(lagging) if lagging.any() else self.model.widest(allowed)

    def learn(self, action, reward, sigma):
        if self.book(action, reward, sigma):
            self.look()

    def imagine(self, action, sigma):
        """It also counts for the phase, but makes no look due.

        A look judges by the phase's rewards, and what is measured in a phase must not depend on them.
        """
        self.book(action, self.model.mean(action), sigma)

    def book(self, action, reward, sigma):
        """Learn; what belongs to the design also counts for the phase. Whether a look is due."""
        self.model.learn(action, reward, sigma)
        self.model.drop_ruled_out(self.left, self.beta())
        # What is off the design may have been chosen by its values: it stays out of the phase.
        if self.shares[action] == 0.0:
            return False
        self.phase.learn(action, reward, sigma)
        precision = 1.0 / (sigma * sigma)
        self.given[action] += precision
        self.squares += precision * precision
        return self.widest_difference() < self.next

    def widest_difference(self):
        """The largest squared width of a difference to the reference: sigmas decide it, and no reward."""
        return float(self.phase.contrast_widths(self.reference).max(where=self.compared, initial=0.0)) ** 2

    def look(self):  # 3: spend the delta of all levels that were reached
        delta, reached = 0.0, self.widest_difference()
        while self.next > reached:
            delta += delta_at(self.looks, self.number, self.level)
            self.level += 1
            self.wait()
        if delta > 0.0 and np.count_nonzero(self.left) > 1:
            anytime = self.model.arrays, self.beta()
            self.left, claims = claims_of(
                self.looks, self.phase.arrays, anytime, self.compared, self.left, delta
            )
            self.claims = np.minimum(self.claims, claims)
            self.begin_phase_if_worth_it()

    def begin_phase_if_worth_it(self):  # 4
        from noisewise.designs.transductive import Differences

        rows = np.flatnonzero(self.left)
        claim = float(self.claims[rows].min())
        few = rows.size <= (1.0 - RULED_OUT) * np.count_nonzero(self.compared)
        carried = self.given.sum() ** 2 >= LUMPS * self.model.n_unknowns * self.squares
        if rows.size < 2 or claim <= self.looks.eps or not few or not carried:
            return
        shares, anew = self.design(rows)
        points = whitened(self.phase.arrays, rows)
        widest_left = Differences(points).worst(np.eye(points.shape[1]), math.inf).largest
        if anew == 0.0 or widest_left <= 0.0:
            return  # copies of each other: nothing is left to tell apart
        # In units of 1/width²: a design of value v gives P/v for precision P.
        aim = max(self.looks.eps, 0.5 * claim)
        factor = multiplier(self.looks, rows.size, delta_at(self.looks, self.number + 1, 1))
        wanted, got = (factor / aim) ** 2, 1.0 / widest_left
        if anew * wanted <= WORTH_IT * self.value_of_phase(rows) * (wanted - got):
            self.begin_phase(shares, int(rows[np.argmax(self.phase.means[rows])]))

    def value_of_phase(self, rows):
        """The largest ``yᵀV⁻¹y`` over the differences of these actions under the design of the phase."""
        from noisewise.designs.transductive import Differences

        arrays = new_dense(self.actions.columns, 1e-12 * self.actions.max_norm**2)
        for row in np.flatnonzero(self.shares):
            fold(arrays, int(row), 0.0, 1.0 / math.sqrt(self.shares[row]))
        points = whitened(arrays, rows)
        return Differences(points).worst(np.eye(points.shape[1]), math.inf).largest

    def candidates(self):  # what neither certificate has ruled out so far
        return self.left

    def bound(self, action, candidates=None):
        """The smaller of what the looks have claimed and what the mixture says now."""
        among = self.left if candidates is None else candidates
        return min(float(self.claims[action]), self.model.regret_bound(among, action, self.beta()))

    def recommend(self):
        """The best mean, unless a look has claimed more for others: then the best mean of those."""
        leader = self.model.best(self.left)
        enough = max(self.claims.min(where=self.left, initial=np.inf), self.looks.eps)
        if self.claims[leader] <= enough or self.bound(leader) <= enough:
            return leader
        return self.model.best(self.left & (self.claims <= enough))

    def certificate(self):
        law = "normal" if self.looks.gaussian else "sub-Gaussian"
        return (
            f"{self.anytime()}, if no sigma depends on measured values and what is measured was "
            "asked for: half of delta by the mixture over all measurements, half by fixed designs on the "
            "data of one phase each, looked at when sigmas alone say so, with deltas that add up and the "
            f"ridge's bias included; {law} noise"
        )

    def explain(self, action):  # what the phase is for, and how far the action lags
        label, total, known = self.actions.label(action), float(self.given.sum()), self.model.width(action)
        if self.shares[action] == 0.0:
            return f"{label} is not part of the design of phase {self.number}; it is known to ±{known:.2g}."
        has = self.given[action] / total if total else 0.0
        return (
            f"To tell {np.count_nonzero(self.compared)} options apart (phase {self.number}): {label} should "
            f"get {self.shares[action]:.0%} of the precision and has {has:.0%}; it is known to ±{known:.2g}."
        )
