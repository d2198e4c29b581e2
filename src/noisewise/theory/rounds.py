"""What blindness to sigma costs, and how many rounds a bound asks for."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noisewise.core.support.blocks import Floats
from noisewise.core.support.checks import check_count, check_positive
from noisewise.theory.sigmas import checked_sigmas, plain, weights_of


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
    if callable(schedule):
        sigmas = schedule
    else:
        one = check_positive("schedule", schedule)

        def sigmas(rounds: int) -> Floats:
            return np.full(rounds, one)

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
