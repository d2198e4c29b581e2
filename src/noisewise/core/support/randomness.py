"""Random numbers as a pure function of (seed, purpose, index): the same under any chunking or resuming."""

from typing import Any

import numpy as np

#: What a stream is for. The numbers are part of every published result: never change or reuse one.
PURPOSES = {"instance": 1, "schedule": 2, "noise": 3, "rule": 4, "live": 5, "advice": 6, "plan": 7}


def generator(seed: int, purpose: str, index: int) -> np.random.Generator:
    """The generator that belongs to this seed and purpose, and to one replication or round."""
    key = np.random.SeedSequence([seed, PURPOSES[purpose], index])
    return np.random.Generator(np.random.SFC64(key))


def check_seed(seed: Any) -> int:
    """Return a seed that ``numpy`` accepts: a whole number of at least 0."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"`seed` must be a whole number of at least 0; got {seed!r}.")
    return int(seed)
