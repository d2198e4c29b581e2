"""Arrays of sigmas: checked once, and summed without cancellation."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisewise.core.support.blocks import Floats

#: Beyond these, 1/sigma² is no usable number.
LEAST, MOST = 1e-100, 1e100


def checked_sigmas(sigma: ArrayLike) -> Floats:
    """The sigmas as ``(..., T)`` floats; refused if one of them is no standard deviation."""
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
