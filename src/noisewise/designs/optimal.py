"""Optimal designs: weights on few actions under which no action is much less well known than another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np

from noisewise.core.support.randomness import check_seed
from noisewise.designs.algebra import Floats, Indices
from noisewise.designs.columns import Pricing, solve_columns
from noisewise.designs.few import core_design, full_size, limited_design
from noisewise.designs.rows import ActionRows, check_vectors, choose_spanning, find_span
from noisewise.designs.working import WorkingSet, choose_diverse, in_frame, whitened

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
