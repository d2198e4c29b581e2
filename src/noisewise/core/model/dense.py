"""The linear model: what is known about every action's value, and the verbs that change or read it.

A measurement of action ``a`` is ``<θ, a> + noise`` with standard deviation ``sigma``. The model is the
weighted ridge regression ``V = ridge·I + Σ a aᵀ/σ²``, held as ``V = UᵀDU`` (U upper triangular with ones on
its diagonal, D diagonal) and as the mean and squared width of every action. Rules read the fields
``means`` and ``squared_widths`` and call the verbs; how they are kept exact is this module's business alone:

* U and D are updated by plane rotations without square roots (Gentleman 1973), which stay accurate for
  sigmas spread over eleven decades, where every form of inverse updating fails.
* Squared widths fall by subtraction, ``‖a_k‖² -= cov_k²/(σ² + ‖a‖²)``, and each is recomputed from U and D
  once it has lost two decimal digits, or after 20,000 measurements.
* Means move by addition and are recomputed from θ̂ every 32 measurements. θ̂ itself is held as a centre
  and ``U(θ̂ - centre)``, which stays small: rotating large numbers would cost digits.

One unknown per feature is all there is here; how actions vary together is read off in `covariances.py`.
`independent.py` is the model with one unknown per option; the verbs hand over to its own, and rules do not
notice.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from noisewise.core.compiler.kernels import has_twins, kernel, used_in_every_round
from noisewise.core.model import independent
from noisewise.core.model.independent import IndependentModel, Separate
from noisewise.core.support import blas
from noisewise.core.support.blocks import Floats as Floats
from noisewise.core.support.blocks import map_rows, row_blocks, workspace

#: A squared width below this share of its last exact value has lost digits and is recomputed.
WORN = 1e-2
#: Right-hand sides of one triangular solve: as many as stay in the cache.
SOLVED_TOGETHER = 4096
#: The same for compiled code.
BATCH = 64
#: Rounding errors of subtraction add up: everything is recomputed after so many measurements.
REFRESH_AFTER = 20_000
#: The centre moves when ‖θ̂ - centre‖² in the norm of V exceeds this: larger numbers cost digits.
FAR = 1e6
#: It also moves after so many measurements: rounding in the sums that the means are adds up.
RECENTRE_AFTER = 32

NOBODY = np.empty(0, dtype=np.intp)

# What the tally counts.
LOG_DET = 0
TOTAL_PRECISION = 1
TOLD = 2
AGE = 3
RESIDUAL = 4
SINCE_CENTRED = 5
#: Not a count: the action whose lower bound was the largest when it was last looked for. Only a hint.
SAFEST = 6


class Model(NamedTuple):
    """The state of knowledge about n actions in ``dim`` features; changed in place by the verbs."""

    columns: NDArray[np.floating]  # (dim, n): the actions' vectors, shared and never written
    factor: Floats  # (dim, dim+1): U, its diagonal of ones not stored; last column U(θ̂ - centre)
    pivots: Floats  # (dim,): D
    reciprocals: Floats  # (dim,): 1/D
    centre: Floats  # (dim,)
    squared_widths: Floats  # (n,): ‖a‖² in the norm of V⁻¹
    means: Floats  # (n,): <θ̂, a>
    floors: Floats  # (n,): WORN times the last exact squared width
    tally: Floats  # (7,): what the names above say
    halves: Floats  # (dim, BATCH): scratch, like all that follow
    batch: NDArray[np.int64]  # (BATCH,)
    half: Floats  # (dim,)
    step: Floats  # (dim,)
    row: Floats  # (dim+1,)
    scratch: Floats  # (n,)


class Factored(Protocol):
    """A matrix held as ``UᵀDU``: a model, or one of the smaller things that robust estimates keep."""

    @property
    def factor(self) -> Floats:
        """U, and a last column that follows its rotations."""

    @property
    def pivots(self) -> Floats:
        """D."""

    @property
    def reciprocals(self) -> Floats:
        """1/D."""

    @property
    def tally(self) -> Floats:
        """Where the residual of each rotation is booked."""


def new_model(columns: NDArray[np.floating], ridge: float) -> Model:
    """The model before any measurement: ``V = ridge·I`` and an estimate of 0."""
    if isinstance(columns, Separate):
        return cast(Model, independent.new_independent(columns, ridge))
    dim, n = columns.shape
    squared_widths = np.empty(n)
    for rows in row_blocks(n):
        block = columns[:, rows].astype(np.float64, copy=False)
        squared_widths[rows] = np.einsum("ij,ij->j", block, block)
    squared_widths /= ridge
    return Model(
        columns=columns,
        factor=np.zeros((dim, dim + 1)),
        pivots=np.full(dim, ridge),
        reciprocals=np.full(dim, 1.0 / ridge),
        centre=np.zeros(dim),
        squared_widths=squared_widths,
        means=np.zeros(n),
        floors=WORN * squared_widths,
        tally=np.zeros(7),
        halves=np.empty((dim, BATCH)),
        batch=np.empty(BATCH, dtype=np.int64),
        half=np.empty(dim),
        step=np.empty(dim),
        row=np.empty(dim + 1),
        scratch=np.empty(n),
    )


def copy_model(model: Model) -> Model:
    """An independent copy; the actions' vectors are shared."""
    copies: Any = (array.copy() for array in model[1:])
    return Model(model.columns, *copies)


