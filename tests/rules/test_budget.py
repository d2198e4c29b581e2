"""Rules with a budget of rounds: Peace and OD-LinBAI."""

import numpy as np
import pytest
from tests.support.soare import SOARE
from tests.support.tracking import (
    assert_lags_most,
    exact_sums,
    followed,
    since_the_phase_began,
    twelve_decades,
)

import noisewise as nw
from noisewise.rules.registry import rule_named


@pytest.mark.parametrize("rule", ["peace", "od_linbai"])
def test_budgets_must_be_known(rule):
    assert rule_named(rule).needs_horizon
    with pytest.raises(ValueError, match="`horizon` must be given"):
        nw.make_policy(rule, SOARE)
    policy = nw.make_policy(rule, SOARE, horizon=3)
    for _ in range(12):  # beyond the budget it goes on
        policy.tell(policy.ask(), 0.3, 1.0)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rule", ["peace", "od_linbai"])
def test_a_budget_is_tracked_as_in_exact_arithmetic(rule, seed):
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((10, 3))
    policy = nw.make_policy(rule, vectors, horizon=90)
    for state, action, history in since_the_phase_began(followed(policy, rng, twelve_decades(rng, 90))):
        assert_lags_most(action, exact_sums(history, 10), state.wanted)
