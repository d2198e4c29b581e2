"""The rows of a shard with the largest ``|a·columns|²/(variance + ‖a‖²)``, what a measurement takes off."""

from typing import Any, NamedTuple

import numpy as np

from noisewise.actions.catalogue.passes import TOGETHER, Norm, taken
from noisewise.actions.catalogue.scores import ScoreAnswer, best_places
from noisewise.actions.catalogue.shards import Shard, Stored
from noisewise.core.support.blocks import Floats, map_rows


class GainQuestion(NamedTuple):
    """Which rows gain most."""

    columns: Floats  # (dim, races)
    norm: Norm
    variance: float
    most: int  # rows to return at most


def highest_gains(shard: Shard, question: GainQuestion) -> ScoreAnswer:
    """The rows of the shard that gain most, and a bound on the gains of all others."""
    norm = question.norm
    kind: Any = np.float32 if norm.is_single else np.float64
    across, unit = question.columns.shape[1], norm.unit
    size = float(np.abs(question.columns).max()) or 1.0
    both = np.hstack([question.columns / size, norm.root / unit]).astype(kind)
    roundings = norm.longest * (shard.dim + 8) * 2.0**-23
    off = roundings * float(np.linalg.norm(question.columns))
    wide_by = roundings * float(np.linalg.norm(norm.root))

    def bound(block: Stored) -> Floats:
        """What a row gains at most, whatever float32 did to its products."""
        image = np.asarray(block, dtype=kind) @ both
        squares = np.square(image, out=image)
        along = size * np.sqrt(squares[:, :across].sum(axis=1, dtype=np.float64)) + off
        widths = np.maximum(unit * np.sqrt(squares[:, across:].sum(axis=1, dtype=np.float64)) - wide_by, 0.0)
        return np.asarray(along**2 / (question.variance + widths**2))

    def look(part: slice) -> tuple[np.ndarray, Floats, float]:
        gains = np.empty(part.stop - part.start)
        for start in range(part.start, part.stop, TOGETHER):
            some = slice(start, min(start + TOGETHER, part.stop))
            gains[start - part.start : some.stop - part.start] = bound(shard.block(some))
        best, rest = best_places(gains, question.most)
        return best + part.start, gains[best], rest

    parts = map_rows(look, shard.count)
    rows, gains = (np.concatenate([part[place] for part in parts]) for place in (0, 1))
    best, rest = best_places(gains, question.most)
    cut = max(rest, *(part[2] for part in parts))
    return ScoreAnswer(rows[best] + shard.first, taken(shard, rows[best]), cut)
