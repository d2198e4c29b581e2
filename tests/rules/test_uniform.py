"""Uniform: every allowed action equally often, whatever was measured."""

import numpy as np
from scipy import stats
from tests.support.playing import FALSE_ALARM

import noisewise as nw


def test_every_allowed_action_is_drawn_equally_often():
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
