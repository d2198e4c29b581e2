"""Median of means in precision: many small least-squares fits, and the median of what they say.

The measurements are dealt out to k blocks, each to the block that knows least about its vector, so that all
blocks fill to the same design; the deal looks at actions and sigmas, never at rewards. For a direction y,
block b says ``<θ_b, y>`` with standard error at most ``w_b = ‖y‖`` in the norm of V_b⁻¹, whatever the tails,
and by Cantelli's inequality it is too low by more than ``t·w_b`` with probability at most ``p = 1/(1 + t²)``.
The median of ``<θ_b, y> + t·w_b`` is too low only if half of the independent blocks are:
``P(Binomial(k, p) > k/2)``. The ridge adds a bias; ``√(t² + ridge_b·R²)`` in place of t covers both.
"""

import math
from typing import NamedTuple

import numpy as np

from noisewise.core.blocks import Floats, Mask, routines, row_blocks
from noisewise.core.model import BATCH, DenseModel, rotate_in, solve_lower, solve_upper, theta
from noisewise.core.native.verbs import verb
from noisewise.core.selection import TIE
from noisewise.rules.one_pass import Curvature

#: Blocks that are tried to find the smallest ``√k·t``.
MOST_BLOCKS = 401
#: Moves towards the geometric median; from the one before, about ten are needed.
MOST_MOVES = 100
#: A move that is this small next to the spread of the blocks is the last.
SETTLED = 1e-7


class Blocks(NamedTuple):
    """Each block's ``V_b = UᵀDU`` and its estimate."""

    factor: Floats  # (k, dim, dim+1): U; the last column is Uθ_b
    pivots: Floats  # (k, dim)
    reciprocals: Floats  # (k, dim)
    tally: Floats  # (k, 6)
    thetas: Floats  # (k, dim)
    room: Floats  # for the compiled body alone: a batch of actions, and a place for each block


def new_blocks(n_blocks: int, dim: int, ridge: float) -> Blocks:
    """Empty blocks; their ridges add up to the model's, as all else in them does."""
    share = ridge / max(1, n_blocks)
    return Blocks(
        factor=np.zeros((n_blocks, dim, dim + 1)),
        pivots=np.full((n_blocks, dim), share),
        reciprocals=np.full((n_blocks, dim), 1.0 / share),
        tally=np.zeros((n_blocks, 6)),
        thetas=np.zeros((n_blocks, dim)),
        room=np.zeros(n_blocks * (2 * BATCH + dim + 1) + dim * (BATCH + 2)),
    )


def plan_blocks(miss: float, n_blocks: int | None = None) -> tuple[int, float]:
    """The odd k and the t of least ``√k·t`` such that a median is wrong with probability at most ``miss``."""
    from scipy.special import betaincinv

    tried = np.arange(1, MOST_BLOCKS + 1, 2) if n_blocks is None else np.array([n_blocks])
    half = (tried + 1) / 2.0
    # P(Binomial(k, p) >= half) is the incomplete beta function of p with both parameters half.
    reach = np.sqrt(1.0 / betaincinv(half, half, miss) - 1.0)
    best = int(np.argmin(np.sqrt(tried) * reach))
    return int(tried[best]), float(reach[best])


@verb
def deal(blocks: Blocks, model: DenseModel, action: int, reward: float, sigma: float) -> None:
    """Learn one measurement in the block that knows least about its vector."""
    vector = model.columns[:, action].astype(np.float64, copy=False)
    squared_widths = np.empty(len(blocks.thetas))
    for b in range(squared_widths.size):
        half = solve_lower(_block(blocks, b), vector)
        squared_widths[b] = half @ (half * blocks.reciprocals[b])
    b = int(np.argmax(squared_widths >= squared_widths.max() * (1.0 - TIE)))
    block = _block(blocks, b)
    rotate_in(block, np.append(vector, reward), solve_lower(block, vector), 1.0 / (sigma * sigma))
    blocks.thetas[b] = solve_upper(block, block.factor[:, -1])


@verb
def centre_of(blocks: Blocks, model: DenseModel) -> Floats:
    """The geometric median of the blocks' estimates in the norm of V, by Weiszfeld's moves."""
    dim = model.pivots.size
    upper, scale = np.triu(model.factor[:, :dim], 1), np.sqrt(model.pivots)
    places = scale * (blocks.thetas + blocks.thetas @ upper.T)
    before = theta(model)
    point = scale * (before + upper @ before)
    for _ in range(MOST_MOVES):
        apart = np.sqrt(np.square(places - point).sum(axis=1))
        spread = apart.mean()
        if spread == 0.0:
            return before
        pulls = 1.0 / np.maximum(apart, 1e-9 * spread)
        moved = pulls @ places / pulls.sum()
        small = math.sqrt(np.square(moved - point).sum()) <= SETTLED * spread
        point = moved
        if small:
            break
    return solve_upper(model, point / scale)


@verb
def certified_contrast(
    blocks: Blocks, model: DenseModel, candidates: Mask, action: int, reach: float
) -> float:
    """How far ``action`` can be below the best: the largest upper median of a contrast with a candidate."""
    largest = 0.0
    for rows in row_blocks(candidates.size):
        alive = candidates[rows]
        if alive.any():
            vectors = model.columns[:, rows][:, alive].astype(np.float64)
            contrasts = vectors - model.columns[:, [action]]
            largest = max(largest, float(_upper_medians(blocks, contrasts, reach).max()))
    return largest


@verb
def covering_radius(blocks: Blocks, model: DenseModel, reach: float) -> float:
    """The least radius such that ``means ± radius·widths`` contain both medians of every action."""
    largest = 0.0
    for rows in row_blocks(model.means.size):
        vectors = model.columns[:, rows].astype(np.float64)
        means, widths = model.means[rows], np.sqrt(model.squared_widths[rows])
        above = _upper_medians(blocks, vectors, reach) - means
        below = _upper_medians(blocks, -vectors, reach) + means
        away = np.maximum(above, below)
        known = widths > 0.0
        if known.any():
            largest = float(np.maximum(largest, (away[known] / widths[known]).max()))
    return math.inf if math.isnan(largest) else largest


def _upper_medians(blocks: Blocks, directions: Floats, reach: float) -> Floats:
    """For each direction (a column) the median over blocks of ``<θ_b, y> + reach·‖y‖``."""
    n_blocks, dim = blocks.thetas.shape
    upper = np.empty((n_blocks, directions.shape[1]))
    for b in range(n_blocks):
        factor = np.asfortranarray(blocks.factor[b, :, :dim])
        halves = routines().solve_many(1.0, factor, directions, trans_a=1, diag=1)
        widths = np.sqrt(blocks.reciprocals[b] @ np.square(halves))
        upper[b] = blocks.thetas[b] @ directions + reach * widths
    medians = np.partition(upper, n_blocks // 2, axis=0)[n_blocks // 2]
    # NaN comes last in the order, and never counts as a bound.
    return np.where(np.isnan(medians), np.inf, medians)


def _block(blocks: Blocks, b: int) -> Curvature:
    return Curvature(
        blocks.factor[b],
        blocks.pivots[b],
        blocks.reciprocals[b],
        blocks.tally[b],
        blocks.thetas[b],
        blocks.room,
    )
