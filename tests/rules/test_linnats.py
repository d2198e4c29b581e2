"""LinNATS for known and unknown variances: as wide as its confidence set, greedy without draws."""

import math

import numpy as np
from scipy import stats
from tests.support.naive import WeightedOfulPlus, first_largest
from tests.support.playing import FALSE_ALARM, quiet_problem

import noisewise as nw


def test_linnats_of_spread_0_measures_the_best_mean():
    for make in (nw.rules.linnats, nw.rules.linear_thompson):
        for seed in range(5):
            vectors, theta, sigmas, noise = quiet_problem(seed, horizon=25)
            own = {"spread": 0.0, "horizon": 25} if make is nw.rules.linnats else {"scale": 0.0}
            policy = make(vectors, **own)
            for sigma, unit in zip(sigmas, noise, strict=True):
                action = policy.ask()
                assert action == first_largest(policy.estimate().means)
                policy.tell(action, vectors[action] @ theta + sigma * unit, sigma)


def test_linnats_draws_are_as_wide_as_its_confidence_set():
    """Two actions: the probability is that of a normal number; false-alarm probability 1e-6."""
    vectors = np.array([[1.0, 0.2], [0.3, 0.9], [0.5, -0.5]])
    policy = nw.rules.linnats(vectors, horizon=100, scale=0.01, spread=1.5)
    for t in range(30):
        policy.tell(t % 3, [0.6, 0.1, 0.3][t % 3], 0.2)
    estimate = policy.estimate()
    textbook = WeightedOfulPlus(
        vectors, ridge=1, norm_bound=1, noise_bound=1, delta=0.05, scale=0.01, horizon=100
    )
    for t in range(30):
        textbook.learn(t % 3, [0.6, 0.1, 0.3][t % 3], 0.2)
    gap = vectors[0] - vectors[1]
    spread = 1.5 * textbook.radius() * math.sqrt(gap @ np.linalg.solve(textbook.precision, gap))
    probability = float(stats.norm.cdf((estimate.means[0] - estimate.means[1]) / spread))
    assert 0.1 < probability < 0.9
    chosen = 0
    for seed in range(2000):
        policy.rule.seed = seed
        chosen += policy.ask(allowed=[0, 1]) == 0
    low, high = stats.binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], 2000, probability)
    assert low <= chosen <= high


def test_linnats_for_unknown_variances_learns_in_the_layer_where_it_draws():
    """Its actions are wide in the first layer that is not finished, whatever is drawn."""
    rng = np.random.default_rng(11)
    vectors = rng.standard_normal((8, 2))
    policy, chosen = nw.rules.linnats_unknown(vectors, horizon=300, scale=1e-3), set()
    for _ in range(150):
        rule, action = policy.rule, policy.ask()
        chosen.add(action)
        assert rule.learning_layer(action) == rule.walked[0]
        policy.tell(action, float(vectors[action] @ [0.3, 0.2] + 0.1 * rng.standard_normal()), 0.1)
    assert len(chosen) > 3
