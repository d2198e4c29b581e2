"""The least value of a function of one number, without a library that takes a second to load."""

import math
from collections.abc import Callable

#: The golden ratio's smaller part.
GOLDEN = 0.5 * (3.0 - math.sqrt(5.0))


def least_of(
    function: Callable[[float], float], low: float, high: float, *, tried: int, tolerance: float
) -> tuple[float, float]:
    """Where a function is least between two numbers, and how little: a grid, then golden sections.

    Args:
        function: Of one number.
        low: The least number.
        high: The largest.
        tried: Points of the grid.
        tolerance: How far from the place of the minimum the answer may be.
    """
    step = (high - low) / (tried - 1)
    values = [function(low + step * k) for k in range(tried)]
    at = min(range(tried), key=lambda k: values[k])
    best = values[at], low + step * at
    left, right = max(low, best[1] - step), min(high, best[1] + step)
    inner, outer = left + GOLDEN * (right - left), right - GOLDEN * (right - left)
    of_inner, of_outer = function(inner), function(outer)
    while right - left > tolerance:
        best = min(best, (of_inner, inner), (of_outer, outer))
        if of_inner < of_outer:
            right, outer, of_outer = outer, inner, of_inner
            inner = left + GOLDEN * (right - left)
            of_inner = function(inner)
        else:
            left, inner, of_inner = inner, outer, of_outer
            outer = right - GOLDEN * (right - left)
            of_outer = function(outer)
    value, place = min(best, (of_inner, inner), (of_outer, outer))
    return place, value
