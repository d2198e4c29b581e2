"""Linear options with a deviation each: the model's diagonal part together with its border.

Option k's value is ``<θ, z_k> + d_k``. The deviations d are independent, normal with mean 0 and one size τ
(their standard deviation); features z, and a place for the offset of every block, are the border β. Given β
the deviations are independent of each other, so they are eliminated one by one: with ``W_k = Σ weight`` over
the measurements of option k, ``kept_k = 1/(1 + τ²W_k)`` and ``own_k = τ²·kept_k``,

    value_k = own part (variance own_k) + <load_k, u>,
    precision of u = Σ weight·x xᵀ - Σ_k own_k·c_k c_kᵀ,      c_k = Σ weight·x  over the rows x of option k.

A **compared** option (one end of a measured difference) is not independent of the other end: its deviation,
in units of τ, sits in the border, after β. Everything works for τ = 0, which is the linear model.

The form of the answer is that of `noisewise.core.independent`; cost O(n·q²) with q unknowns in the border.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.core.pooled import inverse
from noisewise.core.rows import Floats

Codes = NDArray[np.int64]


class Gathered(NamedTuple):
    """Sums over the measurements that do not depend on the size of the deviations."""

    features: Floats  # (n, dim)
    alone: Codes  # (rows,): options that were measured and never compared
    weight: Floats  # (rows,)
    value: Floats  # (rows,): Σ weight·value
    shared: Floats  # (rows, offsets): weight in each block
    offset_value: Floats  # (offsets,): Σ weight·value of these rows
    compared: Codes  # (seats,)
    dense: Floats  # (p, p): Σ weight·x xᵀ of rows with compared options, p = dim + offsets
    dense_value: Floats  # (p,)
    crossed: Floats  # (p, seats): the same between x and the two ends
    seats: Floats  # (seats, seats)
    seat_value: Floats  # (seats,)


def gather(
    features: Floats, plus: Codes, minus: Codes, place: Codes, value: Floats, weight: Floats, offsets: int
) -> Gathered:
    """Sum up pooled rows.

    Args:
        features: ``(n, dim)``.
        plus: The option of each row.
        minus: The option it is compared with, or -1.
        place: Which offset a row carries; not looked at for differences.
        value: What was measured.
        weight: 1/variance.
        offsets: How many offsets there are.
    """
    n, dim = features.shape
    difference = minus >= 0
    compared = np.unique(np.concatenate([plus[difference], minus[difference]]))
    seat_of = np.full(n, -1)
    seat_of[compared] = np.arange(compared.size)
    plain = ~difference & (seat_of[plus] < 0)
    alone, rows = np.unique(plus[plain], return_inverse=True)
    here, weighted = weight[plain], weight[plain] * value[plain]
    shared = np.zeros((alone.size, offsets))
    np.add.at(shared, (rows, place[plain]), here)

    others = np.flatnonzero(~plain)
    x = np.zeros((others.size, dim + offsets))
    x[:, :dim] = features[plus[others]]
    two = difference[others]
    x[two, :dim] -= features[minus[others[two]]]
    one = np.flatnonzero(~two)
    x[one, dim + place[others[one]]] = 1.0
    heavy, told = x * weight[others, None], value[others]
    crossed, seats = np.zeros((compared.size, dim + offsets)), np.zeros((compared.size, compared.size))
    seat_value = np.zeros(compared.size)
    # Every such row has one end, or two with signs.
    ends = [(seat_of[plus[others]], 1.0), (np.where(two, seat_of[minus[others]], -1), -1.0)]
    for end, sign in ends:
        there = end >= 0
        np.add.at(crossed, end[there], sign * heavy[there])
        np.add.at(seat_value, end[there], sign * (weight[others] * told)[there])
        for other, other_sign in ends:
            both = there & (other >= 0)
            np.add.at(seats, (end[both], other[both]), sign * other_sign * weight[others[both]])
    return Gathered(
        features=features,
        alone=alone,
        weight=_totals(rows, here, alone.size),
        value=_totals(rows, weighted, alone.size),
        shared=shared,
        offset_value=_totals(place[plain], weighted, offsets),
        compared=compared,
        dense=heavy.T @ x,
        dense_value=heavy.T @ told,
        crossed=crossed.T,
        seats=seats,
        seat_value=seat_value,
    )


def _totals(codes: Codes, weights: Floats, size: int) -> Floats:
    return np.asarray(np.bincount(codes, weights, size), dtype=np.float64)


class Eliminated(NamedTuple):
    """What remains when the deviations of options that were never compared are integrated out."""

    deviation: float  # τ
    own: Floats  # (n,)
    own_values: Floats  # (n,): what the option's own measurements add to its mean
    loads: Floats  # (n, q): q = dim + offsets + seats
    precision: Floats  # (q, q): of the border, with the prior of its deviations and no other
    right: Floats  # (q,)
    log_det: float  # Σ log(1 + τ²W)

    def means(self, border: Floats) -> Floats:
        """The options' values, given the border, (n,)."""
        return np.asarray(self.own_values + self.loads @ border)


