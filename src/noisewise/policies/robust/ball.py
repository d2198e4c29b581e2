"""The Newton step that stays in a ball, solved exactly in coordinates where V is the identity."""

import math

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.core.model.factor import Factored
from noisewise.core.support import blas

#: How far outside a point may lie, relative to the ball, before it is pulled back for good.
ON_THE_BALL = 1e-12
#: Newton steps for the multiplier of the ball; about five are needed.
MOST_SHIFTS = 100


def room_for_a_step(dim: int) -> int:
    """How many numbers the matrices and vectors of a step take: five of the ones, eight of the others."""
    return 5 * dim * dim + 8 * dim


def whitening(model: Factored) -> Floats:
    """``W = D^(-1/2)·U⁻ᵀ``, (dim, dim): ``‖Wa‖`` is the width of a, and ``θ = Wᵀy`` has ``‖θ‖_V = ‖y‖``.

    Sums of weights over sixteen decades are hopeless to factor; in these coordinates they are near 1.
    """
    dim = model.pivots.size
    upper = np.asfortranarray(model.factor[:, :dim])
    root = blas.routines().solve_many(1.0, upper, np.eye(dim), trans_a=1, diag=1)
    return np.ascontiguousarray(np.sqrt(model.reciprocals)[:, None] * root)


def step_within_ball(
    hessian: Floats, gradient: Floats, root: Floats, point: Floats, bound: float
) -> tuple[Floats, Floats, float, float]:
    """The step p of least ``<gradient, p> + ½pᵀ·hessian·p`` such that ``‖point + rootᵀp‖ <= bound``.

    Gradient, hessian and p are in the coordinates of ``root``, a lower triangle (see `whitening`). Outside
    the ball the multiplier μ of the constraint is found by Newton's method on ``1/‖θ(μ)‖``, which climbs
    from 0 to the solution without overshooting (Moré and Sorensen 1983).

    Returns:
        The new point, p, the decrement ``√(pᵀ·hessian·p)``, and μ, 0 inside the ball.
    """
    shift, matrix, target = 0.0, hessian, -gradient
    outward = root @ point
    metric = root @ root.T
    for _ in range(MOST_SHIFTS):
        step = _solved(matrix, target)
        moved = point + step @ root
        norm = math.sqrt(moved @ moved)
        # What is no number will not become one.
        if not norm > bound * (1.0 + ON_THE_BALL) or math.isinf(norm):
            break
        pull = root @ moved
        shift += float(norm * norm / np.float64(pull @ _solved(matrix, pull)) * (norm - bound) / bound)
        matrix, target = hessian + shift * metric, -(gradient + shift * outward)
    if not math.isfinite(norm):
        return point, np.zeros(point.size), 0.0, shift  # rounding left no inverse: stay
    if norm > bound:
        moved = moved * (bound / norm)
    return moved, step, math.sqrt(max(0.0, float(step @ hessian @ step))), shift


def _solved(matrix: Floats, target: Floats) -> Floats:
    """``matrix⁻¹·target``; no numbers where rounding left no inverse."""
    try:
        return np.asarray(np.linalg.solve(matrix, target), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.full(target.size, np.nan)
