"""A live tell + ask on a million actions, in units of one product of the vectors with a vector."""

import resource
import statistics
import time

import numpy as np
from threadpoolctl import threadpool_limits

import noisewise as nw
from benchmarks.timing import Row, seconds

N_ACTIONS, DIM, ROUNDS, BLOCKS = 1_000_000, 50, 200, 10


def compare(actions: nw.ActionSet, threads: int, target: float) -> Row:
    """The mean cost of a round over 200 rounds, refreshes included, against the mean product."""
    rng = np.random.default_rng(1)
    theta = rng.standard_normal(DIM)
    theta /= np.linalg.norm(theta)
    sigmas = nw.schedules.log_uniform(ROUNDS, rng, low=1e-2, high=1.0)
    noise = rng.standard_normal(ROUNDS)
    policy = nw.vaee(actions)
    vector = rng.standard_normal(DIM)

    def round_(t):
        action = policy.ask()
        policy.tell(action, actions.vectors[action] @ theta + sigmas[t] * noise[t], sigmas[t])

    def product():
        return seconds(lambda: actions.vectors @ vector)

    products, live = [], []
    with threadpool_limits(threads):
        for start in range(0, ROUNDS, BLOCKS):
            products += [product() for _ in range(BLOCKS)]
            # BLAS's threads spin for a while after a product; there is no product between two rounds.
            time.sleep(0.1)
            live += [seconds(lambda t=t: round_(t)) for t in range(start, start + BLOCKS)]
    # Means on both sides: refreshes are rare and expensive, and what else the machine does hits both.
    cost, unit = statistics.mean(live), statistics.mean(products)
    return Row(
        name=f"live tell + ask, {N_ACTIONS:,} x {DIM}, {threads} BLAS thread(s)",
        figure=cost / unit,
        unit="products",
        target=target,
        detail=f"{cost * 1e3:.1f} ms a round, {unit * 1e3:.1f} ms a product (means of {ROUNDS})",
    )


def memory(actions: nw.ActionSet) -> Row:
    """Peak memory beyond the vectors of a policy that is made and used."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    policy = nw.vaee(actions)
    for _ in range(5):
        policy.tell(policy.ask(), 0.1, 0.5)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return Row(
        name=f"memory beyond the vectors, {N_ACTIONS:,} x {DIM}",
        figure=(after - before) / 1024,
        unit="MB",
        target=100.0,
        detail="growth of the peak resident size",
    )


def rows() -> list[Row]:
    """Memory, one thread, two threads."""
    rng = np.random.default_rng(0)
    vectors = np.empty((N_ACTIONS, DIM))
    for start in range(0, N_ACTIONS, 10_000):
        block = rng.standard_normal((10_000, DIM))
        vectors[start : start + 10_000] = block / np.linalg.norm(block, axis=1, keepdims=True)
    actions = nw.ActionSet(vectors)
    actions.rank  # noqa: B018 - computed before memory is measured
    return [memory(actions), compare(actions, 1, 1.4), compare(actions, 2, 1.6)]
