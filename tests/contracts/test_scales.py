"""Units of the rewards change no choice, and one very quiet round means the same to compiled code."""

import numpy as np
import pytest
from tests.support.soare import SOARE, THETA

import noisewise as nw


@pytest.mark.parametrize("rule", ["lingame", "frank_wolfe_sampling", "rage"])
def test_units_do_not_matter(rule):
    """Rewards and sigmas in other units: the same questions."""
    unit, rng = 1e-3, np.random.default_rng(5)
    one = nw.make_policy(rule, SOARE)
    other = nw.make_policy(rule, SOARE, ridge=unit**-2.0, norm_bound=unit)
    for _ in range(60):
        action = one.ask()
        assert other.ask() == action
        sigma = float(np.exp(rng.uniform(-2, 0)))
        value = float(SOARE[action] @ THETA + sigma * rng.standard_normal())
        one.tell(action, value, sigma)
        other.tell(action, unit * value, unit * sigma)


@pytest.mark.long("compiled loops")
@pytest.mark.parametrize("rule", ["vagd", "lingame", "vage", "lingape"])
def test_a_very_quiet_round_means_the_same_to_compiled_code(rule):
    sigma = np.ones(40)
    sigma[::13] = 1e-6
    environment = nw.Environment(np.eye(4), np.array([0.4, 0.3, 0.2, 0.1]), sigma)
    policy = nw.make_policy(rule, np.eye(4))
    compiled, plain = (
        nw.simulate(policy, environment, horizon=40, replications=2, seed=3, threads=1, compile=compile)
        for compile in (True, False)
    )
    assert np.array_equal(compiled.pulled, plain.pulled)
