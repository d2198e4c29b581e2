"""Ratios of paired figures: their geometric mean, and how well that is known."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import t


class Ratio(NamedTuple):
    """A geometric mean of ratios with its interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.2f} ({self.low:.2f} to {self.high:.2f})"


def geometric_ratio(new: Sequence[float], old: Sequence[float], confidence: float = 0.95) -> Ratio:
    """The geometric mean of new / old, pair by pair, and Student's interval of its logarithm.

    With one pair nothing is known about the spread, and the interval is everything.
    """
    if len(new) != len(old) or not len(new):
        raise ValueError(f"`new` and `old` must be pairs; got {len(new)} and {len(old)} figures.")
    logs = np.log(np.asarray(new, dtype=float) / np.asarray(old, dtype=float))
    middle = float(logs.mean())
    if logs.size == 1:
        return Ratio(math.exp(middle), 0.0, math.inf)
    error = float(logs.std(ddof=1)) / math.sqrt(logs.size)
    reach = float(t.ppf(0.5 + confidence / 2.0, logs.size - 1)) * error
    return Ratio(math.exp(middle), math.exp(middle - reach), math.exp(middle + reach))
