"""Restarts: likelihood ratios that begin anew with the fit of the moment, and limits on differences by them.

The mixture from the start pays ``log det V`` for all that was learned. One that begins at a later moment s,
with the fit of that moment as its prior, N(θ̂_s, V_s⁻¹), pays for what is learned from then on: by Bayes' rule
the logarithm of its likelihood ratio at θ is

    ½·‖θ - θ̂‖² in the norm of V  -  ½·‖θ - θ̂_s‖² in that of V_s  -  ½·log det(V·V_s⁻¹).

It is averaged with the one from the start (`regions.py`), the k-th restart with ``1/(k(k + 1))`` of the share
of all. A restart stands where the information has doubled since the last one, in the geometric mean over
directions: that depends on actions and sigmas, not on rewards, though any rule that looks at the past alone
would do.

In ``u = R(θ - θ̂)`` with ``V = RᵀR`` and ``K = R_s·R⁻¹`` the curvature is ``I - KᵀK`` and the slope
``-Kᵀ·R_s(θ̂_s - θ̂)``. Such an ellipsoid is not centred on the estimate: there is no single radius, but a limit
for every difference of actions, which are what the verbs here give.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.core.choice.matrices import (
    add_matrix_into,
    applied,
    crossed,
    dotted,
    paired,
    product,
    pulled_back,
    root_into,
)
from noisewise.core.choice.radius import RESTARTS, Radius, averaged_at_estimate
from noisewise.core.choice.regions import (
    Ellipsoids,
    Region,
    around_the_fit,
    new_ellipsoids,
    short_ellipsoids,
)
from noisewise.core.choice.selection import Mask
from noisewise.core.model.covariances import CANCELLED, contrast_widths
from noisewise.core.model.dense import LOG_DET, TOLD, DenseModel, Floats, theta
from noisewise.core.model.vectors import spread

#: The restarts that are kept; those before may be forgotten, since no likelihood ratio is negative.
SLOTS = 6
#: The first comes after this many times as many measurements as directions, others after as many at least.
FIRST = 2.0
#: One that came so late that less than this part of the information is newer says nothing yet.
NEW = 0.02
#: Fits that floats carry: ‖R_s‖·‖R⁻¹‖ and ‖R_s‖·‖θ̂‖ up to this leave seven digits of K and of slopes.
MOST_LOST = 1e8
#: Differences whose weight is below this do not count among those that decide.
NEGLIGIBLE = 1e-9
#: Actions that are looked at together.
TOGETHER = 4096
#: Places of `Restarts.tally`: how many there were, and of the last one `LOG_DET` and `TOLD`.
BEGUN, LAST_LOG_DET, LAST_TOLD = range(3)


class Room(NamedTuple):
    """What was found at the last look; not kept in files."""

    told: Floats  # (1,): of how many measurements; -1: of none
    n_found: Floats  # (1,): how many ellipsoids
    ellipsoids: Ellipsoids  # in u
    shifts: Floats  # (MOST, dim): their centres, as changes of θ̂
    axes: Floats  # (MOST, dim, dim): ‖axes·c‖ is how far they reach along c on either side


class Restarts(NamedTuple):
    """The fits of the last moments at which a likelihood ratio began."""

    factors: Floats  # (SLOTS, dim, dim): R_s
    estimates: Floats  # (SLOTS, dim): θ̂_s
    log_dets: Floats  # (SLOTS,)
    tally: Floats  # (3,)
    room: Room


def new_restarts(dim: int) -> Restarts:
    """Before any measurement."""
    ellipsoids = new_ellipsoids(1 + SLOTS, dim)
    room = Room(
        told=np.full(1, -1.0),
        n_found=np.zeros(1),
        ellipsoids=ellipsoids,
        shifts=np.zeros_like(ellipsoids.centres),
        axes=np.zeros_like(ellipsoids.roots),
    )
    fits = np.zeros((SLOTS, dim, dim)), np.zeros((SLOTS, dim)), np.zeros(SLOTS)
    return Restarts(*fits, np.zeros(3), room)


def begin_if_due(limits: Radius, model: Any, restarts: Restarts) -> None:
    """Begin a new likelihood ratio with what the model knows now, if that is much more than at the last."""
    tally, rank = restarts.tally, max(1, limits.rank)
    grown = model.tally[LOG_DET] - tally[LAST_LOG_DET]
    wanted = rank * (FIRST if tally[BEGUN] == 0.0 else 1.0)
    if model.tally[TOLD] - tally[LAST_TOLD] >= wanted and grown >= rank * math.log(2.0):
        begin(model, restarts)


def begin(model: DenseModel, restarts: Restarts) -> None:
    """Keep the present fit in the place of the oldest."""
    tally = restarts.tally
    slot = int(tally[BEGUN]) % SLOTS
    root_into(restarts.factors[slot], model)
    restarts.estimates[slot][:] = theta(model)
    restarts.log_dets[slot] = model.tally[LOG_DET]
    tally[BEGUN] += 1.0
    tally[LAST_LOG_DET] = model.tally[LOG_DET]
    tally[LAST_TOLD] = model.tally[TOLD]


def region_of(limits: Radius, model: DenseModel, restarts: Restarts, root: Floats) -> Region:
    """All likelihood ratios: from the start, averaged over scales, and from restarts that say something.

    Args:
        limits: The radius, with its level of confidence.
        model: What is known now.
        restarts: What was known then.
        root: R⁻¹.
    """
    estimate, dim, ridge = theta(model), root.shape[0], limits.ridge
    begun = int(restarts.tally[BEGUN])
    kept = min(begun, SLOTS)
    curvatures, slopes = np.zeros((1 + kept, dim, dim)), np.zeros((1 + kept, dim))
    constants, square, pull = np.zeros(1 + kept), np.zeros((dim, dim)), np.zeros(dim)
    add_matrix_into(square, crossed(root, root), ridge)
    pull[:] += ridge * (pulled_back(root, estimate))
    for k in range(1 + kept):
        for i in range(dim):
            curvatures[k, i, i] = 1.0
    add_matrix_into(curvatures[0], square, -1.0)
    slopes[0][:] = pull
    start = averaged_at_estimate(limits, estimate, product(root, root.T), model.tally[LOG_DET])
    constants[0] = start + math.log(1.0 - RESTARTS)
    used, squared_norm = 1, dotted(estimate, estimate)
    size = math.sqrt(max(paired(root, root), squared_norm))
    for k in range(begun - kept + 1, begun + 1):
        slot = (k - 1) % SLOTS
        factor = restarts.factors[slot]
        known, step = product(factor, root), restarts.estimates[slot].copy()
        step[:] += -1.0 * (estimate)
        apart, newer = applied(factor, step), dim - paired(known, known)
        if math.sqrt(paired(factor, factor)) * size <= MOST_LOST and newer > NEW * limits.rank:
            add_matrix_into(curvatures[used], crossed(known, known), -1.0)
            slopes[used][:] += -1.0 * (pulled_back(known, apart))
            learned = model.tally[LOG_DET] - restarts.log_dets[slot]
            constants[used] = math.log(RESTARTS / (k * (k + 1.0))) - 0.5 * (learned + dotted(apart, apart))
            used += 1
    excess = ridge * squared_norm - limits.bias * limits.bias
    level = 0.5 * limits.doubt
    return Region(curvatures[:used], slopes[:used], constants[:used], square, pull, excess, level)


def look(limits: Radius, model: DenseModel, restarts: Restarts, leader: int) -> None:
    """Find ellipsoids that are short along the differences that decide: of the leader and likely rivals."""
    room = restarts.room
    if room.told[0] == model.tally[TOLD]:
        return
    root = spread(model)
    region = region_of(limits, model, restarts, root)
    found = room.ellipsoids
    count = around_the_fit(region, False, found)
    if region.constants.size > 1 and count > 0:
        directions = deciding(model, leader, found.radii[count - 1])
        count = short_ellipsoids(region, crossed(root, product(directions, root)), found)
    for k in range(count):
        room.shifts[k][:] = applied(root, found.centres[k])
        axes, turned = room.axes[k], product(root, found.roots[k])
        for i in range(axes.shape[0]):
            for j in range(axes.shape[1]):
                axes[i, j] = found.radii[k] * turned[j, i]
    room.n_found[0] = count
    room.told[0] = model.tally[TOLD]


def deciding(model: DenseModel, leader: int, radius: float) -> Floats:
    """Second moments of the differences to the leader, (dim, dim), by how far rivals may be above it."""
    half = np.maximum(radius * contrast_widths(model, leader), 1e-300)
    weights = np.exp(-2.0 * np.minimum((model.means[leader] - model.means) / half, 20.0) ** 2)
    weights[leader] = 0.0
    return second_moments(model, leader, weights)


def second_moments(model: DenseModel, action: int, weights: Floats) -> Floats:
    """``Σ_k w_k·(a_k - a)(a_k - a)ᵀ`` over its trace; those of a sphere if there is nothing to sum."""
    total = np.zeros((model.pivots.size, model.pivots.size))
    rows = np.flatnonzero(weights > NEGLIGIBLE)
    for start in range(0, rows.size, TOGETHER):
        some = rows[start : start + TOGETHER]
        apart = _differences(model, some, action)
        total += (apart * weights[some]) @ apart.T
    size = np.trace(total)
    return total / size if size > 0.0 else np.eye(total.shape[0])


def limits_above(model: DenseModel, restarts: Restarts, action: int, among: Mask) -> Floats:
    """By how much actions can be above one, (n,): -inf for it, and for those left out."""
    room, upper = restarts.room, np.full(model.means.size, -np.inf)
    rows, count = np.flatnonzero(among), int(room.n_found[0])
    for start in range(0, rows.size, TOGETHER):
        some = rows[start : start + TOGETHER]
        apart = _differences(model, some, action)
        reach = np.full(some.size, np.inf)
        for axes, shift in zip(room.axes[:count], room.shifts[:count], strict=True):
            seen = axes @ apart
            reach = np.minimum(reach, shift @ apart + np.sqrt(np.einsum("ij,ij->j", seen, seen)))
        # A region that the estimate lies outside of would put a limit below it: that is not used. Nor is
        # a width below rounding.
        least = np.sqrt(CANCELLED * (model.squared_widths[some] + model.squared_widths[action]))
        upper[some] = model.means[some] - model.means[action] + np.maximum(reach, least)
    upper[action] = -np.inf
    return upper


def _differences(model: DenseModel, rows: NDArray[np.intp], action: int) -> Floats:
    """The vectors of some actions less that of one, (dim, rows)."""
    own = model.columns[:, [action]].astype(np.float64)
    return np.asarray(model.columns[:, rows].astype(np.float64) - own)


def largest_above(model: DenseModel, restarts: Restarts, action: int, among: Mask) -> float:
    """The largest of these, -inf if there are none; infinite where one is no number."""
    most = float(limits_above(model, restarts, action, among).max())
    return math.inf if math.isnan(most) else most
