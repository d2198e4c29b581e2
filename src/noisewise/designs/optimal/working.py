"""The working set: a few rows in memory, with weights, in coordinates whitened by them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from noisewise.designs.shared.algebra import squared_norms, weighted_moment
from noisewise.designs.shared.frame import Frame, whitener
from noisewise.designs.shared.rows import ActionRows, Floats, Indices


@dataclass(frozen=True)
class WorkingSet:
    """Rows with their weights and their coordinates in ``frame``.

    After ``whitened`` the moment of the weights is the identity in these coordinates, and the
    squared norm of any row's coordinates is its g.
    """

    frame: Frame
    indices: Indices
    vectors: Floats
    coordinates: Floats
    weights: Floats

    @property
    def rank(self) -> int:
        """Dimension of the span of the vectors."""
        return self.frame.rank

    @property
    def g_values(self) -> Floats:
        """The g of every row of the set, if it is whitened."""
        return squared_norms(self.coordinates)

    @property
    def n_support(self) -> int:
        """Number of positive weights."""
        return int(np.count_nonzero(self.weights))

    def only(self, places: Indices) -> WorkingSet:
        """Return the rows at ``places``."""
        return WorkingSet(
            self.frame,
            self.indices[places],
            self.vectors[places],
            self.coordinates[places],
            self.weights[places],
        )

    def support(self) -> WorkingSet:
        """Return the rows of positive weight, sorted by index."""
        places = np.flatnonzero(self.weights)
        return self.only(places[np.argsort(self.indices[places])])

    def joined(self, rows: ActionRows, indices: Indices, *, share: float) -> WorkingSet:
        """Return the set with further rows, which get ``share`` of the weight in equal parts."""
        indices = indices[~np.isin(indices, self.indices)]
        if len(indices) == 0:
            return self
        vectors = rows.take(indices)
        new = np.full(len(indices), share / len(indices))
        return WorkingSet(
            self.frame,
            np.concatenate([self.indices, indices]),
            np.vstack([self.vectors, vectors]),
            np.vstack([self.coordinates, self.frame.coordinates(vectors)]),
            np.concatenate([self.weights * (1.0 - share), new]),
        )


def in_frame(frame: Frame, indices: Indices, vectors: Floats, weights: Floats) -> WorkingSet:
    """Return a working set of these rows, not yet whitened."""
    return WorkingSet(frame, indices, vectors, frame.coordinates(vectors), weights)


def whitened(working: WorkingSet, weights: Floats) -> WorkingSet:
    """Return the set with these weights, in a frame where their moment is the identity.

    Repeated until it is (as in Cholesky-QR): from a bad frame one step leaves an error.
    """
    frame, coordinates = working.frame, working.coordinates
    for _ in range(5):
        frame = frame.transformed(whitener(coordinates, weights))
        coordinates = frame.coordinates(working.vectors)
        error = np.abs(weighted_moment(coordinates, weights) - np.eye(frame.rank)).max()
        if error <= 1e-11:
            break
    return replace(working, frame=frame, coordinates=coordinates, weights=weights)


def merged(working: WorkingSet) -> WorkingSet:
    """Return the set with the weights of equal rows given to the first of them."""
    _, first, group = np.unique(working.vectors, axis=0, return_index=True, return_inverse=True)
    if len(first) == len(working.indices):
        return working
    weights = np.zeros(len(working.weights))
    np.add.at(weights, first[group.ravel()], working.weights)
    return replace(working, weights=weights).only(np.sort(first))


def check_identities(working: WorkingSet, g_value: float) -> None:
    """Refuse a certificate that contradicts sum(w g) = rank or max g >= rank."""
    total = float(working.weights @ working.g_values)
    rank = working.rank
    if not (abs(total - rank) <= 1e-8 * rank and g_value >= rank * (1.0 - 1e-9)):
        raise ArithmeticError(
            "`vectors` must be conditioned well enough for float64; got a design whose weighted "
            f"g-values sum to {total!r} instead of the rank {rank}."
        )
