"""VAGE's verbs with very large and very small numbers: the sketch changes no choice."""

import numpy as np
import pytest

import noisewise as nw
from noisewise.core.native.verbs import numpy_verbs


def choices(vectors, theta, sigma, rounds=12):
    policy, rng, chosen = nw.rules.vage(vectors), np.random.default_rng(1), []
    for _ in range(rounds):
        action = policy.ask()
        policy.tell(action, float(vectors[action] @ theta + sigma * rng.standard_normal()), sigma)
        chosen.append(int(action))
    return chosen


@pytest.mark.parametrize("unit", [1e-40, 1e-25, 1e-20, 1.0, 1e20, 1e25, 1e40])
def test_a_sketch_changes_nothing_whatever_the_unit(unit):
    """Its codes are single precision, which holds neither the largest nor the smallest numbers."""
    rng = np.random.default_rng(0)
    vectors, theta = unit * rng.standard_normal((2500, 10)), rng.standard_normal(10)
    with numpy_verbs():
        expected = choices(vectors, theta, unit)
    assert choices(vectors, theta, unit) == expected


def test_bounds_that_are_no_numbers_end_the_search_for_races():
    """Every argument is accepted, and squares of widths times precisions are beyond all numbers."""
    vectors = 1e142 * np.random.default_rng(0).standard_normal((6, 3))
    policy = nw.rules.vage(vectors, norm_bound=1e135)
    with np.errstate(all="ignore"):
        for _ in range(5):
            policy.tell(policy.ask(), 1e80, 1e-60)
    assert policy.ask() in range(6)
