"""Pricing over the shards of a catalogue: each looks at its own rows, and those with the largest g travel.

A shard keeps what `Pricing` keeps, the g of the last design that it read all rows for, and so reads few rows
for the next. That is a cache: a worker that does not have it reads all rows.
"""

from __future__ import annotations

import threading
import uuid
import weakref
from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np

from noisewise.actions.catalogue.shards import Shard
from noisewise.designs.optimal.pricing import Pricing
from noisewise.designs.optimal.working import WorkingSet
from noisewise.designs.shared.catalogue_rows import CatalogueRows, ShardRows
from noisewise.designs.shared.rows import Floats, Indices

MOST_ROWS = 4000  # of one shard that travel
MOST_KEPT = 1024  # pricings in one process, of shards and designs
MOST_RUNS = 2  # designs of one shard: workers do not hear when one is done, and a number per row is kept


class PricePart(NamedTuple):
    """The rows of a shard with the largest g."""

    indices: Indices  # in the catalogue
    g_values: Floats
    reads: float  # rows looked at


class CataloguePricing(Pricing):
    """Prices designs on a catalogue."""

    def __init__(self, rows: Any) -> None:
        assert isinstance(rows, CatalogueRows)
        super().__init__(rows)
        self._catalogue_rows = rows
        self._run = uuid.uuid4().hex
        weakref.finalize(self, forget, self._run)

    def _worst(self, working: WorkingSet, attained: float, *, verify: bool) -> tuple[Indices, Floats]:
        last_gap = 0.0 if verify else self._last_gap
        rows = self._catalogue_rows
        parts = rows.catalogue.every(price_part, self._run, working.support(), attained, last_gap)
        rows.reads += sum(part.reads for part in parts) / rows.n_actions
        rows.catalogue.returned += sum(part.indices.nbytes + part.g_values.nbytes for part in parts)
        return (
            np.concatenate([part.indices for part in parts]),
            np.concatenate([part.g_values for part in parts]),
        )


_pricings: OrderedDict[tuple[str, Shard], Pricing] = OrderedDict()
_turn = threading.Lock()


def forget(run: str) -> None:
    """Let go of what is kept here for a design."""
    with _turn:
        for key in [key for key in _pricings if key[0] == run]:
            del _pricings[key]


def price_part(shard: Shard, run: str, support: WorkingSet, attained: float, last_gap: float) -> PricePart:
    """Return the rows of a shard with the largest g: all above ``attained``, if they are not too many."""
    with _turn:
        pricing = _pricings.pop((run, shard), None) or Pricing(ShardRows(shard))
        _pricings[run, shard] = pricing
        for key in [key for key in _pricings if key[1] == shard][:-MOST_RUNS]:
            del _pricings[key]
        while len(_pricings) > MOST_KEPT:
            _pricings.popitem(last=False)
    before = pricing.rows.reads
    indices, g_values = pricing.look(support.frame, lambda: support, attained, last_gap)
    reads = (pricing.rows.reads - before) * shard.count
    if len(indices) > MOST_ROWS:
        # The largest, and as many at random: the worst are much alike.
        order = np.argpartition(g_values, len(g_values) - MOST_ROWS // 2)
        others = np.random.default_rng(len(indices)).choice(
            order[: -MOST_ROWS // 2], MOST_ROWS // 2, replace=False
        )
        chosen = np.sort(np.concatenate([order[-MOST_ROWS // 2 :], others]))
        indices, g_values = indices[chosen], g_values[chosen]
    return PricePart(indices + shard.first, g_values, reads)
