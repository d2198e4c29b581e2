"""Comparing all options with the best: how many widths the errors of all differences to one option exceed.

If x* is the best option, only the differences ``x* - x`` have to be bounded, all at once and from one side:
the multiple comparisons with the best of Hsu, with the quantiles of Dunnett. Which option x* is, is not
known, so every option that may be the best gets its own quantile; only one of these statements is used, so
none pays for the others.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from noisewise.core.blocks import Floats

#: Draws at least for each quantile.
FEWEST_DRAWS = 512
#: Standard errors added to the averaged probability: a quantile is then rarely too small, and by little.
SAFE = 2.0
#: Steps of the search for a quantile, which comes down from the union bound: wherever it ends is safe.
STEPS = 3
#: Squared distances below this share of the squared lengths are rounding.
COPY = 1e-14
#: Errors held at a time: what fits into the cache of a core.
TOGETHER = 250_000


def sub_gaussian_union(n_others: int, delta: float) -> float:
    """What ``n_others`` sub-Gaussian errors of width 1 exceed with probability at most delta."""
    return math.sqrt(2.0 * math.log(max(1, n_others) / delta))


def gaussian_union(n_others: float, delta: float) -> float:
    """What ``n_others`` normal errors of width 1 exceed with probability at most delta, however dependent."""
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
    points = np.ascontiguousarray(points)
    lengths = np.einsum("ij,ij->i", points, points)
    squared = lengths[best, None] + lengths - 2.0 * points[best] @ points.T
    different = squared > COPY * (lengths[best, None] + lengths)
    counts = np.count_nonzero(different, axis=1)
    quantiles = np.empty(best.size)
    for count in np.unique(counts):
        alike = np.flatnonzero(counts == count)
        step = max(1, TOGETHER // max(1, count * _n_draws(int(count))))
        for block in (alike[start : start + step] for start in range(0, alike.size, step)):
            others = np.nonzero(different[block])[1].reshape(block.size, count)
            units = points[best[block]][:, None, :] - points[others]
            units /= np.sqrt(np.einsum("ijk,ijk->ij", units, units))[:, :, None]
            quantiles[block] = _quantiles(units.astype(np.float32), delta)
    return quantiles


def _quantiles(units: NDArray[np.float32], delta: float) -> Floats:
    """The quantiles of the largest ``<u_j, g>`` for several sets of unit vectors, (sets, count, dim)."""
    from scipy.special import ndtr, ndtri

    sets, count, dim = units.shape
    quantiles = np.full(sets, gaussian_union(count, delta))
    if count < 2:
        return quantiles
    normals, uniforms = _draws(_n_draws(count), dim)
    # Every comparison is the random one equally often: no isolated one is missed.
    chosen = np.tile(units, (1, len(normals) // count, 1))
    across = normals - np.einsum("jk,ijk->ij", normals, chosen)[:, :, None] * chosen
    errors = np.empty((sets, len(normals), count), dtype=np.float32)
    exceeds = np.empty(errors.shape, dtype=np.bool_)
    for _ in range(STEPS):
        # A draw that exceeds the chosen comparison: its part along u_j is drawn from the tail instead.
        tails = -ndtri(ndtr(-quantiles)[:, None] * uniforms)
        draws = across + tails.astype(np.float32)[:, :, None] * chosen
        np.matmul(draws, units.transpose(0, 2, 1), out=errors)
        np.greater(errors, quantiles.astype(np.float32)[:, None, None], out=exceeds)
        counted = 1.0 / np.maximum(exceeds.view(np.uint8).sum(axis=2, dtype=np.uint32), 1)
        mean = counted.mean(axis=1) + SAFE * counted.std(axis=1, ddof=1) / math.sqrt(len(normals))
        # A smaller quantile exceeds more at once: the mean here is above the one there.
        tail = delta / np.maximum(1.0, count * np.minimum(1.0, mean))
        quantiles = np.minimum(quantiles, -ndtri(np.minimum(0.5, tail)))
    return quantiles


def _n_draws(count: int) -> int:
    """As many for each comparison as for any other."""
    return count * -(-FEWEST_DRAWS // max(1, count))


@lru_cache(maxsize=16)
def _draws(count: int, dim: int) -> tuple[NDArray[np.float32], Floats]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((count, dim)).astype(np.float32), rng.random(count)
