"""How far differences can be off in the linear models, at every moment (with deviations: when one stops).

**Weights θ.** Offsets of blocks have no prior and are of no interest: all that is used of a block is how its
values differ from their mean. Given everything before, a new value minus the mean of its block so far is
normal around a linear function of θ with a known variance, so the mixture of likelihood ratios over
``θ ~ N(0, 1/ridge)`` is a martingale, and by Ville

    ‖θ - estimate‖² in the norm of V + ridge  <=  2·log(1/δ) + log det(I + V/ridge) + ridge·‖θ‖²

at all times with probability 1 - δ; V is the precision of θ with all offsets projected out, and
``ridge·‖θ‖² <= 1`` by the span (Popoviciu). This needs that what is measured next within a block depends on
such differences only, and not on the level of the block. A block of two values is their measured difference;
one value in a block of its own is nothing.

**Whatever decided what to measure** (``any_order``): the offsets are part of the mixture, with precision Λ.
The ellipsoid then holds for ``(θ, b)``, its determinant pays for every block, and a difference is off by
``<x, noise>`` with ``x = (V + R)⁻¹c``, R the ridge alone: by at most ``√(xᵀ(V + P)x)`` times the radius, P
being the ridge on θ and Λ on b. Several Λ are tried side by side, each with a share of δ.

**Deviations d**, drawn once from N(0, τ²) before anything was measured. With them integrated out the above
holds with V the precision in their presence. Given θ (and b) and everything measured so far, a difference of
deviations is normal around its conditional mean with a known variance s², whatever chose the moment of
stopping: choices look at nothing but the past. The recommended option is chosen by the same past, so only its
n - 1 comparisons must hold: with probability 1 - δ₂ all deviations lie within z·s, where z is the normal
quantile of δ₂/(n - 1). The half-width is the sum of both parts, and δ₁ + δ₂ the error probability *at the
moment of stopping*, averaged over the deviations.
"""

import math
from statistics import NormalDist

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.study.evidence.half_widths import HalfWidths
from noisewise.study.models.boundary import COMPARING, LINEAR
from noisewise.study.models.exact import twofold as tf
from noisewise.study.models.exact.twofold import Twofold
from noisewise.study.models.exact.weighted_rows import ENOUGH, WeightedRows, solve
from noisewise.study.models.features.linear_fit import Parts
from noisewise.study.models.fit import Fit

#: The part of δ that belongs to the weights in the model with deviations; the rest belongs to these.
FIXED = 0.5
#: A fit that lost more than this to rounding, in standard errors, bounds nothing.
TOO_MUCH = 1e-3


class LinearBoundary(HalfWidths):
    """Half-widths of the differences between one option and all others.

    Args:
        fit: Of a linear model.
        delta: Error probability of all comparisons.
        resolution: The difference that matters, in which Λ is measured.
        any_order: Whether what was measured next may depend on the level of a block; the fit must know.
    """

    #: The part of δ that belongs to the weights.
    _share = 1.0

    def __init__(self, fit: Fit, delta: float, resolution: float, *, any_order: bool = False) -> None:
        self._parts: Parts = fit.parts
        self._slack = fit.slack
        layout = self._parts.layout
        # What comes before is integrated out: deviations, and offsets unless they are in the mixture.
        self.before = layout.seats.size if any_order else layout.before
        doubt = math.log(1.0 / (self._share * COMPARING * delta))
        self._radii: list[tuple[float, float]] = []
        self._offsets: Floats | None = None
        if any_order:
            self._offsets = _offsets_of_x(self._parts)
            for tuning in LINEAR:
                big = tuning.elsewhere / resolution**2
                radius = 2.0 * (doubt - math.log(tuning.share)) + grown(self._parts, big) + 1.0
                self._radii.append((big, radius))
        else:
            self._radii.append((0.0, 2.0 * doubt + learned(self._parts) + 1.0))

    def half_widths(self, option: int) -> Floats:
        """By how much each estimated difference to ``option`` can be off, (n,)."""
        apart = self._parts.apart(option)
        half = self._beside(option, apart[: self.before])
        known = apart[self.before :]
        variance = np.einsum("ij,ij->j", known, known)
        if self._offsets is None:
            ((_, radius),) = self._radii
            half += np.sqrt(variance * radius)
        else:
            x = self._offsets @ known
            elsewhere = np.einsum("ij,ij->j", x, x)
            half += np.sqrt(np.min([(variance + big * elsewhere) * radius for big, radius in self._radii], 0))
        if self._slack > ENOUGH:
            half = half * (1.0 + 4.0 * self._slack) if self._slack <= TOO_MUCH else np.full(half.size, np.inf)
        half[np.isnan(half)] = np.inf
        half[option] = 0.0
        return np.asarray(half)

    def _beside(self, option: int, apart: Floats) -> Floats:
        """What is added for deviations, (n,)."""
        return np.zeros(apart.shape[1])


