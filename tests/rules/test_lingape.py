"""LinGapE and its weighted version, compared with the textbook."""

import math

import numpy as np
import pytest
from tests.support.naive import first_largest
from tests.support.playing import live_choices, random_problem

import noisewise as nw


def textbook_lingape(vectors, theta, sigmas, noise, *, ridge, delta, norm_bound, level, scale, weighted):
    """Algorithm 1 with greedy selection, every matrix inverted afresh; and B(t), what it stops by."""
    n, d = vectors.shape
    matrix, weighted_sum = ridge * np.eye(d), np.zeros(d)
    pulled, weights, stops = [], [], []
    for t, (sigma, unit) in enumerate(zip(sigmas, noise, strict=True)):
        inverse = np.linalg.inv(matrix)
        estimate = inverse @ weighted_sum
        means = vectors @ estimate
        information = np.linalg.slogdet(matrix)[1] - d * math.log(ridge)
        if weighted:
            bias = math.sqrt(ridge) * norm_bound
            radius = math.sqrt(information + 2 * math.log(1 / delta) + bias**2)
            radius = bias + scale * (radius - bias)
        else:
            # In the paper's units: A without weights, noise of size R outside the root.
            radius = level * scale * math.sqrt(2 * math.log(n**2 / delta) + information)
            radius += math.sqrt(ridge) * norm_bound
        i = first_largest(means)
        gaps = [
            means[j]
            - means[i]
            + radius * math.sqrt((vectors[j] - vectors[i]) @ inverse @ (vectors[j] - vectors[i]))
            for j in range(n)
        ]
        gaps[i] = -math.inf
        j = first_largest([gap if math.isfinite(gap) else -1e3 for gap in gaps])
        stops.append(max(0.0, gaps[j]))
        if not weighted and t < n:
            action = t
        else:
            typical = len(weights) / sum(weights) if weighted and weights else level**2 if weighted else 1.0
            y = vectors[i] - vectors[j]
            after = [
                y @ np.linalg.inv(matrix + np.outer(a, a) / typical) @ y - y @ inverse @ y for a in vectors
            ]
            action = first_largest([-value for value in after])
        pulled.append(action)
        weight = 1 / sigma**2 if weighted else 1.0
        weights.append(weight)
        reward = vectors[action] @ theta + sigma * unit
        matrix += weight * np.outer(vectors[action], vectors[action])
        weighted_sum += weight * reward * vectors[action]
    return pulled, stops


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [1.0, 0.1])
def test_lingape_measures_what_the_textbook_measures(weighted, scale):
    """20 random problems each; ridge, norm bound and noise level are not 1."""
    for seed in range(20):
        problem = random_problem(seed, horizon=40)
        ridge, norm_bound, level = [0.3, 2.5][seed % 2], [0.9, 1.7][seed // 2 % 2], [0.4, 1.3][seed // 4 % 2]
        policy = nw.make_policy(
            "weighted_lingape" if weighted else "lingape",
            problem[0],
            ridge=ridge,
            norm_bound=norm_bound,
            noise_level=level,
            scale=scale,
            delta=0.1,
        )
        twin = {"ridge": ridge, "norm_bound": norm_bound, "level": level, "scale": scale, "delta": 0.1}
        pulled, _ = textbook_lingape(*problem, **twin, weighted=weighted)
        assert live_choices(policy, *problem) == pulled, seed


def test_stopping_by_the_gap_is_lingapes_own_stopping_rule():
    vectors, theta, _, _ = random_problem(2, horizon=2000)
    level, eps = 0.2, 0.3
    env = nw.Environment(vectors, theta, np.full(2000, level))
    policy = nw.rules.lingape(env.actions, noise_level=level, ridge=0.2)
    sim = nw.simulate(policy, env, horizon=2000, replications=3, stop="gap", eps=eps)
    assert sim.fired.all()
    for r in range(3):
        used = int(sim.stopped[r])
        world = env.world(2000, 0, r)
        twin = {"ridge": 0.2, "norm_bound": 1.0, "level": level, "scale": 1.0, "delta": 0.05}
        pulled, stops = textbook_lingape(
            vectors, theta, world.sigma[: used + 1], world.noise[: used + 1], **twin, weighted=False
        )
        assert pulled[:used] == sim.pulled[r, :used].tolist()
        assert stops[used] <= eps
        assert min(stops[1:used]) > eps
