"""What a replication writes down as it goes; the same on lists of actions and on infinite sets."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.core.choice.selection import Mask
from noisewise.core.model.dense import Floats


class Progress(NamedTuple):
    """How far a replication is: arrays of one number, because compiled code cannot change a tuple."""

    checkpoint: NDArray[np.int64]  # (1,): the next one, counted from 0
    regret: Floats  # (1,): of the actions measured so far, summed
    precision: Floats  # (1,): Σ 1/σ² so far
    unrecorded: Mask  # (1,): whether a round was measured and not yet looked at, because the rule has to plan
    stopped: Mask  # (1,): whether the stopping rule has fired


def no_progress() -> Progress:
    """Before the first round."""
    return Progress(
        checkpoint=np.zeros(1, np.int64),
        regret=np.zeros(1),
        precision=np.zeros(1),
        unrecorded=np.zeros(1, np.bool_),
        stopped=np.zeros(1, np.bool_),
    )


class Record(NamedTuple):
    """Every action measured, and the state of affairs at the checkpoints."""

    pulled: NDArray[Any]  # (horizon,): rows, -1 after the stop; on sets (horizon, dim): vectors, NaN after it
    checkpoints: NDArray[np.int64]  # (C,), ascending
    progress: Progress
    # In the order of results.PER_CHECKPOINT:
    advised: NDArray[Any]  # (C,), on sets (C, dim)
    simple_regret: Floats  # (C,): regret of the advice
    cumulative_regret: Floats  # (C,): sum of the regrets of the actions measured
    total_precision: Floats  # (C,)
    radius: Floats  # (C,)
    distance: Floats  # (C,): ‖θ̂ - θ‖ in the norm of V; the certificate says it is below the radius
    bound: Floats  # (C,): certified regret bound


def keep(progress: Progress, regret: float, precision: float, unrecorded: bool) -> None:
    """Write down how far it is; a loop counts in numbers of its own, which are faster."""
    progress.regret[0] = regret
    progress.precision[0] = precision
    progress.unrecorded[0] = unrecorded


def next_due(record: Record) -> int:
    """The round after which the next checkpoint is, counted from 1; 0 if there is none left."""
    at = record.progress.checkpoint[0]
    return int(record.checkpoints[at]) if at < record.checkpoints.size else 0


def write_down(
    record: Record,
    stopped: bool,
    simple_regret: float,
    radius: float,
    distance: float,
    bound: float,
) -> range:
    """Fill in the checkpoint that is due; after a stop all later ones too, since nothing changes any more.

    Returns which these are: what is advised is still to be written there, a row or a vector.
    """
    progress = record.progress
    first = progress.checkpoint[0]
    last = record.checkpoints.size if stopped else first + 1
    for c in range(first, last):
        record.simple_regret[c] = simple_regret
        record.cumulative_regret[c] = progress.regret[0]
        record.total_precision[c] = progress.precision[0]
        record.radius[c] = radius
        record.distance[c] = distance
        record.bound[c] = bound
    progress.checkpoint[0] = last
    progress.stopped[0] = stopped
    return range(first, last)
