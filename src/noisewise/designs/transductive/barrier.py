"""The best weights on few actions for few directions: a primal-dual interior point method.

Minimise Σ w subject to ``q_y = yᵀV(w)⁻¹y <= 1`` for all y and w >= 0; the least Σ w is the least possible
largest ``yᵀV(π)⁻¹y`` of weights π that sum to 1. With multipliers λ of the limits on q and z of w >= 0, and
slacks t, the optimum has ``1 = Σ_y λ_y (yᵀV⁻¹a)² + z_a``, ``q + t = 1``, ``λt = 0`` and ``zw = 0``.
Newton steps on these equations, the last two with a small ν in the place of 0 (Mehrotra's choice of it, SIAM
J. Optim. 1992), may start from any positive numbers: so from the solution for other rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from noisewise.designs.shared.algebra import (
    add_column_products,
    combined,
    factor_positive,
    inverse_root,
    product,
    solve_factored,
    squared_norms,
    times,
    weighted_moment,
)
from noisewise.designs.shared.rows import Floats

MAX_STEPS = 80
ALMOST = 0.98  # of the way to where a number would vanish
LEAST_SLACK = 0.02  # that new rows start with
MOST_IDLE = 12  # steps without a better proof: the rest is rounding


@dataclass(frozen=True)
class BarrierSolution:
    """Weights, and the multipliers that prove how good they are."""

    weights: Floats  # (s,), scaled so that the worst direction has q about 1
    multipliers: Floats  # (m,)
    q_values: Floats  # (m,)
    gap: float  # how far the weights are from the best for these rows, at most


@dataclass(frozen=True)
class _Geometry:
    """What the rows look like under some weights."""

    actions: Floats  # (s, rank), whitened by V(w)
    directions: Floats  # (m, rank), likewise
    squares: Floats  # (m, s): (yᵀV⁻¹a)²
    q_values: Floats  # (m,)


@dataclass(frozen=True)
class _Point:
    """The unknowns; all positive."""

    weights: Floats  # (s,)
    reserves: Floats  # (s,): z, what an action's price is below 1
    multipliers: Floats  # (m,)
    slacks: Floats  # (m,)

    def complementarity(self) -> float:
        """The mean of ``zw`` and ``λt``, which is 0 at the optimum."""
        total = float(self.weights @ self.reserves + self.multipliers @ self.slacks)
        return total / (len(self.weights) + len(self.slacks))


def solve_restricted(
    actions: Floats, directions: Floats, weights: Floats, multipliers: Floats | None, gap: float
) -> BarrierSolution | None:
    """Return weights within ``gap`` of the best for these rows, or as close as float64 allows.

    ``multipliers`` are those of a solution for similar rows (0 for new ones), if there is one. None if, in
    float64, these weights on these actions say nothing of some direction.
    """
    started = _start(actions, directions, weights, multipliers, gap)
    if started is None:
        return None
    point, geometry = started
    best, n_idle = _solution(point, geometry), 0
    for _ in range(MAX_STEPS):
        if best.gap <= gap or n_idle > MOST_IDLE:
            break
        step = _step(point, geometry, gap)
        moved = None if step is None else _move(actions, directions, point, geometry, step)
        if moved is None:
            break
        point, geometry = moved
        found = _solution(point, geometry)
        n_idle = 0 if found.gap < 0.99 * best.gap else n_idle + 1
        if found.gap < best.gap:
            best = found
    return best


def _start(
    actions: Floats, directions: Floats, weights: Floats, multipliers: Floats | None, gap: float
) -> tuple[_Point, _Geometry] | None:
    """The point to start from: the weights in a fitting scale, and the rest as central as they allow."""
    weights = np.maximum(weights, 1e-9 * weights.mean())
    geometry = _at(actions, directions, weights)
    if geometry is None or not math.isfinite(largest := float(geometry.q_values.max())):
        return None
    scale = 1.2 * largest if multipliers is None else max(1.0, largest / 1.5)
    weights, geometry = weights * scale, _scaled(geometry, scale)
    slacks = np.maximum(1.0 - geometry.q_values, LEAST_SLACK)
    total, n_terms = float(weights.sum()), len(weights) + len(slacks)
    nu = (0.1 if multipliers is None else min(0.1, 3.0 * gap)) * total / n_terms
    multipliers = nu / slacks if multipliers is None else np.maximum(multipliers, nu / slacks)
    prices = combined(multipliers, geometry.squares)
    return _Point(weights, np.maximum(1.0 - prices, nu / weights), multipliers, slacks), geometry


def _at(actions: Floats, directions: Floats, weights: Floats) -> _Geometry | None:
    """The rows under these weights; None if V(w) is not positive."""
    root = inverse_root(weighted_moment(actions, weights))
    if root is None:
        return None
    white, seen = product(directions, root), product(actions, root)
    cross = product(white, seen.T)
    return _Geometry(seen, white, np.square(cross, out=cross), squared_norms(white))


def _scaled(geometry: _Geometry, scale: float) -> _Geometry:
    """The rows under weights that are ``scale`` times as large."""
    root = math.sqrt(scale)
    return _Geometry(
        geometry.actions / root,
        geometry.directions / root,
        geometry.squares / scale**2,
        geometry.q_values / scale,
    )


def _solution(point: _Point, geometry: _Geometry) -> BarrierSolution:
    """The point's weights with their distance from the best for these rows, by weak duality."""
    value = float(point.multipliers @ geometry.q_values)
    price = float(combined(point.multipliers, geometry.squares).max())
    upper = float(point.weights.sum() * geometry.q_values.max())
    gap = upper * price * float(point.multipliers.sum()) / (value * value) - 1.0
    return BarrierSolution(point.weights, point.multipliers, geometry.q_values, gap)


