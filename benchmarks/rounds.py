"""Rounds per second of compiled VAEE against an incremental NumPy loop."""

import math

import numpy as np

import noisewise as nw
from benchmarks.timing import Row, alternating
from benchmarks.worlds import sphere


def numpy_loop(vectors, truth, sigmas, noise, delta=0.05):
    """The rival: VAEE as a careful person writes it in NumPy, one mat-vec a round."""
    n, dim = vectors.shape
    covariance = np.eye(dim)
    squared_widths = (vectors * vectors).sum(axis=1)
    means, candidates = np.zeros(n), np.ones(n, bool)
    log_det, penalty = 0.0, 2.0 * math.log(1.0 / delta) + 1.0
    pulled = np.empty(sigmas.size, int)
    for t in range(sigmas.size):
        action = int(np.argmax(squared_widths >= squared_widths.max() * (1.0 - 1e-9)))
        sigma = sigmas[t]
        reward = truth[action] + sigma * noise[t]
        step = covariance @ vectors[action]
        variance = sigma * sigma + vectors[action] @ step
        products = vectors @ step
        covariance -= np.outer(step, step / variance)
        means += products * ((reward - means[action]) / variance)
        squared_widths -= products * products / variance
        log_det += math.log(variance / (sigma * sigma))
        slack = math.sqrt(log_det + penalty) * np.sqrt(np.maximum(squared_widths, 0.0))
        candidates &= means + slack >= (means - slack)[candidates].max()
        pulled[t] = action
    return pulled


def compare(n_actions: int, dim: int, horizon: int, replications: int, target: float) -> Row:
    """One size: microseconds a round on both sides, everything around the rounds included in ours."""
    env = sphere(n_actions, dim, horizon)
    policy, world = nw.vaee(env.actions), env.world(horizon, 0, 0)

    def ours():
        return nw.simulate(
            policy,
            env,
            horizon=horizon,
            replications=replications,
            on=1,
            checkpoints=[horizon],
        )

    def theirs():
        return numpy_loop(world.actions.vectors, world.means, world.sigma, world.noise)

    same = float((ours().pulled[0] == theirs()).mean())
    fast, slow = alternating(ours, theirs)
    fast, slow = fast / (horizon * replications) * 1e6, slow / horizon * 1e6
    return Row(
        name=f"vaee, {n_actions} x {dim}: rounds per second against NumPy",
        figure=slow / fast,
        unit="x",
        target=target,
        at_least=True,
        detail=f"{fast:.2f} against {slow:.1f} µs a round; {same:.0%} of the actions are the same",
    )


def rows() -> list[Row]:
    """Both sizes."""
    return [compare(100, 10, 5000, 20, target=25.0), compare(10_000, 50, 300, 3, target=1.5)]
