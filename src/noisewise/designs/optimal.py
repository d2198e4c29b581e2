"""Optimal designs: weights on few actions under which no action is much less well known than another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.linalg import qr

from noisewise.core.randomness import check_seed
from noisewise.designs.algebra import Floats, Indices, product, singular_values, squared_norms, times
from noisewise.designs.columns import (
    Found,
    Pricing,
    WorkingSet,
    choose_diverse,
    grown,
    in_frame,
    merged,
    solve_columns,
    whitened,
    worst_rows,
)
from noisewise.designs.rows import ActionRows, check_vectors, choose_spanning, find_span, whitener
from noisewise.designs.weights import solve_weights

CORE_AIM = 0.97  # of 2 rank, on the pool: leaves room for the rows that are not in it
SAMPLE = 60  # rows per dimension
MAX_ROUNDS = 60
HOPELESS = 3.0  # g / rank, from which on it pays to choose all actions anew
TINY = 1e-12


def full_size(rank: int) -> int:
    """Return r(r+1)/2, the number of actions that is enough for any moment matrix, up to its scale."""
    return rank * (rank + 1) // 2


def core_budget(rank: int) -> int:
    """Return the largest support of Algorithm 2: 4 r log log r + 16, and r(r+1)/2 for r <= 8."""
    if rank <= 8:
        return full_size(rank)
    return math.floor(4.0 * rank * math.log(math.log(rank)) + 16.0)


def core_design(pricing: Pricing, working: WorkingSet, rng: np.random.Generator) -> Found:
    """Return a design with g <= 2 rank on at most ``core_budget(rank)`` actions."""
    rows, rank = pricing.rows, working.rank
    pool = working
    # On sets where all rows nearly tie nothing but a sample tells where g will be large.
    n_drawn = min(rows.n_actions, SAMPLE * rank)
    pool = pool.joined(rows, np.sort(rng.choice(rows.n_actions, n_drawn, replace=False)), share=0.0)
    weights: Floats | None = None
    for _ in range(MAX_ROUNDS):
        # Frank-Wolfe needs 1.2 to 2 times the rank where the budget allows three times as many.
        weights = frank_wolfe(pool.coordinates, weights, aim=2.0 * CORE_AIM * rank)
        if np.count_nonzero(weights) > full_size(rank):
            weights = reduce_support(pool.coordinates, weights)
        found = priced(pricing, pool, weights)
        if found[1].g_value <= 2.0 * rank and found[0].n_support <= core_budget(rank):
            return found
        pool = pool.joined(rows, worst_rows(pricing, *found, 1.0, rng), share=0.0)
        weights = np.append(weights, np.zeros(len(pool.indices) - len(weights)))
        if found[1].g_value > HOPELESS * rank:
            weights = None
    raise ArithmeticError(
        "`support` must be within reach of float64 for these vectors; got 'core' and "
        f"g / rank = {found[1].g_value / rank:.3g}."
    )


def limited_design(pricing: Pricing, found: Found, n_actions: int, rng: np.random.Generator) -> Found:
    """Return a good design on at most ``n_actions`` actions, from the optimal one.

    With r(r+1)/2 actions nothing is lost. Which actions are best below that is a combinatorial question:
    the heaviest of the optimal design compete with those that Frank-Wolfe takes first.
    """
    optimal, price = found
    if len(optimal.indices) <= n_actions:
        return found
    if full_size(optimal.rank) <= n_actions:
        return priced(pricing, optimal, reduce_support(optimal.coordinates, optimal.weights))
    pool = grown(pricing, optimal, price, 1e-9, rng)
    heaviest = np.zeros(len(pool.weights))
    heaviest[np.argsort(-pool.weights, kind="stable")[:n_actions]] = 1.0
    trials = []
    for weights in (heaviest, frank_wolfe(pool.coordinates, None, n_actions=n_actions)):
        chosen = pool.only(np.flatnonzero(weights))
        values = singular_values(chosen.coordinates)
        if values[-1] > 1e-10 * values[0]:
            even = np.full(len(chosen.indices), 1.0 / len(chosen.indices))
            trials.append(priced(pricing, chosen, solve_weights(chosen.coordinates, even, 1e-3)))
    return min(trials, key=lambda trial: trial[1].g_value)


def priced(pricing: Pricing, pool: WorkingSet, weights: Floats) -> Found:
    """Return the design of these weights, without the rows of weight zero, and its price."""
    support = merged(replace(pool, weights=weights).support())
    support = whitened(support, support.weights)
    return support, pricing.price(support)


def whitened_pool(coordinates: Floats, weights: Floats) -> Floats:
    """Return the coordinates of the pool in which the moment of ``weights`` is the identity."""
    support = weights > 0.0
    return product(coordinates, whitener(coordinates[support], weights[support]))


def frank_wolfe(
    coordinates: Floats,
    weights: Floats | None,
    *,
    aim: float = 0.0,
    n_actions: int | None = None,
) -> Floats:
    """Add the row of largest g with the best step until no g is above ``aim``.

    Or until ``n_actions`` rows are in use. Without ``weights`` to go on from it starts from
    spanning rows, after Kumar and Yildirim (J. Optim. Theory Appl. 2005).
    """
    rank = coordinates.shape[1]
    if weights is None:
        weights = np.zeros(len(coordinates))
        weights[choose_spanning(coordinates)] = 1.0 / rank
    weights = weights.copy()
    for count in range(20 * rank + 100):
        if count % 20 == 0:  # afresh: the rounding of rank-one updates must not add up
            white = whitened_pool(coordinates, weights)
        g_values = squared_norms(white)
        place = int(np.argmax(g_values))
        largest = float(g_values[place])
        full = n_actions is not None and weights[place] == 0.0
        if largest <= max(aim, rank) or (full and np.count_nonzero(weights) == n_actions):
            break
        step = (largest / rank - 1.0) / (largest - 1.0)
        weights *= 1.0 - step
        weights[place] += step
        # V <- (1 - s) V + s z z^T: shrink by the root of 1 - s + s g along z, of 1 - s elsewhere.
        direction = white[place] / math.sqrt(largest)
        stretch = 1.0 - math.sqrt((1.0 - step) / (1.0 - step + step * largest))
        white -= np.outer(times(white, direction) * stretch, direction)
        white /= math.sqrt(1.0 - step)
    return weights


def reduce_support(coordinates: Floats, weights: Floats) -> Floats:
    """Return weights on at most r(r+1)/2 of the rows whose moment is no smaller (Caratheodory).

    Every null vector of the rows' outer products moves the weights without moving the moment;
    going where the total weight does not grow, until a weight is zero, and scaling up at
    the end, g can only fall. (One action less than with the total weight held fixed.)
    """
    row, column = np.triu_indices(coordinates.shape[1])
    support = np.flatnonzero(weights)
    kept = weights[support]
    products = coordinates[support][:, row] * coordinates[support][:, column]
    null = np.asfortranarray(qr(products, check_finite=False)[0][:, products.shape[1] :])
    alive = np.ones(len(support), dtype=bool)
    for last in range(null.shape[1] - 1, -1, -1):
        direction = null[:, last] * (1.0 if null[:, last].sum() >= 0.0 else -1.0)
        falling = np.flatnonzero(alive & (direction > TINY * np.abs(direction).max()))
        if len(falling) == 0:
            continue
        place = falling[np.argmin(kept[falling] / direction[falling])]
        kept = np.maximum(kept - kept[place] / direction[place] * direction, 0.0)
        kept[place], alive[place] = 0.0, False
        # The remaining null vectors must leave the dropped row alone.
        others = null[:, :last]
        others -= np.outer(direction, others[place] / direction[place])
        others[place] = 0.0
    reduced = np.zeros(len(weights))
    reduced[support] = kept / kept.sum()
    return reduced


LEAST_GAP = 1e-12  # what float64 can still tell
SUPPORTS = (None, "core", "caratheodory")
REHEARSAL_GAP = 0.1
REHEARSAL_ROWS = 20_000
WORTHWHILE = 300  # sampled rows per dimension; below, a full reading costs less


@dataclass(frozen=True, eq=False, repr=False)
class Design:
    """Weights on the actions ``indices``, with the largest g over *all* actions.

    ``g_value`` is max over actions of a^T V^+ a, V the moment matrix of the design; no design
    has less than ``rank``, and this one is at most ``gap`` above: g_value = (1 + gap) rank.
    ``g_support`` are the values on the support (all equal to the rank at the optimum).
    ``reads`` counts how many times the whole matrix was streamed to find and to prove this.
    """

    indices: Indices
    weights: Floats
    g_support: Floats
    g_value: float
    rank: int
    dim: int
    n_actions: int
    reads: float

    def __post_init__(self) -> None:
        for array in (self.indices, self.weights, self.g_support):
            array.setflags(write=False)

    @property
    def gap(self) -> float:
        """How far g is above the least possible, relatively: g_value / rank - 1."""
        return self.g_value / self.rank - 1.0

    @property
    def efficiency(self) -> float:
        """A lower bound of the D-efficiency, (det V / det V_optimal)^(1/rank)."""
        return self.rank / self.g_value

    def dense(self) -> Floats:
        """Return the weights of all actions, ``(n_actions,)``."""
        weights = np.zeros(self.n_actions)
        weights[self.indices] = self.weights
        return weights

    def chart(self, labels: Sequence[str] | None = None) -> Any:
        """A bar per action of the design as long as its share; ``labels`` name all actions."""
        from noisewise import charts

        if labels is not None and len(labels) != self.n_actions:
            raise ValueError(f"`labels` must name all {self.n_actions} actions; got {len(labels)} labels.")
        names = [str(i if labels is None else labels[i]) for i in self.indices.tolist()]
        frame = {"option": names, "weight": self.weights}
        return charts.design_weights(frame, g_value=self.g_value, rank=self.rank)

    def __repr__(self) -> str:
        span = f"dim {self.dim}"
        if self.rank < self.dim:
            span = f"a span of rank {self.rank} in dim {self.dim}, certificate relative to the rank"
        return (
            f"Design({len(self.indices)} of {self.n_actions} actions in {span}: "
            f"g = {self.g_value:.6g}, gap {self.gap:.2g}, {self.reads:.1f} reads)"
        )


def optimal_design(
    vectors: Any,
    *,
    gap: float = 1e-3,
    support: str | None = None,
    max_support: int | None = None,
    warm_start: Design | tuple[Any, Any] | None = None,
    verify: bool = False,
    seed: int = 0,
) -> Design:
    """Return weights on the actions under which no action is much less well known than another.

    The design minimises the largest g = a^T V^+ a over all actions a, V being the weighted sum
    of a a^T, up to the factor ``1 + gap``; by Kiefer and Wolfowitz it also maximises det V.

    Args:
        vectors: ``(n_actions, dim)``, perhaps a memory map or float32, or anything with such an
            array as ``.vectors``. It is read in chunks and never copied.
        gap: stop when g <= (1 + gap) rank, proved over all actions.
        support: ``"core"`` for g <= 2 rank on at most 4 r log log r + 16 actions (``gap`` is not
            used); ``"caratheodory"`` for at most r(r+1)/2 actions at no loss of g.
        max_support: the largest number of actions; g is then the best found, and ``gap`` may be missed.
        warm_start: a design of the same actions, or ``(indices, weights)``, to start from.
        verify: read all actions once more in float64 for the certificate instead of using
            bounds (which are also exact up to rounding).
        seed: of the samples that choose where to look; the certificate does not depend on it.

    >>> import numpy as np
    >>> optimal_design(np.eye(3)).weights.round(6).tolist()
    [0.333333, 0.333333, 0.333333]

    """
    check_options(gap, support, max_support)
    rows = ActionRows(check_vectors(vectors))
    pricing = Pricing(rows)
    rng = np.random.default_rng(check_seed(seed))
    if warm_start is None:
        working = begin(rows, rng, worthwhile=20 if support == "core" else WORTHWHILE)
    else:
        working = resume(rows, *check_warm_start(warm_start, rows.n_actions), rng)
    if max_support is not None and max_support < working.rank:
        raise ValueError(
            f"`max_support` must be at least the rank of the vectors, {working.rank}; got {max_support!r}."
        )
    if support == "core":
        found = core_design(pricing, working, rng)
    else:
        found = solve_columns(pricing, working, gap, rng)
        most = full_size(working.rank) if support == "caratheodory" else max_support
        found = found if most is None else limited_design(pricing, found, int(most), rng)
    working, price = found
    if verify:
        price = pricing.price(working, verify=True)
    return Design(
        indices=working.indices.astype(np.int64),
        weights=working.weights / working.weights.sum(),
        g_support=working.g_values,
        g_value=max(price.g_value, float(working.rank)),  # below the rank is only rounding
        rank=working.rank,
        dim=rows.dim,
        n_actions=rows.n_actions,
        reads=rows.reads,
    )


def check_options(gap: float, support: str | None, max_support: int | None) -> None:
    """Refuse options that mean nothing."""
    if not (isinstance(gap, Real) and math.isfinite(gap) and gap >= LEAST_GAP):
        raise ValueError(f"`gap` must be a finite number of at least {LEAST_GAP}; got {gap!r}.")
    if support not in SUPPORTS:
        raise ValueError(f"`support` must be None, 'core' or 'caratheodory'; got {support!r}.")
    if max_support is not None and not isinstance(max_support, Integral):
        raise ValueError(f"`max_support` must be a whole number or None; got {max_support!r}.")
    if max_support is not None and support is not None:
        raise ValueError(f"`max_support` must be None when `support` is given; got {max_support!r}.")


def check_warm_start(warm_start: Any, n_actions: int) -> tuple[Indices, Floats]:
    """Return the indices and weights of a warm start for ``n_actions`` actions, without its zeros."""
    if isinstance(warm_start, Design):
        if warm_start.n_actions != n_actions:
            raise ValueError(
                f"`warm_start` must be a design of these {n_actions} actions; got one of "
                f"{warm_start.n_actions}."
            )
        return warm_start.indices, warm_start.weights
    try:
        indices, weights = (np.asarray(part) for part in warm_start)
        numbers = indices.dtype.kind in "iu" and weights.dtype.kind in "iuf"
    except (TypeError, ValueError):
        numbers = False
    if not numbers or indices.ndim != 1 or indices.shape != weights.shape:
        raise ValueError(
            f"`warm_start` must be a Design, or whole-number indices and as many weights; got {warm_start!r}."
        )
    if len(np.unique(indices)) < len(indices) or np.any((indices < 0) | (indices >= n_actions)):
        raise ValueError(
            f"`warm_start` must hold indices from 0 to {n_actions - 1}, each of them once; got {indices!r}."
        )
    if not (np.isfinite(weights).all() and (weights >= 0.0).all() and weights.sum() > 0.0):
        raise ValueError(f"`warm_start` must hold weights >= 0 with a positive sum; got {weights!r}.")
    return indices[weights > 0.0].astype(np.int64), weights[weights > 0.0].astype(np.float64)


def begin(rows: ActionRows, rng: np.random.Generator, *, worthwhile: float = WORTHWHILE) -> WorkingSet:
    """Return the support of a coarse design on a sample of the rows; it spans the space.

    Only samples of at least ``worthwhile`` rows per dimension are solved beforehand: it saves readings.
    """
    start = find_span(rows, max(20 * rows.dim, 1000), rng)
    coordinates = start.frame.coordinates(start.vectors)
    rank = start.frame.rank
    lengths = np.linalg.norm(coordinates, axis=1)
    spanning = choose_spanning(coordinates / np.where(lengths > 0.0, lengths, 1.0)[:, None])
    wide = choose_diverse(coordinates, 5 * rank, level=0.0, mass=1.0 / rank)
    places = np.union1d(spanning, wide)
    even = np.full(len(places), 1.0 / len(places))
    working = whitened(in_frame(start.frame, start.indices[places], start.vectors[places], even), even)
    n_sampled = min(rows.n_actions // 20, REHEARSAL_ROWS)
    if n_sampled < worthwhile * rows.dim:
        return working
    drawn = np.union1d(rng.choice(rows.n_actions, n_sampled, replace=False), working.indices)
    among = replace(working, indices=np.searchsorted(drawn, working.indices))
    found, _ = solve_columns(Pricing(ActionRows(rows.take(drawn))), among, REHEARSAL_GAP, rng)
    return replace(found, indices=drawn[found.indices])


def resume(rows: ActionRows, indices: Indices, weights: Floats, rng: np.random.Generator) -> WorkingSet:
    """Return a working set that starts from the given design; a few rows see to the span."""
    working = begin(rows, rng, worthwhile=math.inf).joined(rows, indices, share=0.0)
    order = np.argsort(working.indices)
    known = order[np.searchsorted(working.indices, indices, sorter=order)]
    # Everything on the old design but for a thousandth, in case it does not span.
    mixed = 1e-3 * working.weights
    mixed[known] += 0.999 * weights / weights.sum()
    return whitened(working, mixed)
