"""Comparing everybody with the best: how many widths the errors of all differences to one option exceed.

If x* is the best option, only the differences ``x* - x`` have to be bounded, all at once and from one side:
the multiple comparisons with the best of Hsu, with the quantiles of Dunnett. Who x* is nobody knows, so every
option that may be the best gets its own quantile; only one of these statements is used, so none pays for the
others.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, ndtri

from noisewise.core.rows import Floats

#: Directions, with their opposites, over which the exact probability is averaged.
N_DIRECTIONS = 256
#: Standard errors added to the averaged probability: what is left of chance is on the safe side.
SAFE = 3.0
#: Steps of the search for a quantile; it ends on the safe side wherever it stops.
STEPS = 12
#: Entries per unit in the table of the chi distribution.
PER_UNIT = 1000


def sub_gaussian_union(n_others: int, delta: float) -> float:
    """What ``n_others`` sub-Gaussian errors of width 1 exceed with probability at most delta."""
    return math.sqrt(2.0 * math.log(max(1, n_others) / delta))


def gaussian_union(n_others: int, delta: float) -> float:
    """The same for normal errors, however dependent."""
    return float(-ndtri(min(0.5, delta / max(1, n_others))))


def comparison_quantiles(
    points: Floats, best: NDArray[np.intp], delta: float, n_directions: int = N_DIRECTIONS
) -> Floats:
    """For each row i of ``best``, what errors of differences to i exceed with chance delta, in widths.

    The rows of ``points`` are the options, whitened by the covariance of the estimate: with g standard
    normal, it is the quantile of ``max over j of <p_i - p_j, g>/|p_i - p_j|``. With g a length times a
    direction u, the length is chi-distributed whatever the direction, so that with ``h(u)`` the largest
    cosine the probability is the mean over u of ``P(chi > c/h(u))``: only the directions are drawn.
    """
    dim = points.shape[1]
    union = gaussian_union(len(points) - 1, delta)
    cosines = _largest_cosines(points, best, _directions(n_directions, dim))
    tail = _chi_tail(dim)
    low, high = np.full(len(best), gaussian_union(1, delta)), np.full(len(best), union)
    reciprocals = PER_UNIT / np.maximum(cosines, 1e-12)
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        places = np.minimum(middle[:, None] * reciprocals, tail.size - 1).astype(np.intp)
        # A direction and its opposite are one draw.
        pairs = tail[places].reshape(len(best), 2, -1).mean(axis=1)
        chance = pairs.mean(axis=1) + SAFE * pairs.std(axis=1, ddof=1) / math.sqrt(n_directions)
        low, high = np.where(chance > delta, middle, low), np.where(chance > delta, high, middle)
    return np.asarray(high)


def _largest_cosines(points: Floats, best: NDArray[np.intp], directions: Floats) -> Floats:
    """``max over j of <p_i - p_j, u>/|p_i - p_j|`` for i in ``best``, (len(best), 2 x directions)."""
    along = points @ directions.T
    found = np.empty((len(best), 2 * len(directions)))
    lengths = np.einsum("ij,ij->i", points, points)
    for k, i in enumerate(best):
        squared = lengths + lengths[i] - 2.0 * (points @ points[i])
        apart = squared > 1e-14 * (lengths + lengths[i])
        cosines = (along[i] - along[apart]) / np.sqrt(squared[apart])[:, None]
        found[k, : len(directions)] = cosines.max(axis=0, initial=-np.inf)
        found[k, len(directions) :] = -cosines.min(axis=0, initial=np.inf)
    return found


@lru_cache(maxsize=16)
def _directions(count: int, dim: int) -> Floats:
    draws = np.random.default_rng(0).standard_normal((count, dim))
    return np.asarray(draws / np.linalg.norm(draws, axis=1, keepdims=True))


@lru_cache(maxsize=16)
def _chi_tail(dim: int) -> Floats:
    """``P(chi > s)`` at s = 0, 1, 2, … in units of 1/PER_UNIT: rounding s down keeps it from below."""
    return np.asarray(
        chdtrc(float(dim), (np.arange((12.0 + 2.0 * math.sqrt(dim)) * PER_UNIT) / PER_UNIT) ** 2)
    )
