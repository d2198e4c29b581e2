"""How far differences can be off in the linear models, at every moment (with deviations: when one stops).

**Weights θ.** Offsets of blocks have no prior and are of no interest: all that is used of a block is how its
values differ from their mean. Given everything before, a new value minus the mean of its block so far is
normal around a linear function of θ with a known variance, so likelihood ratios averaged over priors of θ
are martingales: one from the start, with normal priors of several sizes, and one from every restart, with the
fit of that moment as its prior (`restarts.py`). Where their average is below 1/δ is a convex region, which
holds the truth at all times with probability 1 - δ; ellipsoids bound how far it reaches
(`weight_regions.py`). They are not centred on the fit, so a difference can be off by more to one side than
to the other. This needs that what is measured next within a block depends on such differences only, and not
on the level of the block. A block of two values is their measured difference; one value in a block of its own
is nothing.

**Whatever decided what to measure** (``any_order``): the offsets are part of one mixture over
``θ ~ N(0, 1/ridge)`` and offsets b with precision Λ; ``ridge·‖θ‖² <= 1`` by the span (Popoviciu). By Ville

    ‖(θ, b) - estimate‖² in the norm of V + P  <=  2·log(1/δ) + log det(I + P⁻¹V) + ridge·‖θ‖².

The ellipsoid holds for ``(θ, b)``, its determinant pays for every block, and a difference is off by
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
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.study.evidence.half_widths import HalfWidths
from noisewise.study.models.boundary import COMPARING, LINEAR
from noisewise.study.models.exact import twofold as tf
from noisewise.study.models.exact.twofold import Twofold
from noisewise.study.models.exact.weighted_rows import ENOUGH, WeightedRows, solve
from noisewise.study.models.features.linear_fit import Parts
from noisewise.study.models.features.restarts import Restart, restarted
from noisewise.study.models.features.weight_regions import (
    RESTART_SCALE,
    Reaches,
    Units,
    WeightEllipsoid,
    WeightRegion,
    from_start,
)
from noisewise.study.models.fit import Fit

#: The part of δ that belongs to the weights in the model with deviations; the rest belongs to these.
FIXED = 0.5
#: The part of that which belongs to restarts; the rest belongs to the martingale from the start.
RESTARTS = 1.0 / 3.0
#: Estimates this close, as a part of their range, lead together; of more than so many none is special.
LEADING, MOST_LEADERS = 1e-9, 8
#: A fit that lost more than this to rounding, in standard errors, bounds nothing.
TOO_MUCH = 1e-3


class LinearBoundary(HalfWidths):
    """Half-widths of the differences between one option and all others.

    Args:
        fit: Of a linear model.
        delta: Error probability of all comparisons.
        resolution: The difference that matters, in which Λ is measured.
        any_order: Whether what was measured next may depend on the level of a block; the fit must know.
        restarts: The fits at the restarts, with the ridge `restart_ridge`; not used with ``any_order``.
    """

    #: The part of δ that belongs to the weights.
    _share = 1.0

    def __init__(
        self,
        fit: Fit,
        delta: float,
        resolution: float,
        *,
        any_order: bool = False,
        restarts: Sequence[Restart] = (),
    ) -> None:
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
        elif self._slack <= TOO_MUCH:
            self._reaches = Reaches(_ellipsoids(fit, doubt, resolution, restarts))

    @property
    def evidence(self) -> tuple[str, ...]:
        """What connects options."""
        return ("features",)

    def half_widths(self, option: int) -> Floats:
        """By how much "j minus option" can be larger than estimated, for every j, (n,)."""
        return self._widths(option, 1.0)

    def lead_widths(self, rival: int) -> Floats:
        """By how much "rival minus i" can be larger than estimated, for every i, (n,)."""
        return self._widths(rival, -1.0)

    def _widths(self, option: int, side: float) -> Floats:
        if self._slack > TOO_MUCH:
            half = np.full(self._parts.half.shape[1], np.inf)
            half[option] = 0.0
            return half
        apart = self._parts.apart(option)
        half, known = self._beside(option, apart[: self.before]), apart[self.before :]
        if self._offsets is None:
            # A region that the fit lies outside of would put a limit below the estimate: that is not used.
            half += np.maximum(self._reaches.along(side * known), 0.0)
        else:
            variance, x = np.einsum("ij,ij->j", known, known), self._offsets @ known
            elsewhere = np.einsum("ij,ij->j", x, x)
            half += np.sqrt(np.min([(variance + big * elsewhere) * radius for big, radius in self._radii], 0))
        if self._slack > ENOUGH:
            half = half * (1.0 + 4.0 * self._slack)
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
        restarts: The fits at the restarts.
    """

    _share = FIXED

    def __init__(
        self,
        fit: Fit,
        delta: float,
        n_allowed: int,
        resolution: float,
        *,
        any_order: bool = False,
        restarts: Sequence[Restart] = (),
    ) -> None:
        super().__init__(fit, delta, resolution, any_order=any_order, restarts=restarts)
        self._own = fit.own
        share = (1.0 - FIXED) * COMPARING * delta / max(1, n_allowed - 1)
        self.quantile = -NormalDist().inv_cdf(share)

    @property
    def evidence(self) -> tuple[str, ...]:
        """What connects options, and what is left to each."""
        return (*super().evidence, "deviations")

    def _beside(self, option: int, apart: Floats) -> Floats:
        own = self._own + self._own[option] + np.einsum("ij,ij->j", apart, apart)
        return np.asarray(self.quantile * np.sqrt(own))


