"""Rounds of a rule on a long list in a file, under this version and under 0.1.0.

``python -m benchmarks.catalogue_play vaee rows.bin 50 300 40`` plays the first 40 of 300 rounds, and prints
the CPU seconds that a round took, and what was measured.
"""

import json
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import noisewise as nw

SEED, NORM_BOUND = 11, 2.0


def coming_rounds(vectors: np.ndarray, rounds: int) -> Iterator[tuple[float, Any]]:
    """The sigma of each round, and what an action yields in it: the same whoever plays."""
    rng = np.random.default_rng(SEED)
    theta = rng.normal(size=vectors.shape[1]) / 5
    sigmas, errors = rng.choice([0.01, 0.1], p=[0.1, 0.9], size=rounds), rng.standard_normal(rounds)
    for sigma, error in zip(sigmas, errors, strict=True):
        yield float(sigma), lambda row, s=sigma, e=error: float(vectors[row].astype(float) @ theta + s * e)


def main(rule: str, path: str, dim: int, rounds: int, played: int) -> None:
    """Play, and print one line of JSON."""
    vectors = np.memmap(path, np.float32, "r").reshape(-1, dim)
    policy = nw.make_policy(rule, nw.ActionSet(vectors), norm_bound=NORM_BOUND)
    actions, spent = [], 0.0
    for (sigma, value), _ in zip(coming_rounds(vectors, rounds), range(played), strict=False):
        start = time.process_time()
        actions.append(int(policy.ask()))
        spent += time.process_time() - start
        found = value(actions[-1])
        start = time.process_time()
        policy.tell(actions[-1], found, sigma)
        spent += time.process_time() - start
    print(json.dumps({"seconds": spent / played, "actions": actions}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6]))