#: Is told what a measurement does: ``s = V⁻¹a/√(σ² + ‖a‖²)``, and for a block of rows the ``<s, a_k>`` and an
#: array to work in. V⁻¹ falls by s·sᵀ.
Watch = Callable[[Floats, slice, Floats, Floats], None]


def fold(model: Model, action: int, reward: float, sigma: float) -> None:
    """Learn one measurement of ``action``, in place."""
    if isinstance(model, IndependentModel):
        return independent.fold(model, action, reward, sigma)
    return fold_watched(model, action, reward, sigma, None)


def fold_watched(model: Model, action: int, reward: float, sigma: float, watch: Watch | None) -> None:
    """The same for who keeps something that V⁻¹ changes."""
    dim, n = model.columns.shape
    vector = model.columns[:, action].astype(np.float64, copy=False)
    half = solve_lower(model, vector)
    weighted = half * model.reciprocals
    squared_width = float(half @ weighted)
    step = solve_upper(model, weighted)  # V⁻¹a, before the update
    variance = sigma * sigma + squared_width
    gain = (reward - float(model.means[action])) / variance

    row = np.append(vector, reward - float(vector @ model.centre))
    rotate_in(model, row, half, 1.0 / (sigma * sigma))
    count(model.tally, squared_width, sigma)
    # Scaling once saves a pass: with s = step/√variance, the widths lose (a_k·s)².
    scale = math.sqrt(variance)
    step /= scale
    gain *= scale
    refresh_all = model.tally[AGE] >= REFRESH_AFTER

    def learn(rows: slice) -> NDArray[np.intp]:
        """Update a block of actions; return those whose width must be recomputed."""
        products, lost = workspace(rows)
        project(model, step, rows, products)
        squared_widths = model.squared_widths[rows]
        np.multiply(products, products, out=lost)
        squared_widths -= lost
        if watch is not None:
            watch(step, rows, products, lost)
        products *= gain
        model.means[rows] += products
        worn = squared_widths < model.floors[rows]
        return rows.start + np.flatnonzero(worn) if worn.any() else NOBODY

    worn = np.concatenate(map_rows(learn, n))
    far = float(model.pivots @ model.factor[:, dim] ** 2)
    recentring = far > FAR or model.tally[SINCE_CENTRED] >= RECENTRE_AFTER
    if recentring:
        _move_centre(model, theta(model))
    stale = np.arange(n) if refresh_all else worn
    if stale.size:
        refresh(model, stale, means_too=recentring)
    if refresh_all:
        model.tally[AGE] = 0.0
    if recentring:
        # Rows that were refreshed have their means: no row is read more than twice in a round.
        _predict(model, stale)


def project(model: Model, direction: Floats, rows: slice, out: Floats) -> None:
    """``<direction, a_k>`` for a block of actions; float32 storage is multiplied in float64."""
    block = model.columns[:, rows]
    if block.dtype == np.float64:
        np.dot(direction, block, out=out)
    else:
        np.dot(direction, block.astype(np.float64), out=out)


def rows_of(model: Model, rows: NDArray[np.int64]) -> Floats:
    """The vectors of some actions, a row for each, in float64."""
    return model.columns.T[rows].astype(np.float64, copy=False)


def solve_lower(model: Factored, vector: Floats) -> Floats:
    """``U⁻ᵀ·vector``."""
    dim = vector.size
    solved, _ = blas.routines().solve_triangular(model.factor[:, :dim], vector, trans=1, unitdiag=1)
    return np.asarray(solved)


def solve_upper(model: Factored, vector: Floats) -> Floats:
    """``U⁻¹·vector``."""
    dim = vector.size
    solved, _ = blas.routines().solve_triangular(model.factor[:, :dim], vector, unitdiag=1)
    return np.asarray(solved)


