"""The widest action among those that pass a test: all vertices are tried, or 64 paths are followed."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from noisewise.actions.oracle_set import OracleSet
from noisewise.actions.search import N_STARTS
from noisewise.actions.vertices import Vertices, contrast_values, take
from noisewise.core.blocks import Floats, Mask
from noisewise.core.selection import TIE

Test = Callable[[Floats], Mask]

#: Vertices tested together.
TOGETHER = 4096
#: Halvings of a path: where the test fails is found to a millionth of it.
HALVINGS = 20
#: How often paths are followed again from where they led to, at most.
TURNS = 8


def widest_among(actions: OracleSet, spread: Floats, passes: Test, start: Floats) -> Floats:
    """The widest action found that passes; ``start`` does."""
    if isinstance(actions.shape, Vertices):
        return _widest_vertex(actions.shape, spread, passes, start)
    return _widest_on_paths(actions, spread, passes, start)


def _widest_vertex(shape: Vertices, spread: Floats, passes: Test, start: Floats) -> Floats:
    """The widest vertex that passes, of equally wide ones the first."""
    values = contrast_values(shape, np.zeros(start.size), spread, 1.0, np.zeros(start.size))
    order = np.argsort(-values, kind="stable")
    for first in range(0, order.size, TOGETHER):
        batch = order[first : first + TOGETHER]
        alive = passes(_rows(shape, batch))
        if alive.any():
            level = values[batch[int(np.argmax(alive))]] * (1.0 - TIE)
            equal = np.flatnonzero(values >= level)
            return np.asarray(_rows(shape, equal[passes(_rows(shape, equal))][:1])[0])
    return start


def _rows(shape: Vertices, vertices: NDArray[np.intp]) -> Floats:
    rows = np.empty((len(vertices), shape.left.shape[1] + shape.right.shape[1]))
    for row, vertex in zip(rows, vertices, strict=True):
        take(shape, int(vertex), row)
    return rows


def _widest_on_paths(actions: OracleSet, spread: Floats, passes: Test, start: Floats) -> Floats:
    """From ``start`` as far as the test allows towards 64 far actions, then on towards what is wider."""
    _, vectors = np.linalg.eigh(spread)
    some = np.random.default_rng(0).standard_normal((N_STARTS, start.size))
    directions = np.vstack([vectors.T[::-1], -vectors.T[::-1], some])[:N_STARTS]
    at = np.tile(start, (N_STARTS, 1))
    squares = np.full(N_STARTS, float(start @ spread @ start))
    for _ in range(TURNS):
        ends = np.array([actions.best(direction).vector for direction in directions])
        moved = _as_far_as(actions, at, ends, passes)
        reached = np.einsum("ij,ij->i", moved @ spread, moved)
        better = reached > squares * (1.0 + 1e-6)
        if not better.any():
            break
        at[better], squares[better] = moved[better], reached[better]
        # Width is convex: the best action for its gradient is at least as wide.
        directions = at @ spread
    return np.asarray(at[int(np.argmax(squares))])


def _as_far_as(actions: OracleSet, starts: Floats, ends: Floats, passes: Test) -> Floats:
    """The furthest points on the paths that pass."""
    low, high = np.zeros(len(starts)), np.ones(len(starts))
    whole = passes(ends)
    low[whole] = 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        alive = passes(actions.between(starts, ends, middle))
        low, high = np.where(alive, middle, low), np.where(alive, high, middle)
    return actions.between(starts, ends, low)
