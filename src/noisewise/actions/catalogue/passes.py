"""What is asked of one shard: pure functions of its rows, each of which returns little.

Most rows are looked at in float32, with a bound on what that may have lost: nothing that could matter is
passed over, and whoever asks computes the few rows that come back in float64.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.actions.catalogue.shards import Shard, Stored
from noisewise.core.support.blocks import Floats, map_rows

Singles = NDArray[np.float32]
Indices = NDArray[np.int64]
#: A range of rows, and the products of each direction with them.
Products = Callable[[slice, NDArray[Any]], None]

#: Rows multiplied together: they and their image stay in the cache.
TOGETHER = 8192
#: ``g <= (1 + ROOM)·g32 + (1 + 1/ROOM)·error²`` if widths in float32 are off by at most the error.
ROOM = 2e-5
#: Bounds in float32 are at least this, in their unit: nothing becomes 0 that is not.
LEAST = 1e-36
#: Lengths for which squares are safe in float32.
SAFE_LOW, SAFE_HIGH = 1e-15, 1e15


class Norm(NamedTuple):
    """The norm ``‖a‖ = |a·root|`` in which widths are measured."""

    root: Floats  # (dim, rank)
    longest: float  # the length of the longest row of the catalogue
    scale: float  # the unit of squared widths in float32, the same for a whole run

    @property
    def error(self) -> float:
        """What float32 products may take off a width: a bound on ``Σ|a_i||root_ij|·(dim + 4)·2⁻²⁴``."""
        return float(self.longest * np.linalg.norm(self.root) * (len(self.root) + 4) * 2.0**-24)

    @property
    def unit(self) -> float:
        """A power of two of the size of the largest width, in which float32 neither over- nor underflows."""
        size = float(self.longest * np.linalg.norm(self.root))
        return float(2.0 ** np.ceil(np.log2(size))) if size > 0.0 else 1.0

    @property
    def is_single(self) -> bool:
        """Whether float32 can hold the rows themselves."""
        return SAFE_LOW < self.longest < SAFE_HIGH


def width_slack(norm: Norm) -> float:
    """What bounds on widths are above them whatever these are, in the norm's unit."""
    return max((1.0 + 1.0 / ROOM) * norm.error**2 / norm.scale, LEAST)


def width_bounds(shard: Shard, rows: Indices | None, norm: Norm) -> Singles:
    """Upper bounds on the squared widths of all rows, or of some, in the norm's unit: hardly above them."""
    count = shard.count if rows is None else len(rows)
    bounds = np.empty(count, np.float32)
    unit = norm.unit
    kind = np.float32 if norm.is_single else np.float64
    root = np.ascontiguousarray(norm.root / unit, dtype=kind)
    scaled = unit * unit / norm.scale
    slack = width_slack(norm)
    factor = (1.0 + 2.0 * ROOM) * scaled
    # Before the first measurement the root is a multiple of the identity.
    alike = len(root) == root.shape[1] and np.array_equal(root, np.eye(len(root), dtype=kind) * root[0, 0])
    if alike:
        factor *= float(root[0, 0]) ** 2

    def bound(part: slice) -> None:
        stored = np.empty((TOGETHER, shard.dim), kind)
        image, ones = np.empty((TOGETHER, root.shape[1]), kind), np.ones(root.shape[1], kind)
        for start in range(part.start, part.stop, TOGETHER):
            some = slice(start, min(start + TOGETHER, part.stop))
            block = shard.block(some if rows is None else rows[some])
            if block.dtype != kind:
                stored[: len(block)] = block
                block = stored[: len(block)]
            out = image[: len(block)]
            if alike:
                out[...] = block
            else:
                np.matmul(block, root, out=out)
            squares = _row_squares(out, ones)
            # Rounding to float32 is within the second ROOM.
            squares *= kind(factor)
            np.add(squares, kind(slack), out=bounds[some], casting="same_kind")

    map_rows(bound, count)
    return bounds


def _sum_of_squares(lines: NDArray[Any]) -> NDArray[Any]:
    """Of some lines, which are spoilt."""
    np.multiply(lines, lines, out=lines)
    return np.asarray(lines.sum(axis=0))


def _row_squares(image: NDArray[Any], chosen: NDArray[Any]) -> NDArray[Any]:
    """The squared norms of rows, which are spoilt: a product with ones takes half as long as `einsum`."""
    np.multiply(image, image, out=image)
    return np.asarray(image @ chosen)


def lowering_slack(steps: Floats, norm: Norm) -> float:
    """What may be missing of what steps take off: ``error²/ROOM`` for each, in the norm's unit."""
    errors = norm.longest * np.linalg.norm(steps, axis=1) * (steps.shape[1] + 4) * 2.0**-24
    return float((errors**2).sum()) / ROOM / norm.scale