class MixedBoundary(LinearBoundary):
    """The same with deviations.

    Args:
        fit: Of the model with deviations.
        delta: Error probability of all comparisons.
        n_allowed: How many options may be recommended.
        resolution: The difference that matters, in which Λ is measured.
        any_order: Whether what was measured next may depend on the level of a block; the fit must know.
    """

    _share = FIXED

    def __init__(
        self, fit: Fit, delta: float, n_allowed: int, resolution: float, *, any_order: bool = False
    ) -> None:
        super().__init__(fit, delta, resolution, any_order=any_order)
        self._own = fit.own
        share = (1.0 - FIXED) * COMPARING * delta / max(1, n_allowed - 1)
        self.quantile = -NormalDist().inv_cdf(share)

    def _beside(self, option: int, apart: Floats) -> Floats:
        own = self._own + self._own[option] + np.einsum("ij,ij->j", apart, apart)
        return np.asarray(self.quantile * np.sqrt(own))


def learned(parts: Parts) -> float:
    """``log det(I + V/ridge)``: V is the precision of the weights with all else projected out."""
    before = parts.layout.before
    known = np.abs(np.diagonal(parts.solved.factor.high)[before:])
    return float(2.0 * np.log(known).sum() - parts.layout.dim * math.log(parts.ridge))


def grown(parts: Parts, big: float) -> float:
    """``log det(I + P⁻¹V)`` with the ridge on the weights and ``big`` on the offsets of all blocks."""
    layout = parts.layout
    ridge = np.concatenate([np.zeros(layout.before), np.full(layout.dim, parts.ridge)])
    offsets = layout.blocks.size + layout.offsets.size
    prior = layout.dim * math.log(parts.ridge) + offsets * math.log(big)
    if layout.offsets.size:
        ridge[layout.seats.size : layout.before] = big
    log_blocks = 0.0
    if layout.blocks.size:
        log_blocks = float(np.log(parts.solved.group_weight + big).sum())

    def rows(exact: bool) -> WeightedRows:
        # Λ is one more row of every eliminated block: its offset is 0.
        laid_out = parts.laid_out(exact).rows
        return _with_level_rows(laid_out, big) if layout.blocks.size else laid_out

    factor = solve(rows, ridge).factor.high
    before = layout.seats.size
    return float(2.0 * np.log(np.abs(np.diagonal(factor)[before:])).sum() + log_blocks - prior)


def _with_level_rows(rows: WeightedRows, big: float) -> WeightedRows:
    nothing = np.zeros((rows.groups, rows.x.shape[1]))
    x = Twofold(np.vstack([rows.x.high, nothing]), np.vstack([rows.x.low, nothing]))
    zeros = np.zeros(rows.groups)
    value = Twofold(np.append(rows.value.high, zeros), np.append(rows.value.low, zeros))
    weight = np.append(rows.weight, np.full(rows.groups, big))
    return WeightedRows(x, value, weight, np.append(rows.group, np.arange(rows.groups)), rows.groups)


def _offsets_of_x(parts: Parts) -> Floats:
    """The map from whitened weights (and offsets) to the part of x that lies on offsets.

    Only lengths are taken of it, so a triangle stands for its many rows.
    """
    layout, solved = parts.layout, parts.solved
    before = layout.seats.size
    if layout.blocks.size:
        rows = solved.centre.at((slice(None), slice(before, None)))
    else:
        rows = tf.plainly(np.eye(layout.rows.x.shape[1])[before : layout.before, before:])
    # x = (RᵀR)⁻¹c, and R⁻ᵀc is what it is applied to: rows·R⁻¹ = (R⁻ᵀ·rowsᵀ)ᵀ.
    corner = (slice(before, None), slice(before, None))
    mapped = solved._replace(factor=solved.factor.at(corner)).whitened(rows).plain.T
    return np.asarray(np.linalg.qr(mapped, mode="r")) if mapped.shape[0] > mapped.shape[1] else mapped
