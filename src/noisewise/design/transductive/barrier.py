"""The best weights on few actions for few directions: Newton's method on a logarithmic barrier.

Minimise Σ w subject to ``q_y = yᵀV(w)⁻¹y <= 1`` for all y and w >= 0; the least Σ w is the least possible
largest ``yᵀV(π)⁻¹y`` of weights π that sum to 1. The barrier is ``Σ w - ν Σ log w - ν Σ log(1 - q)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from noisewise.design.shared.algebra import (
    add_column_products,
    combined,
    inverse_root,
    product,
    row_products,
    solve_positive,
    squared_norms,
    weighted_moment,
)
from noisewise.design.shared.rows import Floats

MAX_STEPS = 200
SHRINK = 0.15  # of the barrier, whenever a step was nearly a Newton step
CENTRED = 1.0  # a Newton decrement below this counts as nearly
SETTLED = 1e-3  # and below this as no longer moving


@dataclass(frozen=True)
class BarrierSolution:
    """Weights, and the multipliers that prove how good they are."""

    weights: Floats  # (s,), scaled so that the worst direction has q about 1
    multipliers: Floats  # (m,)
    q_values: Floats  # (m,)


@dataclass(frozen=True)
class _Point:
    """A point inside of the constraints with everything a Newton step needs."""

    weights: Floats
    actions: Floats  # (s, rank), whitened by V(w)
    directions: Floats  # (m, rank), likewise
    squares: Floats  # (m, s): (yᵀV⁻¹a)²
    q_values: Floats  # (m,)

    def height(self, nu: float) -> float:
        barrier = np.log(self.weights).sum() + np.log1p(-self.q_values).sum()
        return float(self.weights.sum() - nu * barrier)


def solve_restricted(
    actions: Floats, directions: Floats, weights: Floats, gap: float
) -> BarrierSolution | None:
    """Return weights within ``gap`` of the best for these rows, or as close as float64 allows.

    None if, in float64, these weights on these actions say nothing of some direction.
    """
    weights = np.maximum(weights, 1e-9 * weights.mean())
    largest = _largest_q(actions, directions, weights)
    point = _at(actions, directions, weights * (1.2 * largest)) if math.isfinite(largest) else None
    if point is None:
        return None
    n_terms = len(actions) + len(directions)
    # Close to the wanted end, but not so close that the first steps are lost in a corner.
    nu = min(0.1, max(0.01, 3.0 * gap)) * float(point.weights.sum()) / n_terms
    for _ in range(MAX_STEPS):
        multipliers = nu / (1.0 - point.q_values)
        if _gap(point, multipliers) <= gap:
            break
        step, decrement, slope = _newton(point, multipliers, nu)
        moved = _move(actions, directions, point, step, slope, nu, decrement)
        if moved is None:
            break
        point = moved
        if decrement < CENTRED:
            # Below this the multipliers, and with them the proof, drown in rounding.
            least = 0.2 * gap * float(point.weights.sum()) / n_terms
            if decrement < SETTLED and nu <= least:
                break
            nu = min(nu, max(SHRINK * nu, least))
    return BarrierSolution(point.weights, nu / (1.0 - point.q_values), point.q_values)


def _largest_q(actions: Floats, directions: Floats, weights: Floats) -> float:
    root = inverse_root(weighted_moment(actions, weights))
    return np.inf if root is None else float(squared_norms(product(directions, root)).max())


def _at(actions: Floats, directions: Floats, weights: Floats) -> _Point | None:
    """The point of these weights; None if it is outside of the constraints."""
    root = inverse_root(weighted_moment(actions, weights))
    if root is None:
        return None
    white = product(directions, root)
    q_values = squared_norms(white)
    if not q_values.max() < 1.0:
        return None
    seen = product(actions, root)
    cross = product(white, seen.T)
    return _Point(weights, seen, white, np.square(cross, out=cross), q_values)


def _gap(point: _Point, multipliers: Floats) -> float:
    """How far the weights are from the best for these rows, by weak duality."""
    value = float(multipliers @ point.q_values)
    price = float(combined(multipliers, point.squares).max())
    upper = float(point.weights.sum() * point.q_values.max())
    return upper * price * float(multipliers.sum()) / (value * value) - 1.0


def _newton(point: _Point, multipliers: Floats, nu: float) -> tuple[Floats, float, float]:
    """The Newton step, its decrement, and the slope along it."""
    gradient = 1.0 - combined(multipliers, point.squares) - nu / point.weights
    hessian = _hessian(point, multipliers, nu)
    # Weights differ by many orders of magnitude: solve in units in which the diagonal is 1.
    units = 1.0 / np.sqrt(np.diag(hessian))
    hessian *= units[:, None]
    hessian *= units
    ridge = 1e-13
    while True:
        attempt = hessian.copy()
        attempt[np.diag_indices_from(attempt)] += ridge
        solved = solve_positive(attempt, units * gradient)
        if solved is not None:
            break
        ridge *= 100.0
    step = -units * solved
    slope = float(gradient @ step)
    return step, float(np.sqrt(max(0.0, -slope / nu))), slope


def _hessian(point: _Point, multipliers: Floats, nu: float) -> Floats:
    """Of the barrier at the point; only its upper triangle is filled.

    ``2 (a'V⁻¹b)(a'V⁻¹MV⁻¹b) + Σ_y (λ_y²/ν)(y'V⁻¹a)²(y'V⁻¹b)²`` for actions a and b, M the sum of
    ``λ_y y yᵀ``, and ``ν/w²`` on the diagonal. M is small: the first term costs rank, not m, per entry.
    """
    moment = weighted_moment(point.directions, multipliers)
    hessian = row_products(point.actions).T
    hessian *= product(product(2.0 * point.actions, moment), point.actions.T)
    add_column_products(point.squares * (multipliers / np.sqrt(nu))[:, None], hessian)
    hessian[np.diag_indices_from(hessian)] += nu / point.weights**2
    return hessian


def _move(
    actions: Floats,
    directions: Floats,
    point: _Point,
    step: Floats,
    slope: float,
    nu: float,
    decrement: float,
) -> _Point | None:
    """As far along the step as the constraints and a sufficient descent allow; None if nowhere."""
    falling = step < 0.0
    ratios = -point.weights[falling] / step[falling]
    length = min(1.0, 0.95 * float(ratios.min(initial=np.inf)))
    height = point.height(nu)
    for _ in range(40):
        moved = _at(actions, directions, point.weights + length * step)
        # Close to the centre rounding hides the descent, and the step is safe anyhow.
        if moved is not None and (
            decrement < 0.2 or moved.height(nu) <= height + 1e-4 * length * slope + 1e-14 * abs(height)
        ):
            return moved
        length *= 0.5
    return None
