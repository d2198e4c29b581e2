"""Top-two Thompson sampling: tell the winner of a posterior draw from the winner of another draw."""

import numpy as np

from noisewise.core.checks import check_choice, check_probability
from noisewise.core.model import CANCELLED
from noisewise.core.selection import TIE, first_near, first_other, masked_argmax, most_telling
from noisewise.rules._baselines import Widest

#: Draws until the challenger is taken by transport cost instead; the original never stops drawing.
DRAWS = 20


class TopTwoThompson(Widest):
    """Top-two Thompson sampling: the best under a draw against the best under a draw that disagrees.

    Variance-weighted, on features. It differs from the original, which is about independent options: after
    20 draws without a disagreement the rival that is most easily mistaken for the leader is taken, where the
    original would go on drawing. And the original only ever measures the leader or its challenger
    (``probe="pair"``); with features a third action may tell more about their difference, and is measured
    by default.

    Args:
        probe: ``"linear"``: measure the action, of all, that takes most off the variance of the difference of
            leader and challenger; ``"pair"``: one of the two, as in the original.
        leader_share: How often the leader itself is measured, by ``probe="pair"``; strictly between 0 and 1.
        challenger: ``"draw"``, as in the original; ``"transport"``: always the rival most easily mistaken for
            the leader (T3C).
    """

    probe: str = "linear"
    leader_share: float = 0.5
    challenger: str = "draw"

    name = "top_two_thompson"
    reference = "Russo 2016; challenger='transport': Shang et al. 2020 (T3C)"
    year = 2016
    guarantee = "anytime certificate"
    cost = "n·dim per draw"
    reconstruction = True
    random = True
    lists_only = True
    pools = False

    def prepare(self):
        check_probability("leader_share", self.leader_share)
        check_choice("challenger", self.challenger, ("draw", "transport"))
        check_choice("probe", self.probe, ("linear", "pair"))
        self.everyone = np.ones(self.actions.n_actions, np.bool_)
        self.n_draws = DRAWS if self.challenger == "draw" else 1

    def choose(self, allowed, sigma):
        model, dim = self.model, self.model.n_unknowns
        normals = self.rng.standard_normal(1 + self.n_draws * dim)
        # Actions that are only compared need not be allowed.
        compared = allowed if self.probe == "pair" else self.everyone
        leader = model.best_of_draw(compared, normals[1 : dim + 1], 1.0)
        if self.probe == "pair" and self.uniform(normals[0]) < self.leader_share:
            return leader
        rival = self.rival(leader, compared, normals)
        if self.probe == "pair":
            return rival
        return model.widest(allowed) if rival == leader else self.most_telling(leader, rival, allowed)

    def rival(self, leader, compared, normals):
        """The best under another draw from ``N(θ̂, V⁻¹)`` that disagrees, or the rival by transport cost."""
        model = self.model
        draws = normals[1:].reshape(-1, model.n_unknowns)[1:]
        other = first_other(model.arrays, draws, compared, leader)
        return other if other >= 0 else cheapest_rival(model, leader, compared)

    def most_telling(self, leader, rival, allowed):
        """The allowed action that takes most off the variance of the two's difference, at the usual noise.

        That is the harmonic mean of the variances told; before the first, the widest action's own.
        """
        model = self.model
        told = model.n_told
        variance = told / model.total_precision if told > 0.0 else float(model.squared_widths.max())
        return most_telling(model.arrays, leader, rival, variance, allowed)


def cheapest_rival(model, leader, allowed):
    """The rival most easily mistaken for the leader: the least ``(<θ̂, leader - a>)₊²/‖leader - a‖²``."""
    widths = model.contrast_widths(leader)
    # A copy of the leader differs from it by rounding alone, and nothing differs from itself.
    least = model.squared_widths + model.squared_widths[leader]
    least *= 2.0 * CANCELLED
    rivals = widths * widths > least
    rivals &= allowed
    if not rivals.any():
        return leader
    # In widths, where 1e-9 is nothing: by rounding, a lead is never quite 0.
    ahead = model.means - model.means[leader]
    np.minimum(ahead, 0.0, out=ahead)
    np.divide(ahead, widths, out=ahead, where=rivals)
    winner = masked_argmax(ahead, rivals)
    return first_near(ahead, rivals, winner, TIE * (1.0 - ahead[winner]))
