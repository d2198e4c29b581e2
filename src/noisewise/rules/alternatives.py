"""The most confusing alternative: what the parameter would have to be for another action to be the best.

Under shares w of the measurements, with ``A = Σ w_k a_k a_kᵀ``, the cheapest parameter that puts a rival x
level with the leader a is ``λ = θ̂ - (gap/‖a - x‖²)·A⁻¹(a - x)``, in the norm of A⁻¹. A measurement tells it
from θ̂ by ``<a_k, θ̂ - λ>²/2`` per unit of precision, and the shares by ``gap²/(2‖a - x‖²)``.
"""

import numpy as np
from numpy.typing import NDArray

from noisewise.core.any_model import AnyModel
from noisewise.core.blocks import Floats, Mask
from noisewise.core.native.verbs import verb
from noisewise.core.selection import first_largest

Columns = NDArray[np.floating]  # (dim, n)
Rows = NDArray[np.int64]

#: Added to every direction of A, as a share of the mean one: shares may vanish, and A must have an inverse.
LEAST = 1e-10
#: Actions closer than this, as a share of the longest vector, are copies and no rivals.
COPY = 1e-10


def with_vectors(columns: Columns) -> Columns:
    """The columns; where options have no vectors this is refused, before anything is measured."""
    _ = columns[:, :1]
    return columns


@verb
def inverse_of_moment(model: AnyModel, shares: Floats) -> Floats:
    """``A⁻¹``, (dim, dim)."""
    vectors = model.columns.astype(np.float64, copy=False)
    moment = (vectors * shares) @ vectors.T
    moment.flat[:: len(moment) + 1] += max(LEAST * np.trace(moment) / len(moment), 1e-300)
    return np.asarray(np.linalg.inv(moment))


@verb
def costs_of_rivals(model: AnyModel, inverse: Floats, leader: int) -> Floats:
    """``gap²/(2‖a - x‖²)`` for every action x, (n,); infinite for the leader a and its copies."""
    vectors, means = model.columns.astype(np.float64, copy=False), model.means
    away = vectors - vectors[:, [leader]]
    squared = np.einsum("ik,ij,jk->k", away, inverse, away, optimize=True)
    differ = (away * away).sum(axis=0) > COPY * COPY * (vectors * vectors).sum(axis=0).max()
    gaps = np.maximum(0.0, means[leader] - means)
    costs = np.full(means.size, np.inf)
    np.divide(gaps * gaps, 2.0 * squared, out=costs, where=differ & (squared > 0.0))
    return costs


@verb
def shifts_towards(model: AnyModel, inverse: Floats, leader: int, rival: int) -> Floats:
    """``<a_k, θ̂ - λ>`` for every action, (n,): how far the rival's cheapest alternative moves its value."""
    vectors, means = model.columns.astype(np.float64, copy=False), model.means
    away = vectors[:, leader] - vectors[:, rival]
    direction = inverse @ away
    gap = max(0.0, float(means[leader] - means[rival]))
    shifts: Floats = direction * (gap / float(away @ direction)) @ vectors
    return shifts


@verb
def payoffs_of(model: AnyModel, inverse: Floats, costs: Floats, leader: int, rivals: Rows) -> Floats:
    """For every two of a rival and an action what the action tells beyond the rival's cost, (rivals, n).

    The derivative of each cost by the shares; the cost itself is their mean over the present shares.
    """
    payoffs = np.empty((rivals.size, costs.size))
    for j in range(rivals.size):
        shifts = shifts_towards(model, inverse, leader, rivals[j])
        payoffs[j] = 0.5 * shifts * shifts - costs[rivals[j]]
    return payoffs


@verb
def closest_rival(costs: Floats) -> int:
    """The first action of the smallest finite cost, up to rounding; -1 if all costs are infinite."""
    rivals = costs < np.inf
    return first_largest(-costs, rivals) if rivals.any() else -1


@verb
def rivals_within(costs: Floats, slack: float, rows: Rows) -> int:
    """Write which costs exceed the smallest by at most ``slack``; return how many, 0 if all are infinite."""
    closest = costs.min()
    near = np.flatnonzero(costs <= closest + slack) if closest < np.inf else rows[:0]
    rows[: near.size] = near
    return near.size


@verb
def first_unseen(given: Floats, allowed: Mask) -> int:
    """The first allowed action to which nothing was given yet; -1 if there is none."""
    unseen = np.flatnonzero(allowed & (given == 0.0))
    return int(unseen[0]) if unseen.size else -1
