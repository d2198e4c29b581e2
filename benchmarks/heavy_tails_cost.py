"""What robust estimates cost: rounds in one pass, and exact estimates with warm starts or from scratch."""

import functools
import math
import time

import numpy as np

import noisewise as nw
from benchmarks.timing import Row, alternating
from benchmarks.worlds import sphere
from noisewise.rules import huber


def _sphere(horizon: int) -> nw.Environment:
    return sphere(100, 10, horizon, noise=nw.noise.named("student-t", df=2.1))


def cost() -> list[Row]:
    """Rounds of the one-pass estimate, and of the exact one with warm starts."""
    long, short = _sphere(100_000), _sphere(10_000)

    def run(policy, env, horizon):
        return lambda: nw.simulate(policy, env, horizon=horizon, replications=1, on=1, checkpoints=[horizon])

    one = nw.robust_vaee(long.actions, estimator="one-pass")
    plain = nw.vaee(short.actions)
    many, few = alternating(run(one, long, 100_000), run(one, short, 10_000))
    passed, squares = alternating(run(one, short, 10_000), run(plain, short, 10_000))
    rows = [
        Row(
            "one-pass: 100,000 rounds against 10,000",
            many / few,
            "x",
            12.0,
            False,
            f"{few / 1e4 * 1e6:.2f} µs a round",
        ),
        Row(
            "one-pass against vaee",
            passed / squares,
            "x",
            3.0,
            False,
            f"{squares / 1e4 * 1e6:.2f} µs a round of vaee",
        ),
    ]
    env = _sphere(2000)
    exact = nw.robust_vaee(env.actions, horizon=2000)
    warm = min(_processor_seconds(run(exact, env, 2000)) for _ in range(6))
    scratch, apart = _from_scratch(env, exact)
    detail = f"{warm:.3f} s against {scratch:.2f} s for 2000 estimates; the last ones differ by {apart:.0e}"
    rows.append(
        Row("exact: solving from scratch against warm starts", scratch / warm, "x", 20.0, True, detail)
    )
    return rows


def _processor_seconds(function) -> float:
    """A long run and many short ones are compared: what other processes take must not count."""
    start = time.process_time()
    function()
    return time.process_time() - start


def _from_scratch(env, policy) -> tuple[float, float]:
    """Seconds to solve every round from 0 on the plain list of measurements."""
    world = env.world(2000, 0, 0)
    live = policy.fresh()
    for sigma, noise in zip(world.sigma, world.noise, strict=True):
        action = live.ask()
        live.tell(action, world.means[action] + sigma * noise, sigma)
    history: huber.History = live.rule.estimate.history
    rows = history.vectors[history.slots] / history.scales[:, None]
    targets = history.rewards / history.scales
    newton(rows[:10], targets[:10], history.taus[:10], 1.0, 1.0)
    every = 50  # one round in fifty is solved and counted fifty times
    total = 0.0
    for t in range(every // 2, 2000, every):
        solve = functools.partial(newton, rows[:t], targets[:t], history.taus[:t], 1.0, 1.0)
        total += every * min(_processor_seconds(solve) for _ in range(3))
    last = newton(rows, targets, history.taus, 1.0, 1.0)
    return total, float(np.abs(last - live.estimate().theta).max())


def newton(rows, targets, taus, ridge, bound):
    """Newton's method from 0 with backtracking; the ball's multiplier by Newton's method as well."""
    identity = np.eye(rows.shape[1])
    theta = np.zeros(rows.shape[1])

    def loss(at):
        z = targets - rows @ at
        return 0.5 * ridge * (at @ at) + (taus * z * z / (np.sqrt(taus**2 + z * z) + taus)).sum()

    for _ in range(100):
        z = targets - rows @ theta
        bends = taus / np.sqrt(taus**2 + z * z)
        gradient = ridge * theta - rows.T @ (bends * z)
        hessian = ridge * identity + (rows.T * bends**3) @ rows
        target, shift, goal = hessian @ theta - gradient, 0.0, theta
        for _ in range(100):
            matrix = hessian + shift * identity
            goal = np.linalg.solve(matrix, target)
            norm = math.sqrt(goal @ goal)
            if norm <= bound * (1.0 + 1e-12):
                break
            shift += norm**2 / (goal @ np.linalg.solve(matrix, goal)) * (norm - bound) / bound
        step = goal - theta
        decrement = math.sqrt(step @ hessian @ step)
        if decrement <= 1e-5:
            return goal
        share, value = 1.0, loss(theta)
        for _ in range(40):
            if loss(theta + share * step) <= value - 1e-4 * share * decrement**2:
                break
            share /= 2.0
        theta = theta + share * step
    return theta
