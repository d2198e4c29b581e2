"""SAVE, compared with the box of its paper."""

import math

import numpy as np
import pytest
from tests.support.effort import effort
from tests.support.naive import first_largest

import noisewise as nw


class Textbook:
    """Algorithm 1 with all matrices and sums afresh, in units where actions and parameters are at most 1."""

    def __init__(self, vectors, *, norm_bound, noise_bound, delta, horizon, scale, trust_after):
        length = max(np.linalg.norm(vector) for vector in vectors)
        self.unit = length * norm_bound
        self.vectors, self.bound = vectors / length, noise_bound / self.unit
        self.alpha = 1 / (self.bound * horizon**1.5)
        self.depth = max(1, math.ceil(math.log2(1 / self.alpha)))
        self.delta, self.scale, self.trust_after = delta / 3, scale, trust_after
        self.samples = {level: [] for level in range(1, self.depth + 1)}
        self.radii = {level: 2 * 2**-level for level in self.samples}
        self.rounds = 0

    def fit(self, level):
        dim = self.vectors.shape[1]
        precision, weighted = 4.0**-level * np.eye(dim), np.zeros(dim)
        for action, reward, weight in self.samples[level]:
            precision += weight**2 * np.outer(self.vectors[action], self.vectors[action])
            weighted += weight**2 * reward * self.vectors[action]
        covariance = np.linalg.inv(precision)
        widths = np.sqrt(np.einsum("ij,jk,ik->i", self.vectors, covariance, self.vectors))
        return covariance @ weighted, widths

    def choose(self, allowed):
        remaining, level = sorted(allowed), 1
        while True:
            theta, widths = self.fit(level)
            means = self.vectors @ theta
            if all(widths[k] <= self.alpha for k in remaining):
                return first_largest(means + self.radii[level] * widths, remaining), level, False
            if all(widths[k] <= 2**-level for k in remaining):
                best = max(means[k] for k in remaining)
                slack = 2 * 2**-level * self.radii[level]
                remaining = [k for k in remaining if means[k] >= best - slack]
                level += 1
            else:
                return first_largest(widths**2, remaining), level, True

    def learn(self, action, reward, level):
        """Learn in this layer (of index 1, 2, …), or nowhere if it is None."""
        self.rounds += 1
        if level is None:
            return
        _, widths = self.fit(level)
        self.samples[level].append((action, reward / self.unit, 2.0**-level / widths[action]))
        theta, _ = self.fit(level)
        now = math.log(4 * self.rounds**2 * self.depth / self.delta)
        after = math.log(4 * (self.rounds + 1) ** 2 * self.depth / self.delta)
        if 2**level >= self.trust_after * math.sqrt(after):
            variance = sum(w**2 * (r - self.vectors[a] @ theta) ** 2 for a, r, w in self.samples[level])
        else:
            variance = self.bound**2 * len(self.samples[level])
        inner = 8 * variance + 6 * self.bound**2 * after + 2.0 ** (-2 * level + 4)
        stochastic = 16 * 2**-level * math.sqrt(inner * now) + 6 * 2**-level * self.bound * now
        self.radii[level] = 2.0 ** (-level + 1) + self.scale * stochastic


def random_problem(seed, noise, **options):
    """Vectors and theta of any length; the noise is a share of the largest possible value."""
    rng = np.random.default_rng([41, seed])
    dim = 1 + seed % 2
    vectors = rng.uniform(0.5, 3.0) * rng.standard_normal((4, dim))
    theta = rng.standard_normal(dim)
    norm_bound = 1.2 * float(np.linalg.norm(theta))
    noise_bound = noise * norm_bound * float(np.linalg.norm(vectors, axis=1).max())
    options |= {"norm_bound": norm_bound, "noise_bound": noise_bound, "delta": 0.1}
    return rng, vectors, theta, options


@pytest.mark.parametrize(("scale", "trust_after"), [(1.0, 64.0), (1e-3, 64.0), (1e-3, 0.2), (1e-5, 0.2)])
def test_save_measures_what_the_textbook_measures(scale, trust_after):
    """Random problems in all units, some rounds with a part of the actions only."""
    deepest, dropped = 0, 0
    for seed in range(effort(2, 6)):
        rng, vectors, theta, options = random_problem(
            seed, 0.5 + 0.2 * seed, scale=scale, trust_after=trust_after, horizon=120
        )
        policy, textbook = nw.rules.save(vectors, **options), Textbook(vectors, **options)
        for t in range(120):
            allowed = [k for k in range(4) if t % 5 or rng.random() < 0.5] or [0]
            action, level, learns = textbook.choose(allowed)
            assert policy.ask(allowed=allowed) == action
            reward = vectors[action] @ theta + options["noise_bound"] * rng.choice([-1.0, 1.0])
            policy.tell(action, reward, 1.0)
            textbook.learn(action, reward, level if learns else None)
            deepest = max(deepest, level)
        expected = [textbook.unit * radius for radius in textbook.radii.values()]
        np.testing.assert_allclose(policy.rule.radii, expected, rtol=1e-9)
        dropped += 4 - policy.estimate().candidates.sum()
    assert deepest >= 2
    assert dropped > 0 or scale == 1.0


def test_once_all_is_known_the_most_optimistic_action_is_measured():
    """Noise of a thousandth: what is narrower than α needs no measurement; optimism takes over."""
    idle = 0
    for seed in range(effort(2, 6)):
        rng, vectors, theta, options = random_problem(seed, 1e-3, scale=1e-3, trust_after=64.0, horizon=100)
        policy, textbook = nw.rules.save(vectors, **options), Textbook(vectors, **options)
        for _ in range(100):
            action, level, learns = textbook.choose(range(4))
            assert policy.ask() == action
            reward = vectors[action] @ theta + options["noise_bound"] * rng.choice([-1.0, 1.0])
            policy.tell(action, reward, 1.0)
            textbook.learn(action, reward, level if learns else None)
            idle += not learns
        assert policy.recommend() == np.argmax(vectors @ theta)
    assert idle > 50
