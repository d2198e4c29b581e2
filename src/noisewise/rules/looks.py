"""Looks: the moments at which a phase may speak, its share of delta at each, and what it may then claim.

A claim compares all options with the best. If x* is the best option, only the differences ``x* - x`` have to
be bounded, all at once and from one side: the multiple comparisons with the best of Hsu, with the quantiles
of Dunnett. Which option x* is, is not known, so every option that may be the best gets its own quantile; only
one of these statements is used, so none pays for the others.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.core.blocks import Floats, Mask, routines
from noisewise.core.model import CANCELLED, DenseModel

#: Draws at least for each quantile.
FEWEST_DRAWS = 512
#: Standard errors added to the averaged probability: a quantile is then rarely too small, and by little.
SAFE = 2.0
#: Steps of the search for a quantile, which comes down from the union bound: wherever it ends is safe.
STEPS = 3
#: Squared distances below this share of the squared lengths are rounding.
COPY = 1e-14
#: Errors held at a time: what fits into the cache of a core.
ERRORS_TOGETHER = 250_000


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
        step = max(1, ERRORS_TOGETHER // max(1, count * _n_draws(int(count))))
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


#: From one level to the next the squared widths fall by this factor.
RATIO = 1.2
#: The first level, in units of eps; wider than that nothing can be certified.
FIRST = 8.0
#: Where a certificate is most likely to be reached, in units of eps: on a sphere at √8.
LIKELY = 2.1
#: How far, in powers of e, around it the larger shares of delta lie.
SPREAD = 0.4
#: What the first phase gets of delta; of the rest the second gets as much, and so on.
FIRST_PHASE = 0.97
#: Differences up to which quantiles are exact; beyond, they would take seconds.
EXACT_UP_TO = 20_000_000
#: Differences held at a time.
TOGETHER = 4_000_000
#: Means of copies differ by rounding, in units of the largest mean: by as little nothing is ruled out.
ROUNDING = 1e-9


class Looks(NamedTuple):
    """What decides when to look, and how strictly; free of any reward of the phase."""

    delta: float  # for all phases together
    pull: float  # by how many widths the ridge of a phase shifts a difference at most
    eps: float  # 0: none is aimed at
    gaussian: bool


def delta_at(looks: Looks, phase: int, level: int) -> float:
    """The share of delta that belongs to a level of a phase; all of them add up to ``looks.delta`` at most.

    Phases: ``(1-q)^(l-1)·q``. Levels: ``1/(1 + ((k-k₀)/s)²)^p`` over its sum, with p = 2 around the level
    where a certificate is likely, or p = 1 from the first on if no eps is aimed at. The sums over all
    integers have closed forms, largest where k₀ is one of them.
    """
    of_phase = looks.delta * FIRST_PHASE * (1.0 - FIRST_PHASE) ** (phase - 1)
    spread = 2.0 * SPREAD / math.log(RATIO)
    cotangent, sine = 1.0 / math.tanh(math.pi * spread), math.sinh(math.pi * spread)
    if looks.eps > 0.0:
        centre = 1.0 + 2.0 * math.log(FIRST / LIKELY) / math.log(RATIO)
        total = 0.5 * math.pi * spread * (cotangent + math.pi * spread / sine**2)
        return of_phase / total / (1.0 + ((level - centre) / spread) ** 2) ** 2
    return of_phase / (math.pi * spread * cotangent) / (1.0 + ((level - 1.0) / spread) ** 2)


def multiplier(looks: Looks, n_compared: int, delta: float) -> float:
    """How many widths a difference to the best may be off, by the union bound, with the ridge's bias."""
    union = gaussian_union if looks.gaussian else sub_gaussian_union
    return union(n_compared - 1, delta) + looks.pull


def squared_width_at(looks: Looks, start: float, phase: int, level: int, n_compared: int) -> float:
    """The squared width at which a level is reached: bounds are then ``start·RATIO^(-(level-1)/2)``."""
    bound = start * RATIO ** (-0.5 * (level - 1))
    return float((bound / multiplier(looks, n_compared, delta_at(looks, phase, level))) ** 2)


