"""The rows of a catalogue for designs: few are taken here, everything else is asked of its shards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from noisewise.actions import Catalogue
from noisewise.actions.catalogue.shards import Shard
from noisewise.designs.shared.rows import CHUNK, ActionRows, Floats, Indices, Part


class CatalogueRows(ActionRows):
    """What `ActionRows` is for an array; reads of shards are counted where they are asked for."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self.scales = None
        self.n_actions, self.dim = catalogue.n_actions, catalogue.dim
        self.single = catalogue.single
        self.reads = 0.0

    def take(self, indices: Indices) -> Floats:
        """Return the rows ``indices`` as float64."""
        self.reads += len(indices) / self.n_actions
        return self.catalogue.take(indices)

    def chunks(self, indices: Indices | None = None) -> Iterator[tuple[slice, npt.NDArray[Any]]]:
        """Yield ``(places, block)`` over the rows ``indices``, or over all: they all travel."""
        wanted = np.arange(self.n_actions, dtype=np.int64) if indices is None else indices
        for start in range(0, len(wanted), CHUNK):
            places = slice(start, min(start + CHUNK, len(wanted)))
            yield places, self.take(wanted[places])

    def mapped(self, ask: Callable[..., Part], *arguments: Any) -> list[tuple[int, Part]]:
        """Return what ``ask`` says of the rows of each shard, where they are, with the shard's first row."""
        self.reads += 1.0
        shards = self.catalogue.shards
        found = self.catalogue.every(ask_part, ask, arguments)
        return [(shard.first, part) for shard, part in zip(shards, found, strict=True)]


class ShardRows(ActionRows):
    """The rows of a shard, where they are."""

    def __init__(self, shard: Shard) -> None:
        self.shard, self.scales = shard, None
        self.n_actions, self.dim, self.first = shard.count, shard.dim, shard.first
        self.single = shard.kind == "float32"
        self.reads = 0.0

    def take(self, indices: Indices) -> Floats:
        """Return the rows ``indices``, counted in the shard, as float64."""
        self.reads += len(indices) / self.n_actions
        return np.asarray(self.shard.block(indices), dtype=np.float64)

    def chunks(self, indices: Indices | None = None) -> Iterator[tuple[slice, npt.NDArray[Any]]]:
        """Yield ``(places, block)`` over all rows, or over the rows ``indices`` only."""
        n_rows = self.n_actions if indices is None else len(indices)
        for start in range(0, n_rows, CHUNK):
            places = slice(start, min(start + CHUNK, n_rows))
            yield places, self.shard.block(places if indices is None else indices[places])
        self.reads += n_rows / self.n_actions


def ask_part(shard: Shard, ask: Callable[..., Part], arguments: tuple[Any, ...]) -> Part:
    """Ask about the rows of a shard."""
    return ask(ShardRows(shard), *arguments)
