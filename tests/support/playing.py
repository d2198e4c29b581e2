"""Random problems for rules, how a policy is played on them, and how misses of its certificate are judged."""

import math
from functools import partial

import numpy as np
from scipy import stats

import noisewise as nw

FALSE_ALARM = 1e-6
#: Misses of 200 runs at delta = 0.05 that a true certificate exceeds with probability below 1e-6.
MOST_MISSES = int(stats.binom.isf(FALSE_ALARM, 200, 0.05))


def random_problem(seed, horizon, *, stream=23, dims=(2, 5), most=12, decades=(-1.5, 0.3), signs=False):
    """Vectors (full rank), theta of norm 0.9, sigmas over ``decades`` and noise of unit variance."""
    rng = np.random.default_rng([stream, seed])
    dim = int(rng.integers(*dims))
    vectors = rng.standard_normal((int(rng.integers(dim + 1, most)), dim)) / math.sqrt(dim)
    theta = rng.standard_normal(dim)
    theta *= 0.9 / np.linalg.norm(theta)
    sigmas = 10 ** rng.uniform(*decades, horizon)
    return vectors, theta, sigmas, rng.choice([-1.0, 1.0], horizon) if signs else rng.standard_normal(horizon)


#: The same with noise of ±sigma, for rules that rest on bounded noise.
bounded_problem = partial(random_problem, stream=11, dims=(1, 6), most=20, decades=(-1.5, 0.5), signs=True)
quiet_problem = partial(random_problem, stream=29, dims=(1, 5), decades=(-2.0, 0.0), signs=True)


def random_history(seed, rounds=25):
    """Nine vectors in three features, and measurements of them as (action, reward, sigma)."""
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((9, 3))
    sigmas = 10 ** rng.uniform(-1, 0.5, rounds)
    actions = rng.integers(0, 9, rounds)
    rewards = vectors[actions] @ rng.standard_normal(3) + sigmas * rng.standard_normal(rounds)
    return vectors, list(zip(actions.tolist(), rewards.tolist(), sigmas.tolist(), strict=True))


def told(policy, history):
    """The policy, after it was told a history."""
    for action, reward, sigma in history:
        policy.tell(action, reward, sigma)
    return policy


def live_choices(policy, vectors, theta, sigmas, noise, announced=False):
    """Ask and tell for as many rounds as there are sigmas; the actions measured."""
    pulled = []
    for sigma, unit in zip(sigmas, noise, strict=True):
        action = policy.ask(sigma if announced else None)
        policy.tell(action, float(vectors[action] @ theta + sigma * unit), sigma)
        pulled.append(action)
    return pulled


def coverage_misses(policy, env, checkpoints):
    """Of 200 runs, how many have theta outside the confidence set at any checkpoint."""
    sim = nw.simulate(policy, env, horizon=int(checkpoints[-1]), replications=200, checkpoints=checkpoints)
    missed = (sim.distance > sim.radius).any(axis=1)
    if len(checkpoints) == checkpoints[-1]:
        assert sim.covered[~missed].all(), "while theta is inside, the regret is below the bound"
    return int(missed.sum())
