"""Shards of a catalogue: rows of one file or array, opened at first use where they are read."""

import functools
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise.actions.catalogue.parquet import converted

Stored = NDArray[np.floating]

#: What rows may be stored as; anything else is refused rather than converted in every pass.
KINDS = ("float32", "float64")
#: Files kept open in one process.
OPEN_AT_ONCE = 512


class ShardError(OSError):
    """A shard of a catalogue cannot be read, so that no answer about the catalogue is possible."""


@dataclass(frozen=True)
class Shard:
    """Rows ``first`` to before ``first + count`` of a catalogue: where they are, not the rows themselves.

    A piece of a file (``path`` and where its rows begin), a Parquet file (``parquet`` names its columns), or
    an array that is here (``held``), which is for this process alone.
    """

    first: int
    count: int
    width: int  # numbers in a stored row
    kind: str  # of KINDS
    path: str = ""
    offset: int = 0  # bytes before the shard's first row
    places: tuple[int, ...] | None = None  # the columns that count; None: all
    parquet: tuple[str, ...] | None = None
    held: Stored | None = None

    @property
    def dim(self) -> int:
        """Numbers in a row that count."""
        return self.width if self.places is None else len(self.places)

    @property
    def key(self) -> tuple[Any, ...]:
        """The same for the same rows, and of no other."""
        return (self.path, self.offset, self.first, self.count, self.places, self.parquet, id(self.held))

    @property
    def name(self) -> str:
        """What people call it."""
        return self.path or f"rows {self.first} to {self.first + self.count - 1}"

    def rows(self) -> Stored:
        """The rows as stored, (count, width): a memory map, or what is held."""
        return self.held if self.held is not None else _opened(self)

    def check(self) -> None:
        """Refuse a file that became shorter since it was mapped: reading the map would end the process."""
        if self.path and self.parquet is None:
            try:
                short = os.stat(self.path).st_size < self._needed
            except OSError:
                short = True
            if short:
                _opened.cache_clear()
                _opened(self)

    @property
    def _needed(self) -> int:
        return self.offset + self.count * self.width * np.dtype(self.kind).itemsize

    def block(self, rows: slice | NDArray[np.int64]) -> Stored:
        """Some rows, with the columns that count."""
        found = self.rows()[rows]
        return found if self.places is None else found[:, list(self.places)]

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shard) and self.key == other.key


@functools.lru_cache(OPEN_AT_ONCE)
def _opened(shard: Shard) -> Stored:
    try:
        path = Path(shard.path)
        if shard.parquet is not None:
            path = converted(path, shard.parquet, np.dtype(shard.kind), shard.count)
        if path.stat().st_size < shard._needed:
            raise OSError(f"it has {path.stat().st_size} bytes where {shard._needed} are needed")
        rows = np.memmap(path, shard.kind, "r", shard.offset, (shard.count, shard.width))
    except Exception as error:
        raise ShardError(
            f"A catalogue must be read whole; rows {shard.first} to {shard.first + shard.count - 1} in "
            f"{shard.path!r} cannot be read here ({_said(error)}): put the file back, where workers find "
            f"it too."
        ) from error
    return np.asarray(rows)


def _said(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
