"""The directions a transductive design must know well: a list of them, or all differences of a list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import svd

from noisewise.designs.algebra import Floats, Indices, product, squared_norms
from noisewise.designs.rows import Frame, check_vectors, unit_rows

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
