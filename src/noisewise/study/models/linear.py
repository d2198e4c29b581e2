"""The linear model: an option's value is a weighted sum of its features.

Half-widths hold at every moment (with deviations: when one stops).

**Weights θ.** Offsets of blocks have no prior and are of no interest: all that is used of a block is how its
values differ from their mean. Given everything before, a new value minus the mean of its block so far is
normal around ``<x, θ>`` with a known variance 1/w, whatever chose x from such differences. So with ``V = Σ
w·x xᵀ`` and S = V(θ̂ - θ), the noise, ``exp(λᵀS - ½λᵀVλ)`` is a martingale with mean 1 for every λ. It stays
one averaged over ``λ ~ N(0, 1/κ)`` for several κ, each with its share a:

    M = Σ_q a_q · det(I + V/κ_q)^(-½) · exp(½·Sᵀ(V + κ_q)⁻¹S)  <  1/α     with probability 1 - α (Ville).

By Jensen's inequality ``Σ τ_q·log(a_q·M_q/τ_q) <= log M`` for any weights τ that add up to 1, so θ lies in an
ellipsoid for every τ, in all of them at once, and a difference ``<c, θ>`` is off by at most

    min over τ of √(2·ℓ_τ · cᵀG_τ⁻¹c),   G_τ = V·[Σ τ_q·(V + κ_q)⁻¹]·V,
    ℓ_τ = log 1/α + Σ τ_q·(½·log det(I + V/κ_q) - log a_q + log τ_q).

The mixtures are centred on the truth, not on 0: nothing has to be known of the size of θ, and while V is
singular the differences that it determines have bounds, and the others none. κ is counted in units of the
information that tells differences of eps apart.

**Deviations d**, drawn once from N(0, τ²) before anything was measured. With them integrated out the above
holds with V the precision in their presence. Given θ and everything measured so far, a difference of
deviations is normal around its conditional mean with a known variance s², whatever chose the moment of
stopping: choices look at nothing but the past. The recommended option is chosen by the same past, so only its
n - 1 comparisons must hold: with probability 1 - δ₂ all deviations lie within z·s, where z is the normal
quantile of δ₂/(n - 1). The half-width is the sum of both parts, and δ₁ + δ₂ the error probability *at the
moment of stopping*, averaged over the deviations.
"""

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.study.evidence.half_widths import HalfWidths
from noisewise.study.log.measurements import Columns
from noisewise.study.log.model_choice import ESTIMATE, ModelFacts
from noisewise.study.log.state import State
from noisewise.study.models.fit import Fit, Sums, fit_features
from noisewise.study.models.model import COMPARING, BoundaryCase, StudyModel
from noisewise.study.models.one_look import OneLook, WeightedOnce
from noisewise.study.models.posterior import Joint, Knowledge, known_weights, weighted_worlds
from noisewise.study.models.variance_components import (
    AGREE,
    DISAGREE,
    NO_REPEATS,
    TELLING,
    Likelihood,
    Remedy,
    Sizes,
    estimate_both,
    estimate_one,
    more_scatter,
)

if TYPE_CHECKING:  # sets of actions are loaded when a rule asks
    from noisewise.actions import ActionSet

#: κ in units of 2d/eps², and the share of each.
SCALES, SHARES = np.array([2.0, 0.5, 0.1]), np.array([0.35, 0.4, 0.25])
#: The weights τ that are tried: single scales, mixtures of neighbours, and all alike.
MIXES = np.array(
    [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.25, 0.75, 0], [0.5, 0.5, 0], [0.75, 0.25, 0], [0, 0.25, 0.75],
     [0, 0.5, 0.5], [0, 0.75, 0.25], [1 / 3, 1 / 3, 1 / 3]]
)  # fmt: skip
#: The part of δ that belongs to the weights in the model with deviations; the rest belongs to these.
FIXED = 0.5
#: A fit that rounding may have moved by more than this, in standard errors, bounds nothing.
UNSETTLED = 1e-6


class FeatureBounds(HalfWidths):
    """Half-widths of the differences between one option and all others.

    Args:
        fit: Of a linear model.
        delta: Error probability of all comparisons.
        resolution: The difference that matters.
        each: With deviations, the error probability of each comparison of these; None without.
    """

    def __init__(self, fit: Fit, delta: float, resolution: float, each: float | None = None) -> None:
        self._fit, self.known, self.quantile = fit, known_weights(fit), 0.0
        share = 1.0
        if each is not None:
            share = FIXED
            self.quantile = -NormalDist().inv_cdf(each)
        dim = self.known.directions.shape[0]
        kappa = SCALES * 2.0 * dim / resolution**2
        with np.errstate(divide="ignore", over="ignore"):
            information = self.known.error**-2.0
            growth = np.log1p(information[:, None] / kappa).sum(axis=0)
            doubt = math.log(1.0 / (share * COMPARING * delta))
            entropy = np.sum(np.where(MIXES > 0.0, MIXES * np.log(np.maximum(MIXES, 1e-300)), 0.0), axis=1)
            level = doubt + MIXES @ (0.5 * growth - np.log(SHARES)) + entropy
            kept = 1.0 / (1.0 + kappa[:, None] * self.known.error**2)  # V/(V + κ), (scales, r)
            self._stretch = 2.0 * level[:, None] / (MIXES @ kept)  # (mixes, r)

    @property
    def evidence(self) -> tuple[str, ...]:
        """What connects options, and what is left to each."""
        return ("features", "deviations") if self.quantile else ("features",)

    def half_widths(self, option: int) -> Floats:
        """By how much "j minus option" can be larger than estimated, for every j, (n,)."""
        fit, solved = self._fit, self._fit.solved
        assert solved is not None
        if fit.slack > UNSETTLED:
            half = np.full(fit.means.size, np.inf)
            half[option] = 0.0
            return half
        apart = solved.apart(option)
        along = self.known.turn.T @ apart
        half = np.sqrt((self._stretch @ along**2).min(axis=0))
        if self.quantile:
            apart = apart - self.known.turn @ along
            own = solved.own[solved.targets.node]
            half += self.quantile * np.sqrt(own + own[option] + np.einsum("ij,ij->j", apart, apart))
        half[~fit.comparable(option) | np.isnan(half)] = np.inf
        half[option] = 0.0
        return np.asarray(half)


