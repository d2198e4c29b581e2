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

One unknown per feature is all there is here. `independent.py` is the model with one unknown per option; the
verbs call its own functions, and rules do not notice.

In an infinite set no list of actions exists. The model then has one column, and `place` writes into it the
vector that is about to be measured.
"""

import math
from typing import NamedTuple, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from noisewise.core.any_model import AGE, RESIDUAL, SINCE_CENTRED, AnyModel, count
from noisewise.core.blocks import Floats, routines, row_blocks
from noisewise.core.independent import IndependentModel, Separate, new_independent
from noisewise.core.native.verbs import extension, verb


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


def solve_lower(model: Factored, vector: Floats) -> Floats:
    """``U⁻ᵀ·vector``."""
    dim = vector.size
    solved, _ = routines().solve_triangular(model.factor[:, :dim], vector, trans=1, unitdiag=1)
    return np.asarray(solved)


def solve_upper(model: Factored, vector: Floats) -> Floats:
    """``U⁻¹·vector``."""
    dim = vector.size
    solved, _ = routines().solve_triangular(model.factor[:, :dim], vector, unitdiag=1)
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


#: A squared width below this share of its last exact value has lost digits and is recomputed.
WORN = 1e-2
#: Right-hand sides of one triangular solve: as many as stay in the cache.
SOLVED_TOGETHER = 4096
#: As many for compiled code.
BATCH = 64
#: Rounding errors of subtraction add up: everything is recomputed after this many measurements.
REFRESH_AFTER = 20_000
#: The centre moves when ‖θ̂ - centre‖² in the norm of V exceeds this: larger numbers cost digits.
FAR = 1e6
#: It also moves after this many measurements: means are sums, and the rounding errors of sums add up.
RECENTRE_AFTER = 32


class DenseModel(NamedTuple):
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

    @property
    def has_vectors(self) -> bool:
        """Actions are vectors of features."""
        return True

    def learn(self, action: int, reward: float, sigma: float) -> None:
        """One measurement of an action."""
        _learn(self, action, reward, sigma)

    def estimate(self) -> Floats:
        """θ̂, (dim,)."""
        return self.centre + solve_upper(self, self.factor[:, -1])

    def covariances(self, action: int) -> Floats:
        """``aᵀV⁻¹a_k`` for all actions."""
        half = solve_lower(self, self.columns[:, action].astype(np.float64))
        return projections(self, solve_upper(self, half * self.reciprocals))

    def squared_covariances(self, rivals: NDArray[np.int64], action: int, weights: Floats) -> Floats:
        """From the differences themselves: two almost equal vectors would cancel if projected one by one."""
        own, values = self.columns[:, action].astype(np.float64), np.zeros(self.means.size)
        for rival, weight in zip(rivals, weights, strict=True):
            half = solve_lower(self, self.columns[:, rival] - own)
            values += weight * projections(self, solve_upper(self, half * self.reciprocals)) ** 2
        return values

    def perturbed_means(self, normals: Floats, scale: float) -> Floats:
        """Under a draw ``θ̂ + scale·V^(-1/2)·normals``."""
        away = solve_upper(self, normals * np.sqrt(self.reciprocals))
        return self.means + projections(self, scale * away)


def new_model(columns: NDArray[np.floating] | Separate, ridge: float) -> AnyModel:
    """The model before any measurement: ``V = ridge·I`` and an estimate of 0."""
    if isinstance(columns, Separate):
        return new_independent(columns, ridge)
    return new_dense(columns, ridge)


def new_dense(columns: NDArray[np.floating], ridge: float) -> DenseModel:
    """The model on vectors before any measurement."""
    dim, n = columns.shape
    squared_widths = np.empty(n)
    for rows in row_blocks(n):
        block = columns[:, rows].astype(np.float64, copy=False)
        squared_widths[rows] = np.einsum("ij,ij->j", block, block)
    squared_widths /= ridge
    return DenseModel(
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


def has_vectors(model: AnyModel) -> TypeGuard[DenseModel]:
    """Whether the model is one of this module; the others know nothing of features."""
    return model.has_vectors


@verb
def fold(model: AnyModel, action: int, reward: float, sigma: float) -> None:
    """Learn one measurement of ``action``, in place."""
    model.learn(action, reward, sigma)


def _learn(model: DenseModel, action: int, reward: float, sigma: float) -> None:
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
    covariances = projections(model, step)
    model.squared_widths[:] -= covariances**2 / variance
    model.means[:] += gain * covariances
    if model.tally[AGE] >= REFRESH_AFTER:
        model.tally[AGE] = 0.0
        refresh_all(model)
    else:
        refresh(model, np.flatnonzero(model.squared_widths < model.floors))
    far = float(model.pivots @ model.factor[:, -1] ** 2)
    if far > FAR or model.tally[SINCE_CENTRED] >= RECENTRE_AFTER:
        recentre(model)


def projections(model: DenseModel, direction: Floats) -> Floats:
    """``<direction, a_k>`` for all actions, (n,); float32 storage is multiplied in float64."""
    if model.columns.dtype == np.float64:
        return np.asarray(direction @ model.columns)
    blocks = (model.columns[:, rows].astype(np.float64) for rows in row_blocks(model.means.size))
    return np.concatenate([direction @ block for block in blocks])


def refresh(model: DenseModel, stale: NDArray[np.intp]) -> None:
    """Recompute the squared widths of some actions, ``‖D^(-1/2)·U⁻ᵀa‖²``."""
    upper = np.asfortranarray(model.factor[:, :-1])
    for start in range(0, stale.size, SOLVED_TOGETHER):
        batch = stale[start : start + SOLVED_TOGETHER]
        vectors = model.columns.T[batch].astype(np.float64, copy=False)
        halves = routines().solve_many(1.0, upper, vectors.T, trans_a=1, diag=1, overwrite_b=1).T
        model.squared_widths[batch] = np.square(halves) @ model.reciprocals
        model.floors[batch] = WORN * model.squared_widths[batch]


@verb
def refresh_all(model: DenseModel) -> None:
    """Recompute the squared widths of all actions."""
    refresh(model, np.arange(model.means.size))


@verb
def recentre(model: DenseModel) -> None:
    """Move the centre to the estimate, and recompute the means from it."""
    set_theta(model, theta(model))


@verb
def set_theta(model: DenseModel, estimate: Floats) -> None:
    """Make ``estimate`` what the model believes, in place of least squares; V and the widths stay.

    For rules with an estimate of their own: they fold each measurement as if it came out as expected, which
    grows V alone, and then set theirs. Means, `theta`, `distance_to` and all that is made of them follow.
    """
    model.centre[:] = estimate
    model.factor[:, -1] = 0.0
    model.tally[SINCE_CENTRED] = 0.0
    model.means[:] = projections(model, model.centre)


@verb
def theta(model: AnyModel) -> Floats:
    """The estimate θ̂, (dim,)."""
    return model.estimate()


@verb
def squared_norm(model: AnyModel) -> float:
    """``‖θ̂‖²``."""
    estimate = theta(model)
    return float(estimate @ estimate)


if extension is not None:
    extension.set_models(DenseModel, IndependentModel)


@verb
def covariance_with(model: AnyModel, action: int) -> Floats:
    """The covariances ``aᵀV⁻¹a_k`` of one action with all actions, (n,)."""
    return model.covariances(action)


@verb
def squared_covariances(model: AnyModel, rivals: NDArray[np.int64], action: int, weights: Floats) -> Floats:
    """``Σ_j w_j·((a_j - b)ᵀV⁻¹a_k)²`` over the differences of some rivals to one action, (n,)."""
    return model.squared_covariances(rivals, action, weights)


@verb
def perturbed_means(model: AnyModel, normals: Floats, scale: float) -> Floats:
    """The actions' values under a draw ``θ̂ + scale·V^(-1/2)·normals`` from the posterior, (n,)."""
    return model.perturbed_means(normals, scale)


