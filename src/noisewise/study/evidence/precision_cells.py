"""Reaches of options with known error bars, interpolated in the logarithm of their precision.

With z in units of one standard error, the reach at a level is a smooth function of ``log(N·resolution²)``
alone. So it is searched at a few precisions in every cell of that axis that a study meets, and interpolated
by Chebyshev polynomials between them: a study of 10^5 options costs no more searches than one of a hundred.
What is found is widened by more than interpolation errs (`SAFETY`; a test compares).
"""

import functools
import math

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.study.evidence.kind import DOWN, UP
from noisewise.study.evidence.known import KnownErrorBars
from noisewise.study.evidence.levels import Levels, all_levels
from noisewise.study.evidence.reach import reaches

#: The width of a cell, and in how many points of it reaches are searched.
WIDTH, NODES = 0.5, 12
#: By which part of themselves (and of one standard error) reaches are widened.
SAFETY = 1e-11
#: How many cells are kept for all studies of a process.
MOST_KEPT = 4000

_places = np.cos(np.pi * (np.arange(NODES) + 0.5) / NODES)


def interpolated(precision: Floats, resolution: float, levels: Levels) -> tuple[Floats, Floats]:
    """Reaches upwards and downwards at `all_levels`.

    Args:
        precision: Of some options, (k,), all above 0.
        resolution: The difference that matters.
        levels: The levels.
    """
    log = np.log(precision) + 2.0 * math.log(resolution)
    cell = np.floor(log / WIDTH).astype(np.int64)
    place = 2.0 * (log / WIDTH - cell) - 1.0
    rivals, spent = all_levels(levels)
    names = rivals.tobytes(), spent.tobytes()
    scale = 1.0 / np.sqrt(precision)
    found = np.empty((precision.size, rivals.size + spent.size))
    for one in np.unique(cell):
        rows = np.flatnonzero(cell == one)
        nodes = _cell(int(one), *names)
        reach = _weights(place[rows]) @ nodes
        found[rows] = (reach + SAFETY * (1.0 + np.abs(reach))) * scale[rows, None]
    return found[:, : rivals.size], found[:, rivals.size :]


@functools.lru_cache(maxsize=MOST_KEPT)
def _cell(cell: int, rivals: bytes, spent: bytes) -> Floats:
    """Reaches in the points of one cell, in units of one standard error, (NODES, levels)."""
    precision = np.exp(WIDTH * (cell + 0.5 * (1.0 + _places)))
    kind = KnownErrorBars(precision, np.zeros(NODES), 1.0)
    options = np.arange(NODES)
    both = [
        reaches([kind], options, np.frombuffer(rivals), UP),
        reaches([kind], options, np.frombuffer(spent), DOWN),
    ]
    return np.asarray(np.concatenate(both, axis=1) * np.sqrt(precision)[:, None])


def _weights(place: Floats) -> Floats:
    """What each point of a cell counts at each place, (k, NODES): cardinal functions of Chebyshev points."""
    angle = np.arccos(np.clip(place, -1.0, 1.0))[:, None]
    order = np.arange(NODES)
    nodes = np.cos(np.outer(np.pi * (np.arange(NODES) + 0.5) / NODES, order))  # (NODES, order)
    series = np.cos(angle * order) * np.where(order == 0, 1.0, 2.0) / NODES
    return np.asarray(series @ nodes.T)
