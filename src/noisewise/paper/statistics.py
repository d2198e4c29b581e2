"""Means, slopes and counts with their uncertainty."""

import math
from typing import NamedTuple

import numpy as np

from noisewise.core.support.blocks import Floats

#: Two-sided 95 %.
NORMAL = 1.959963984540054


class Interval(NamedTuple):
    """A measured number and the ends of its 95 % interval."""

    mean: float
    low: float
    high: float

    def within(self, claimed: float, tolerance: float) -> bool:
        """Whether even the far end of the interval is close enough to a claim."""
        return max(abs(self.low - claimed), abs(self.high - claimed)) <= tolerance


def interval(mean: float, error: float) -> Interval:
    """A normal interval."""
    return Interval(mean, mean - NORMAL * error, mean + NORMAL * error)


def slope(x: Floats, y: Floats) -> float:
    """The exponent of y in x, by least squares on logarithms."""
    return float(_slope_weights(x) @ np.log(y))


def slope_of_means(x: Floats, means: Floats, errors: Floats) -> Interval:
    """The exponent of means that are uncertain independently of each other (delta method)."""
    weights = _slope_weights(x)
    return interval(slope(x, means), float(np.sqrt(np.square(weights * errors / means).sum())))


def slope_of_runs(x: Floats, runs: Floats) -> Interval:
    """The exponent of ``(R, C)`` runs that each have one, with the interval of their mean."""
    weights = _slope_weights(x)
    exponents = np.log(runs) @ weights
    n = len(exponents)
    error = float(np.std(exponents, ddof=1) / math.sqrt(n)) if n > 1 else 0.0
    return interval(float(exponents.mean()), error)


def _slope_weights(x: Floats) -> Floats:
    logs = np.log(np.asarray(x, dtype=np.float64))
    centred = logs - logs.mean()
    return np.asarray(centred / (centred @ centred))


def most_misses(runs: int, probability: float, cells: int = 1) -> int:
    """How many misses are still believable at this probability: false alarm 1e-6 over all cells."""
    from scipy.stats import binom

    return int(binom.isf(1e-6 / cells, runs, probability))


def share(count: int, runs: int) -> Interval:
    """A share of runs with Wilson's interval."""
    mean = count / runs
    z = NORMAL**2
    centre = (mean + z / (2 * runs)) / (1 + z / runs)
    half = NORMAL / (1 + z / runs) * math.sqrt(mean * (1 - mean) / runs + z / (4 * runs**2))
    return Interval(mean, min(mean, max(0.0, centre - half)), max(mean, min(1.0, centre + half)))
