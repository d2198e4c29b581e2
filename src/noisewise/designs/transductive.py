"""Designs for given directions: know some linear combinations as well as possible, whatever is measured.

The directions are a list, or all differences of a list.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.linalg import svd

from noisewise.core.randomness import check_seed
from noisewise.designs.algebra import Floats, Indices, inverse_root, product, squared_norms, weighted_moment
from noisewise.designs.barrier import BarrierSolution, solve_restricted
from noisewise.designs.columns import Pricing, WorkingSet, choose_diverse, in_frame, solve_columns, thin_out
from noisewise.designs.optimal import begin as begin_optimal
from noisewise.designs.rows import ActionRows, Frame, check_vectors, choose_spanning, find_span, unit_rows

BLOCK = 512  # rows whose distances to the others are computed at a time
NEARLY = 0.9  # of the largest: pairs that far apart are worth having beside the farthest
OUTSIDE = 1e-8  # share of a direction's length that counts as outside of the span


@dataclass(frozen=True)
class WorstDirections:
    """The largest ``|y C|²`` over all directions, and directions close to it."""

    largest: float
    keys: Indices  # (m, 2): which directions; the second is -1 unless they are differences
    vectors: Floats  # (m, rank), in the coordinates that the directions are held in


class Pairs:
    """All differences of two rows, for `transductive_design`; never written out.

    >>> Pairs([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    Pairs(3 differences of 3 vectors)
    """

    def __init__(self, vectors: Any) -> None:
        self.vectors = check_vectors(vectors)
        if len(self.vectors) < 2:
            raise ValueError(f"`vectors` must hold at least two rows to differ; got {len(self.vectors)}.")

    def __repr__(self) -> str:
        n = len(self.vectors)
        return f"Pairs({n * (n - 1) // 2} differences of {n} vectors)"


class Listed:
    """Directions held as rows."""

    def __init__(self, coordinates: Floats) -> None:
        self.coordinates = coordinates

    def worst(self, root: Floats, level: float) -> WorstDirections:
        """Look at all of them."""
        values = squared_norms(product(self.coordinates, root))
        largest = float(values.max())
        above = np.flatnonzero(values > max(level, NEARLY**2 * largest))
        keys = np.column_stack([above, np.full(len(above), -1)])
        return WorstDirections(largest, keys.astype(np.int64), self.coordinates[above])


class Differences:
    """All differences of two rows, without writing them out."""

    def __init__(self, coordinates: Floats) -> None:
        self.coordinates = coordinates - coordinates.mean(axis=0)

    def worst(self, root: Floats, level: float) -> WorstDirections:
        """The farthest two of a cloud of points, and for every point that has one a far partner.

        Points i and j are at most |i| + |j| apart, so with the points sorted by length only a
        corner of the table of distances has to be computed: exact, and fast unless all lengths agree.
        """
        points = product(self.coordinates, root)
        lengths = np.sqrt(squared_norms(points))
        order = np.argsort(-lengths, kind="stable")
        points, lengths = points[order], lengths[order]
        farthest = 0.0
        found: list[tuple[Indices, Indices, Floats]] = []
        for start in range(0, len(points), BLOCK):
            needed = NEARLY * farthest
            rows = slice(start, start + BLOCK)
            if lengths[start] + lengths[start] < needed:
                break  # this and all later ones are too short, even with each other
            reach = int(np.searchsorted(-lengths, lengths[start] - needed, side="right"))
            others = points[start : max(reach, start + 1)]
            distances = squared_norms(points[rows])[:, None] + squared_norms(others)
            distances -= 2.0 * product(points[rows], others.T)
            partners = np.argmax(distances, axis=1)
            values = distances[np.arange(len(partners)), partners]
            found.append((np.arange(start, start + len(partners)), partners + start, values))
            farthest = max(farthest, float(np.sqrt(max(0.0, values.max()))))
        left, right, values = (np.concatenate(part) for part in zip(*found, strict=True))
        above = np.flatnonzero(values > max(level, (NEARLY * farthest) ** 2))
        keys = np.sort(np.column_stack([order[left[above]], order[right[above]]]), axis=1)
        keys = np.unique(keys, axis=0).astype(np.int64)
        apart = self.coordinates[keys[:, 0]] - self.coordinates[keys[:, 1]]
        # Exactly, not as a difference of squares: this number enters the certificate.
        exact = squared_norms(product(apart, root)) if len(keys) else np.zeros(1)
        return WorstDirections(max(float(exact.max()), farthest**2), keys, apart)


Directions = Listed | Differences


def as_directions(directions: Any, dim: int, frame: Frame, spanning: Floats) -> Directions:
    """The directions in the coordinates of the frame; refused unless the actions span them."""
    pairs = isinstance(directions, Pairs)
    array = directions.vectors if pairs else check_vectors(directions)
    if array.shape[1] != dim:
        raise ValueError(f"`directions` must have {dim} columns, like `vectors`; got {array.shape[1]}.")
    array = np.asarray(array, dtype=np.float64)
    if not np.isfinite(array).all():
        bad = int(np.argmin(np.isfinite(array).all(axis=1)))
        raise ValueError(f"`directions` must be finite; got {array[bad].tolist()!r} in row {bad}.")
    if pairs:
        array = array - array[0]
    lengths = np.linalg.norm(array, axis=1)
    if not lengths.any():
        raise ValueError("`directions` must hold one that is not zero; got only zeros.")
    if frame.rank < dim:
        _refuse_outside(array, lengths, frame.rank, spanning)
    coordinates = frame.coordinates(array)
    return Differences(coordinates) if pairs else Listed(coordinates[lengths > 0.0])


def _refuse_outside(array: Floats, lengths: Floats, rank: int, spanning: Floats) -> None:
    _, _, right = svd(unit_rows(spanning, np.ones(spanning.shape[1])), full_matrices=False)
    basis = right[:rank]
    outside = array - product(product(array, basis.T), basis)
    far = np.linalg.norm(outside, axis=1) > OUTSIDE * np.maximum(lengths, 1e-300)
    if far.any():
        bad = int(np.argmax(far))
        raise ValueError(
            "`directions` must lie in the span of `vectors`, or no measurement tells anything about "
            f"them; got {array[bad].tolist()!r} in row {bad}."
        )


LEAST_GAP = 1e-8  # what the multipliers of a barrier can still prove
MAX_ROUNDS = 60
COARSE = 0.1  # gap of the optimal design that the actions start from
FEW = 64  # actions that are all worked on from the beginning
NOT_SPANNED = "`vectors` must span their space well enough for float64; they do not."


@dataclass(frozen=True, eq=False, repr=False)
class TransductiveDesign:
    """Weights on the actions ``indices`` under which the worst direction is known best.

    ``value`` is the largest ``yᵀV⁻¹y`` over *all* directions y, V the precision matrix of the weights; no
    weights on the actions have less than ``lower_bound``.
    """

    indices: Indices
    weights: Floats
    value: float
    lower_bound: float
    n_actions: int
    reads: float

    def __post_init__(self) -> None:
        for array in (self.indices, self.weights):
            array.setflags(write=False)

    @property
    def gap(self) -> float:
        """How far the value is above the least possible, relatively, at most."""
        return self.value / self.lower_bound - 1.0

    def dense(self) -> Floats:
        """Return the weights of all actions, ``(n_actions,)``."""
        weights = np.zeros(self.n_actions)
        weights[self.indices] = self.weights
        return weights

    def __repr__(self) -> str:
        return (
            f"TransductiveDesign({len(self.indices)} of {self.n_actions} actions: largest y'V⁻¹y "
            f"{self.value:.6g}, gap {self.gap:.2g}, {self.reads:.1f} reads)"
        )


def transductive_design(
    vectors: Any,
    directions: Any,
    weights: Any = None,
    gap: float = 1e-2,
    *,
    seed: int = 0,
) -> TransductiveDesign:
    """Return weights on the actions that minimise the largest ``yᵀV⁻¹y`` over the directions y.

    V is the sum over the actions of share times precision times ``a aᵀ``. With the differences of the
    options that may still be the best as directions this is the design that best tells them apart.

    Args:
        vectors: ``(n_actions, dim)``: what can be measured.
        directions: ``(k, dim)``: what should be known; or `Pairs` of vectors, all their differences.
        weights: The precision of one measurement of each action; default 1 for all. The shares
            are then of the number of measurements, not of the precision.
        gap: Stop when the value is proved to be within the factor ``1 + gap`` of the best.
        seed: Of the samples that choose where to look; the certificate does not depend on it.

    >>> import numpy as np
    >>> transductive_design(np.eye(2), np.array([[1.0, 0.0], [0.0, 2.0]]), gap=1e-6).weights.round(3).tolist()
    [0.2, 0.8]

    """
    if not (isinstance(gap, Real) and math.isfinite(gap) and gap >= LEAST_GAP):
        raise ValueError(f"`gap` must be a finite number of at least {LEAST_GAP}; got {gap!r}.")
    rows = ActionRows(check_vectors(vectors))
    precisions = check_precisions(weights, rows.n_actions)
    if precisions is not None:
        rows = ActionRows(rows.vectors, np.sqrt(precisions))
    rng = np.random.default_rng(check_seed(seed))
    start = coarse_design(rows, rng)
    held = as_directions(directions, rows.dim, start.frame, start.vectors)
    problem = Problem(rows, start.frame, held)
    return _solve(problem, begin(problem, start, rng), float(gap), rng)


def check_precisions(weights: Any, n_actions: int) -> Floats | None:
    """The precision of one measurement of each action; None if it is 1 for all."""
    if weights is None:
        return None
    try:
        precisions = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        precisions = np.empty(0)
    if precisions.shape != (n_actions,) or not (np.isfinite(precisions) & (precisions > 0.0)).all():
        raise ValueError(
            f"`weights` must be {n_actions} finite numbers above 0, one per action; got {weights!r}."
        )
    return precisions


@dataclass(frozen=True)
class Problem:
    """All actions (in units of their sigma) and all directions, in the coordinates of one frame."""

    rows: ActionRows
    frame: Frame
    directions: Directions

    def take(self, indices: Indices) -> Floats:
        """The coordinates of some actions."""
        return self.frame.coordinates(self.rows.take(indices))

    def prices(self, change: Floats) -> Floats:
        """``|coordinates @ change|²`` of all actions, (n,)."""
        prices = np.empty(self.rows.n_actions)
        root = product(self.frame.root, change)
        for places, block in self.rows.chunks():
            prices[places] = squared_norms(product(block.astype(np.float64, copy=False), root))
        return prices


@dataclass(frozen=True)
class Working:
    """The few actions and directions that the solver works on."""

    indices: Indices
    weights: Floats
    keys: Indices
    directions: Floats
    multipliers: Floats | None  # of the directions, where they were solved for before


def coarse_design(rows: ActionRows, rng: np.random.Generator) -> WorkingSet:
    """Actions that are worth measuring whatever the directions: those of a coarse optimal design.

    A barrier on few actions asks for those that these few lack. From actions that know everything fairly well
    it asks for little; from the longest ones of a sample it took three times as many rounds, on clustered
    rows more than any limit.
    """
    if rows.n_actions <= FEW:
        start = find_span(rows, rows.n_actions, rng)
        even = np.full(rows.n_actions, 1.0 / rows.n_actions)
        return in_frame(start.frame, start.indices, start.vectors, even)
    return solve_columns(Pricing(rows), begin_optimal(rows, rng), COARSE, rng)[0]


def begin(problem: Problem, start: WorkingSet, rng: np.random.Generator) -> Working:
    """The actions of a coarse design, and directions that it knows worst."""
    root = root_of(problem.frame.coordinates(start.vectors), start.weights)
    worst = problem.directions.worst(root, 0.0)
    n_wanted = 4 * problem.frame.rank
    some = thin_out(squared_norms(product(worst.vectors, root)), 3 * n_wanted, rng)
    some = some[diverse(worst.vectors[some], root, worst.largest, n_wanted, level=0.0, mass=1.0)]
    return Working(start.indices, start.weights, worst.keys[some], worst.vectors[some], None)


def _solve(problem: Problem, working: Working, gap: float, rng: np.random.Generator) -> TransductiveDesign:
    """Solve on few rows, look for rows that contradict the solution, add them, until none does."""
    lower_bound, value, found = 0.0, np.inf, (working.indices, working.weights)
    # Early rounds need not be solved better than the rows that are missing allow.
    tolerance, halved = 0.5, np.inf
    for _ in range(MAX_ROUNDS):
        solved = solve_restricted(
            problem.take(working.indices), working.directions, working.weights, working.multipliers, tolerance
        )
        if solved is None:
            break  # as close as float64 allows
        priced = _price(problem, working, solved, gap)
        lower_bound = max(lower_bound, priced.lower_bound)
        if priced.worst.largest < value:
            value, found = priced.worst.largest, (working.indices, priced.shares)
        reached = value / lower_bound - 1.0
        if reached <= gap:
            break
        # Rows are dropped only while the gap falls: rows that come and go would keep the loop from ending.
        grown = _grow(problem, working, solved, priced, reached, gap, rng, drop=reached < 0.5 * halved)
        halved = min(halved, reached) if reached < 0.5 * halved else halved
        if grown is None and tolerance <= 0.03 * gap:
            break  # as close as float64 allows
        if grown is None:
            tolerance = min(0.1 * tolerance, 0.2 * reached)
        else:
            working, tolerance = grown, max(0.3 * gap, min(tolerance, 0.2 * reached))
    if not lower_bound > 0.0:
        raise ArithmeticError(NOT_SPANNED)
    return _as_design(problem, value, lower_bound, *found, gap)


@dataclass(frozen=True)
class _Priced:
    """What all actions and all directions say about the weights on the working ones."""

    shares: Floats
    root: Floats
    change: Floats  # aᵀV⁻¹MV⁻¹a = |a change|²
    prices: Floats  # (n,): these, for all actions
    worst: WorstDirections
    value: float  # tr MV⁻¹

    @property
    def lower_bound(self) -> float:
        """No design has a smaller value."""
        return self.value**2 / float(self.prices.max())


def _price(problem: Problem, working: Working, solved: BarrierSolution, gap: float) -> _Priced:
    """Look at all actions and all directions."""
    shares = solved.weights / solved.weights.sum()
    root = root_of(problem.take(working.indices), shares)
    multipliers = solved.multipliers / solved.multipliers.sum()
    value = float(multipliers @ squared_norms(product(working.directions, root)))
    change = _pricing(working, multipliers, root)
    worst = problem.directions.worst(root, (1.0 + 0.2 * gap) * value)
    return _Priced(shares, root, change, problem.prices(change), worst, value)


def _pricing(working: Working, multipliers: Floats, root: Floats) -> Floats:
    """The matrix C with ``|aC|² = aᵀV⁻¹MV⁻¹a``, M the weighted moment of the directions that bind.

    Every design has a value of at least ``h²/c`` (h = tr MV⁻¹, c the largest of these over all actions), by
    the inequality of Cauchy and Schwarz: that is the lower bound.
    """
    binding = multipliers > 1e-14 * multipliers.max()
    white = product(working.directions[binding], root) * np.sqrt(multipliers[binding])[:, None]
    if len(white) > white.shape[1]:
        # No more columns than dimensions: the same M from its root.
        _, values, right = svd(white, full_matrices=False, check_finite=False)
        white = values[:, None] * right
    return product(root, white.T)


def _grow(
    problem: Problem,
    working: Working,
    solved: BarrierSolution,
    priced: _Priced,
    reached: float,
    gap: float,
    rng: np.random.Generator,
    *,
    drop: bool,
) -> Working | None:
    """Add what contradicts the design, diverse on both sides, and drop what plays no part."""
    prices, worst, value = priced.prices, priced.worst, priced.value
    # The nearer the optimum, the smaller the weights that will repair what is left.
    most, level, mass = max(2 * priced.root.shape[1], 50), 1.0 + 0.2 * gap, 1.0 / max(50.0, 15.0 / reached)
    plays = (priced.shares > 1e-3 / len(priced.shares)) | (
        prices[working.indices] > value * (1.0 - min(0.5, 3.0 * reached))
    )
    binds = (solved.multipliers > 1e-4 * solved.multipliers.max()) | (
        solved.q_values > (1.0 - min(0.5, 3.0 * reached)) * solved.q_values.max()
    )
    if drop:
        # The rows that are left must span every direction, however little weight they have.
        weighted = problem.take(working.indices) * np.sqrt(priced.shares)[:, None]
        plays[choose_spanning(weighted)] = True
    else:
        plays[:], binds[:] = True, True
    violating = np.setdiff1d(np.flatnonzero(prices > level * value), working.indices[plays])
    violating = violating[thin_out(prices[violating], 3 * most, rng)]
    some = thin_out(squared_norms(product(worst.vectors, priced.root)), 3 * most, rng)
    known = {tuple(key) for key in working.keys[binds].tolist()}
    missed = np.array([k for k in some.tolist() if tuple(worst.keys[k].tolist()) not in known], np.int64)
    change, root = priced.change, priced.root
    entering = violating[diverse(problem.take(violating), change, value, most, level=level, mass=mass)]
    fresh = missed[diverse(worst.vectors[missed], root, value, most, level=level, mass=mass)]
    if not len(entering) and not len(fresh):
        return None
    kept = solved.weights[plays]
    return Working(
        np.concatenate([working.indices[plays], entering]),
        # A Newton step on a logarithm at most doubles a weight: new rows start where the others are.
        np.concatenate([kept, np.full(len(entering), 0.3 * kept.mean())]),
        np.concatenate([working.keys[binds], worst.keys[fresh]]),
        np.concatenate([working.directions[binds], worst.vectors[fresh]]),
        np.concatenate([solved.multipliers[binds], np.zeros(len(fresh))]),
    )


def _as_design(
    problem: Problem, value: float, lower_bound: float, indices: Indices, shares: Floats, gap: float
) -> TransductiveDesign:
    # A barrier leaves a little weight on every row: dropped where the design is good enough without it.
    for crumb in (0.3, 0.1, 0.01, 0.03 * gap):
        kept = shares > crumb / len(shares)
        thinned = shares[kept] / shares[kept].sum()
        root = inverse_root(weighted_moment(problem.take(indices[kept]), thinned))
        largest = np.inf if root is None else problem.directions.worst(root, np.inf).largest
        if largest <= max(value, (1.0 + gap) * lower_bound):
            value, indices, shares = largest, indices[kept], thinned
            break
    order = np.argsort(indices)
    return TransductiveDesign(
        indices=indices[order],
        weights=shares[order],
        value=max(value, lower_bound),  # below it is only rounding
        lower_bound=lower_bound,
        n_actions=problem.rows.n_actions,
        reads=problem.rows.reads,
    )


def root_of(coordinates: Floats, weights: Floats) -> Floats:
    """The matrix that whitens the moment of the weights."""
    root = inverse_root(weighted_moment(coordinates, weights))
    if root is None:
        raise ArithmeticError(NOT_SPANNED)
    return root


def diverse(rows: Floats, change: Floats, value: float, most: int, *, level: float, mass: float) -> Indices:
    """Up to ``most`` of the rows with ``|row @ change|²`` above ``level · value``, unlike each other."""
    if not len(rows):
        return np.empty(0, np.int64)
    return choose_diverse(product(rows, change) / math.sqrt(value), most, level=level, mass=mass)
