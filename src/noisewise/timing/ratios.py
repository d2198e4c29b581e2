"""What the rounds so far say about the ratio of two times, apart from any study."""

import math
from typing import NamedTuple

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.study.evidence.symmetric import FIRST, PairRounds, gathered, upper_limits


class Ratio(NamedTuple):
    """One time over another."""

    middle: float  # the median over rounds
    low: float
    high: float


def ratio_of(times: Floats, other: Floats, delta: float) -> Ratio:
    """One option's times over another's, with limits that hold after every round.

    Args:
        times: Of the one, round by round from the first on.
        other: Of the other; only the rounds of both count.
        delta: The error probability of each of the two limits.
    """
    count = min(times.size, other.size)
    apart = np.log(times[:count]) - np.log(other[:count])
    if count <= FIRST:
        return Ratio(float(np.exp(apart[-1])), 0.0, math.inf)
    pair = PairRounds((0, 0)).extend(apart[FIRST:])
    level = np.array([math.log(1.0 / delta)])
    above, below = (
        float(upper_limits(gathered([pair], np.array([sign])), level, gross=True)[0]) for sign in (1.0, -1.0)
    )
    return Ratio(float(np.exp(np.median(apart[FIRST:]))), math.exp(-below), math.exp(min(above, 700.0)))
