# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, check-untyped-defs=False
"""The kernels of the pseudo-Huber estimates and of the ball as loops, for the compiler alone."""

import math

import numpy as np

from noisewise.core.compiler.kernels import REORDERED, compiled_body
from noisewise.policies.robust.ball import MOST_SHIFTS, ON_THE_BALL, step_within_ball, whitening
from noisewise.policies.robust.factor_loops import rotate, solve
from noisewise.policies.robust.huber import clipped, gradient_at, hessian_at, weigh, whiten
from noisewise.policies.robust.one_pass import move, nearest_in_ball, remaining


@compiled_body(whitening, flags=REORDERED, inline=False)
def _whitening_loops(model):
    factor, reciprocals = model.factor, model.reciprocals
    dim = reciprocals.size
    root = np.zeros((dim, dim))
    for k in range(dim):  # column k of U⁻ᵀ: forward substitution on the k-th unit vector
        root[k, k] = 1.0
        for j in range(k, dim):
            entry = root[j, k]
            for i in range(j + 1, dim):
                root[i, k] -= factor[j, i] * entry
    for i in range(dim):
        scale = math.sqrt(reciprocals[i])
        for k in range(i + 1):
            root[i, k] *= scale
    return root


@compiled_body(flags=REORDERED)
def _factor_positive(matrix, lower):
    """The triangle L with ``LLᵀ = matrix``."""
    dim = matrix.shape[0]
    for j in range(dim):
        rest = matrix[j, j]
        for k in range(j):
            rest -= lower[j, k] * lower[j, k]
        pivot = math.sqrt(rest)
        lower[j, j] = pivot
        for i in range(j + 1, dim):
            rest = matrix[i, j]
            for k in range(j):
                rest -= lower[i, k] * lower[j, k]
            lower[i, j] = rest / pivot


@compiled_body(flags=REORDERED)
def _forward(lower, vector, out):
    """``L⁻¹·vector``."""
    for i in range(vector.size):
        rest = vector[i]
        for k in range(i):
            rest -= lower[i, k] * out[k]
        out[i] = rest / lower[i, i]


@compiled_body(flags=REORDERED)
def _backward(lower, vector):
    """``L⁻ᵀ·vector``, in place."""
    for i in range(vector.size - 1, -1, -1):
        rest = vector[i]
        for k in range(i + 1, vector.size):
            rest -= lower[k, i] * vector[k]
        vector[i] = rest / lower[i, i]


@compiled_body(step_within_ball, flags=REORDERED, inline=False)
def _step_within_ball_loops(hessian, gradient, root, point, bound):
    dim = point.size
    matrix, lower, metric = hessian.copy(), np.zeros((dim, dim)), np.zeros((dim, dim))
    target, outward, pull, half = -gradient, np.zeros(dim), np.zeros(dim), np.zeros(dim)
    step, moved = np.zeros(dim), np.zeros(dim)
    shift, norm = 0.0, 0.0
    for attempt in range(MOST_SHIFTS):
        _factor_positive(matrix, lower)
        _forward(lower, target, step)
        _backward(lower, step)
        norm = 0.0
        for i in range(dim):
            value = point[i]
            for k in range(i, dim):  # the root is a lower triangle
                value += root[k, i] * step[k]
            moved[i] = value
            norm += value * value
        norm = math.sqrt(norm)
        if norm <= bound * (1.0 + ON_THE_BALL):
            break
        for i in range(dim):
            value = 0.0
            for k in range(i + 1):
                value += root[i, k] * moved[k]
            pull[i] = value
        if attempt == 0:
            for i in range(dim):
                for k in range(i + 1):
                    outward[i] += root[i, k] * point[k]
                for j in range(i + 1):
                    value = 0.0
                    for k in range(j + 1):
                        value += root[i, k] * root[j, k]
                    metric[i, j] = value
        _forward(lower, pull, half)
        stiffness = 0.0
        for i in range(dim):
            stiffness += half[i] * half[i]
        shift += norm * norm / stiffness * (norm - bound) / bound
        for i in range(dim):
            target[i] = -(gradient[i] + shift * outward[i])
            for j in range(i + 1):  # only this half is read
                matrix[i, j] = hessian[i, j] + shift * metric[i, j]
    if norm > bound:
        for i in range(dim):
            moved[i] *= bound / norm
    decrement = 0.0
    for i in range(dim):
        for j in range(dim):
            decrement += step[i] * hessian[i, j] * step[j]
    return moved, step, math.sqrt(max(0.0, decrement)), shift


