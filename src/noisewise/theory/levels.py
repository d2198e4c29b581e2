"""The level of Theorem 1: how wide the widest action can still be after these sigmas."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noisewise.core.support.checks import check_count, check_positive
from noisewise.theory.sigmas import (
    checked_sigmas,
    plain,
    precision_without_largest,
    total_precision,
    weights_of,
)


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
