"""The largest g over all rows, read in full only when a bound cannot settle it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from noisewise.designs.optimal.working import WorkingSet, check_identities
from noisewise.designs.shared.algebra import eigenvalues, product_into, squared_norms, weighted_moment
from noisewise.designs.shared.frame import Frame
from noisewise.designs.shared.rows import CHUNK, ActionRows, Floats, Indices, refuse_non_finite

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
        attained = float(working.g_values.max())
        indices, g_values = self._worst(working, attained, verify=verify)
        g_value = max(attained, float(np.max(g_values, initial=0.0)))
        check_identities(working, g_value)
        self._last_gap = g_value / working.rank - 1.0
        return Price(g_value, indices, g_values)

    def _worst(self, working: WorkingSet, attained: float, *, verify: bool) -> tuple[Indices, Floats]:
        """Return all rows with a g above ``attained``, and perhaps others; g is exact near the largest."""
        return self.look(working.frame, working.support, attained, 0.0 if verify else self._last_gap)

    def look(
        self, frame: Frame, support: Callable[[], WorkingSet], attained: float, last_gap: float
    ) -> tuple[Indices, Floats]:
        """Return the same for any frame; a ``last_gap`` of 0 means that all rows are read in float64."""
        if last_gap == 0.0:
            self._reference = None
        self._last_gap = last_gap
        doubtful = self._in_doubt(frame, attained)
        if doubtful is None:
            self._g_reference, error = self._coarse(frame, None)
            self._reference, self._error = support(), error
            slack = 3.0 * error if error > NO_ERROR else 0.0
            doubtful = np.flatnonzero(self._g_reference > attained * (1.0 - slack))
            g_values = self._g_reference[doubtful].astype(np.float64)
        else:
            found, error = self._coarse(frame, doubtful)
            g_values = found.astype(np.float64, copy=False)
        self._sharpen(frame, attained, doubtful, g_values, error)
        return doubtful, g_values

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

    def _sharpen(
        self, frame: Frame, attained: float, indices: Indices, g_values: Floats, error: float
    ) -> None:
        """Recompute in full precision the rows that may hold the maximum, in place."""
        if error <= NO_ERROR or len(indices) == 0:
            return
        top = max(attained, float(g_values.max()))
        near = np.flatnonzero(g_values >= top * (1.0 - 3.0 * error))
        for start in range(0, len(near), CHUNK):
            some = near[start : start + CHUNK]
            vectors = self.rows.take(indices[some])
            g_values[some] = squared_norms(frame.coordinates(vectors))
