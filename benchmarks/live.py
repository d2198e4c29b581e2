"""A live tell + ask on many actions, in units of one product of the vectors with a vector; and 0.1.0's.

``python -m benchmarks.live vage 1000000 1`` measures one rule alone: its number of actions, and BLAS threads.
"""

import json
import resource
import statistics
import sys
import time

import numpy as np
from threadpoolctl import threadpool_limits

import noisewise as nw
from benchmarks import baseline
from benchmarks.timing import Row, seconds

DIM, ROUNDS, BLOCKS = 50, 200, 10
MANY = 1_000_000
#: Rule, actions, BLAS threads, and how many products a round may cost.
CASES = (
    ("vaee", MANY, 1, 1.4),
    ("vaee", MANY, 2, 1.6),
    ("vaee", 100_000, 1, 1.4),
    ("vage", MANY, 1, 1.8),
    ("vage", 100_000, 1, 2.5),
)


def unit_vectors(n: int) -> nw.ActionSet:
    """Actions in all directions."""
    rng = np.random.default_rng(0)
    vectors = np.empty((n, DIM))
    for start in range(0, n, 10_000):
        block = rng.standard_normal((10_000, DIM))
        vectors[start : start + 10_000] = block / np.linalg.norm(block, axis=1, keepdims=True)
    return nw.ActionSet(vectors)


def measure(rule: str, n: int, threads: int) -> dict[str, float]:
    """The mean cost of a round over 200 rounds, refreshes included, against the mean product."""
    actions, rng = unit_vectors(n), np.random.default_rng(1)
    theta = rng.standard_normal(DIM)
    theta /= np.linalg.norm(theta)
    sigmas = nw.schedules.log_uniform(ROUNDS, rng, low=1e-2, high=1.0)
    noise, vector = rng.standard_normal(ROUNDS), rng.standard_normal(DIM)
    policy = nw.make_policy(rule, actions)

    def round_(t):
        action = policy.ask()
        policy.tell(action, actions.vectors[action] @ theta + sigmas[t] * noise[t], sigmas[t])

    products, live = [], []
    with threadpool_limits(threads):
        for start in range(0, ROUNDS, BLOCKS):
            products += [seconds(lambda: actions.vectors @ vector) for _ in range(BLOCKS)]
            # BLAS's threads spin for a while after a product; there is no product between two rounds.
            time.sleep(0.1)
            live += [seconds(lambda t=t: round_(t)) for t in range(start, start + BLOCKS)]
    # Means on both sides: refreshes are rare and expensive, and what else the machine does hits both.
    cost, unit = statistics.mean(live), statistics.mean(products)
    return {"products": cost / unit, "round": cost, "product": unit}


def compare(rule: str, n: int, threads: int, target: float) -> Row:
    """One case, here and under 0.1.0."""
    new, old = (
        baseline.run("benchmarks.live", rule, n, threads, version=version)
        for version in (baseline.NEW, baseline.OLD)
    )
    return Row(
        name=f"live {rule}, tell + ask, {n:,} x {DIM}, {threads} BLAS thread(s)",
        figure=new["products"],
        unit="products",
        target=target,
        detail=f"{new['round'] * 1e3:.1f} ms a round, {new['product'] * 1e3:.1f} ms a product (means of "
        f"{ROUNDS}); 0.1.0: {old['products']:.2f} products",
    )


def memory() -> Row:
    """Peak memory beyond the vectors of a policy that is made and used."""
    actions = unit_vectors(MANY)
    actions.rank  # noqa: B018 - computed before memory is measured
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    policy = nw.vaee(actions)
    for _ in range(5):
        policy.tell(policy.ask(), 0.1, 0.5)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return Row(
        name=f"memory beyond the vectors, {MANY:,} x {DIM}",
        figure=(after - before) / 1024,
        unit="MB",
        target=100.0,
        detail="growth of the peak resident size",
    )


def rows() -> list[Row]:
    """Memory first, before anything else has used some."""
    return [memory(), *(compare(*case) for case in CASES)]


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], *map(int, sys.argv[2:4]))))
