"""The pseudo-Huber estimate in one pass: O(dim²) per measurement, and no history.

Implicit online mirror descent. A new measurement moves the estimate to

    ``θ_t = argmin of  ½‖θ - θ_{t-1}‖²_H + ℓ_τ((r - <a, θ>)/s)``,

and H, which started as ridge·I, gains the curvature of the loss where it ended: ``H += ψ'(z)·a aᵀ/s²``. For
squares that is least squares exactly. Two things make it accurate. The loss is not replaced by its
tangent: a first, precise measurement far from 0 would be taken for an outlier and lost (measured: 20,000
times the squared error). And H counts what was learnt, not what was measured: if a surprise moves
the estimate too little, the next ones can.
"""

import math
from typing import NamedTuple

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.core.model import DenseModel, Factored, rotate_in, set_theta, solve_lower, solve_upper, theta
from noisewise.core.native.verbs import verb
from noisewise.rules.huber import clipped, room_for_a_step, step_within_ball, whitening

#: Newton steps for the residual that remains; about five are needed.
MOST_STEPS = 100


class Curvature(NamedTuple):
    """H as ``UᵀDU``, and the estimate."""

    factor: Floats  # (dim, dim+1); the last column is not used
    pivots: Floats  # (dim,)
    reciprocals: Floats  # (dim,)
    tally: Floats  # (6,)
    theta: Floats  # (dim,)
    room: Floats  # for the compiled body alone


def new_curvature(dim: int, ridge: float) -> Curvature:
    """``H = ridge·I``, and an estimate of 0."""
    return Curvature(
        factor=np.zeros((dim, dim + 1)),
        pivots=np.full(dim, ridge),
        reciprocals=np.full(dim, 1.0 / ridge),
        tally=np.zeros(6),
        theta=np.zeros(dim),
        room=np.zeros(room_for_a_step(dim)),
    )


@verb
def move(
    curvature: Curvature,
    model: DenseModel,
    action: int,
    reward: float,
    scale: float,
    tau: float,
    bound: float,
) -> None:
    """Learn one measurement, in place."""
    vector = model.columns[:, action].astype(np.float64, copy=False)
    half = solve_lower(curvature, vector)
    weighted = half * curvature.reciprocals
    step = solve_upper(curvature, weighted)
    surprise = (reward - float(vector @ curvature.theta)) / scale
    remains = remaining(surprise, float(half @ weighted) / scale**2, tau)
    curvature.theta[:] += step * (clipped(remains, tau) / scale)
    bend = tau / math.sqrt(tau * tau + remains * remains)
    rotate_in(curvature, np.append(vector, 0.0), half, bend**3 / scale**2)
    if curvature.theta @ curvature.theta > bound * bound:
        curvature.theta[:] = nearest_in_ball(curvature, curvature.theta, bound)


def nearest_in_ball(metric: Factored, point: Floats, bound: float) -> Floats:
    """The point of the ball that is nearest to ``point``, in the norm of ``UᵀDU``."""
    dim = point.size
    nearest, _, _, _ = step_within_ball(np.eye(dim), np.zeros(dim), whitening(metric), point, bound)
    return nearest


def remaining(surprise: float, leverage: float, tau: float) -> float:
    """The z that solves ``z + leverage·ψ_τ(z) = surprise``: what is left of a surprise, in sigmas.

    For z >= 0 the left side is increasing and concave, and ``surprise/(1 + leverage)`` lies below the
    solution: from there Newton's method climbs to it without overshooting.
    """
    far = abs(surprise)
    z = far / (1.0 + leverage)
    for _ in range(MOST_STEPS):
        bend = tau / math.sqrt(tau * tau + z * z)
        excess = z + leverage * bend * z - far
        shorter = z - excess / (1.0 + leverage * bend**3)
        if shorter - z <= 1e-15 * z:
            break
        z = min(shorter, far)
    return math.copysign(z, surprise)


@verb
def stay_in_ball(curvature: Curvature, model: DenseModel, bound: float) -> None:
    """Move the model's estimate into the ball if it has left it; the curvature lends its room."""
    point = theta(model)
    if (point * point).sum() > bound * bound:
        set_theta(model, nearest_in_ball(model, point, bound))
