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

from noisewise.core.rows import Floats

#: Draws at least for each quantile; every comparison has as many as any other.
FEWEST_DRAWS = 128
#: Standard errors added to the averaged probability: what is left of chance is on the safe side.
SAFE = 3.0
#: Steps of the search for a quantile, which comes down from the union bound: wherever it ends is safe.
STEPS = 3
#: Squared distances below this share of the squared lengths are rounding.
COPY = 1e-14


def sub_gaussian_union(n_others: int, delta: float) -> float:
    """What ``n_others`` sub-Gaussian errors of width 1 exceed with probability at most delta."""
    return math.sqrt(2.0 * math.log(max(1, n_others) / delta))


def gaussian_union(n_others: float, delta: float) -> float:
    """The same for normal errors, however dependent."""
    from scipy.special import ndtri

    return float(-ndtri(min(0.5, delta / max(1.0, n_others))))


def comparison_quantiles(points: Floats, best: NDArray[np.intp], delta: float) -> Floats:
    """For each row i of ``best``, what errors of differences to i exceed with chance delta, in widths.

    The rows of ``points`` are the options, whitened by the covariance of the estimate: with g standard
    normal, it is the quantile c of ``max over j of <u_j, g>``, u_j the unit vector along ``p_i - p_j``.

    The union bound ``m·P(z > c)`` counts a draw of g once for every comparison it exceeds. So the
    probability is ``m·P(z > c)·E[1/N]``, where N is how many are exceeded by a g that exceeds a random one
    of them. That mean lies between 1/m and 1 however small delta is, so a few draws tell it well.
    """
    lengths = np.einsum("ij,ij->i", points, points)
    products = points @ points.T
    return np.array([_quantile(points, lengths, products, int(i), delta) for i in best])


def _quantile(points: Floats, lengths: Floats, products: Floats, i: int, delta: float) -> float:
    from scipy.special import ndtr, ndtri

    squared = lengths + lengths[i] - 2.0 * products[i]
    others = np.flatnonzero(squared > COPY * (lengths + lengths[i]))
    if others.size < 2:
        return gaussian_union(1, delta)
    widths = np.sqrt(squared[others])
    normals, uniforms = _draws(others.size * -(-FEWEST_DRAWS // others.size), points.shape[1])
    # Every comparison is the random one equally often: none that stands alone is missed.
    chosen = np.arange(len(normals)) % others.size
    along = points @ normals.T
    errors = (along[i] - along[others]) / widths[:, None]
    own = errors[chosen, np.arange(chosen.size)]
    shared = lengths[i] - products[i, others]
    cosines = shared[:, None] - products[i, others[chosen]] + products[np.ix_(others, others[chosen])]
    cosines /= widths[:, None] * widths[chosen]
    # A draw that exceeds the chosen comparison: its part along u_j is drawn from the tail instead.
    rest = errors - cosines * own
    quantile = gaussian_union(others.size, delta)
    for _ in range(STEPS):
        tails = -ndtri(ndtr(-quantile) * uniforms)
        exceeded = (rest + cosines * tails > quantile).sum(axis=0)
        counted = 1.0 / np.maximum(exceeded, 1)
        mean = counted.mean() + SAFE * counted.std(ddof=1) / math.sqrt(counted.size)
        # A smaller quantile exceeds more at once: the mean here is above the one there.
        quantile = min(quantile, gaussian_union(others.size * min(1.0, mean), delta))
    return quantile


@lru_cache(maxsize=16)
def _draws(count: int, dim: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((count, dim)), rng.random(count)
