"""The directions a transductive design must know well: a list of them, or all differences of a list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from noisewise.designs.shared.algebra import product, row_products, squared_norms
from noisewise.designs.shared.rows import Floats, Indices, check_vectors

BLOCK = 512  # rows whose distances to the others are computed at a time
NEARLY = 0.9  # of the largest: pairs that far apart are worth having beside the farthest


@dataclass(frozen=True)
class WorstDirections:
    """The largest ``|y C|²`` over all directions, and directions close to it."""

    largest: float
    keys: Indices  # (m, 2): which directions; the second is -1 unless they are differences
    vectors: Floats  # (m, rank), in the coordinates that the directions are held in


class Directions(Protocol):
    """What the solver asks of a set of directions."""

    def worst(self, root: Floats, level: float) -> WorstDirections:
        """The largest ``|y root|²``, exactly, and some of the directions above ``level``."""


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
            distances = squared_distances(points[rows], points[start : max(reach, start + 1)])
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


def squared_distances(rows: Floats, points: Floats) -> Floats:
    """``|r - p|²`` of every row with every point."""
    cross = row_products(rows) if rows is points else product(rows, points.T)
    return np.asarray(squared_norms(rows)[:, None] + squared_norms(points)[None, :] - 2.0 * cross)
