"""Shards of a catalogue: rows of one file or array, opened at first use where they are read."""

import hashlib
import os
import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.actions.catalogue.parquet import converted

Stored = NDArray[np.floating]

#: What rows may be stored as; anything else is refused rather than converted in every pass.
KINDS = ("float32", "float64")
#: Shards kept open in one process.
OPEN_AT_ONCE = 512
#: Rows of a shard by which its content is known again.
SAMPLED = 64


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
    sample: str = ""  # the content when the catalogue was made (`sample_of`); empty: not looked at yet

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
        if self.held is not None:
            return self.held
        found = _open.get(self)
        return (found or _opened(self)).rows

    def check(self) -> None:
        """Refuse a file that is gone, or is not what it was when the catalogue was made.

        A file that became shorter since it was mapped would end the process that reads it, and one that was
        replaced would be read by other workers, while this one goes on with the old.
        """
        if self.held is not None:
            return
        found = _open.get(self)
        if found is None or (found.stamp != _stamp(self, found.path) and not self.sample):
            found = _opened(self)
        if (stamp := _stamp(self, found.path)) != found.stamp:
            raise self.error("it was written to or replaced" if stamp else "it is gone")
        if self.sample and found.sample != self.sample:
            raise self.error("other rows are in it than when the catalogue was made")

    def sample_of(self) -> str:
        """What the content is known by: the size of the file, and some rows."""
        return "" if self.held is not None else (_open.get(self) or _opened(self)).sample

    def error(self, why: str) -> ShardError:
        """What to raise if the rows cannot be read."""
        return ShardError(
            f"A catalogue must be read whole; rows {self.first} to {self.first + self.count - 1} in "
            f"{self.path!r} cannot be read here ({why}): put the file back as it was, where workers find it "
            "too, or make the catalogue anew."
        )

    @property
    def needed(self) -> int:
        """Bytes that the mapped file must have."""
        return self.offset + self.count * self.width * np.dtype(self.kind).itemsize

    def block(self, rows: slice | NDArray[np.int64]) -> Stored:
        """Some rows, with the columns that count."""
        found = self.rows()[rows]
        return found if self.places is None else found[:, list(self.places)]

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shard) and self.key == other.key


class OpenShard(NamedTuple):
    """A shard as this process reads it."""

    rows: Stored
    path: Path  # what is mapped
    stamp: tuple[int, ...]  # of the files when it was opened
    sample: str


_open: OrderedDict[Shard, OpenShard] = OrderedDict()
_turn = threading.Lock()


def _opened(shard: Shard) -> OpenShard:
    try:
        path = Path(shard.path)
        if shard.parquet is not None:
            path = converted(path, shard.parquet, np.dtype(shard.kind), shard.count)
        size, stamp = path.stat().st_size, _stamp(shard, path)
        if size < shard.needed:
            raise OSError(f"it has {size} bytes where {shard.needed} are needed")
        rows = np.asarray(np.memmap(path, shard.kind, "r", shard.offset, (shard.count, shard.width)))
    except Exception as error:
        raise shard.error(_said(error)) from error
    some = np.linspace(0, shard.count - 1, min(SAMPLED, shard.count)).astype(np.int64)
    sample = hashlib.sha256(f"{size} ".encode() + rows[some].tobytes()).hexdigest()
    found = OpenShard(rows, path, stamp, sample)
    with _turn:
        _open[shard] = found
        _open.move_to_end(shard)
        while len(_open) > OPEN_AT_ONCE:
            _open.popitem(last=False)
    return found


def _stamp(shard: Shard, path: Path) -> tuple[int, ...]:
    """What changes when a file is written to or replaced; empty if it is gone.

    Parquet files are read from a map that was made of them: both count.
    """
    try:
        seen = [os.stat(one) for one in dict.fromkeys((shard.path, str(path)))]
    except OSError:
        return ()
    return tuple(number for one in seen for number in (one.st_size, one.st_mtime_ns, one.st_ino))


def _said(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
