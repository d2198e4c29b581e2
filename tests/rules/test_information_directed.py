"""Information-directed sampling, held to its textbook."""

import math

import numpy as np
import pytest
from tests.support.naive import first_largest
from tests.support.playing import random_problem

import noisewise as nw
from noisewise.rules._information_directed import best_mixture


def test_no_mixture_of_two_is_better():
    """Against all pairs on a fine grid, with actions that are not allowed."""
    rng = np.random.default_rng(0)
    shares = np.linspace(0, 1, 401)[:, None, None]
    mixed = 0
    for _ in range(200):
        n = int(rng.integers(1, 20))
        gap, gain = rng.uniform(0.05, 2, n), rng.exponential(size=n) * 10 ** rng.uniform(-3, 1, n)
        allowed = rng.random(n) < 0.8
        allowed[rng.integers(n)] = True
        *two, share = best_mixture(gap, gain, allowed)
        one, other = map(int, two)
        assert allowed[one]
        assert allowed[other]
        ratio = ((1 - share) * gap[one] + share * gap[other]) ** 2
        ratio /= (1 - share) * gain[one] + share * gain[other]
        g, i = gap[allowed], gain[allowed]
        grid = (1 - shares) * g[:, None] + shares * g, (1 - shares) * i[:, None] + shares * i
        assert ratio <= (grid[0] ** 2 / grid[1]).min() * (1 + 1e-9)
        mixed += 0 < share < 1
    assert mixed > 20


@pytest.mark.parametrize("information", ["full", "optimistic"])
def test_deterministic_information_directed_sampling_is_the_textbooks(information):
    """gap²/information, with the shrinkage of the optimistic action's width computed by inversion."""
    for seed in range(15):
        vectors, theta, sigmas, noise = random_problem(seed, horizon=30)
        factors = np.random.default_rng(seed).uniform(0.5, 2.0, len(vectors))
        policy = nw.rules.information_directed(
            vectors, information=information, randomised=False, action_sigma=factors, ridge=0.7, delta=0.1
        )
        matrix, total = 0.7 * np.eye(vectors.shape[1]), np.zeros(vectors.shape[1])
        for sigma, unit in zip(sigmas, noise, strict=True):
            inverse = np.linalg.inv(matrix)
            means = vectors @ inverse @ total
            widths = np.sqrt(np.einsum("ij,jk,ik->i", vectors, inverse, vectors))
            log_det = np.linalg.slogdet(matrix)[1] - len(theta) * math.log(0.7)
            radius = math.sqrt(0.7) + math.sqrt(2 * math.log(10) + log_det)
            u = vectors[first_largest(means + radius * widths)]
            gaps = (means + radius * widths).max() - means + radius * widths
            gains = []
            for k, a in enumerate(vectors):
                after = matrix + np.outer(a, a) / (sigma * factors[k]) ** 2
                if information == "full":
                    gains.append((np.linalg.slogdet(after)[1] - np.linalg.slogdet(matrix)[1]) / 2)
                else:
                    gains.append(math.log(u @ inverse @ u / (u @ np.linalg.solve(after, u))) / 2)
            action = policy.ask(sigma)
            ratio = np.array(gains) / gaps**2
            assert ratio[action] >= ratio.max() * (1 - 1e-7)
            own = sigma * factors[action]
            reward = vectors[action] @ theta + own * unit
            policy.tell(action, reward, own)
            matrix += np.outer(vectors[action], vectors[action]) / own**2
            total += vectors[action] * reward / own**2
