"""How far differences can be off in the linear models, at every moment (with deviations: when one stops).

**Weights θ.** Offsets of blocks have no prior and are of no interest: all that is used of a block is how its
values differ from their mean. Given everything before, a new value minus the mean of its block so far is
normal around ``<x, θ>`` with a known variance 1/w, whatever chose x from such differences. So with
``V = Σ w·x xᵀ`` and S = V(θ̂ - θ), the noise, ``exp(λᵀS - ½λᵀVλ)`` is a martingale with mean 1 for every λ. It
stays one averaged over ``λ ~ N(0, 1/κ)`` for several κ, each with its share a:

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
from typing import NamedTuple

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.study.evidence.half_widths import HalfWidths
from noisewise.study.models.boundary import COMPARING
from noisewise.study.models.fit import Fit
from noisewise.study.models.joint import Joint

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


class KnownWeights(NamedTuple):
    """What is known of the weights of the features, all else being unknown."""

    directions: Floats  # (d, r): orthonormal
    error: Floats  # (r,): the standard error along each
    turn: Floats  # (q, r): where these directions lie among the common unknowns


def known_weights(fit: Fit) -> KnownWeights:
    """From the root of the covariance; directions that nothing is known of are left out."""
    assert fit.solved is not None
    half = fit.solved.half[:, fit.solved.nodes :]
    turn, error, directions = np.linalg.svd(half, full_matrices=False)
    rank = fit.solved.layout.basis.shape[1]
    return KnownWeights(directions[:rank].T, error[:rank], turn[:, :rank])


def left_to_options(fit: Fit, known: KnownWeights) -> Joint:
    """How options vary once the weights are known."""
    assert fit.solved is not None
    halves = fit.solved.halves
    left = halves - known.turn @ (known.turn.T @ halves)
    return Joint(fit.solved.own[fit.solved.targets.node], left.T)


class FeatureBounds(HalfWidths):
    """Half-widths of the differences between one option and all others.

    Args:
        fit: Of a linear model.
        delta: Error probability of all comparisons.
        resolution: The difference that matters.
        n_allowed: With deviations, how many options may be recommended; None without.
    """

    def __init__(self, fit: Fit, delta: float, resolution: float, n_allowed: int | None = None) -> None:
        self._fit, self.known, self.quantile = fit, known_weights(fit), 0.0
        share = 1.0
        if n_allowed is not None:
            share = FIXED
            each = (1.0 - FIXED) * COMPARING * delta / max(1, n_allowed - 1)
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
