"""The double-precision Mersenne Twister: what published experiments drew, drawn again.

Saito and Matsumoto 2009, with the period of 2^19937 - 1: the generator behind a seeded ``MersenneTwister`` of
the language Julia, whose ``rand`` takes its numbers in this order, and whose ``randn`` makes normal ones of
them by the ziggurat of Marsaglia and Tsang 2000. Slow, and for nothing but old experiments.
"""

import decimal
import functools
import math

import numpy as np
from numpy.typing import NDArray

PAIRS = 191  # of 64-bit words; one more pair, the lung, is carried along
AHEAD = 117
FIRST_MASK, SECOND_MASK = 0x000FFAFFFFFFFB3F, 0x000FFDFFFC90FFFD
#: A state has the full period if these bits of it have an odd sum.
FIX = (0x90014964B32F4329, 0x3B8D12AC548A7C7A)
PARITY = (0x3D84E1AC0DC82880, 1)
WORD, LONG = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
LAG = 11
#: The ziggurat: strips of equal area under exp(-x²/2), the tail beyond TAIL in one; 51 bits and a sign.
STRIPS, UNIT = 256, 2.0**51
LONG_TAIL, AREA = "3.6541528853610087963519472518", "0.0049286732339746549315909134318"
TAIL = float(LONG_TAIL)


class Twister:
    """Uniform and normal numbers, from a seed below 2^32."""

    def __init__(self, seed: int) -> None:
        if not 0 <= seed <= WORD:
            raise ValueError(f"`seed` must be a whole number from 0 to 2^32 - 1; got {seed!r}.")
        self._state = _certified(_seeded(seed))
        self._numbers = np.empty(0)
        self._used = 0

    def random(self, size: int) -> NDArray[np.float64]:
        """The next numbers from 0 to 1."""
        return np.array([self._next() for _ in range(size)])

    def normals(self, size: int) -> NDArray[np.float64]:
        """The next standard normal numbers."""
        found: list[float] = []
        sure, scales, _ = _ziggurat()
        while len(found) < size:
            words = (self._waiting()[: size - len(found)] * 2.0 * UNIT).astype(np.int64)
            magnitudes = words >> 1
            strips = magnitudes & STRIPS - 1
            values = np.where(words & 1, -magnitudes, magnitudes) * scales[strips]
            inside = magnitudes < sure[strips]
            until = int(np.argmin(inside)) if not inside.all() else inside.size
            found += values[:until].tolist()
            self._used += until
            if until < inside.size:
                self._used += 1
                found += self._outside(int(magnitudes[until]), int(strips[until]), float(values[until]))
        return np.array(found)

    def _outside(self, magnitude: int, strip: int, value: float) -> list[float]:
        """What becomes of a number beyond the part of its strip that is surely below the curve."""
        if strip == 0:
            while True:
                beyond, height = -math.log(self._next()) / TAIL, -math.log(self._next())
                if 2.0 * height > beyond * beyond:
                    return [-TAIL - beyond if magnitude >> 8 & 1 else TAIL + beyond]
        heights = _ziggurat()[2]
        at = heights[strip] + (heights[strip - 1] - heights[strip]) * self._next()
        return [value] if at < math.exp(-0.5 * value * value) else []

    def _next(self) -> float:
        number = float(self._waiting()[0])
        self._used += 1
        return number

    def _waiting(self) -> NDArray[np.float64]:
        """Numbers that were not used yet, at least one."""
        if self._used == self._numbers.size:
            self._advance()
            # The words are floats from 1 to 2 already.
            self._numbers = np.array(self._state[: 2 * PAIRS], np.uint64).view(np.float64) - 1.0
            self._used = 0
        return self._numbers[self._used :]

    def _advance(self) -> None:
        state = self._state
        left, right = state[2 * PAIRS :]
        for first in range(0, 2 * PAIRS, 2):
            other = (first + 2 * AHEAD) % (2 * PAIRS)
            left, right = (
                state[first] << 19 & LONG ^ _swapped(right) ^ state[other],
                state[first + 1] << 19 & LONG ^ _swapped(left) ^ state[other + 1],
            )
            state[first] ^= left >> 12 ^ left & FIRST_MASK
            state[first + 1] ^= right >> 12 ^ right & SECOND_MASK
        state[2 * PAIRS :] = left, right


def _swapped(word: int) -> int:
    """The halves of a word, exchanged."""
    return word >> 32 | word << 32 & LONG


def _seeded(seed: int) -> list[int]:
    """The state from a key of one number: two rounds of mixing over words of 32 bits."""
    size = 4 * (PAIRS + 1)
    middle = (size - LAG) // 2
    words = [0x8B8B8B8B] * size
    # The first step takes the length of the key, the second the key.
    for step in range(size):
        mixed = _mixed(words[step] ^ words[(step + middle) % size] ^ words[step - 1], 1664525)
        words[(step + middle) % size] = words[(step + middle) % size] + mixed & WORD
        mixed = mixed + (1 if step == 0 else step + (seed if step == 1 else 0)) & WORD
        words[(step + middle + LAG) % size] = words[(step + middle + LAG) % size] + mixed & WORD
        words[step] = mixed
    for step in range(size):
        total = words[step] + words[(step + middle) % size] + words[step - 1]
        mixed = _mixed(total & WORD, 1566083941)
        words[(step + middle) % size] ^= mixed
        mixed = mixed - step & WORD
        words[(step + middle + LAG) % size] ^= mixed
        words[step] = mixed
    return [words[k] | words[k + 1] << 32 for k in range(0, size, 2)]


def _mixed(word: int, factor: int) -> int:
    return (word ^ word >> 27) * factor & WORD


def _certified(state: list[int]) -> list[int]:
    """Floats from 1 to 2, and the full period."""
    numbers = [word & 0x000FFFFFFFFFFFFF | 0x3FF0000000000000 for word in state[:-2]]
    lung = state[-2:]
    odd = (
        sum(((word ^ fix) & bits).bit_count() for word, fix, bits in zip(lung, FIX, PARITY, strict=True)) % 2
    )
    return [*numbers, lung[0], lung[1] if odd else lung[1] ^ 1]


@functools.cache
def _ziggurat() -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Of each strip: up to where it is surely below the curve, its scale, and the height of the curve.

    With many digits: errors grow a thousandfold from the tail to the top.
    """
    with decimal.localcontext(prec=50):
        tail, area = decimal.Decimal(LONG_TAIL), decimal.Decimal(AREA)
        ends = [tail]
        while len(ends) < STRIPS - 1:
            height = area / ends[0] + _bell(ends[0])
            ends.insert(0, (-2 * height.ln()).sqrt())
        # The first strip is the one with the tail: a box of the same area, as wide as it must be.
        ends.insert(0, area / _bell(tail))
        inside = [tail / ends[0], decimal.Decimal(0), *(ends[k] / ends[k + 1] for k in range(1, STRIPS - 1))]
        return (
            np.array([int(part * int(UNIT)) for part in inside]),
            np.array([float(end / int(UNIT)) for end in ends]),
            np.array([1.0, *(float(_bell(end)) for end in ends[1:])]),
        )


def _bell(x: decimal.Decimal) -> decimal.Decimal:
    return (-x * x / 2).exp()
