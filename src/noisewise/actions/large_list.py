"""Lists of actions that need not fit into memory: memory maps, files, and arrays of Dask."""

import glob
import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise.actions.finite import ActionSet, _as_labels, _as_rows, _survey
from noisewise.core.blocks import Floats

Rows = NDArray[np.int64]
Numbers = NDArray[np.floating]

#: A memory map of fewer rows is used like any array.
MANY = 250_000
#: Rows that are read together.
TOGETHER = 50_000
ENDINGS = (".npy", ".parquet")


def is_large(vectors: Any) -> bool:
    """Whether these vectors are a `LargeList`: an array of Dask, files, or a memory map of many rows."""
    if isinstance(vectors, np.memmap):
        return vectors.ndim == 2 and len(vectors) >= MANY
    return hasattr(vectors, "to_delayed") or bool(_paths(vectors))


class LargeList(ActionSet):
    """A list of actions that is read in parts, and seldom: `ActionSet` of a large source makes one.

    Rules that choose by width alone (`noisewise.vaee`, `noisewise.rules.widest`) run on it and read a few
    rows in most rounds. Whatever looks at every vector needs one array: in memory, or a memory map.

    Args:
        vectors: A memory map; a ``dask.array``, whose blocks Dask's scheduler reads, a cluster's if there is
            a client; or files that end in .npy or .parquet: a path, a pattern such as ``"vectors-*.npy"``,
            or a list of paths, one after the other. A file of Parquet is read as a whole.
        labels: Names for people, one per action, all different. Default: the row numbers.
    """

    def __init__(self, vectors: Any, labels: Sequence[str] | None = None) -> None:
        self.is_memory_map = True  # never stored with what is saved
        self.rows_read = 0
        self._lazy = hasattr(vectors, "to_delayed")
        if self._lazy:
            if vectors.ndim != 2:
                raise ValueError(f"`vectors` must have two dimensions, (n_actions, dim); got {vectors.ndim}.")
            if np.isnan(sum(vectors.chunks[0])):
                raise ValueError("`vectors` must have chunks of known sizes: call its `compute_chunk_sizes`.")
            vectors = vectors.rechunk({1: -1})
            self._shards, sizes = vectors.to_delayed()[:, 0].tolist(), list(vectors.chunks[0])
        else:
            if isinstance(vectors, np.memmap):
                self.vectors = _as_rows(vectors)
            parts = [self.vectors] if isinstance(vectors, np.memmap) else _open(_paths(vectors))
            self._shards = [shard for part in parts for shard in _sliced(part)]
            sizes = [_shape(shard)[0] for shard in self._shards]
        self._firsts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.n_actions = int(self._firsts[-1])
        surveys = self.each(_survey_of_shard, None, list(zip(self._firsts.tolist(), strict=False)))
        self.dim = surveys[0][0].shape[0]
        if odd := [len(moment) for moment, _, _ in surveys if len(moment) != self.dim]:
            raise ValueError(
                f"`vectors` must have as many columns in every file; got {self.dim} and {odd[0]}."
            )
        self._moment = sum((moment for moment, _, _ in surveys), np.zeros((self.dim, self.dim)))
        self.max_norm = max(longest for _, longest, _ in surveys)
        self.squared_norms = np.concatenate([squares for _, _, squares in surveys])
        self.labels = None if labels is None else _as_labels(labels, self.n_actions)

    def __getattr__(self, name: str) -> Any:
        if name == "vectors":  # of files and Dask
            raise ValueError(
                "`actions` must be one array, in memory or a memory map, for what looks at every vector; got "
                f"{self!r}: nw.vaee and nw.rules.widest run on it."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def each(
        self,
        look: Callable[..., Any],
        rows: Rows | None = None,
        own: Sequence[Any] = (),
        more: tuple[Any, ...] = (),
    ) -> list[Any]:
        """``look(vectors, ...)`` for every shard, or for some of its rows (ascending), in their order.

        Args:
            look: A function of vectors in double precision.
            rows: Default: all.
            own: A tuple of further arguments for each shard.
            more: Further arguments for all shards.
        """
        places: Sequence[Any] = [slice(None)] * len(self._shards)
        if rows is not None:
            parts = np.split(rows, np.searchsorted(rows, self._firsts[1:-1]))
            places = [part - first for part, first in zip(parts, self._firsts[:-1], strict=True)]
        self.rows_read += self.n_actions if rows is None else rows.size
        asked = [k for k, place in enumerate(places) if isinstance(place, slice) or place.size]
        pieces = [(look, self._shards[k], places[k], (own[k] if own else ()) + more) for k in asked]
        if not self._lazy:
            return [_look(*piece) for piece in pieces]
        import dask

        return list(dask.compute(*(dask.delayed(_look)(*piece) for piece in pieces)))

    def take(self, rows: Rows) -> Floats:
        """Some rows, ascending, in double precision."""
        return np.concatenate(self.each(np.array, rows))

    def fingerprint(self) -> str:
        """A hash of the vectors."""
        return hashlib.sha256("".join(self.each(_digest)).encode()).hexdigest()

    def __len__(self) -> int:
        return int(self.n_actions)

    def __repr__(self) -> str:
        return f"LargeList({self.n_actions} actions, {self.dim} features)"


def _paths(vectors: Any) -> list[Path]:
    """The files that are meant; none if this is something else."""
    named = [vectors] if isinstance(vectors, str | os.PathLike) else vectors
    if not isinstance(named, list | tuple) or not all(isinstance(name, str | os.PathLike) for name in named):
        return []
    found: list[Path] = []
    for name in map(os.fspath, named):
        files = sorted(glob.glob(name)) if glob.has_magic(name) else [name]
        if not files or not all(file.endswith(ENDINGS) for file in files):
            raise ValueError(
                f"`vectors` must be numbers, or files that end in .npy or .parquet; got {name!r}."
            )
        found += map(Path, files)
    return found


def _open(paths: Sequence[Path]) -> list[Any]:
    """Files of NumPy as memory maps, those of Parquet by their paths."""
    return [
        path if path.suffix == ".parquet" else _as_rows(np.load(path, mmap_mode="r", allow_pickle=False))
        for path in paths
    ]


def _sliced(part: Any) -> list[Any]:
    if isinstance(part, Path):
        return [part]
    return [part[first : first + TOGETHER] for first in range(0, len(part), TOGETHER)]


def _shape(shard: Any) -> tuple[int, ...]:
    if isinstance(shard, Path):
        import polars as pl

        frame = pl.scan_parquet(shard)
        for name, kind in frame.collect_schema().items():
            if not kind.is_numeric():
                raise ValueError(
                    f"`vectors` must be columns of numbers; got {name!r} of {shard.name}: {kind}."
                )
        return (int(frame.select(pl.len()).collect().item()),)
    return tuple(shard.shape)


def _look(look: Callable[..., Any], shard: Any, rows: Any, more: tuple[Any, ...]) -> Any:
    if isinstance(shard, Path):
        import polars as pl

        shard = pl.read_parquet(shard).to_numpy()
    return look(np.ascontiguousarray(shard[rows], np.float64), *more)


def _survey_of_shard(vectors: Floats, first: int) -> tuple[Floats, float, Floats]:
    """The second moment, the largest norm and all squared norms; refused if a number is not finite."""
    moment, longest = _survey(vectors, first)
    return moment, longest, np.einsum("ij,ij->i", vectors, vectors)


def _digest(vectors: Floats) -> str:
    return hashlib.sha256(vectors.tobytes()).hexdigest()
