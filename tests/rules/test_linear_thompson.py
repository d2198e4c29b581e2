"""Linear Thompson sampling: draws from the posterior, and greedy without them."""

import math

import numpy as np
from scipy import stats
from tests.support.playing import FALSE_ALARM, bounded_problem, live_choices

import noisewise as nw
from noisewise.core.model import perturbed_means


def test_thompson_sampling_of_scale_0_is_greedy_action_by_action():
    instance = nw.instances.sphere(25, 4)
    env = instance.environment(nw.schedules.log_uniform)
    policies = nw.rules.linear_thompson(instance.actions, scale=0.0), nw.rules.greedy(instance.actions)
    sims = [nw.simulate(policy, env, horizon=150, replications=40) for policy in policies]
    assert np.array_equal(sims[0].pulled, sims[1].pulled)
    assert np.array_equal(sims[0].advised, sims[1].advised)
    for seed in range(5):
        problem = bounded_problem(seed, horizon=40)
        thompson, greedy = nw.rules.linear_thompson(problem[0], scale=0), nw.rules.greedy(problem[0])
        assert live_choices(thompson, *problem) == live_choices(greedy, *problem)


def told_thompson(**options):
    """Thompson sampling in three features after eight measurements, with V and the estimate in full."""
    rng = np.random.default_rng(5)
    vectors = np.vstack([np.eye(3), rng.standard_normal((5, 3))])
    policy = nw.rules.linear_thompson(vectors, **options)
    actions, rewards = np.arange(8), rng.standard_normal(8)
    sigmas = 10 ** rng.uniform(-1, 0.3, 8)
    policy.tell_many(actions, rewards, sigmas)
    weighted = vectors / sigmas[:, None] ** 2
    precision = policy.options["ridge"] * np.eye(3) + weighted.T @ vectors
    return policy, vectors, precision, np.linalg.solve(precision, weighted.T @ rewards)


def test_a_posterior_draw_is_a_root_of_the_covariance():
    """A draw is linear in its normal numbers; the matrix of that map is a root of scale²·V⁻¹."""
    policy, vectors, precision, theta = told_thompson(ridge=0.4)
    model = policy.rule.model.arrays
    drawn = [perturbed_means(model, np.eye(3)[k], 1.7) - model.means for k in range(3)]
    expected = 1.7**2 * vectors @ np.linalg.inv(precision) @ vectors.T
    np.testing.assert_allclose(np.transpose(drawn) @ drawn, expected, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(model.means, vectors @ theta, rtol=1e-10)


ONE, OTHER = 2, 5  # neither is clearly better than the other


def test_an_action_is_chosen_as_often_as_it_is_the_best_under_the_posterior():
    """Two actions: the probability is that of a normal number; false-alarm probability 1e-6."""
    policy, vectors, precision, theta = told_thompson(scale=1.5)
    gap = vectors[ONE] - vectors[OTHER]
    lead = gap @ theta / (1.5 * math.sqrt(gap @ np.linalg.solve(precision, gap)))
    probability = float(stats.norm.cdf(lead))
    assert 0.1 < probability < 0.9
    n_asked, chosen = 3000, 0
    for seed in range(n_asked):
        policy.rule.seed = seed
        chosen += policy.ask(allowed=[ONE, OTHER]) == ONE
    low, high = stats.binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], n_asked, probability)
    assert low <= chosen <= high