#: Features that explain less of the differences between options are not worth their assumptions.
WORTH = 0.3
#: The models that are suggested in place of this one.
INDEPENDENT, DEVIATION = "independent", "linear+deviation"


class Linear(StudyModel):
    """One weight per feature."""

    facts = ModelFacts("linear", uses_features=True, limits_pairs=False)
    shares_information = True
    radius = "normal mixtures over the weights of the features, centred on the truth, from differences"
    blame = "the linear model, the error bars or some measurements are wrong"
    if_nothing_is_wrong: ClassVar[str | None] = (
        f'If nothing is wrong, features miss something: switch to `model="{DEVIATION}"`.'
    )
    way_out = f'switch to `model="{INDEPENDENT}"`, which assumes no features'

    def __init__(self, state: State) -> None:
        super().__init__(state)
        if state.features is None:
            raise ValueError(f"the {self.facts.name} model needs features, and this study has none.")
        self.features = state.features

    def fit(self, sums: Sums, deviation: float) -> Fit:
        """One weight per feature, and an offset per block."""
        return fit_features(self.features, sums)

    def boundary(self, case: BoundaryCase) -> HalfWidths:
        """Ellipsoids for all differences."""
        return FeatureBounds(case.fit, case.delta, case.resolution)

    def one_look(self, look: OneLook) -> HalfWidths:
        """A multiple of the standard error."""
        return WeightedOnce(look)

    def knowledge(self, fit: Fit, boundary: HalfWidths, option: int) -> Knowledge:
        """Options follow the weights."""
        assert fit.solved is not None
        return Knowledge(Joint(fit.solved.own[fit.solved.targets.node], fit.solved.halves.T))

    def likelihood(self, columns: Columns, sigma: Floats) -> Likelihood:
        """With the weights integrated out."""
        return Likelihood(columns, sigma, self.n, self.features, self.specification.sign)

    def assumptions(self, sizes: Sizes) -> list[str]:
        """That features say everything."""
        scale = self.specification.value_scale
        value = "the logarithm of an option's value" if scale.log else "an option's value"
        return [f"{value} is a weighted sum of its features"]

    def actions(self) -> "ActionSet":
        """Vectors: features and a level."""
        from noisewise.actions import ActionSet

        return ActionSet(np.column_stack([self.features, np.ones(self.n)]))

    def remedy(self, likelihood: Likelihood, sizes: Sizes, sums: Sums) -> Remedy | None:
        """Extra scatter, deviations, or both: whichever the likelihood prefers by enough."""
        present = sizes.extra_scatter  # what was stated, or is estimated already
        deviation = estimate_one(lambda size: likelihood(size, present), likelihood.tried)
        if likelihood.repeats == 0:
            return self._deviating(sums, (deviation, present), NO_REPEATS)
        scatter = more_scatter(likelihood)
        by_deviation, by_scatter = likelihood(deviation, present), likelihood(*scatter.sizes)
        both = estimate_both(likelihood)
        if min(by_deviation, by_scatter) - likelihood(*both) > TELLING:
            why = f"{DISAGREE}, and options deviate from the weighted sums of their features, too"
            return Remedy(why, {"model": DEVIATION, "extra_scatter": ESTIMATE}, both)
        if by_deviation - by_scatter > TELLING:
            return scatter if self.choice.extra_scatter != ESTIMATE else None
        return self._deviating(sums, (deviation, present), AGREE)

    def _deviating(self, sums: Sums, sizes: tuple[float, float], why: str) -> Remedy:
        """Deviations, or options on their own if features explain little and every option was measured."""
        size = sizes[0]
        explained = float(np.var(self.features @ np.asarray(fit_features(self.features, sums, size).weights)))
        share = explained / (explained + size**2) if size else 1.0
        told = f"{why}. Features explain {100.0 * share:.0f} % of the differences between options"
        measured = np.unique(np.concatenate([sums.plus, sums.minus[sums.minus >= 0]])).size
        if share < WORTH and measured == self.n:
            return Remedy(f"{told}, and all were measured", {"model": INDEPENDENT}, sizes)
        return Remedy(told, {"model": DEVIATION}, sizes)

    def draw_worlds(
        self, fit: Fit, sums: Sums, count: int, rng: np.random.Generator, span: float | None
    ) -> Floats:
        """Weights with an unknown spread, and whatever else follows from them."""
        return weighted_worlds(fit, self.features, sums, self.specification.resolution, count, rng, span)

    def prior_parts(self, deviation: float) -> tuple[float, Floats]:
        """Nothing of its own; features and a level are shared."""
        return 0.0, np.column_stack([self.features, np.ones(self.n)])

    def n_unknowns(self) -> int:
        """Weights and a level."""
        return int(self.features.shape[1]) + 1


MODEL = Linear
