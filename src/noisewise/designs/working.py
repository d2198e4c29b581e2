"""The working set: a few rows in memory, with weights, in coordinates whitened by them; and who joins it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from noisewise.designs.algebra import (
    Floats,
    Indices,
    product,
    squared_norms,
    subtract_square,
    times,
    weighted_moment,
)
from noisewise.designs.rows import ActionRows, Frame, whitener

WINDOW = 600


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
        return replace(
            self,
            indices=self.indices[places],
            vectors=self.vectors[places],
            coordinates=self.coordinates[places],
            weights=self.weights[places],
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


def choose_diverse(coordinates: Floats, n_wanted: int, *, level: float, mass: float) -> Indices:
    """Choose up to ``n_wanted`` rows of largest g, each counted as if the chosen ones had weight.

    Every chosen row gets the weight ``mass`` on top of the identity, which lowers the g of its
    neighbours; stops when no g is above ``level``. As g only falls, the best row is in a window
    of the largest ones until the window falls to the others: those are lowered in blocks.
    """
    g_values = squared_norms(coordinates)
    covariance = np.eye(coordinates.shape[1])
    chosen: list[int] = []
    while len(chosen) < n_wanted and np.max(g_values, initial=-np.inf) > level:
        order = np.argsort(-g_values, kind="stable")
        window, others = order[:WINDOW], order[WINDOW : WINDOW + 1]
        floor = float(np.max(g_values[others], initial=0.0))
        room = n_wanted - len(chosen)
        picks, shadows = choose_in_window(
            coordinates[window], g_values[window], covariance, room, max(floor, level), mass
        )
        if not picks:
            break
        chosen += window[picks].tolist()
        g_values -= squared_norms(product(coordinates, shadows))
        g_values[chosen] = -np.inf
    return np.array(chosen, dtype=np.int64)


def choose_in_window(
    coordinates: Floats,
    g_values: Floats,
    covariance: Floats,
    n_wanted: int,
    floor: float,
    mass: float,
) -> tuple[list[int], Floats]:
    """Choose one row after the other, updating ``covariance``; return what lowers the others.

    Stops at ``floor``, the largest g outside of the window.
    """
    chosen: list[int] = []
    shadows: list[Floats] = []
    while len(chosen) < min(n_wanted, len(g_values)):
        place = int(np.argmax(g_values))
        if g_values[place] < floor or (chosen and g_values[place] == floor):
            break
        chosen.append(place)
        direction = covariance @ coordinates[place]
        direction /= np.sqrt(1.0 / mass + float(direction @ coordinates[place]))
        subtract_square(covariance, direction)
        shadow = times(coordinates, direction)
        shadow *= shadow
        g_values -= shadow
        g_values[place] = -np.inf
        shadows.append(direction)
    return chosen, np.array(shadows).T


def thin_out(g_values: Floats, n_kept: int, rng: np.random.Generator) -> Indices:
    """Keep the ``n_kept`` largest and as many of the others at random, as sorted places."""
    if len(g_values) <= 2 * n_kept:
        return np.arange(len(g_values), dtype=np.int64)
    order = np.argpartition(g_values, len(g_values) - n_kept)
    others = rng.choice(order[:-n_kept], n_kept, replace=False)
    return np.sort(np.concatenate([order[-n_kept:], others]).astype(np.int64))
