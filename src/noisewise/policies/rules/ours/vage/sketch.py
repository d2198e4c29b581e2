"""A sketch of many vectors, an eighth as large: whoever reads it knows what it may have missed."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.core.model.dense import Floats
from noisewise.core.model.independent import Separate
from noisewise.core.native.verbs import extension
from noisewise.core.support.blocks import row_blocks

#: Vectors of fewer numbers in all are looked at themselves: it takes no longer.
WORTH_SKETCHING = 20_000
#: Rows that lie together, all values of one axis after the other; as in the compiled verbs.
TILE = 64
#: The largest code: what a signed byte holds.
LARGEST = 127
#: Axes along which vectors spread by less than this share of the most count for nothing.
FLAT = 1e-13


class Sketch(NamedTuple):
    """Vectors as whole numbers along their principal axes, ``a_k ≈ centre + Σ_i axis_i·q_ki``.

    Each number is rounded by at most a half, so ``<v, a_k>`` is known up to ``½·Σ_i |<v, axis_i>|``. Along
    principal axes that is little compared with how far the vectors are spread, whatever their features.
    """

    codes: NDArray[np.int8]  # (blocks, dim, TILE); no blocks if there is no sketch
    axes: Floats  # (dim, dim): an axis in each row, as long as one unit of its code
    centre: Floats  # (dim,)


def make_sketch(columns: NDArray[np.floating] | Separate) -> Sketch:
    """The sketch of the vectors in the columns; an empty one if they are few, or nothing would read it."""
    none = Sketch(np.empty((0, 0, TILE), np.int8), np.empty((0, 0)), np.empty(0))
    if isinstance(columns, Separate) or math.prod(columns.shape) < WORTH_SKETCHING or extension is None:
        return none
    dim, n = columns.shape
    low, high, moments = np.full(dim, np.inf), np.full(dim, -np.inf), np.zeros((dim, dim))
    centre = columns[:, :: -(-n // TILE)].mean(axis=1, dtype=np.float64)  # about the middle will do
    with np.errstate(over="ignore", invalid="ignore"):
        for block in _row_blocks(columns, centre):
            moments += block.T @ block
    if not np.isfinite(moments).all():
        return none  # their squares are no numbers
    _, turned = np.linalg.eigh(moments)
    for block in _row_blocks(columns, centre):
        along = block @ turned
        np.minimum(low, along.min(axis=0), out=low)
        np.maximum(high, along.max(axis=0), out=high)
    centre += turned @ (0.5 * (low + high))
    units = (high - low) / (2.0 * LARGEST)
    units[units <= FLAT * units.max()] = 0.0
    codes = np.zeros((-(-n // TILE), dim, TILE), np.int8)
    scaled = turned / np.where(units > 0.0, units, np.inf)
    first = 0
    for block in _row_blocks(columns, centre):
        along = block @ scaled
        np.rint(along, out=along)
        _write(codes, first, along)
        first += len(block)
    return Sketch(codes, np.ascontiguousarray((turned * units).T), centre)


def _row_blocks(columns: NDArray[np.floating], centre: Floats) -> Any:
    """The vectors less the centre, a row for each, many at a time."""
    for rows in row_blocks(columns.shape[1]):
        yield columns.T[rows] - centre


def _write(codes: NDArray[np.int8], first: int, along: Floats) -> None:
    """Write the codes of some rows, from ``first`` on, which is where a block begins."""
    whole, rest = divmod(len(along), TILE)
    block = first // TILE
    many = along[: whole * TILE].reshape(whole, TILE, along.shape[1]).transpose(0, 2, 1)
    np.clip(many, -LARGEST, LARGEST, out=codes[block : block + whole], casting="unsafe")
    if rest:
        codes[block + whole, :, :rest] = np.clip(along[whole * TILE :].T, -LARGEST, LARGEST)
