"""Predicting a coming sigma: from what an action's own measurements were like, and from those of all actions.

In most worlds noise belongs to the round (the day, the instrument, the sample size), and an action's history
says nothing about it. In others it belongs to the action: some options are simply measured more exactly.
An analysis of variance of ``log σ²`` tells which world it is, and how far to believe an action's own
history; time trends are taken out first, or whatever was measured early would look noisy.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.core.model.dense import Floats

#: Rounds over which the running level forgets: trends are slower, an action's turns are faster.
MEMORY = 20.0
#: Standard errors by which actions must differ before they are believed to: rare quiet rounds are far from
#: normal, and a wrong belief sends measurements to actions that were lucky.
CAUTION = 8.0
#: Repetitions, over all actions, below which nothing is judged.
FEWEST_REPEATS = 10.0

# What the tally holds.
LEVEL = 0  # the running level of log σ²
TOLD = 1
SUM = 2  # of the residuals, log σ² minus the level before it
SQUARES = 3
BETWEEN = 4  # Σ over actions of (sum of residuals)²/count
ACTIONS = 5  # measured at least once
PAIRS = 6  # Σ over actions of count²
DIFFER = 7  # 1 while actions are believed to differ


class NoiseHistory(NamedTuple):
    """What the sigmas told so far say about those to come."""

    counts: Floats  # (n,)
    residuals: Floats  # (n,): sums of log σ² minus the running level
    precisions: Floats  # (n,): Σ 1/σ²
    relative: Floats  # (n,): an action's variance over that of an average action
    tally: Floats  # (8,): what the names above say


def new_history(n: int) -> NoiseHistory:
    """Before any measurement all actions are alike."""
    return NoiseHistory(np.zeros(n), np.zeros(n), np.zeros(n), np.ones(n), np.zeros(8))


def observe(history: NoiseHistory, action: int, sigma: float) -> None:
    """Book one sigma, in place, and judge afresh how much actions differ."""
    tally, counts, residuals = history.tally, history.counts, history.residuals
    value = 2.0 * math.log(sigma)
    if tally[TOLD] == 0.0:
        tally[LEVEL] = value
    residual = value - tally[LEVEL]
    count, total = counts[action], residuals[action]
    before = total * total / count if count > 0.0 else 0.0
    counts[action], residuals[action] = count + 1.0, total + residual
    tally[BETWEEN] += residuals[action] ** 2 / counts[action] - before
    tally[ACTIONS] += 1.0 if count == 0.0 else 0.0
    tally[PAIRS] += 2.0 * count + 1.0
    tally[TOLD] += 1.0
    tally[SUM] += residual
    tally[SQUARES] += residual * residual
    history.precisions[action] += 1.0 / (sigma * sigma)
    compare_actions(history)
    # What belongs to the action must not move the level of the round.
    tally[LEVEL] += (residual - math.log(history.relative[action])) / min(tally[TOLD], MEMORY)


def observe_all(history: NoiseHistory, actions: NDArray[np.int64], sigmas: Floats) -> None:
    """Book many sigmas at once, in place, when their order means nothing: there is no trend to take out."""
    tally, n = history.tally, history.counts.size
    logs = 2.0 * np.log(sigmas)
    tally[LEVEL] = logs.mean()
    residuals = logs - tally[LEVEL]
    history.counts[:] = np.bincount(actions, minlength=n)
    history.residuals[:] = np.bincount(actions, residuals, minlength=n)
    history.precisions[:] = np.bincount(actions, sigmas**-2.0, minlength=n)
    tally[TOLD] = actions.size
    tally[SUM] = residuals.sum()
    tally[SQUARES] = (residuals**2).sum()
    tally[BETWEEN] = (history.residuals**2 / np.maximum(history.counts, 1.0)).sum()
    tally[ACTIONS] = np.count_nonzero(history.counts)
    tally[PAIRS] = (history.counts**2).sum()
    compare_actions(history)


def compare_actions(history: NoiseHistory) -> None:
    """Analysis of variance: set ``relative`` to what the actions' own histories are worth."""
    tally = history.tally
    told, groups = tally[TOLD], tally[ACTIONS]
    freedom, between = told - groups, 0.0
    if groups >= 2.0 and freedom >= FEWEST_REPEATS:
        within = max(0.0, tally[SQUARES] - tally[BETWEEN]) / freedom
        spread = max(0.0, tally[BETWEEN] - tally[SUM] ** 2 / told) / (groups - 1.0)
        # Without any difference spread/within has mean 1 and about this standard error.
        doubt = 1.0 + CAUTION * math.sqrt(2.0 / (groups - 1.0) + 2.0 / freedom)
        between = (spread - doubt * within) * (groups - 1.0) / (told - tally[PAIRS] / told)
    if between > 1e-6:
        # The mean of `count` residuals has variance between + within/count around the common mean.
        prior = within / between
        shrunk = (history.residuals - history.counts * tally[SUM] / told) / (history.counts + prior + 1e-9)
        history.relative[:] = np.exp(shrunk)
        tally[DIFFER] = 1.0
    elif tally[DIFFER] > 0.0:
        history.relative[:] = 1.0
        tally[DIFFER] = 0.0


def average_variance(history: NoiseHistory) -> float:
    """The variance whose weight is the mean weight told so far, of an action with ``relative`` 1."""
    told = history.tally[TOLD]
    if told == 0.0:
        return 1.0
    if history.tally[DIFFER] > 0.0:
        return float(told / (history.precisions * history.relative).sum())
    return float(told / history.precisions.sum())