def eliminate(sums: Gathered, deviation: float) -> Eliminated:
    """Integrate the deviations out; no difference of large numbers is taken."""
    n, dim = sums.features.shape
    offsets, seats = sums.shared.shape[1], sums.compared.size
    q, p, variance = dim + offsets + seats, dim + offsets, deviation**2
    kept = 1.0 / (1.0 + variance * sums.weight)
    own = variance * kept
    rows, shared = sums.features[sums.alone], sums.shared
    precision, right = np.zeros((q, q)), np.zeros(q)
    precision[:p, :p] = sums.dense
    precision[:dim, :dim] += (rows * (sums.weight * kept)[:, None]).T @ rows
    cross = rows.T @ (shared * kept[:, None])
    precision[:dim, dim:p] += cross
    precision[dim:p, :dim] += cross.T
    between = -(shared * own[:, None]).T @ shared
    others = sums.weight[:, None] - shared
    between[np.diag_indices(offsets)] = np.sum(shared * (kept[:, None] + own[:, None] * others), axis=0)
    precision[dim:p, dim:p] += between
    right[:p] = sums.dense_value
    right[:dim] += rows.T @ (kept * sums.value)
    right[dim:p] += sums.offset_value - shared.T @ (own * sums.value)
    precision[:p, p:] = deviation * sums.crossed
    precision[p:, :p] = precision[:p, p:].T
    precision[p:, p:] = np.eye(seats) + variance * sums.seats
    right[p:] = deviation * sums.seat_value

    every_own, own_values = np.full(n, variance), np.zeros(n)
    every_own[sums.alone], every_own[sums.compared] = own, 0.0
    own_values[sums.alone] = own * sums.value
    loads = np.zeros((n, q))
    loads[:, :dim] = sums.features
    loads[sums.alone, :dim] *= kept[:, None]
    loads[sums.alone, dim:p] = -own[:, None] * shared
    loads[sums.compared, p + np.arange(seats)] = deviation
    log_det = float(np.log1p(variance * sums.weight).sum())
    return Eliminated(deviation, every_own, own_values, loads, precision, right, log_det)


class Levelled(NamedTuple):
    """The posterior of options on a common level, for rules: see `noisewise.core.independent`."""

    own: Floats  # (n,)
    loads: Floats  # (n, places)
    border: Floats  # (places, places)
    means: Floats  # (n,)
    log_det: float


def on_a_level(gone: Eliminated, dim: int, blocks: Codes, places: int, ridge: float) -> Levelled:
    """The posterior with one level for all options, places for blocks beside it, and a ridge on each.

    Args:
        gone: The border, whose offsets belong to blocks.
        dim: How many features it has.
        blocks: The place of each of its offsets, -1 for the block without a name: level alone.
        places: How many places for blocks there are.
        ridge: Prior precision of features, level and blocks.
    """
    offsets = blocks.size
    seats = gone.right.size - dim - offsets
    q = dim + 1 + places + seats
    # An offset is the level plus the block's own: old unknowns = change·new ones.
    change = np.zeros((gone.right.size, q))
    change[np.arange(dim), np.arange(dim)] = 1.0
    change[dim : dim + offsets, dim] = 1.0
    named = np.flatnonzero(blocks >= 0)
    change[dim + named, dim + 1 + blocks[named]] = 1.0
    change[dim + offsets + np.arange(seats), q - seats + np.arange(seats)] = 1.0
    precision = change.T @ gone.precision @ change
    prior = np.full(q, ridge)
    prior[q - seats :] = 0.0  # deviations in the border have their prior already
    precision[np.diag_indices(q)] += prior
    border, log_det = inverse(precision)
    loads = gone.loads @ change
    loads[:, dim] += 1.0  # the level itself
    means = gone.own_values + loads @ (border @ (change.T @ gone.right))
    grown = gone.log_det + log_det - (q - seats) * math.log(ridge)
    return Levelled(gone.own, loads, border, means, grown)
