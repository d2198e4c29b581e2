"""The level of Theorem 1: how wide the widest action can still be after these sigmas.

Arrays of sigmas are checked once, and summed without cancellation.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisewise.core.blocks import Floats
from noisewise.core.checks import check_count, check_positive

#: Beyond these, 1/sigma² is not a usable number.
LEAST, MOST = 1e-100, 1e100


def checked_sigmas(sigma: ArrayLike) -> Floats:
    """The sigmas as ``(..., T)`` floats; refused if one of them is not a standard deviation."""
    try:
        array = np.asarray(sigma, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"`sigma` must be an array of numbers, one per round; got {sigma!r}.") from None
    if array.ndim == 0 or array.shape[-1] == 0:
        raise ValueError(f"`sigma` must have at least one round in its last axis; got shape {array.shape}.")
    bad = ~((array > LEAST) & (array < MOST))
    if bad.any():
        raise ValueError(
            f"`sigma` must be finite numbers above 0, between {LEAST:g} and {MOST:g}; "
            f"got {float(array[bad][0])!r}."
        )
    return array


def weights_of(sigma: Floats) -> Floats:
    """``1/σ²``."""
    return 1.0 / (sigma * sigma)


def total_precision(sigma: Floats) -> Floats:
    """``S = Σ 1/σ²``, pairwise along the rounds."""
    return np.asarray(weights_of(np.ascontiguousarray(sigma)).sum(axis=-1))


def precision_without_largest(sigma: Floats, count: int | NDArray[np.int64]) -> Floats:
    """``S`` without the ``count`` quietest rounds; 0 if there are no others.

    The others are added up. Subtracting the largest from the total would cancel: of 100 rounds of weight
    1e16 and a million of weight 1 it leaves 999936 instead of a million.
    """
    rounds = sigma.shape[-1]
    if np.ndim(count) == 0:
        kept = rounds - int(count)
        if kept <= 0:
            return np.zeros(sigma.shape[:-1])
        noisiest = sigma if kept == rounds else np.partition(sigma, rounds - kept, axis=-1)[..., -kept:]
        return total_precision(noisiest)
    ordered = np.sort(sigma, axis=-1)
    return np.asarray(
        np.where(np.arange(rounds) >= np.asarray(count)[..., None], weights_of(ordered), 0.0).sum(-1)
    )


def plain(values: Any) -> Any:
    """A plain float where there was one row."""
    return float(values) if np.ndim(values) == 0 else np.asarray(values)


#: Used in place of a budget of 0.
LEAST_BUDGET = 1e-300
#: Halvings until a level is known to the last digits, from brackets of at most 400 decades.
HALVINGS = 64


def information_budget(
    sigma: ArrayLike,
    dim: int,
    *,
    ridge: float = 1.0,
    max_norm: float = 1.0,
    as_printed: bool = False,
) -> Any:
    """ι: no sequence of actions collects more than this in ``Σ min(1, ‖a_t‖²/σ_t²)``.

    ``ι = c·d·log(1 + S·A²/(dλ))`` with ``c = 1/ln 2``, since ``min(1, u) <= log₂(1 + u)``; as printed, c = 2.
    """
    check_count("dim", dim)
    share = check_positive("max_norm", max_norm) ** 2 / (dim * check_positive("ridge", ridge))
    log_det = dim * np.log1p(total_precision(checked_sigmas(sigma)) * share)
    return plain(log_det * (2.0 if as_printed else 1.0 / math.log(2.0)))


def water_level(sigma: ArrayLike, budget: ArrayLike) -> Any:
    """The x that solves ``Σ min(1, x²/σ_t²) = budget``; infinite if the budget is T or more.

    Fill a vessel whose floor is uneven: the quietest rounds are full first, and count 1 each however quiet
    they are; the rest count in proportion to their precision.

    Args:
        sigma: The sigmas, ``(..., T)``.
        budget: ι, a number or one per row.

    Example:
        >>> water_level([1.0, 1.0, 1.0, 1.0], 1.0)
        0.5
    """
    array, wanted = checked_sigmas(sigma), checked_budget(budget)
    ordered = np.sort(array, axis=-1)
    weights = weights_of(ordered)
    rounds = weights.shape[-1]
    # From the noisiest round on: sums of ascending numbers lose nothing.
    tails = np.cumsum(weights[..., ::-1], axis=-1)[..., ::-1]
    # The left side at x = σ^(k): k-1 rounds are full, the others count σ^(k)²·w.
    reached = np.arange(rounds) + tails / weights
    full = np.argmax(reached >= wanted[..., None], axis=-1)
    tail = precision_without_largest(ordered, full)
    with np.errstate(divide="ignore", invalid="ignore"):
        level = np.sqrt(np.maximum(wanted - full, 0.0) / tail)
    return plain(np.where(wanted < rounds, level, np.inf))


def clipped_level(
    sigma: ArrayLike,
    dim: int,
    *,
    ridge: float = 1.0,
    max_norm: float = 1.0,
    log_det: ArrayLike | None = None,
) -> Any:
    """The least level over all clips c of the weights, ``Σ min(1, x²·w'_t) = ι'`` with ``w' = min(w, c)``.

    In `water_level` of `information_budget` a round that is full counts 1 however quiet it is, while ι grows
    with its logarithm: a *more* precise round raises the level. But the proof holds for clipped weights as
    well: ``V' = λI + Σ w'·a·aᵀ`` is below V, so the widest action is at most as wide as under V', and the
    credits of the clipped weights add up to at most ``ι' = d·log₂(1 + S'·A²/(dλ))``, ``S' = Σ w'``.

    The best clip is ``c = 1/x²``. A larger one leaves the left side at x as it is and raises ι'; with a
    smaller one no round is full, and ``x² = ι'/S'`` falls as S' grows, because ``log(1 + u)/u`` does. So the
    least level is the one root of ``f(x²) = d·log₂(1 + f(x²)/x²·A²/(dλ))``, ``f(y) = Σ min(1, y/σ_t²)``: the
    left side rises with x, the right side falls. It exists for any number of rounds.

    Args:
        sigma: The sigmas, ``(..., T)``.
        dim: Features.
        ridge: λ.
        max_norm: A, the norm of the longest action.
        log_det: ``log det V - d·log λ`` of a run that is over; ι' is at most this over ln 2.

    Example:
        >>> round(clipped_level([1e-9] * 100 + [1.0] * 2000, dim=5), 5)
        0.00436
    """
    check_count("dim", dim)
    share = check_positive("max_norm", max_norm) ** 2 / (dim * check_positive("ridge", ridge))
    ordered = np.sort(checked_sigmas(sigma), axis=-1)
    run = np.inf if log_det is None else np.maximum(log_det, LEAST_BUDGET) / math.log(2.0)

    def budget(precision: Floats, most: Any = run) -> Floats:
        return np.asarray(np.minimum(dim / math.log(2.0) * np.log1p(share * precision), most))

    weights = weights_of(ordered)
    rounds = weights.shape[-1]
    # As in `water_level`, f at y = σ^(k)²: the k-1 quieter rounds are full. S' = f/y is that times w.
    reached = np.arange(rounds) + np.cumsum(weights[..., ::-1], axis=-1)[..., ::-1] / weights
    ends = reached >= budget(reached * weights, np.asarray(run)[..., None])
    full = np.where(ends.any(axis=-1), np.argmax(ends, axis=-1), rounds)
    tail = precision_without_largest(ordered, full)
    # Below the first σ² the level is ι'/S'; above the last it is at most A²/(λ·ln 2), since log(1 + u) <= u.
    total = total_precision(ordered)
    least = np.where(full > 0, _entry(ordered, full - 1) ** 2, budget(total) / total * 0.999)
    highest = np.maximum(ordered[..., -1] ** 2, share * dim / math.log(2.0))
    most = np.where(full < rounds, _entry(ordered, full) ** 2, highest)
    low, high = np.log(least), np.log(most)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        square = np.exp(middle)
        filled = full + square * tail
        below = filled < budget(filled / square)
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return plain(np.exp(0.5 * high))


def _entry(rows: Floats, places: Any) -> Floats:
    """One entry of each row; the nearest where a place is outside."""
    inside = np.clip(places, 0, rows.shape[-1] - 1)
    return np.asarray(np.take_along_axis(rows, inside[..., None], axis=-1)[..., 0])


def harmonic_level(sigma: ArrayLike, budget: ArrayLike) -> Any:
    """The simpler, larger bound of the remark: ``√(ι/(S - the ⌊ι⌋ largest precisions))``.

    Args:
        sigma: The sigmas, ``(..., T)``.
        budget: ι, a number or one per row.
    """
    array, wanted = checked_sigmas(sigma), checked_budget(budget)
    left_out = np.floor(np.minimum(wanted, array.shape[-1])).astype(np.int64)
    rest = precision_without_largest(array, left_out)
    with np.errstate(divide="ignore"):
        return plain(np.sqrt(wanted / rest))


def checked_budget(budget: ArrayLike) -> Any:
    """ι as floats above 0."""
    wanted = np.asarray(budget, dtype=np.float64)
    if not (wanted > 0.0).all():
        raise ValueError(f"`budget` must be above 0; got {budget!r}.")
    return wanted


def harmonic_gain(sigma: ArrayLike) -> Any:
    """``mean(σ²)·mean(1/σ²)``: what taking all measurements for equally good costs in squared error.

    The average of the variances over their harmonic mean; at least 1, and 1 only if all sigmas are equal. The
    factor in regret is its root.

    Example:
        >>> harmonic_gain([1.0, 0.5])
        1.5625
    """
    array = checked_sigmas(sigma)
    # In units of the largest sigma, so that neither mean leaves the range of floats.
    scaled = array / array.max(axis=-1, keepdims=True)
    return plain((scaled**2).mean(axis=-1) * weights_of(scaled).mean(axis=-1))


def rounds_needed(
    target: float,
    schedule: float | Callable[[int], Floats],
    bound: Callable[[Any], Any],
    *,
    most: int = 10_000_000,
) -> int:
    """How many rounds until a bound is at most ``target``.

    Args:
        target: The regret to reach.
        schedule: One sigma for all rounds, or a function of the number of rounds that gives their sigmas,
            such as `noisewise.schedules.fast_decaying`.
        bound: A function of the sigmas, such as ``lambda sigma: vaee_bound(sigma, dim=5)``.
        most: Where to give up.

    Returns:
        T with ``bound(T) <= target < bound(T - 1)``: the first such T for a bound that falls with the rounds.

    Example:
        >>> from noisewise.theory import lower_bound
        >>> rounds_needed(0.1, 0.5, lambda sigma: lower_bound(sigma, dim=4))
        47
    """
    check_positive("target", target)
    check_count("most", most)
    if not callable(schedule):
        schedule = partial(np.full, fill_value=check_positive("schedule", schedule))
    sigmas = schedule

    def reached(rounds: int) -> bool:
        return bool(bound(sigmas(rounds)) <= target)

    high = 1
    while not reached(high):
        if high >= most:
            raise ValueError(
                f"`target` must be reached within {most} rounds; got {target!r}, and the bound there is "
                f"{float(bound(sigmas(most))):.3g}."
            )
        high = min(2 * high, most)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
