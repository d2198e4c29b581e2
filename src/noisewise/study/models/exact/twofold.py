"""Numbers kept as the sum of two floats, some 32 decimals: for least squares that 16 do not carry.

A twofold number is ``high + low``, where low is at most half a unit in the last place of high. Sums and
products of single floats are exact (Knuth; Dekker, Veltkamp); those of twofold numbers have a relative error
of a few 2⁻¹⁰⁴. Everything works on whole arrays.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.core.support.blocks import Floats

#: The relative error of one operation, generously.
UNIT = 2.0**-100
#: Veltkamp's constant: it splits a float into two of 26 bits.
_SPLIT = 134217729.0


class Twofold(NamedTuple):
    """An array of numbers, each the sum of two."""

    high: Floats
    low: Floats

    @property
    def shape(self) -> tuple[int, ...]:
        """As of any array."""
        return self.high.shape

    @property
    def plain(self) -> Floats:
        """Rounded to single floats."""
        return self.high + self.low

    def at(self, key: Any) -> "Twofold":
        """Some of the numbers, by any index of an array."""
        return Twofold(self.high[key], self.low[key])

    def put(self, key: Any, numbers: "Twofold") -> None:
        """Replace some of the numbers."""
        self.high[key], self.low[key] = numbers

    def negative(self) -> "Twofold":
        """With the other sign."""
        return Twofold(-self.high, -self.low)


def twofold(numbers: Floats, low: Floats | None = None) -> Twofold:
    """Floats as twofold numbers; `low` need not be normalised."""
    if low is None:
        return Twofold(np.asarray(numbers, dtype=np.float64), np.zeros(np.shape(numbers)))
    return sum_of(np.asarray(numbers), np.asarray(low))


def plainly(numbers: Floats) -> Twofold:
    """Floats where twofold numbers are expected but not needed: the low parts are 0 and cannot be changed."""
    return Twofold(numbers, np.broadcast_to(np.float64(0.0), np.shape(numbers)))


def sum_of(one: Floats, other: Floats) -> Twofold:
    """The exact sum of floats."""
    total = one + other
    part = total - one
    return Twofold(total, (one - (total - part)) + (other - part))


def product_of(one: Floats, other: Floats) -> Twofold:
    """The exact product of floats (unless it under- or overflows)."""
    product = one * other
    split = _SPLIT * one
    high = split - (split - one)
    low = one - high
    split = _SPLIT * other
    other_high = split - (split - other)
    other_low = other - other_high
    error = ((high * other_high - product) + high * other_low + low * other_high) + low * other_low
    return Twofold(product, error)


def _normal(high: Floats, low: Floats) -> Twofold:
    """The same sum, normalised; ``|high| >= |low|``."""
    total = high + low
    return Twofold(total, low - (total - high))


def add(one: Twofold, other: Twofold) -> Twofold:
    """Their sum."""
    high, low = sum_of(one.high, other.high), sum_of(one.low, other.low)
    first = _normal(high.high, high.low + low.high)
    return _normal(first.high, first.low + low.low)


def subtract(one: Twofold, other: Twofold) -> Twofold:
    """Their difference."""
    return add(one, other.negative())


def multiply(one: Twofold, other: Twofold) -> Twofold:
    """Their product."""
    product = product_of(one.high, other.high)
    return _normal(product.high, product.low + (one.high * other.low + one.low * other.high))


def scale(numbers: Twofold, factors: Floats) -> Twofold:
    """Twofold numbers times single floats."""
    product = product_of(numbers.high, factors)
    return _normal(product.high, product.low + numbers.low * factors)


def divide(one: Twofold, other: Twofold) -> Twofold:
    """Their quotient: the one of floats, corrected."""
    first = one.high / other.high
    left = subtract(one, scale(other, first))
    return _normal(first, left.high / other.high)


def square_root(numbers: Twofold) -> Twofold:
    """Their roots; one Newton step from those of floats."""
    root = np.sqrt(numbers.high)
    with np.errstate(divide="ignore", invalid="ignore"):
        left = subtract(numbers, product_of(root, root)).high / (2.0 * root)
    return _normal(root, np.where(root > 0.0, left, 0.0))


def total(numbers: Twofold) -> Twofold:
    """The sum over the first axis: halves are added until one row is left."""
    high, low = numbers
    size = high.shape[0]
    if not size:
        return twofold(np.zeros(high.shape[1:]))
    while size > 1:
        # The sum of the high parts is exact; errors and low parts are so small that floats carry them.
        half = (size + 1) // 2
        whole = sum_of(high[: size - half], high[half:])
        rest = low[: size - half] + low[half:] + whole.low
        if size % 2:
            rest = np.concatenate([rest, low[half - 1 : half]])
            high = np.concatenate([whole.high, high[half - 1 : half]])
        else:
            high = whole.high
        low, size = rest, half
    return sum_of(high[0], low[0])


def group_totals(numbers: Twofold, group: NDArray[np.int64], size: int) -> Twofold:
    """Sums over the rows of each group, (size, ...): neighbours are added until each has one row.

    Args:
        numbers: One row per member.
        group: The group of each row, 0 to size - 1.
        size: How many groups there are.
    """
    order = np.argsort(group, kind="stable")
    code, numbers = group[order], numbers.at(order)
    while True:
        fresh = np.ones(code.size, dtype=bool)
        fresh[1:] = code[1:] != code[:-1]
        if fresh.all():
            break
        starts = np.flatnonzero(fresh)
        place = np.arange(code.size) - starts[np.cumsum(fresh) - 1]
        kept = np.flatnonzero(place % 2 == 0)
        paired = np.zeros(code.size, dtype=bool)
        paired[:-1] = (place[:-1] % 2 == 0) & ~fresh[1:]
        ones = np.flatnonzero(paired)
        numbers = Twofold(numbers.high.copy(), numbers.low.copy())
        numbers.put(ones, add(numbers.at(ones), numbers.at(ones + 1)))
        code, numbers = code[kept], numbers.at(kept)
    found = Twofold(np.zeros((size, *numbers.shape[1:])), np.zeros((size, *numbers.shape[1:])))
    found.put(code, numbers)
    return found
