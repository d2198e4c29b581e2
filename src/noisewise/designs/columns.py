"""Column generation: solve on a few rows, price all, add the worst, until the certificate.

Rows are read in full only where a bound cannot settle their price.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from noisewise.designs.algebra import (
    Floats,
    Indices,
    eigenvalues,
    product_into,
    squared_norms,
    weighted_moment,
)
from noisewise.designs.rows import CHUNK, ActionRows, Frame, refuse_non_finite
from noisewise.designs.weights import solve_weights
from noisewise.designs.working import WorkingSet, choose_diverse, merged, thin_out, whitened

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