def rotate_in(model: Factored, row: Floats, half: Floats, weight: float) -> None:
    """Replace the factors of V by those of ``V + weight·a aᵀ``; the row is a and what it measured.

    One plane rotation per feature, all at once: rotation j meets the entry ``(U⁻ᵀa)_j``, given as
    ``half``, and the weight that is left, ``1/w_j = 1/w + Σ_{i<j} half_i²/D_i``. LAPACK's update of a QR
    factor reflects instead, and loses seven digits when a row of weight 1e16 meets rows of weight 1.
    """
    if weight == 0.0:
        return
    left = np.empty(row.size)
    left[0] = 1.0 / weight
    left[1:] = half * half * model.reciprocals
    weights = 1.0 / np.cumsum(left)
    grown = model.pivots + weights[:-1] * half * half
    # What is left of the row after each rotation: summed up in their order, as if one by one.
    rows = np.empty((row.size, row.size))
    rows[0] = row
    np.multiply(model.factor, -half[:, None], out=rows[1:])
    np.cumsum(rows, axis=0, out=rows)
    factor = model.factor
    factor += np.triu(rows[1:] * (weights[:-1] * half / grown)[:, None], 1)
    model.pivots[:] = grown
    np.divide(1.0, grown, out=model.reciprocals)
    model.tally[RESIDUAL] += weights[-1] * float(rows[-1, -1]) ** 2


def refresh(model: Model, stale: NDArray[np.intp], *, means_too: bool = False) -> None:
    """Recompute the squared widths of some actions, ``‖D^(-1/2)·U⁻ᵀa‖²``, and if wanted their means."""
    dim = model.columns.shape[0]
    upper = np.asfortranarray(model.factor[:, :dim])
    solve_many = blas.routines().solve_many

    def recompute(rows: slice) -> None:
        for start in range(rows.start, rows.stop, SOLVED_TOGETHER):
            batch = stale[start : min(start + SOLVED_TOGETHER, rows.stop)]
            vectors = rows_of(model, batch)
            if means_too:
                model.means[batch] = vectors @ model.centre
            halves = solve_many(1.0, upper, vectors.T, trans_a=1, diag=1, overwrite_b=1).T
            exact = np.square(halves) @ model.reciprocals
            model.squared_widths[batch] = exact
            model.floors[batch] = WORN * exact

    map_rows(recompute, stale.size)


def recentre(model: Model) -> None:
    """Move the centre to the estimate, and recompute the means from it."""
    set_theta(model, theta(model))


def set_theta(model: Model, estimate: Floats) -> None:
    """Make ``estimate`` what the model believes, in place of least squares; V and the widths stay.

    For rules with an estimate of their own: they fold each measurement as if it came out as expected, which
    grows V alone, and then set theirs. Means, `theta`, `distance_to` and all that is made of them follow.
    """
    _move_centre(model, estimate)
    _predict(model, NOBODY)


def _move_centre(model: Model, estimate: Floats) -> None:
    model.centre[:] = estimate
    model.factor[:, -1] = 0.0
    model.tally[SINCE_CENTRED] = 0.0


def _predict(model: Model, done: NDArray[np.intp]) -> None:
    """Recompute the means from the centre, but for the actions that are done (ascending)."""

    def predict(rows: slice) -> None:
        first, last = np.searchsorted(done, (rows.start, rows.stop))
        if first == last:
            project(model, model.centre, rows, model.means[rows])
        elif last - first < rows.stop - rows.start:
            others = np.delete(np.arange(rows.start, rows.stop), done[first:last] - rows.start)
            model.means[others] = rows_of(model, others) @ model.centre

    map_rows(predict, model.means.size)


@kernel
def count(tally: Floats, squared_width: float, sigma: float) -> None:
    """Book one measurement: ``det V`` grows by the factor ``1 + ‖a‖²/σ²``."""
    weight = 1.0 / (sigma * sigma)
    tally[LOG_DET] += math.log1p(squared_width * weight)
    tally[TOTAL_PRECISION] += weight
    tally[TOLD] += 1.0
    tally[AGE] += 1.0
    tally[SINCE_CENTRED] += 1.0


def theta(model: Model) -> Floats:
    """The estimate θ̂, (dim,)."""
    if isinstance(model, IndependentModel):
        return independent.theta(model)
    return model.centre + solve_upper(model, model.factor[:, -1])


def squared_norm(model: Model) -> float:
    """``‖θ̂‖²``."""
    estimate = theta(model)
    return float(estimate @ estimate)


@kernel
def log_det(model: Model) -> float:
    """``log det V - dim·log ridge``: twice the information gathered, in nats."""
    return float(model.tally[LOG_DET])


@kernel
def total_precision(model: Model) -> float:
    """``Σ 1/σ²`` over all measurements: the currency of everything."""
    return float(model.tally[TOTAL_PRECISION])


has_twins(f"{__name__}_loops")
used_in_every_round(__name__)
