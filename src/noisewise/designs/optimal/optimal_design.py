"""The one call: an optimal design of a set of vectors, with its certificate."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

import numpy as np

from noisewise.core.support.randomness import check_seed
from noisewise.designs.optimal.columns import solve_columns
from noisewise.designs.optimal.pricing import Pricing
from noisewise.designs.optimal.result import Design
from noisewise.designs.optimal.start import WORTHWHILE, begin, resume
from noisewise.designs.optimal.support import Found, core_design, limited_design, reduced_design
from noisewise.designs.optimal.working import WorkingSet
from noisewise.designs.shared.rows import ActionRows, Floats, Indices, check_vectors

LEAST_GAP = 1e-12  # what float64 can still tell
SUPPORTS = (None, "core", "caratheodory")


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
    found = solve(pricing, working, gap, support, max_support, rng)
    if verify:
        found = (found[0], pricing.price(found[0], verify=True))
    return as_design(rows, found)


def solve(
    pricing: Pricing,
    working: WorkingSet,
    gap: float,
    support: str | None,
    max_support: int | None,
    rng: np.random.Generator,
) -> Found:
    """Return the design that the options ask for."""
    if support == "core":
        return core_design(pricing, working, rng)
    found = solve_columns(pricing, working, gap, rng)
    if support == "caratheodory":
        return reduced_design(pricing, found)
    return found if max_support is None else limited_design(pricing, found, max_support, rng)


def as_design(rows: ActionRows, found: Found) -> Design:
    """Return the public form of a support with its price."""
    working, price = found
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
    """Return the indices and weights of a warm start for ``n_actions`` actions."""
    if isinstance(warm_start, Design):
        if warm_start.n_actions != n_actions:
            raise ValueError(
                f"`warm_start` must be a design of these {n_actions} actions; got one of "
                f"{warm_start.n_actions}."
            )
        return warm_start.indices, warm_start.weights
    try:
        indices, weights = (np.asarray(part) for part in warm_start)
    except (TypeError, ValueError):
        raise ValueError(
            f"`warm_start` must be a Design or (indices, weights); got {warm_start!r}."
        ) from None
    numbers = indices.dtype.kind in "iu" and weights.dtype.kind in "iuf"
    if indices.ndim != 1 or indices.shape != weights.shape or not numbers:
        raise ValueError(
            "`warm_start` must hold whole-number indices and as many weights; got shapes "
            f"{indices.shape!r} and {weights.shape!r}, dtypes {indices.dtype!r} and {weights.dtype!r}."
        )
    if len(indices) and not (indices.min() >= 0 and indices.max() < n_actions):
        raise ValueError(
            f"`warm_start` must hold indices from 0 to {n_actions - 1}; got {indices.min()} to "
            f"{indices.max()}."
        )
    return check_weights(indices.astype(np.int64), weights.astype(np.float64))


def check_weights(indices: Indices, weights: Floats) -> tuple[Indices, Floats]:
    """Return a warm start without its zeros, after checking its weights."""
    if not (np.isfinite(weights).all() and (weights >= 0.0).all() and weights.sum() > 0.0):
        raise ValueError(f"`warm_start` must hold weights >= 0 with a positive sum; got {weights!r}.")
    if len(np.unique(indices)) < len(indices):
        raise ValueError("`warm_start` must name every action once; got repeated indices.")
    return indices[weights > 0.0], weights[weights > 0.0]
