"""Greedy: the largest mean, whatever is not known yet."""

from tests.support import naive
from tests.support.playing import random_problem

import noisewise as nw


def test_it_measures_the_largest_mean_of_the_textbook():
    for seed in range(10):
        vectors, theta, sigmas, noise = random_problem(seed, horizon=25)
        policy, history = nw.rules.greedy(vectors, ridge=0.6), []
        for sigma, unit in zip(sigmas, noise, strict=True):
            means, _, _ = naive.posterior(vectors, history, 0.6)
            action = policy.ask()
            assert action == naive.first_largest(means)
            history.append((action, float(vectors[action] @ theta + sigma * unit), sigma))
            policy.tell(*history[-1])
        assert policy.recommend() == naive.first_largest(naive.posterior(vectors, history, 0.6)[0])
