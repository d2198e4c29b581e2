"""The best weights on few actions for few directions: a primal-dual interior point method.

Minimise Σ w subject to ``q_y = yᵀV(w)⁻¹y <= 1`` for all y and w >= 0; the least Σ w is the least possible
largest ``yᵀV(π)⁻¹y`` of weights π that sum to 1. With multipliers λ of the limits on q and z of w >= 0, and
slacks t, the optimum has ``1 = Σ_y λ_y (yᵀV⁻¹a)² + z_a``, ``q + t = 1``, ``λt = 0`` and ``zw = 0``.
Newton steps on these equations, the last two with a small ν in the place of 0 (Mehrotra's choice of it, SIAM
J. Optim. 1992), may start from any positive numbers: so from the solution for other rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from noisewise.designs.algebra import (
    Floats,
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
    """The unknowns, all positive: weights and slacks of the limits, and what they are complementary to."""

    primal: Floats  # (s + m,): the weights w and the slacks t
    dual: Floats  # (s + m,): the reserves z, what an action's price is below 1, and the multipliers λ

    def complementarity(self) -> float:
        """The mean of ``zw`` and ``λt``, which is 0 at the optimum."""
        return float(self.primal @ self.dual) / len(self.primal)

    def moved(self, step: _Point, primal: float, dual: float) -> _Point:
        """The point some way along a step."""
        return _Point(self.primal + primal * step.primal, self.dual + dual * step.dual)

    def room(self, step: _Point) -> tuple[float, float]:
        """How far the primal and the dual unknowns can go and stay positive."""
        ways = ((self.primal, step.primal), (self.dual, step.dual))
        rooms = [(-have[way < 0.0] / way[way < 0.0]).min(initial=np.inf) for have, way in ways]
        return float(rooms[0]), float(rooms[1])


def solve_restricted(
    actions: Floats, directions: Floats, weights: Floats, multipliers: Floats | None, gap: float
) -> BarrierSolution | None:
    """Return weights within ``gap`` of the best for these rows, or as close as float64 allows.

    ``multipliers`` are those of a solution for similar rows (0 for new ones), if there is one. None if, in
    float64, these weights on these actions say nothing of some direction.
    """
    weights = np.maximum(weights, 1e-9 * weights.mean())
    geometry = _at(actions, directions, weights)
    if geometry is None or not math.isfinite(largest := float(geometry.q_values.max())):
        return None
    # The weights in a fitting scale, and the rest as central as they allow.
    weights = weights * (1.2 * largest if multipliers is None else max(1.0, largest / 1.5))
    geometry = _at(actions, directions, weights)
    if geometry is None:
        return None
    slacks = np.maximum(1.0 - geometry.q_values, LEAST_SLACK)
    nu = (0.1 if multipliers is None else min(0.1, 3.0 * gap)) * weights.sum() / (len(weights) + len(slacks))
    multipliers = np.maximum(0.0 if multipliers is None else multipliers, nu / slacks)
    reserves = np.maximum(1.0 - combined(multipliers, geometry.squares), nu / weights)
    point = _Point(np.append(weights, slacks), np.append(reserves, multipliers))
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
        best = found if found.gap < best.gap else best
    return best


def _at(actions: Floats, directions: Floats, weights: Floats) -> _Geometry | None:
    """The rows under these weights; None if V(w) is not positive."""
    root = inverse_root(weighted_moment(actions, weights))
    if root is None:
        return None
    white, seen = product(directions, root), product(actions, root)
    return _Geometry(seen, white, np.square(product(white, seen.T)), squared_norms(white))


def _solution(point: _Point, geometry: _Geometry) -> BarrierSolution:
    """The point's weights with their distance from the best for these rows, by weak duality."""
    n_weights = len(geometry.actions)
    weights, multipliers = point.primal[:n_weights], point.dual[n_weights:]
    value = float(multipliers @ geometry.q_values)
    price = float(combined(multipliers, geometry.squares).max())
    upper = float(weights.sum() * geometry.q_values.max())
    gap = upper * price * float(multipliers.sum()) / (value * value) - 1.0
    return BarrierSolution(weights, multipliers, geometry.q_values, gap)


def _step(point: _Point, geometry: _Geometry, gap: float) -> _Point | None:
    """The step in all unknowns: first as if ν were 0, then with the ν and the curvature this suggests."""
    n_weights = len(geometry.actions)
    (weights, slacks), (reserves, multipliers) = (
        np.split(part, [n_weights]) for part in (point.primal, point.dual)
    )
    hessian = _hessian(geometry, multipliers, slacks)
    hessian[np.diag_indices_from(hessian)] += reserves / weights
    # Weights differ by many orders of magnitude: solve in units in which the diagonal is 1.
    units = 1.0 / np.sqrt(np.diag(hessian))
    hessian *= units[:, None]
    hessian *= units
    factor = factor_positive(hessian)
    if factor is None:
        return None
    residual = 1.0 - combined(multipliers, geometry.squares) - reserves
    lacking = (1.0 - geometry.q_values) - slacks

    def solved(aim: Floats) -> _Point:
        """The Newton step that makes ``zw`` and ``λt`` what is aimed at."""
        push, lift = np.split(aim / point.primal - point.dual, [n_weights])
        lift = lift - multipliers * lacking / slacks
        along = units * solve_factored(factor, units * (combined(lift, geometry.squares) + push - residual))
        freed = times(geometry.squares, along)
        return _Point(
            np.append(along, freed + lacking),
            np.append(push - reserves / weights * along, lift - multipliers / slacks * freed),
        )

    nu = point.complementarity()
    bold = solved(np.zeros_like(point.primal))
    primal, dual = (min(1.0, room) for room in point.room(bold))
    left = point.moved(bold, primal, dual).complementarity()
    least = 0.1 * gap * float(weights.sum()) / len(point.primal)
    aim = max(min(nu, least), nu * min(1.0, max(left, 0.0) / nu) ** 3)
    return solved(aim - bold.primal * bold.dual)


def _hessian(geometry: _Geometry, multipliers: Floats, slacks: Floats) -> Floats:
    """The curvature in the weights; only its upper triangle is filled.

    ``2 (a'V⁻¹b)(a'V⁻¹MV⁻¹b) + Σ_y (λ_y/t_y)(y'V⁻¹a)²(y'V⁻¹b)²`` for actions a and b, M the sum of
    ``λ_y y yᵀ``. M is small: the first term costs rank, not m, per entry.
    """
    moment = weighted_moment(geometry.directions, 2.0 * multipliers)
    hessian = product(geometry.actions, geometry.actions.T)
    hessian *= product(product(geometry.actions, moment), geometry.actions.T)
    add_column_products(geometry.squares * np.sqrt(multipliers / slacks)[:, None], hessian)
    return hessian


def _move(
    actions: Floats, directions: Floats, point: _Point, geometry: _Geometry, step: _Point
) -> tuple[_Point, _Geometry] | None:
    """As far along the step as everything stays positive and no direction becomes much less known."""
    primal, dual = (min(1.0, ALMOST * room) for room in point.room(step))
    limit = max(1.5, 2.0 * float(geometry.q_values.max()))
    for _ in range(30):
        moved = point.moved(step, primal, dual)
        seen = _at(actions, directions, moved.primal[: len(actions)])
        if seen is not None and seen.q_values.max() <= limit:
            slacks = moved.primal[len(actions) :]
            np.maximum(slacks, 1.0 - seen.q_values, out=slacks)
            return moved, seen
        primal *= 0.5
    return None
