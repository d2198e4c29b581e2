"""The vectors as they are stored: checked once, read in chunks, every reading counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Part = TypeVar("Part")

CHUNK = 4096  # rows: a chunk of 50 columns and its image stay in a second-level cache


class ActionRows:
    """A matrix ``(n_actions, dim)``, perhaps a memory map, that is only ever streamed.

    With ``scales`` every row is handed out times its own. ``reads`` counts the rows handed out, in units of
    the whole matrix.
    """

    first = 0
    """What the first row is called in errors: parts of a catalogue begin elsewhere."""

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

    def mapped(self, ask: Callable[..., Part], *arguments: Any) -> list[tuple[int, Part]]:
        """Return what ``ask`` says of all rows, or of each part of a catalogue, with its first row."""
        return [(0, ask(self, *arguments))]


def check_vectors(vectors: Any) -> npt.NDArray[Any]:
    """Return the array behind ``vectors`` (an array, or anything with ``.vectors``)."""
    try:
        array: npt.NDArray[Any] = np.asanyarray(getattr(vectors, "vectors", vectors))
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
        raise ValueError(f"`vectors` must be finite; got {shown} in row {rows.first + bad}.")
