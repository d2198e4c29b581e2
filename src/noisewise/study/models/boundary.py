"""Anytime boundaries for differences between options: how far estimates can be off, at every moment.

Let ``M = Σ weight·row·noise`` over all measurements so far, ``V = Σ weight·row rowᵀ``, and P any fixed
positive definite matrix. The mixture of likelihood ratios over a normal prior with precision P is a
supermartingale, so by Ville

    ‖M‖² in the norm of (V + P)⁻¹  <=  2·log(1/δ) + log det(I + P⁻¹V)      at all times, with prob. 1 - δ,

whatever chose the rows, the weights (if they do not look at the noise to come) and the moment of stopping.
An estimated difference is off by ``<x, M>`` with a known x, hence by at most ``√(xᵀ(V + P)x)`` times the
root of the right side.

**Independent options.** x puts most of its weight on the two options compared. P has a moderate entry ρ
there and a large one Λ elsewhere (other options, offsets of blocks), where x is small or 0: without blocks
and differences only two scalar boundaries remain, one per option. The best option is one fixed, unknown
option, so only the n - 1 comparisons with it must hold: δ is divided by n - 1, and not by the number of
pairs.

The linear models have their own: `noisewise.study.models.features.linear_boundary`.

ρ and Λ are fixed beforehand, in units of the difference that matters; several are tried side by side, each
with a share of δ. If options were added or excluded, which option is the best changed with them: see
`Shares`.
"""

import math
from typing import NamedTuple

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.study.models.fit import Fit


class Tuning(NamedTuple):
    """One choice of P, and its share of δ."""

    on_pair: float  # ρ, times 1/resolution²
    elsewhere: float  # Λ, times 1/resolution²
    share: float


#: For studies in which nothing connects options. What is left of δ is for those that get blocks later.
INDEPENDENT = (Tuning(4.0, 1e9, 0.45), Tuning(0.2, 1e9, 0.2), Tuning(0.01, 1e9, 0.1))
#: Of the linear models where offsets are in the mixture.
LINEAR = (Tuning(0.0, 1e3, 0.15), Tuning(0.0, 1e2, 0.25), Tuning(0.0, 1e1, 0.35), Tuning(0.0, 1e0, 0.25))

#: Share of δ of bounds on connected options, once readings without a block may have certified something.
CONNECTED = 1.0 - sum(tuning.share for tuning in INDEPENDENT)
#: Shares of δ: comparisons; the same once options were excluded; with added options; upper limits of scatter.
COMPARING, CHANGED, ADDED, SCATTER = 0.85, 0.025, 0.025, 0.1


class Shares(NamedTuple):
    """How δ is divided.

    Differences between options that were there from the beginning, as long as none was added or excluded,
    have most of it. Once the catalogue changed, the best of those that remain may be any of them: every
    ordered pair has a share, and pairs with the i-th added option share 6/(π²i²) of what is set aside for
    added ones.
    """

    delta: float
    n_first: int
    n_now: int
    changed: bool

    def doubt(self, option: int) -> Floats:
        """``log(1/share)`` of every pair with this option, (n_now,)."""
        first, now = self.n_first, self.n_now
        if not self.changed:
            return np.full(now, math.log(max(1, first - 1) / (COMPARING * self.delta)))
        doubts = np.full(now, math.log(max(1, first * (first - 1)) / (CHANGED * self.delta)))
        latest = np.maximum(np.arange(now), option)
        added = latest >= first
        which = latest[added] - first + 1.0
        pairs = 2.0 * latest[added]
        doubts[added] = np.log(which**2 * (math.pi**2 / 6.0) * pairs / (ADDED * self.delta))
        return doubts


class Boundary:
    """Half-widths of the differences between one option and all others, where nothing connects options.

    Each option's value is the mean of its own measurements, so x is ``1/W`` at the two options compared.
    """

    def __init__(self, fit: Fit, shares: Shares, resolution: float) -> None:
        self._fit, self._shares = fit, shares
        self._unit = resolution**-2.0  # a precision

    def half_widths(self, option: int) -> Floats:
        """By how much each estimated difference to ``option`` can be off, (n,); infinite if unmeasured."""
        fit = self._fit
        if fit.group[option] < 0:
            return np.full(fit.own.size, np.inf)
        own, weight, doubt = fit.own, fit.precision, self._shares.doubt(option)
        squared = np.full(own.size, np.inf)
        with np.errstate(invalid="ignore", over="ignore"):
            for tuning in INDEPENDENT:
                rho, big = tuning.on_pair * self._unit, tuning.elsewhere * self._unit
                # log det(I + P⁻¹V): V is diagonal, and the two options have ρ in the place of Λ.
                gain = np.log1p(weight / rho) - np.log1p(weight / big)
                growth = float(np.log1p(weight / big).sum()) + gain[option] + gain
                length = (own + rho * own**2) + (own[option] + rho * own[option] ** 2)
                radius = 2.0 * (doubt - math.log(tuning.share)) + growth
                np.fmin(squared, length * radius, out=squared)
        squared[fit.group != fit.group[option]] = np.inf
        squared[option] = 0.0
        return np.asarray(np.sqrt(squared))