def whitened(model: DenseModel, rows: NDArray[np.intp]) -> Floats:
    """Points whose distances are the widths of the differences of these actions, (rows, dim)."""
    dim = model.pivots.size
    vectors = model.columns[:, rows].astype(np.float64)
    # Differences of the vectors first: subtracting long whitened ones would cost digits.
    vectors -= vectors[:, :1].copy()
    upper = np.asfortranarray(model.factor[:, :dim])
    halves = routines().solve_many(1.0, upper, vectors, trans_a=1, diag=1)
    return np.asarray((halves * np.sqrt(model.reciprocals)[:, None]).T)


class _Estimate(NamedTuple):
    """Estimated values, and points whose distances are the widths of their differences."""

    points: Floats  # (n, dim)
    means: Floats  # (n,)


def claims_of(
    looks: Looks,
    phase: DenseModel,
    anytime: tuple[DenseModel, float],
    compared: Mask,
    candidates: Mask,
    delta: float,
) -> tuple[Mask, Floats]:
    """Which candidates may still be the best, and how far each action can be below it.

    Both are true at once, except with probability delta, and if the anytime radius holds for its model.

    If i is the best, ``<θ, a_i - a_j> <= <θ̂, a_i - a_j> + (c_i + pull)·‖a_i - a_j‖`` for all compared j, and
    the same with the radius in the anytime model. So i is ruled out if one of these is below 0, and j loses
    at most the largest, over those that are not, of the smaller one.
    """
    rows = np.flatnonzero(compared)
    best = np.flatnonzero(candidates[rows])
    model, reach = anytime
    here = _Estimate(whitened(phase, rows), phase.means[rows])
    always = _Estimate(whitened(model, rows), model.means[rows])
    union = np.full(best.size, multiplier(looks, rows.size, delta))
    possible, bounds = _compare(here, always, reach, best, union)
    if looks.gaussian and np.count_nonzero(possible) * rows.size**2 <= EXACT_UP_TO:
        # A quantile of its own never exceeds the union bound: it rules out whatever that rules out, and where
        # the quantile holds, the union bound does. Nor is it below that of a single comparison: where even
        # this certifies nothing, none is computed.
        best = best[possible]
        single = np.full(best.size, multiplier(looks, 2, delta))
        if looks.eps == 0.0 or _compare(here, always, reach, best, single)[1].min() <= looks.eps:
            quantiles = comparison_quantiles(here.points, best, delta) + looks.pull
            possible, bounds = _compare(here, always, reach, best, quantiles)
        else:
            possible = possible[possible]
    if not possible.any():
        # The event of probability delta has happened: nothing can be concluded.
        return candidates.copy(), np.full(candidates.size, np.inf)
    left = np.zeros_like(candidates)
    left[rows[best[possible]]] = True
    claims = np.full(candidates.size, np.inf)
    claims[rows] = bounds
    return left, claims


def _compare(
    here: _Estimate, always: _Estimate, reach: float, best: NDArray[np.intp], quantiles: Floats
) -> tuple[Mask, Floats]:
    """Which of ``best`` may be the best, and the bounds of all actions."""
    possible = np.empty(best.size, dtype=np.bool_)
    bounds = np.zeros(here.means.size)
    least = -ROUNDING * max(np.abs(here.means).max(), np.abs(always.means).max())
    step = max(1, TOGETHER // here.means.size)
    for start in range(0, best.size, step):
        block = best[start : start + step]
        upper = _upper(here, block, quantiles[start : start + step])
        np.minimum(upper, _upper(always, block, np.full(block.size, reach)), out=upper)
        fits = upper.min(axis=1) >= least
        possible[start : start + step] = fits
        bounds = np.maximum(bounds, upper[fits].max(axis=0, initial=0.0))
    return possible, bounds


def _upper(estimate: _Estimate, block: NDArray[np.intp], factors: Floats) -> Floats:
    """How far each row of the block can be above each action, ``factors`` widths allowed, (block, n)."""
    points, means = estimate
    lengths = np.einsum("ij,ij->i", points, points)
    terms = lengths[block][:, None] + lengths[None, :]
    squared = np.maximum(terms - 2.0 * points[block] @ points.T, CANCELLED * terms)
    upper = means[block][:, None] - means[None, :]
    upper += factors[:, None] * np.sqrt(squared)
    upper[np.arange(block.size), block] = 0.0
    return np.asarray(upper)
