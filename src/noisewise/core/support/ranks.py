"""Ranks, with equal values sharing the mean of theirs."""

import numpy as np
from numpy.typing import NDArray


def mean_ranks(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """The rank of every value, the smallest having 1, and how often each distinct value occurs."""
    _, place, ties = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(ties) - (ties - 1) / 2.0)[place], ties
