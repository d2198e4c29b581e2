"""The double-precision Mersenne Twister: what published experiments drew, drawn again.

Saito and Matsumoto 2009, with the period of 2^19937 - 1: the generator behind a seeded ``MersenneTwister`` of
the language Julia, whose ``rand`` takes its numbers in this order. Slow, and for nothing but old instances.
"""

from collections.abc import Iterator

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


class Twister:
    """Uniform numbers from 0 to 1, from a seed below 2^32."""

    def __init__(self, seed: int) -> None:
        self._state = _certified(_seeded(seed))
        self._numbers = self._draw()

    def random(self, size: int) -> NDArray[np.float64]:
        """The next numbers."""
        return np.array([next(self._numbers) for _ in range(size)])

    def _draw(self) -> Iterator[float]:
        while True:
            self._advance()
            # The words are floats from 1 to 2 already.
            yield from (np.array(self._state[: 2 * PAIRS], np.uint64).view(np.float64) - 1.0).tolist()

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