def restart_ridge(dim: int, ridge: float) -> float:
    """The ridge of the fits at restarts, given that of the fit."""
    return RESTART_SCALE * dim * ridge


def _ellipsoids(
    fit: Fit, level: float, resolution: float, restarts: Sequence[Restart]
) -> list[WeightEllipsoid]:
    """Ellipsoids around the region of the weights, short where it matters."""
    parts: Parts = fit.parts
    solved, before, dim = parts.solved, parts.layout.before, fit.dim
    factor, weights = solved.factor.high[before:, before:], solved.solution.high[before:]
    units = _units(parts)
    clean = not solved.exact and solved.slack <= ENOUGH
    scale = RESTART_SCALE * dim
    later = restarted(units, factor, weights, restarts, scale, RESTARTS) if clean else []
    martingales = [from_start(units, 1.0 - RESTARTS), *later]
    region = WeightRegion(units, martingales, level, careful=solved.slack > ENOUGH)
    found = region.around_the_fit()
    if not later:
        return found
    known = parts.half.high[before:]
    return region.ellipsoids(_directions(fit, known, Reaches(found), resolution))


def _units(parts: Parts) -> Units:
    """The present fit as coordinates."""
    before, dim, root = parts.layout.before, parts.layout.dim, math.sqrt(parts.ridge)
    rows = np.zeros((dim, before + dim))
    rows[:, before:] = root * np.eye(dim)
    shrunk = parts.solved.whitened(tf.twofold(rows)).plain[before:].T
    return Units(np.asarray(shrunk), root * parts.solved.solution.high[before:])


def _directions(fit: Fit, known: Floats, reaches: Reaches, resolution: float) -> Floats:
    """Second moments of the differences that decide, (dim, dim): of the leader and rivals that may be better.

    Weights are smooth, and options that lead together count alike: the order of the list decides nothing.
    """
    gaps = fit.means.max() - fit.means
    leaders = np.flatnonzero(gaps <= LEADING * gaps.max())
    total = np.zeros((known.shape[0],) * 2)
    for leader in leaders if leaders.size <= MOST_LEADERS else ():
        apart = known - known[:, [leader]]
        half = np.maximum(reaches.along(apart), 1e-300)
        weight = np.exp(-2.0 * np.minimum((gaps + resolution) / half, 20.0) ** 2)
        total += (apart * weight) @ apart.T
    if not total.any():
        apart = known - known.mean(axis=1, keepdims=True)
        total = apart @ apart.T
    return np.asarray(total / np.trace(total)) if total.any() else np.eye(known.shape[0])


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
