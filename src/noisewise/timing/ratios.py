"""What the rounds so far say about the ratio of two times, apart from any study."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.study.evidence.symmetric import FIRST, PairRounds, gathered, log_evidence, upper_limits

#: What can be said of a candidate: at most eps slower than the baseline, more than that, neither.
WITHIN, SLOWER, UNDECIDED = VERDICTS = ("within", "slower", "undecided")


class Ratio(NamedTuple):
    """One time over another."""

    middle: float  # the median over rounds
    low: float
    high: float


class Comparison:
    """A candidate against its baseline, while rounds come: is it at most so many times as slow?

    Of "at most" and "more than" one is wrong, so that both may be tested at the whole error probability.

    Args:
        most: The largest ratio of their times that is good enough.
        delta: The error probability.
    """

    def __init__(self, most: float, delta: float) -> None:
        self._most, self._level = math.log(most), math.log(1.0 / delta)
        self._pair = PairRounds((0, 0))

    def verdict(self, candidate: Sequence[float], baseline: Sequence[float]) -> str:
        """What can be said after these times, of which earlier ones are known."""
        known = FIRST + len(self._pair.apart)
        apart = np.log(candidate[known:]) - np.log(baseline[known:])
        self._pair.extend(np.concatenate([self._pair.apart, apart]))
        if not self._pair.apart:
            return UNDECIDED
        slower, quicker = (
            float(log_evidence(gathered([self._pair], np.array([sign])), np.array([claim]), gross=True)[0])
            for sign, claim in ((-1.0, -self._most), (1.0, self._most))
        )
        return WITHIN if quicker >= self._level else SLOWER if slower >= self._level else UNDECIDED


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