@compiled_body(whiten, flags=REORDERED, inline=False)
def _whiten_loops(history, root):
    vectors, rows = history.vectors, history.rows
    dim = root.shape[0]
    for slot in range(history.filled[1]):
        for i in range(dim):
            value = 0.0
            for k in range(i + 1):  # the root is a lower triangle
                value += root[i, k] * vectors[slot, k]
            rows[slot, i] = value


@compiled_body(weigh, flags=REORDERED, inline=False)
def _weigh_loops(history, point):
    rewards, scales, taus, where = history.rewards, history.scales, history.taus, history.slots
    influence, curvature, vectors = history.influence, history.curvature, history.vectors
    told, slots = history.filled[0], history.filled[1]
    values = np.empty(slots)
    for slot in range(slots):
        value = 0.0
        for i in range(point.size):
            value += vectors[slot, i] * point[i]
        values[slot] = value
        influence[slot] = 0.0
        curvature[slot] = 0.0
    for t in range(told):
        slot, tau, inverse = where[t], taus[t], 1.0 / scales[t]  # divisions take most of the time
        residual = (rewards[t] - values[slot]) * inverse
        bend = tau / math.sqrt(tau * tau + residual * residual)
        steep = bend * inverse
        influence[slot] += steep * residual
        curvature[slot] += steep * steep * bend


@compiled_body(gradient_at, flags=REORDERED, inline=False)
def _gradient_loops(history, root, point, ridge):
    dim = point.size
    gradient = np.zeros(dim)
    for i in range(dim):
        for k in range(i + 1):
            gradient[i] += ridge * root[i, k] * point[k]
    for slot in range(history.filled[1]):
        influence = history.influence[slot]
        for i in range(dim):
            gradient[i] -= influence * history.rows[slot, i]
    return gradient


@compiled_body(hessian_at, flags=REORDERED, inline=False)
def _hessian_loops(history, root, ridge):
    dim = root.shape[0]
    hessian = np.zeros((dim, dim))
    for i in range(dim):
        for j in range(dim):
            for k in range(min(i, j) + 1):
                hessian[i, j] += ridge * root[i, k] * root[j, k]
    rows = history.rows
    for slot in range(history.filled[1]):
        curvature = history.curvature[slot]
        for i in range(dim):
            entry = curvature * rows[slot, i]
            for j in range(dim):  # the whole row: half of it would not vectorise
                hessian[i, j] += entry * rows[slot, j]
    return hessian


@compiled_body(move, flags=REORDERED, inline=False)
def _move_loops(curvature, columns, action, reward, scale, tau, bound):
    point = curvature.theta
    dim = point.size
    half, step, row = np.empty(dim), np.empty(dim), np.zeros(dim + 1)
    expected = 0.0
    for i in range(dim):
        half[i] = columns[i, action]
        row[i] = half[i]
        expected += half[i] * point[i]
    squared_width = solve(curvature.factor, curvature.reciprocals, half, step)
    weight = 1.0 / (scale * scale)
    remains = remaining((reward - expected) / scale, squared_width * weight, tau)
    gain = clipped(remains, tau) / scale
    norm = 0.0
    for i in range(dim):
        point[i] += step[i] * gain
        norm += point[i] * point[i]
    bend = tau / math.sqrt(tau * tau + remains * remains)
    weight *= bend * bend * bend
    rotate(curvature.factor, curvature.pivots, curvature.reciprocals, row, weight, curvature.tally)
    if norm > bound * bound:
        inside = nearest_in_ball(curvature, point, bound)
        for i in range(dim):
            point[i] = inside[i]