#: Differences of near-duplicates cancel to rounding error: this share of the terms bounds it from above.
CANCELLED = 1e-12


@verb
def contrast_widths(model: AnyModel, action: int) -> Floats:
    """The widths ``‖a_k - a‖`` of the differences between all actions and one, (n,)."""
    terms = model.squared_widths + float(model.squared_widths[action])
    widths = np.sqrt(np.maximum(terms - 2.0 * covariance_with(model, action), CANCELLED * terms))
    widths[action] = 0.0
    return np.asarray(widths)


@verb
def distance_to(model: DenseModel, parameter: Floats) -> float:
    """``‖θ̂ - parameter‖`` in the norm of V: what a radius has to cover."""
    dim = model.columns.shape[0]
    apart = model.centre - parameter
    error = apart + model.factor[:, dim] + np.triu(model.factor[:, :dim], 1) @ apart
    return math.sqrt(model.pivots @ error**2)


def place(model: DenseModel, vector: Floats) -> None:
    """Make ``vector`` the model's only action."""
    for i in range(vector.size):
        model.columns[i, 0] = vector[i]
    model.means[0] = np.dot(theta(model), vector)
    squared_width = covariance_with(model, 0)[0]
    model.squared_widths[0] = squared_width
    model.floors[0] = WORN * squared_width


@verb
def spread(model: DenseModel) -> Floats:
    """A root W of ``V⁻¹ = W·Wᵀ``, (dim, dim): ``U⁻¹·D^(-1/2)``."""
    dim = model.pivots.size
    solve = routines().solve_many
    inverse = solve(1.0, np.asfortranarray(model.factor[:, :dim]), np.eye(dim), diag=1)
    return np.asarray(inverse * np.sqrt(model.reciprocals))


@verb
def covariance(model: DenseModel) -> Floats:
    """``V⁻¹``, (dim, dim): its large eigenvalues, the wide directions, are exact to rounding."""
    root = spread(model)
    return np.ascontiguousarray(root @ root.T)
