"""The vectors: checked once, read in chunks, every reading counted; and coordinates of their span."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import qr, svd

from noisewise.designs.algebra import (
    Floats,
    Indices,
    column_products,
    inverse_root,
    product,
    singular_values,
    squared_norms,
    weighted_moment,
)

CHUNK = 4096  # rows: a chunk of 50 columns and its image stay in a second-level cache
#: A sample as well conditioned as this has the rank of the whole.
CLEAR_RANK = 1e-6


class ActionRows:
    """A matrix ``(n_actions, dim)``, perhaps a memory map, that is only ever streamed.

    With ``scales`` every row is handed out times its own. ``reads`` counts the rows handed out, in units of
    the whole matrix.
    """

    def __init__(self, vectors: npt.NDArray[Any], scales: Floats | None = None) -> None:
        self.vectors = vectors
        self.scales = scales
        self.n_actions, self.dim = vectors.shape
        self.single = vectors.dtype == np.float32
        self.reads = 0.0

    def take(self, indices: Indices) -> Floats:
        """Return the rows ``indices`` as float64."""
        self.reads += len(indices) / self.n_actions
        taken = np.asarray(self.vectors[indices], dtype=np.float64)
        return taken if self.scales is None else taken * self.scales[indices][:, None]

    def chunks(self, indices: Indices | None = None) -> Iterator[tuple[slice, npt.NDArray[Any]]]:
        """Yield ``(places, block)`` over all rows, or over the rows ``indices`` only."""
        n_rows = self.n_actions if indices is None else len(indices)
        for start in range(0, n_rows, CHUNK):
            places = slice(start, min(start + CHUNK, n_rows))
            block = self.vectors[places] if indices is None else self.vectors[indices[places]]
            if block.dtype != np.float64 and block.dtype != np.float32:
                block = block.astype(np.float64)
            if self.scales is not None:
                block = block * self.scales[places if indices is None else indices[places]][:, None]
            yield places, np.asarray(block)
        self.reads += n_rows / self.n_actions


def check_vectors(vectors: Any) -> npt.NDArray[Any]:
    """Return the array behind ``vectors`` (an array, or anything with ``.vectors``)."""
    held = getattr(vectors, "vectors", vectors)
    try:
        array: npt.NDArray[Any] = np.asanyarray(held)
    except ValueError:
        raise ValueError(
            f"`vectors` must be a table of numbers, all rows equally long; got {type(vectors).__name__}."
        ) from None
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"`vectors` must be a non-empty (n_actions, dim) array; got shape {array.shape!r}.")
    if array.dtype.kind not in "fiub":
        raise ValueError(f"`vectors` must be real numbers; got dtype {array.dtype!r}.")
    return array


def refuse_non_finite(rows: ActionRows, indices: Indices) -> None:
    """Raise if one of the rows ``indices`` holds a NaN or an infinity."""
    finite = np.isfinite(rows.take(indices)).all(axis=1)
    if not finite.all():
        bad = int(indices[np.argmin(finite)])
        row = rows.take(np.array([bad]))[0].tolist()
        shown = f"{row[:6]!r}"[:-1] + ", ...]" if len(row) > 6 else f"{row!r}"
        raise ValueError(f"`vectors` must be finite; got {shown} in row {bad}.")


@dataclass(frozen=True)
class Frame:
    """Coordinates ``vector @ root``; g-values do not depend on which ``root`` is taken.

    So ``root`` (dim, rank) may be any matrix and counts as exact: the only error of a g-value is
    that of the product, ``amplification`` times the rounding unit.
    """

    root: Floats
    amplification: float

    @property
    def rank(self) -> int:
        """Dimension of the span of the vectors."""
        return int(self.root.shape[1])

    def relative_error(self, *, single: bool) -> float:
        """Bound the relative error of a squared norm."""
        unit = float(np.finfo(np.float32 if single else np.float64).eps)
        return 4.0 * unit * self.amplification * float(np.sqrt(len(self.root)))

    def coordinates(self, block: Floats) -> Floats:
        """Return the coordinates of the rows of ``block``."""
        return product(block, self.root)

    def transformed(self, change: Floats) -> Frame:
        """Return the frame of the coordinates ``coordinates @ change``."""
        return frame_from(product(self.root, change))


def frame_from(root: Floats) -> Frame:
    """Return the frame of ``root`` with a bound of its amplification for *every* vector.

    With the columns of the vectors in units that give ``root`` rows of equal size,
    |a| |root| <= norm(|root|) |a| and |a root| >= (least singular value) |a| for a in the span.
    """
    sizes = np.max(np.abs(root), axis=1, keepdims=True)
    units = root / np.where(sizes > 0.0, sizes, 1.0)
    least = float(singular_values(units)[-1])
    largest = float(singular_values(np.abs(units))[0])
    return Frame(root, largest / max(least, 1e-300))


def whitener(coordinates: Floats, weights: Floats) -> Floats:
    """Return ``C`` such that the design has the identity as moment in ``coordinates @ C``."""
    root = inverse_root(weighted_moment(coordinates, weights))
    if root is not None:
        return root
    # The moment squares the condition number, the rows themselves do not.
    scaled = coordinates * np.sqrt(weights)[:, None]
    upper = qr(scaled, mode="r", check_finite=False)[0][: scaled.shape[1]]
    return np.asarray(np.linalg.inv(upper))


@dataclass(frozen=True)
class Start:
    """A frame for the span and rows (sorted, with their vectors) that span it."""

    frame: Frame
    indices: Indices
    vectors: Floats


def find_span(rows: ActionRows, n_sampled: int, rng: np.random.Generator) -> Start:
    """Look at a sample of rows, and at all rows only if the sample leaves the rank open."""
    everything = rows.n_actions <= n_sampled
    indices = (
        np.arange(rows.n_actions, dtype=np.int64)
        if everything
        else np.sort(rng.choice(rows.n_actions, n_sampled, replace=False)).astype(np.int64)
    )
    vectors = rows.take(indices)
    if not np.isfinite(vectors).all():
        refuse_non_finite(rows, indices)
    scales = np.max(np.abs(vectors), axis=0)
    factor = triangular_factor(vectors, scales)
    values = singular_values(factor)
    if not everything and values[-1] <= CLEAR_RANK * values[0]:
        scales = column_scales(rows)
        factor = np.zeros((rows.dim, rows.dim))
        for _, block in rows.chunks():
            factor = triangular_factor(block.astype(np.float64, copy=False), scales, factor)
    frame = frame_of(factor, scales, rows.single)
    if not everything:
        indices, vectors = complete_span(rows, frame, indices, vectors)
    return Start(frame, indices, vectors)


def unit_rows(vectors: Floats, scales: Floats) -> Floats:
    """Return the rows in units of ``scales`` and of length 1, without the zero rows.

    The rank does not depend on the lengths, but a sum over rows of very different length would
    bury the short ones.
    """
    scaled = vectors / np.where(scales > 0.0, scales, 1.0)
    lengths = np.linalg.norm(scaled, axis=1)
    return np.asarray(scaled[lengths > 0.0] / lengths[lengths > 0.0, None])


def triangular_factor(vectors: Floats, scales: Floats, above: Floats | None = None) -> Floats:
    """Return the R factor of the unit rows, stacked under the factor ``above`` if given."""
    block = unit_rows(vectors, scales)
    if above is not None:
        block = np.vstack([above, block])
    missing = max(0, block.shape[1] - len(block))
    block = np.vstack([block, np.zeros((missing, block.shape[1]))])
    return np.asarray(qr(block, mode="r", check_finite=False)[0][: block.shape[1]])


def column_scales(rows: ActionRows) -> Floats:
    """Return the largest absolute entry of every column."""
    scales = np.zeros(rows.dim)
    for places, block in rows.chunks():
        largest = np.max(np.abs(block), axis=0)
        if not np.isfinite(largest).all():
            refuse_non_finite(rows, np.arange(places.start, places.stop, dtype=np.int64))
        scales = np.maximum(scales, largest)
    return scales


def frame_of(factor: Floats, scales: Floats, single: bool) -> Frame:
    """Return the frame that whitens the unit rows; its rank is that of ``factor``.

    Directions are dropped when they are below what rounding the stored numbers, or the
    factorisation in float64, produces.
    """
    _, values, right = svd(factor, check_finite=False)
    if values[0] == 0.0:
        raise ValueError("`vectors` must hold a row that is not zero; got only zeros.")
    stored = float(np.finfo(np.float32 if single else np.float64).eps)
    rounding = max(8.0 * stored, 10.0 * len(scales) * float(np.finfo(np.float64).eps))
    rank = int(np.count_nonzero(values > rounding * values[0]))
    root = right[:rank].T / values[:rank] * np.sqrt(len(factor))
    return frame_from(root / np.where(scales > 0.0, scales, 1.0)[:, None])


def complete_span(
    rows: ActionRows, frame: Frame, indices: Indices, vectors: Floats
) -> tuple[Indices, Floats]:
    """Add rows until they span the frame: those farthest from the span, one reading a time."""
    while True:
        missing = missing_directions(frame.coordinates(vectors))
        if missing.shape[1] == 0:
            return indices, vectors
        root = product(frame.root, missing)
        distances = np.empty(rows.n_actions)
        for places, block in rows.chunks():
            distances[places] = squared_norms(product(block.astype(np.float64, copy=False), root))
        far = np.argsort(-distances, kind="stable")[: 20 * frame.rank]
        far = far[choose_spanning(product(rows.take(far), root))]
        if np.isin(far, indices).all():
            return indices, vectors  # as much of the span as rounding leaves visible
        indices = np.union1d(indices, far)
        vectors = rows.take(indices)


def missing_directions(coordinates: Floats) -> Floats:
    """Return an orthonormal basis of what the rows do not span."""
    lengths = np.linalg.norm(coordinates, axis=1)
    units = coordinates[lengths > 0.0] / lengths[lengths > 0.0, None]
    _, values, right = svd(column_products(units), check_finite=False)
    return np.asarray(right[values <= 1e-14 * values[0]].T)


def choose_spanning(coordinates: Floats) -> Indices:
    """Choose ``rank`` rows that span the space, each the farthest from the span so far."""
    pivots = qr(coordinates.T, mode="r", pivoting=True, check_finite=False)[1]
    return np.asarray(pivots[: coordinates.shape[1]], dtype=np.int64)
