"""The first working set: from a sample, or from a design that was good for similar rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from noisewise.designs.optimal.columns import solve_columns
from noisewise.designs.optimal.pricing import Pricing
from noisewise.designs.optimal.working import WorkingSet, in_frame, whitened
from noisewise.designs.shared.growth import choose_diverse, choose_spanning
from noisewise.designs.shared.rows import ActionRows, Floats, Indices
from noisewise.designs.shared.span import Start, find_span

REHEARSAL_GAP = 0.1
REHEARSAL_ROWS = 20_000
WORTHWHILE = 300  # sampled rows per dimension; below, a full reading costs less


def begin(rows: ActionRows, rng: np.random.Generator, *, worthwhile: int = WORTHWHILE) -> WorkingSet:
    """Return the support of a coarse design on a sample of the rows; it spans the space.

    Only samples of at least ``worthwhile`` rows per dimension are solved beforehand.
    """
    start = find_span(rows, max(20 * rows.dim, 1000), rng)
    coordinates = start.frame.coordinates(start.vectors)
    rank = start.frame.rank
    wide = choose_diverse(coordinates, 5 * rank, level=0.0, mass=1.0 / rank)
    places = np.union1d(spanning_places(coordinates), wide)
    even = np.full(len(places), 1.0 / len(places))
    working = in_frame(start.frame, start.indices[places], start.vectors[places], even)
    working = whitened(working, even)
    n_sampled = min(rows.n_actions // 20, REHEARSAL_ROWS)
    if n_sampled < worthwhile * rows.dim:
        return working
    return rehearsed(rows, working, n_sampled, rng)


def rehearsed(rows: ActionRows, working: WorkingSet, n_sampled: int, rng: np.random.Generator) -> WorkingSet:
    """Return the working set of a coarse solution on a larger sample: it saves full readings."""
    drawn = rng.choice(rows.n_actions, n_sampled, replace=False)
    drawn = np.union1d(drawn, working.indices)
    pricing = Pricing(ActionRows(rows.take(drawn)))
    places = np.searchsorted(drawn, working.indices)
    found, _ = solve_columns(pricing, replace(working, indices=places), REHEARSAL_GAP, rng)
    return replace(found, indices=drawn[found.indices])


def resume(rows: ActionRows, indices: Indices, weights: Floats, rng: np.random.Generator) -> WorkingSet:
    """Return a working set that starts from the given design; a few rows see to the span."""
    start: Start = find_span(rows, max(20 * rows.dim, 1000), rng)
    places = spanning_places(start.frame.coordinates(start.vectors))
    base = start.indices[places]
    even = np.full(len(base), 1.0 / len(base))
    working = in_frame(start.frame, base, start.vectors[places], even)
    working = working.joined(rows, indices, share=0.0)
    order = np.argsort(working.indices)
    known = order[np.searchsorted(working.indices, indices, sorter=order)]
    # Everything on the old design but for a thousandth, in case it does not span.
    mixed = 1e-3 * working.weights
    mixed[known] += 0.999 * weights / weights.sum()
    return whitened(working, mixed)


def spanning_places(coordinates: Floats) -> Indices:
    """Return places of rows that span the space, whatever their lengths."""
    lengths = np.linalg.norm(coordinates, axis=1)
    return choose_spanning(coordinates / np.where(lengths > 0.0, lengths, 1.0)[:, None])
