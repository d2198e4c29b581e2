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

The linear models have their own: `noisewise.study.mixed_boundary`.

ρ and Λ are fixed beforehand, in units of the difference that matters; several are tried side by side, each
with a share of δ. If options were added or excluded, which option is the best changed with them: see
`Shares`.
"""

import math
from typing import NamedTuple

import numpy as np

from noisewise.core.independent import quadratic_forms
from noisewise.core.model import Floats
from noisewise.study.fit import Fit


class Tuning(NamedTuple):
    """One choice of P, and its share of δ."""

    on_pair: float  # ρ, times 1/resolution²
    elsewhere: float  # Λ, times 1/resolution²
    share: float


#: The first serve studies without blocks, the last four those with incomplete ones.
INDEPENDENT = (
    Tuning(4.0, 1e9, 0.45),
    Tuning(0.2, 1e9, 0.2),
    Tuning(0.01, 1e9, 0.1),
    Tuning(4.0, 3e3, 0.0625),
    Tuning(4.0, 3e2, 0.0625),
    Tuning(4.0, 6e1, 0.0625),
    Tuning(0.2, 6e0, 0.0625),
)
UNCONNECTED = 3
#: Of the linear models where offsets are in the mixture.
LINEAR = (Tuning(0.0, 1e3, 0.15), Tuning(0.0, 1e2, 0.25), Tuning(0.0, 1e1, 0.35), Tuning(0.0, 1e0, 0.25))


#: Shares of δ: comparisons; the same once options were excluded; with added options; upper limits of scatter.
COMPARING, CHANGED, ADDED, SCATTER = 0.85, 0.025, 0.025, 0.1


class Shares(NamedTuple):
    """How δ is divided.

    Differences between options that were there from the beginning, as long as none was added or excluded,
    have most of it. Once the catalogue changed, the best of those that remain may be anyone: every ordered
    pair has a share, and pairs with the i-th added option share 6/(π²i²) of what is set aside for added
    ones.
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
    """Half-widths of the differences between one option and all others."""

    def __init__(self, fit: Fit, shares: Shares, resolution: float) -> None:
        self._fit, self._shares = fit, shares
        self._unit = resolution**-2.0  # a precision
        k = fit.loads.shape[1]
        self._within = np.zeros(fit.own.size)
        self._at = np.full(fit.own.size, -1)
        self._at[fit.touched] = np.arange(fit.touched.size)
        if k:
            self._lead = fit.covariance[:k, :k]
            self._within[fit.touched] = quadratic_forms(fit.loads, self._lead)
            self._elsewhere = self._forms_elsewhere()
            self._out = np.zeros(fit.own.size)
            self._out[fit.touched] = quadratic_forms(fit.loads, self._elsewhere)
        self._constants = [self._constant(tuning) for tuning in self._tunings]
        self._gained = [self._gain(tuning) for tuning in self._tunings]

    @property
    def _tunings(self) -> tuple[Tuning, ...]:
        # Without a border Λ does not matter: the shares of what differs in Λ alone lie idle.
        return INDEPENDENT if self._fit.loads.shape[1] else INDEPENDENT[:UNCONNECTED]

    def half_widths(self, option: int) -> Floats:
        """By how much each estimated difference to ``option`` can be off, (n,); infinite if unconnected."""
        fit = self._fit
        if fit.group[option] < 0:
            return np.full(fit.own.size, np.inf)
        reached = fit.group == fit.group[option]
        shared, out = self._shared(option)
        with np.errstate(invalid="ignore", over="ignore"):
            squared = self._independent(option, shared, out)
        squared[~reached] = np.inf
        squared[option] = 0.0
        return np.asarray(np.sqrt(np.maximum(squared, 0.0)))

    def _shared(self, option: int) -> tuple[Floats, Floats]:
        """What the border contributes to covariances with ``option``, and to the part that lies elsewhere."""
        fit = self._fit
        shared, out = np.zeros(fit.own.size), np.zeros(fit.own.size)
        at = self._at[option]
        if at >= 0 and fit.loads.shape[1]:
            shared[fit.touched] = fit.loads @ (self._lead @ fit.loads[at])
            out[fit.touched] = fit.loads @ (self._elsewhere @ fit.loads[at])
        return shared, out

    def _independent(self, option: int, shared: Floats, out: Floats) -> Floats:
        fit, within = self._fit, self._within
        own, own_here = fit.own, float(fit.own[option])
        variance = own + own_here + np.maximum(within + within[option] - 2.0 * shared, 0.0)
        # x = V⁻¹(e_k - e_option) at the two options, and the rest of its squared length.
        here, there = shared - within[option], within - shared
        elsewhere = None
        if fit.loads.shape[1]:
            elsewhere = np.maximum(self._out + self._out[option] - 2.0 * out - here**2 - there**2, 0.0)
        pair = (own + there) ** 2 + (here - own_here) ** 2
        doubt = self._shares.doubt(option)
        best = np.full(own.size, np.inf)
        for tuning, constant, gained in zip(self._tunings, self._constants, self._gained, strict=True):
            radius = 2.0 * doubt + (constant - 2.0 * math.log(tuning.share) + gained[option]) + gained
            length = variance + tuning.on_pair * self._unit * pair
            if elsewhere is not None:
                length += tuning.elsewhere * self._unit * elsewhere
            np.minimum(best, length * radius, out=best)
        return best

    def _forms_elsewhere(self) -> Floats:
        """``P(I + LᵀL)P`` of the border: the squared length of x over all unknowns that have Λ."""
        fit, k = self._fit, self._fit.loads.shape[1]
        alone = fit.loads[fit.own[fit.touched] > 0.0]
        return np.asarray(self._lead @ (np.eye(k) + alone.T @ alone) @ self._lead)

    def _gain(self, tuning: Tuning) -> Floats:
        """What an option of the pair adds to the determinant, having ρ in the place of Λ, (n,)."""
        rho, big = tuning.on_pair * self._unit, tuning.elsewhere * self._unit
        return np.asarray(np.log1p(self._fit.precision / rho) - np.log1p(self._fit.precision / big))

    def _constant(self, tuning: Tuning) -> float:
        """An upper bound of ``log det(I + P⁻¹V)`` by the diagonal."""
        fit, big = self._fit, tuning.elsewhere * self._unit
        # The offset of measurements without a block is always the one set to 0: x does not touch it.
        return float(np.log1p(fit.precision / big).sum() + np.log1p(fit.offset_precision[1:] / big).sum())
