"""Rules to compare with: greedy, widest, uniform, round robin; and OFUL, which does not look at sigma."""

import numpy as np
from scipy import stats
from tests.support import naive
from tests.support.playing import FALSE_ALARM, live_choices, random_problem

import noisewise as nw


def test_widest_measures_the_widest_of_the_textbook():
    for seed in range(10):
        vectors, _, sigmas, _ = random_problem(seed, horizon=25)
        policy, history = nw.rules.widest(vectors, ridge=0.6), []
        for sigma in sigmas:
            _, squared_widths, _ = naive.posterior(vectors, history, 0.6)
            action = policy.ask()
            assert action == naive.first_largest(squared_widths)
            history.append((action, 0.0, sigma))
            policy.tell(*history[-1])


def test_vaee_that_explores_everything_measures_the_same():
    for seed in range(5):
        problem = random_problem(seed, horizon=40)
        both = [live_choices(make(problem[0]), *problem) for make in (nw.rules.widest, nw.vaee)]
        assert both[0] == both[1]


def test_uniform_draws_every_allowed_action_equally_often():
    """Chi-square over 2000 seeds, false-alarm probability 1e-6; what was told changes no choice."""
    policy, told = nw.rules.uniform(np.eye(5)), nw.rules.uniform(np.eye(5))
    told.tell_many([0, 0], [5.0, 5.0], [1e-3, 1e-3])
    policy.tell_many([1, 2], [0.0, 0.0], [1.0, 1.0])
    drawn = []
    for seed in range(2000):
        policy.rule.seed = told.rule.seed = seed
        drawn.append(policy.ask(allowed=[0, 2, 3, 4]))
        assert told.ask(allowed=[0, 2, 3, 4]) == drawn[-1]
    counts = np.bincount(drawn, minlength=5)
    assert counts[1] == 0
    assert stats.chisquare(counts[[0, 2, 3, 4]]).pvalue > FALSE_ALARM


def test_round_robin_takes_turns_whatever_is_measured():
    policy = nw.rules.round_robin(np.eye(3))
    pulled = []
    for t in range(9):
        pulled.append(policy.ask())
        policy.tell(pulled[-1], 10.0**t, 10.0 ** (3 - t))
    assert pulled == [0, 1, 2] * 3


def test_oful_does_not_look_at_sigma():
    policies = [nw.rules.oful(np.eye(3)) for _ in range(2)]
    for policy, sigma in zip(policies, (0.01, 10.0), strict=True):
        policy.tell(0, 0.3, sigma)
    assert np.array_equal(policies[0].estimate().means, policies[1].estimate().means)
    assert np.array_equal(policies[0].estimate().widths, policies[1].estimate().widths)