def lower_bounds(shard: Shard, bounds: Singles, steps: Floats, norm: Norm) -> None:
    """Take off bounds what widths lost since they were computed, ``Σ <s, a>²`` over the steps, in place.

    In float32 ``<s, a>² >= (1 - ROOM)·p² - error²/ROOM``, so bounds stay bounds.
    """
    read_along(shard, bounds, steps, norm, np.empty((shard.dim, 0)), None)


def read_along(
    shard: Shard, bounds: Singles, steps: Floats, norm: Norm, along: Floats, look: Products | None
) -> None:
    """The same, and what is to be seen along some directions, in one pass.

    Args:
        shard: Whose rows.
        bounds: Of all rows; lowered in place.
        steps: By which widths fell; none unless the norm is for float32.
        norm: In which widths are measured.
        along: Directions, (dim, directions).
        look: What is to be done with the products of rows whose bounds are lowered, if anything.
    """
    kind: Any = np.float32 if norm.is_single else np.float64
    count, unit = len(steps), norm.unit
    slack, factor = (
        np.float32(lowering_slack(steps, norm)),
        np.float32((1.0 - ROOM) * unit * unit / norm.scale),
    )
    turned = np.ascontiguousarray(np.vstack([along.T, steps / unit]), dtype=kind)

    def read(part: slice) -> None:
        stored = np.empty((TOGETHER, shard.dim), kind)
        image = np.empty((len(turned), TOGETHER), kind)
        for start in range(part.start, part.stop, TOGETHER):
            some = slice(start, min(start + TOGETHER, part.stop))
            block = shard.block(some)
            if block.dtype != kind:
                stored[: len(block)] = block
                block = stored[: len(block)]
            # One line of products for each direction: what is done with them runs along lines.
            out = image if len(block) == TOGETHER else np.empty((len(turned), len(block)), kind)
            np.matmul(turned, block.T, out=out)
            if count:
                lost = _sum_of_squares(out[len(turned) - count :])
                lost *= factor
                lost -= slack
                bounds[some] -= lost
                np.maximum(bounds[some], np.float32(LEAST), out=bounds[some])
            if look is not None:
                look(some, out[: len(turned) - count])

    map_rows(read, shard.count)


class Survey(NamedTuple):
    """What is known of a shard from one look at all rows."""

    moment: Floats  # (dim, dim): Σ a aᵀ
    longest: float
    sample: str  # by which its content is known again


def survey(shard: Shard) -> Survey:
    """Refuse what is not finite, and gather ``Σ a aᵀ`` and the largest norm."""

    def look(part: slice) -> tuple[Floats, float]:
        block = shard.block(part).astype(np.float64, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.einsum("ij,ij->i", block, block)
        if not np.isfinite(squares).all():
            row = int(np.argmin(np.isfinite(squares)))
            raise ValueError(
                f"Rows of a catalogue must be finite numbers with norms below 1e150; got "
                f"{_shown(block[row])} in "
                f"row {shard.first + part.start + row}, in {shard.name}."
            )
        return block.T @ block, float(squares.max())

    found = map_rows(look, shard.count)
    longest = float(np.sqrt(max(squared for _, squared in found)))
    return Survey(np.sum([moment for moment, _ in found], axis=0), longest, shard.sample_of())


def taken(shard: Shard, rows: Indices) -> Stored:
    """Some rows, as stored."""
    return np.ascontiguousarray(shard.block(rows))


def row_hash(shard: Shard) -> int:
    """The sum of hashes of all rows with their numbers: the same however rows are cut into shards."""
    multipliers = np.random.default_rng(0).integers(0, 2**63, size=shard.dim + 1, dtype=np.uint64)
    multipliers |= np.uint64(1)

    def add(part: slice) -> int:
        bits = np.ascontiguousarray(shard.block(part).astype(np.float64) + 0.0).view(np.uint64)
        bits ^= bits >> np.uint64(31)
        numbers = np.arange(part.start, part.stop, dtype=np.uint64) + np.uint64(shard.first + 1)
        mixed = (bits * multipliers[:-1]).sum(axis=1, dtype=np.uint64) + numbers * multipliers[-1]
        mixed ^= mixed >> np.uint64(29)
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        return int(mixed.sum(dtype=np.uint64))

    return sum(map_rows(add, shard.count)) % 2**64


def _shown(row: Floats) -> str:
    said = ", ".join(f"{number:g}" for number in row[:6])
    return f"[{said}{', ...' if len(row) > 6 else ''}]"
