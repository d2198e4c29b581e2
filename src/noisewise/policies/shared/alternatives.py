"""The most confusing alternative: what the parameter would have to be for another action to be the best.

Under shares w of the measurements, with ``A = Σ w_k a_k a_kᵀ``, the cheapest parameter that puts a rival x
level with the leader a is ``λ = θ̂ - (gap/‖a - x‖²)·A⁻¹(a - x)``, in the norm of A⁻¹. A measurement tells it
from θ̂ by ``<a_k, θ̂ - λ>²/2`` per unit of precision, and the shares by ``gap²/(2‖a - x‖²)``.
"""

import numpy as np
from numpy.typing import NDArray

from noisewise.core.compiler.kernels import compiled_body
from noisewise.core.model.dense import Floats

Columns = NDArray[np.floating]  # (dim, n)

#: Added to every direction of A, as a share of the mean one: shares may vanish, and A must have an inverse.
LEAST = 1e-10
#: Actions closer than this, as a share of the longest vector, are copies and no rivals.
COPY = 1e-10


def with_vectors(columns: Columns) -> Columns:
    """The columns; where options have no vectors this is refused, before anything is measured."""
    _ = columns[:, :1]
    return columns


def inverse_of_moment(columns: Columns, shares: Floats) -> Floats:
    """``A⁻¹``, (dim, dim)."""
    vectors = columns.astype(np.float64, copy=False)
    moment = (vectors * shares) @ vectors.T
    moment.flat[:: len(moment) + 1] += max(LEAST * np.trace(moment) / len(moment), 1e-300)
    return np.asarray(np.linalg.inv(moment))


def costs_of_rivals(columns: Columns, means: Floats, inverse: Floats, leader: int) -> Floats:
    """``gap²/(2‖a - x‖²)`` for every action x, (n,); infinite for the leader a and its copies."""
    vectors = columns.astype(np.float64, copy=False)
    away = vectors - vectors[:, [leader]]
    squared = np.einsum("ik,ij,jk->k", away, inverse, away, optimize=True)
    differ = (away * away).sum(axis=0) > COPY * COPY * (vectors * vectors).sum(axis=0).max()
    gaps = np.maximum(0.0, means[leader] - means)
    costs = np.full(means.size, np.inf)
    np.divide(gaps * gaps, 2.0 * squared, out=costs, where=differ & (squared > 0.0))
    return costs


def shifts_towards(columns: Columns, means: Floats, inverse: Floats, leader: int, rival: int) -> Floats:
    """``<a_k, θ̂ - λ>`` for every action, (n,): how far the rival's cheapest alternative moves its value."""
    away = columns[:, leader].astype(np.float64) - columns[:, rival]
    direction = inverse @ away
    gap = max(0.0, float(means[leader] - means[rival]))
    shifts: Floats = direction * (gap / float(away @ direction)) @ columns.astype(np.float64, copy=False)
    return shifts


@compiled_body(inverse_of_moment, inline=False)
def _inverse_loops(columns: Columns, shares: Floats) -> Floats:
    dim, n = columns.shape
    moment, trace = np.zeros((dim, dim)), 0.0
    for i in range(dim):
        for j in range(i + 1):
            total = 0.0
            for k in range(n):
                total += shares[k] * columns[i, k] * columns[j, k]
            moment[i, j] = total
            moment[j, i] = total
        trace += moment[i, i]
    for i in range(dim):
        moment[i, i] += max(LEAST * trace / dim, 1e-300)
    inverse: Floats = np.linalg.inv(moment).astype(np.float64)
    return inverse


@compiled_body(costs_of_rivals, inline=False)
def _costs_loops(columns: Columns, means: Floats, inverse: Floats, leader: int) -> Floats:
    dim, n = columns.shape
    costs, away, longest = np.full(n, np.inf), np.empty(dim), 0.0
    for k in range(n):
        length = 0.0
        for i in range(dim):
            length += columns[i, k] * columns[i, k]
        longest = max(longest, length)
    for k in range(n):
        distance, squared = 0.0, 0.0
        for i in range(dim):
            away[i] = columns[i, k] - columns[i, leader]
            distance += away[i] * away[i]
        if distance <= COPY * COPY * longest:
            continue
        for i in range(dim):
            for j in range(dim):
                squared += away[i] * inverse[i, j] * away[j]
        if squared > 0.0:
            gap = max(0.0, means[leader] - means[k])
            costs[k] = gap * gap / (2.0 * squared)
    return costs


@compiled_body(shifts_towards, inline=False)
def _shifts_loops(columns: Columns, means: Floats, inverse: Floats, leader: int, rival: int) -> Floats:
    dim, n = columns.shape
    direction, squared = np.zeros(dim), 0.0
    for i in range(dim):
        for j in range(dim):
            direction[i] += inverse[i, j] * (columns[j, leader] - columns[j, rival])
        squared += direction[i] * (columns[i, leader] - columns[i, rival])
    scale = max(0.0, means[leader] - means[rival]) / squared
    shifts = np.zeros(n)
    for i in range(dim):
        for k in range(n):
            shifts[k] += scale * direction[i] * columns[i, k]
    return shifts
