"""Peace (Katz-Samuels, Jain, Karnin and Jamieson 2020): epochs that halve the width of what is left."""

import math

import numpy as np

from noisewise.core.checks import check_count
from noisewise.rules.phases import BudgetPhases


class Peace(BudgetPhases):
    """Peace: divide a budget into epochs, each with a design for the differences of those still in play.

    After each it keeps the longest list of the best whose differences have at most half the width γ, the
    expected error of the difference that noise favours most. It measures all actions, not only those in
    play. Where the original ends before its budget does, this goes on with the last design; that, and how the
    designs are found, makes it our reconstruction.
    """

    name = "peace"
    reference = (
        "Katz-Samuels, Jain, Karnin and Jamieson, An empirical process approach to the union bound, "
        "fixed-budget Peace; shares of precision instead of counts here"
    )
    year = 2020
    guarantee = "error exponent for equal sigmas; anytime certificate"
    cost = "n·dim, and some designs per epoch"
    reconstruction = True

    def prepare(self):  # there are max(2, ⌈log₂ γ⌉) epochs, γ the width of all actions
        self.first, width = self.design(np.arange(self.actions.n_actions))
        self.n_epochs = max(2, math.ceil(math.log2(width)) if width > 0.0 else 2)
        self.rounds = check_count("horizon", self.horizon) / self.n_epochs
        self.first_rounds = math.floor(self.rounds)

    def design(self, survivors, start=None):
        """Shares of all actions for the least width γ of the survivors' differences, and γ."""
        from noisewise.designs.gaussian_width import width_design

        vectors = np.asarray(self.actions.vectors, dtype=np.float64)
        alive = vectors[survivors]
        if np.abs(alive - alive[0]).max() == 0.0:
            return np.full(len(vectors), 1.0 / len(vectors)), 0.0
        return width_design(vectors, alive, start)

    def end_phase(self):  # keep as many of the best as have at most half the width, and design for them
        epoch = self.phase
        if epoch >= self.n_epochs:
            self.keep_going()
            return
        ordered = np.flatnonzero(self.survivors)
        ordered = ordered[np.argsort(-self.model.means[ordered], kind="stable")]
        shares, kept = self.halved(ordered)
        if kept.size < 2:  # nothing left to design for: rather than stop early, go on as before
            self.keep_going()
            return
        self.survivors[:] = False
        self.survivors[kept] = True
        self.begin(epoch + 1, shares, math.floor((epoch + 1) * self.rounds) - math.floor(epoch * self.rounds))

    def halved(self, ordered):
        """The longest prefix of the actions with at most half of their width, and its design."""
        found = self.wanted
        _, width = self.design(ordered, found)
        fits, misses = 1, ordered.size
        while misses - fits > 1:
            middle = (fits + misses) // 2
            # From equal shares: where shares have vanished no step of the solver brings them back.
            shares, part = self.design(ordered[:middle])
            if part <= width / 2.0:
                fits, found = middle, shares
            else:
                misses = middle
        return found, ordered[:fits]
