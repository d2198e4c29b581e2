"""The span of the vectors: its dimension, a frame for it, and rows to start from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr, svd

from noisewise.designs.shared.algebra import column_products, product, singular_values, squared_norms
from noisewise.designs.shared.frame import Frame, frame_from
from noisewise.designs.shared.growth import choose_spanning
from noisewise.designs.shared.rows import ActionRows, Floats, Indices, refuse_non_finite

CLEAR_RANK = 1e-6  # a sample as well conditioned as this has the rank of the whole


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
    if not everything and not is_clearly_full(factor):
        scales = column_scales(rows)
        factor = full_factor(rows, scales)
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
    if len(block) < block.shape[1]:
        block = np.vstack([block, np.zeros((block.shape[1] - len(block), block.shape[1]))])
    return np.asarray(qr(block, mode="r", check_finite=False)[0][: block.shape[1]])


def is_clearly_full(factor: Floats) -> bool:
    """Tell whether the factor has full rank beyond doubt."""
    values = singular_values(factor)
    return bool(values[-1] > CLEAR_RANK * values[0])


def column_scales(rows: ActionRows) -> Floats:
    """Return the largest absolute entry of every column."""
    return np.asarray(np.max([scales for _, scales in rows.mapped(part_scales)], axis=0))


def part_scales(rows: ActionRows) -> Floats:
    """Return the same of a part of the rows."""
    scales = np.zeros(rows.dim)
    for places, block in rows.chunks():
        largest = np.max(np.abs(block), axis=0)
        if not np.isfinite(largest).all():
            refuse_non_finite(rows, np.arange(places.start, places.stop, dtype=np.int64))
        scales = np.maximum(scales, largest)
    return scales


def full_factor(rows: ActionRows, scales: Floats) -> Floats:
    """Return the R factor of all unit rows, by stacking those of the parts."""
    parts = [factor for _, factor in rows.mapped(part_factor, scales)]
    return (
        parts[0]
        if len(parts) == 1
        else np.asarray(qr(np.vstack(parts), mode="r", check_finite=False)[0][: rows.dim])
    )


def part_factor(rows: ActionRows, scales: Floats) -> Floats:
    """Return the R factor of a part, by stacking chunk under chunk."""
    factor: Floats | None = None
    for _, block in rows.chunks():
        factor = triangular_factor(block.astype(np.float64, copy=False), scales, factor)
    assert factor is not None
    return factor


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
        parts = rows.mapped(part_farthest, root, 20 * frame.rank)
        far = np.concatenate([first + places for first, (places, _) in parts])
        distances = np.concatenate([found for _, (_, found) in parts])
        far = far[np.argsort(-distances, kind="stable")[: 20 * frame.rank]]
        far = far[choose_spanning(product(rows.take(far), root))]
        if np.isin(far, indices).all():
            return indices, vectors  # as much of the span as rounding leaves visible
        indices = np.union1d(indices, far)
        vectors = rows.take(indices)


def part_farthest(rows: ActionRows, root: Floats, n_kept: int) -> tuple[Indices, Floats]:
    """Return the rows with the largest ``|a root|``, and its square."""
    distances = np.empty(rows.n_actions)
    for places, block in rows.chunks():
        distances[places] = squared_norms(product(block.astype(np.float64, copy=False), root))
    n_kept = min(rows.n_actions, n_kept)
    far = np.argpartition(distances, rows.n_actions - n_kept)[-n_kept:]
    return far, distances[far]


def missing_directions(coordinates: Floats) -> Floats:
    """Return an orthonormal basis of what the rows do not span."""
    lengths = np.linalg.norm(coordinates, axis=1)
    units = coordinates[lengths > 0.0] / lengths[lengths > 0.0, None]
    _, values, right = svd(column_products(units), check_finite=False)
    return np.asarray(right[values <= 1e-14 * values[0]].T)
