"""A transductive design's task: all actions and directions, and the few of them that the solver works on."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from noisewise.designs.optimal.columns import solve_columns
from noisewise.designs.optimal.pricing import Pricing
from noisewise.designs.optimal.start import begin as begin_optimal
from noisewise.designs.optimal.working import WorkingSet, in_frame
from noisewise.designs.shared.algebra import inverse_root, product, squared_norms, weighted_moment
from noisewise.designs.shared.frame import Frame
from noisewise.designs.shared.growth import choose_diverse, thin_out
from noisewise.designs.shared.rows import ActionRows, Floats, Indices
from noisewise.designs.shared.span import find_span
from noisewise.designs.transductive.directions import Directions

COARSE = 0.1  # gap of the optimal design that the actions start from
FEW = 64  # actions that are all worked on from the beginning
NOT_SPANNED = "`vectors` must span their space well enough for float64; they do not."


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
        delicate, root = self.frame.is_delicate, product(self.frame.root, change)
        for places, block in self.rows.chunks():
            exact = block.astype(np.float64, copy=False)
            images = product(self.frame.coordinates(exact), change) if delicate else product(exact, root)
            prices[places] = squared_norms(images)
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
    working = begin_optimal(rows, rng)
    try:
        return solve_columns(Pricing(rows), working, COARSE, rng)[0]
    except ArithmeticError:
        return working


def begin(problem: Problem, start: WorkingSet, rng: np.random.Generator) -> Working:
    """The actions of a coarse design, and directions that it knows worst."""
    root = root_of(problem.frame.coordinates(start.vectors), start.weights)
    worst = problem.directions.worst(root, 0.0)
    n_wanted = 4 * problem.frame.rank
    some = thin_out(squared_norms(product(worst.vectors, root)), 3 * n_wanted, rng)
    some = some[diverse(worst.vectors[some], root, worst.largest, n_wanted, level=0.0, mass=1.0)]
    return Working(start.indices, start.weights, worst.keys[some], worst.vectors[some], None)


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
