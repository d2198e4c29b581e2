"""RAGE (Fiez, Jain, Jamieson and Ratliff 2019): phases that measure what best tells the survivors apart.

In phase ℓ, with ``ε = 2^-ℓ`` times the largest possible value and half of δ for all phases:

1. find shares of **all** actions for the least ``ρ = max ‖a - b‖²`` over pairs of survivors;
2. measure each action until it has the precision ``2·log(2n²ℓ²/δ)·ρ·share/ε²``: differences are then known to
   ε;
3. estimate θ from the measurements of this phase, and drop what another survivor beats by more than the noise
   explains, ``√(2·log(2n²ℓ²/δ))`` widths.

H-RAGE (Weltz and others 2023) is RAGE for actions that are measured with different, known noise: its shares
are of measurements, and it drops what is more than ε below the best.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from noisewise.core.checks import check_choice, check_positive
from noisewise.rules.alternatives import COPY
from noisewise.rules.phases import Phased, phase_estimate
from noisewise.rules.rule import below, fixed

#: Phases are so much longer than needed, as published: there it makes up for rounding.
ROUNDING = 1.1
#: A phase may be this much longer than the best design would make it.
GAP = 0.01


class Rage(Phased):
    """RAGE: in every phase, measure by the design that best tells the survivors apart, whatever it is on.

    Unlike `phased_elimination` it may measure actions that cannot be the best any more. Phases count
    precision, which is the same as measurements when all sigmas are equal; each is twice as exact as the one
    before, and its survivors are judged by its measurements alone, at half of delta.

    It differs from the paper in two ways besides. A phase has no minimum length: the paper needs one to round
    shares to whole numbers of measurements, and precision is not rounded. And the error of phase ℓ is
    ``2^-ℓ`` of the largest possible value, ``norm_bound`` times the longest vector, where the paper has
    ``2^-ℓ`` for values of at most 1: the same rule in any unit.

    Args:
        judge_by: ``"phase"``, or ``"all"``: survivors are judged by all measurements so far, as in a later
            rerun by others; it ends sooner, but nothing is proven about it.
        scale: Multiplies the error allowed for noise, so a phase is scale² as long; 1 is faithful.
    """

    judge_by: str = "phase"
    scale: float = 1.0

    name = "rage"
    reference = (
        "Fiez, Jain, Jamieson and Ratliff, Sequential experimental design for transductive linear "
        "bandits, Algorithm 1 with the elimination of the authors' code; in precision instead of counts here"
    )
    year = 2019
    guarantee = (
        "the best survives all phases with probability 1 - delta/2, if sigmas do not depend on values; "
        "anytime certificate among the survivors; stop='gap' with a tiny eps is its own stopping rule"
    )
    cost = "n·dim, and a design per phase"

    def limits_for(self, actions):  # the other half is for the phases
        return self.make_limits(actions, delta=self.delta / 2.0)

    def prepare(self):
        check_positive("scale", self.scale)
        check_choice("judge_by", self.judge_by, ("phase", "all"))
        self.precisions = self.known_precisions()
        wanted = self.plan(np.ones(self.actions.n_actions, np.bool_), phase=1)
        self.first = np.zeros(self.actions.n_actions) if wanted is None else wanted

    def known_precisions(self):
        return None

    def plan(self, survivors, phase):
        """The precision that a phase wants of each action; None if no two survivors differ."""
        from noisewise.designs import Pairs, transductive_design

        vectors = np.ascontiguousarray(self.actions.vectors, dtype=np.float64)
        alive = vectors[survivors]
        if np.abs(alive - alive[0]).max() <= COPY * self.actions.max_norm:
            return None
        found = transductive_design(vectors, Pairs(alive), weights=self.precisions, gap=GAP)  # 1
        return self.wanted_precision(found.dense(), found.value, phase)

    def wanted_precision(self, shares, value, phase):  # 2
        doubt = ROUNDING * self.union(phase) * self.scale**2
        return 2.0 * doubt * value * shares / self.error(phase) ** 2

    def union(self, phase):  # log(2n²/δ_ℓ): all pairs, both ways, in all phases
        return math.log(2.0 * self.actions.n_actions**2 * phase**2 / (self.delta / 2.0))

    def end_phase(self):
        self.drop()
        wanted = self.plan(self.survivors, self.phase + 1)
        # With one survivor the last design goes on, to be twice as exact.
        self.begin(self.phase + 1, 4.0 * self.wanted if wanted is None else wanted)

    def drop(self):  # 3
        from scipy.spatial.distance import cdist

        rows = np.flatnonzero(self.survivors)
        if self.judge_by == "all":
            values = self.model.means[rows]
            widths = np.array([self.model.contrast_widths(int(row))[rows] for row in rows])
        else:
            estimate, root = phase_estimate(self.actions.vectors, self.given, self.sums)
            vectors = np.asarray(self.actions.vectors[rows], dtype=np.float64)
            values, whitened = vectors @ estimate, vectors @ root
            widths = cdist(whitened, whitened)
        reach = self.scale * math.sqrt(2.0 * self.union(self.phase))
        lead = values[None, :] - values[:, None]
        self.survivors[rows] = ~((lead >= reach * widths) & (lead > 0.0)).any(axis=1)

    def recommend(self):  # the largest mean, over all measurements, among the survivors
        return self.model.best(self.survivors)

    def candidates(self):
        return self.survivors

    def certificate(self):  # what phases dropped is part of it
        doubts = ("judge_by='all'" * (self.judge_by == "all"), below("scale", self.scale))
        unproven = " and ".join(doubt for doubt in doubts if doubt)
        words = self.anytime("if no sigma depends on values", unproven=unproven)
        return words + ", about what was dropped" * bool(unproven)


class HRage(Rage):
    """H-RAGE: phases like those of `rage`, designed for how noisy each action is.

    It differs from the original in three ways. The original learns the variances in a first stage; here they
    are known beforehand. A phase has no minimum length: the original needs one to round shares to whole
    numbers of measurements, and precision is not rounded. And the error of phase ℓ is ``2^-ℓ`` of the largest
    possible value, ``norm_bound`` times the longest vector, where the original has ``2^-ℓ`` for values of at
    most 1.

    Args:
        action_sigma: How noisy each action is, up to a common factor (a simulation brings that of its world);
            default: all alike.
    """

    action_sigma: ArrayLike | None = None
    judge_by: str = fixed("phase")

    name = "h_rage"
    reference = (
        "Weltz, Fiez, Volfovsky, Laber, Mason, Nassif and Jain, Experimental designs for "
        "heteroskedastic variance, H-RAGE with known variances; in precision instead of counts here"
    )
    year = 2023

    def known_precisions(self):  # what one measurement of each action is worth, up to a common factor
        return known_factors(self.actions, self.action_sigma) ** -2.0

    def wanted_precision(self, shares, value, phase):
        """``3·log(8ℓ²n/δ)·q·share·precision/ε²``, q the largest ``‖a - b‖²`` under shares of measurements."""
        doubt = 3.0 * math.log(8.0 * phase**2 * shares.size / (self.delta / 2.0)) * self.scale**2
        return doubt * value / self.error(phase) ** 2 * shares * self.precisions

    def drop(self):  # what is more than ε below the best
        estimate, _ = phase_estimate(self.actions.vectors, self.given, self.sums)
        values = np.where(self.survivors, estimate @ self.actions.columns, -np.inf)
        self.survivors &= ~(values.max() - values > self.error(self.phase))


def known_factors(actions, given):
    """How noisy each action is, (n,): as given, or all alike."""
    factors = np.ones(actions.n_actions) if given is None else np.array(given, dtype=np.float64)
    if factors.shape != (actions.n_actions,) or not (np.isfinite(factors) & (factors > 0.0)).all():
        raise ValueError(
            f"`action_sigma` must be {actions.n_actions} finite numbers above 0, "
            f"one per action; got {given!r}."
        )
    return factors