def _step(point: _Point, geometry: _Geometry, gap: float) -> _Point | None:
    """The step in all unknowns: first as if ν were 0, then with the ν and the curvature this suggests."""
    hessian = _hessian(point, geometry)
    # Weights differ by many orders of magnitude: solve in units in which the diagonal is 1.
    units = 1.0 / np.sqrt(np.diag(hessian))
    hessian *= units[:, None]
    hessian *= units
    factor = factor_positive(hessian)
    if factor is None:
        return None
    residual = 1.0 - combined(point.multipliers, geometry.squares) - point.reserves
    lacking = (1.0 - geometry.q_values) - point.slacks

    def solved(aim_of_weights: Floats, aim_of_slacks: Floats) -> _Point:
        """The Newton step that makes ``zw`` and ``λt`` what is aimed at."""
        weights, reserves, multipliers, slacks = (
            point.weights,
            point.reserves,
            point.multipliers,
            point.slacks,
        )
        lift = aim_of_slacks / slacks - multipliers - multipliers * lacking / slacks
        push = aim_of_weights / weights - reserves
        along = units * solve_factored(factor, units * (combined(lift, geometry.squares) + push - residual))
        freed = times(geometry.squares, along)
        return _Point(
            along,
            push - reserves / weights * along,
            lift - multipliers / slacks * freed,
            freed + lacking,
        )

    nu = point.complementarity()
    zeros_of_weights, zeros_of_slacks = np.zeros_like(point.weights), np.zeros_like(point.slacks)
    bold = solved(zeros_of_weights, zeros_of_slacks)
    left = _moved(point, bold, *_lengths(point, bold, 1.0)).complementarity()
    least = 0.1 * gap * float(point.weights.sum()) / (len(point.weights) + len(point.slacks))
    aim = max(min(nu, least), nu * min(1.0, max(left, 0.0) / nu) ** 3)
    return solved(aim - bold.weights * bold.reserves, aim - bold.multipliers * bold.slacks)


def _hessian(point: _Point, geometry: _Geometry) -> Floats:
    """The matrix of a step's weights; only its upper triangle is filled.

    ``2 (a'V⁻¹b)(a'V⁻¹MV⁻¹b) + Σ_y (λ_y/t_y)(y'V⁻¹a)²(y'V⁻¹b)²`` for actions a and b, M the sum of
    ``λ_y y yᵀ``, and ``z/w`` on the diagonal. M is small: the first term costs rank, not m, per entry.
    """
    moment = weighted_moment(geometry.directions, 2.0 * point.multipliers)
    hessian = product(geometry.actions, geometry.actions.T)
    hessian *= product(product(geometry.actions, moment), geometry.actions.T)
    add_column_products(geometry.squares * np.sqrt(point.multipliers / point.slacks)[:, None], hessian)
    hessian[np.diag_indices_from(hessian)] += point.reserves / point.weights
    return hessian


def _lengths(point: _Point, step: _Point, share: float) -> tuple[float, float]:
    """How far the weights and slacks, and the multipliers, can go and stay positive."""

    def room(numbers: Floats, changes: Floats) -> float:
        falling = changes < 0.0
        return float((-numbers[falling] / changes[falling]).min(initial=np.inf))

    primal = min(room(point.weights, step.weights), room(point.slacks, step.slacks))
    dual = min(room(point.reserves, step.reserves), room(point.multipliers, step.multipliers))
    return min(1.0, share * primal), min(1.0, share * dual)


def _moved(point: _Point, step: _Point, primal: float, dual: float) -> _Point:
    return _Point(
        point.weights + primal * step.weights,
        point.reserves + dual * step.reserves,
        point.multipliers + dual * step.multipliers,
        point.slacks + primal * step.slacks,
    )


def _move(
    actions: Floats, directions: Floats, point: _Point, geometry: _Geometry, step: _Point
) -> tuple[_Point, _Geometry] | None:
    """As far along the step as everything stays positive and no direction becomes much less known."""
    primal, dual = _lengths(point, step, ALMOST)
    limit = max(1.5, 2.0 * float(geometry.q_values.max()))
    for _ in range(30):
        moved = _moved(point, step, primal, dual)
        seen = _at(actions, directions, moved.weights)
        if seen is not None and seen.q_values.max() <= limit:
            return replace(moved, slacks=np.maximum(moved.slacks, 1.0 - seen.q_values)), seen
        primal *= 0.5
    return None
