"""Column generation: solve on a few rows, price all, add the worst, until the certificate.

The working set is a few rows in memory, with weights, in coordinates whitened by them. All other rows are
read in full only where a bound cannot settle their price.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from noisewise.designs.algebra import (
    Floats,
    Indices,
    eigenvalues,
    product,
    product_into,
    squared_norms,
    subtract_square,
    times,
    weighted_moment,
)
from noisewise.designs.rows import CHUNK, ActionRows, Frame, refuse_non_finite, whitener
from noisewise.designs.weights import solve_weights

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


MAX_IDLE = 6  # rounds without a new row: the rest is rounding
FULL_SHARE = 0.25  # of the rows in doubt: from here on a full pass is cheaper than a gathering
NO_ERROR = 1e-10  # relative; products this good are not taken again
COARSE_ERROR = 1e-3  # relative; float32 products are used while they are better than this


@dataclass(frozen=True)
class Price:
    """The largest g over all rows (exact), and the rows of large g that were looked at."""

    g_value: float
    indices: Indices
    g_values: Floats


class Pricing:
    """Prices designs, remembering the g of the last fully priced one, the reference.

    With kappa the largest eigenvalue of V^-1 V_ref, every row has g <= kappa g_ref. So the rows
    with kappa g_ref below a value that is attained anyway need not be read.
    """

    def __init__(self, rows: ActionRows) -> None:
        self.rows = rows
        self._reference: WorkingSet | None = None
        self._g_reference: npt.NDArray[np.floating] = np.empty(0)
        self._error = 0.0
        self._last_gap = 1.0

    def price(self, working: WorkingSet, *, verify: bool = False) -> Price:
        """Return the exact largest g of a whitened design; ``verify`` reads all in float64."""
        frame, attained = working.frame, float(working.g_values.max())
        if verify:
            self._reference, self._last_gap = None, 0.0
        doubtful = self._in_doubt(frame, attained)
        if doubtful is None:
            self._g_reference, error = self._coarse(frame, None)
            self._reference, self._error = working.support(), error
            slack = 3.0 * error if error > NO_ERROR else 0.0
            doubtful = np.flatnonzero(self._g_reference > attained * (1.0 - slack))
            g_values = self._g_reference[doubtful].astype(np.float64)
        else:
            found, error = self._coarse(frame, doubtful)
            g_values = found.astype(np.float64, copy=False)
        g_value = max(attained, float(np.max(g_values, initial=0.0)))
        if error > NO_ERROR and len(doubtful):
            # In full precision, the rows that may hold the maximum.
            near = np.flatnonzero(g_values >= g_value * (1.0 - 3.0 * error))
            for places, block in self.rows.chunks(doubtful[near]):
                g_values[near[places]] = squared_norms(frame.coordinates(block.astype(np.float64)))
            g_value = max(attained, float(np.max(g_values)))
        check_identities(working, g_value)
        self._last_gap = g_value / working.rank - 1.0
        return Price(g_value, doubtful, g_values)

    def _in_doubt(self, frame: Frame, attained: float) -> Indices | None:
        """Return the rows whose bound exceeds ``attained``; None if those are too many."""
        if self._reference is None:
            return None
        coordinates = frame.coordinates(self._reference.vectors)
        moment = weighted_moment(coordinates, self._reference.weights)
        kappa = float(eigenvalues(moment)[-1])
        kappa *= (1.0 + 1e-9) * (1.0 + 2.0 * self._error)
        mask = self._g_reference >= attained / kappa
        if np.count_nonzero(mask) > FULL_SHARE * len(mask):
            return None
        return np.flatnonzero(mask)

    def _coarse(self, frame: Frame, indices: Indices | None) -> tuple[npt.NDArray[np.floating], float]:
        """Return g by plain products and a bound of its relative error.

        Products are taken in float32 while that tells most rows from the maximum: those near it
        are computed again anyway.
        """
        error = frame.relative_error(single=True)
        if error < min(COARSE_ERROR, 0.02 * self._last_gap):
            g_values = self._products(frame, indices, np.float32)
            if np.isfinite(g_values).all():
                return g_values, error
        g_values = self._products(frame, indices, np.float64)
        unsettled = np.flatnonzero(~np.isfinite(g_values))
        if len(unsettled):
            bad = unsettled if indices is None else indices[unsettled]
            refuse_non_finite(self.rows, bad)
            raise ValueError(
                "`vectors` must have rows whose lengths differ by less than 1e150; got a longer "
                f"one in row {int(bad[0])}."
            )
        return g_values, frame.relative_error(single=False)

    def _products(
        self, frame: Frame, indices: Indices | None, kind: type[np.float32] | type[np.float64]
    ) -> npt.NDArray[np.floating]:
        """Return the squared norms of the coordinates of all rows, or of ``indices``."""
        g_values = np.empty(self.rows.n_actions if indices is None else len(indices), kind)
        root = frame.root.astype(kind)
        stored = np.empty((CHUNK, self.rows.dim), kind)
        images = np.empty((CHUNK, frame.rank), kind)
        with np.errstate(over="ignore", invalid="ignore"):
            for places, block in self.rows.chunks(indices):
                if block.dtype != kind:
                    stored[: len(block)] = block
                    block = stored[: len(block)]
                image = images[: len(block)]
                product_into(block, root, image)
                g_values[places] = squared_norms(image)
        return g_values


def check_identities(working: WorkingSet, g_value: float) -> None:
    """Refuse a certificate that contradicts sum(w g) = rank or max g >= rank."""
    total = float(working.weights @ working.g_values)
    rank = working.rank
    if not (abs(total - rank) <= 1e-8 * rank and g_value >= rank * (1.0 - 1e-9)):
        raise ArithmeticError(
            "`vectors` must be conditioned well enough for float64; got a design whose weighted "
            f"g-values sum to {total!r} instead of the rank {rank}."
        )


Found = tuple[WorkingSet, Price]


def solve_columns(pricing: Pricing, working: WorkingSet, gap: float, rng: np.random.Generator) -> Found:
    """Improve the working set until max g over all rows is at most (1 + gap) rank.

    Returns the support alone, whitened, with the price that certifies it.
    """
    rank = working.rank
    reached, n_added, n_idle = 1.0, len(working.indices), 0
    while n_idle < MAX_IDLE:
        weights = solve_weights(
            working.coordinates,
            working.weights,
            inner_tolerance(gap, reached),
            stubborn=n_added == 0,
        )
        working = whitened(working, weights)
        price = pricing.price(working)
        reached = price.g_value / rank - 1.0
        if reached <= gap:
            found = merged(working.support())
            if len(found.indices) < working.n_support:
                found = whitened(found, found.weights)
                price = pricing.price(found)
            return found, price
        useful = (weights > 0.0) | (working.g_values > rank * (1.0 - min(0.02, reached)))
        working = working.only(np.flatnonzero(useful))
        n_before = len(working.indices)
        working = grown(pricing, working, price, gap, rng)
        n_added = len(working.indices) - n_before
        n_idle = n_idle + 1 if n_added == 0 else 0
    raise ArithmeticError(
        f"`gap` must be within reach of float64 for these vectors; got {gap!r} and reached {reached:.3g}."
    )


def inner_tolerance(gap: float, reached: float) -> float:
    """Return how well to solve on the working set when ``reached`` is the gap over all rows."""
    if reached < 1e-3:
        return 0.3 * gap  # another Newton step is cheaper than another reading
    return max(0.3 * gap, min(0.03, 0.1 * reached))


def grown(
    pricing: Pricing, working: WorkingSet, price: Price, gap: float, rng: np.random.Generator
) -> WorkingSet:
    """Add a diverse batch of the rows with too large a g."""
    new = worst_rows(pricing, working, price, gap, rng)
    # About what they need to lower their own g: more would upset weights that are nearly right.
    needed = len(new) * (price.g_value / working.rank - 1.0) / working.rank
    return working.joined(pricing.rows, new, share=min(1e-3, needed))


def worst_rows(
    pricing: Pricing, working: WorkingSet, price: Price, gap: float, rng: np.random.Generator
) -> Indices:
    """Choose among the rows of too large a g those that differ most from one another."""
    rank = working.rank
    reached = price.g_value / rank - 1.0
    level = rank * (1.0 + 0.3 * gap)  # as the inner tolerance: no row within it enters
    n_wanted = max((8 if reached > 0.1 else 4) * rank, working.n_support // 2, 50)
    fresh = (price.g_values > level) & ~np.isin(price.indices, working.indices)
    violators = price.indices[fresh]
    violators = violators[thin_out(price.g_values[fresh], 3 * n_wanted, rng)]
    coordinates = working.frame.coordinates(pricing.rows.take(violators))
    # The nearer the optimum, the smaller the weights that will repair what is left.
    mass = 1.0 / (rank * max(50.0, 15.0 / reached))
    return violators[choose_diverse(coordinates, n_wanted, level=level, mass=mass)]
