"""Random numbers as a pure function of (seed, purpose, index): the same under any chunking or resuming."""

import functools
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisewise.core.native.verbs import verb

#: What a stream is for. The numbers are part of every published result: never change or reuse one.
PURPOSES = {"instance": 1, "schedule": 2, "noise": 3, "rule": 4, "live": 5, "advice": 6, "plan": 7}


def generator(seed: int, purpose: str, index: int) -> np.random.Generator:
    """The generator that belongs to this seed and purpose, and to one replication or round."""
    key = np.random.SeedSequence([seed, PURPOSES[purpose], index])
    return np.random.Generator(np.random.SFC64(key))


def stream(seed: int, purpose: str, index: int) -> np.random.Generator:
    """The numbers of `generator`, from an object of this thread that the next call resets."""
    own = _own_stream()
    seed_stream(seed, PURPOSES[purpose], index, own.words)
    own.bits.state = own.state
    return own.generator


@verb
def seed_stream(seed: int, purpose: int, index: int, state: NDArray[np.uint64]) -> None:
    """Write down the state in which the generator of these three begins, (4,)."""
    state[:] = np.random.SFC64(np.random.SeedSequence([seed, purpose, index])).state["state"]["state"]


class _Stream(threading.local):
    """A generator that is set to where another one begins: making one takes ten times longer."""

    def __init__(self) -> None:
        self.bits = np.random.SFC64(0)
        self.generator = np.random.Generator(self.bits)
        self.state: Any = self.bits.state | {"has_uint32": 0, "uinteger": 0}
        self.words = np.zeros(4, np.uint64)
        self.state["state"]["state"] = self.words


@functools.cache
def _own_stream() -> _Stream:
    return _Stream()


def check_seed(seed: Any) -> int:
    """Return a seed that ``numpy`` accepts: a whole number of at least 0."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"`seed` must be a whole number of at least 0; got {seed!r}.")
    return int(seed)
