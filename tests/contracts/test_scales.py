"""Units of the rewards change no choice."""

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
