"""The confidence sets of the rules hold theta at every round, and sets that are too small are caught."""

import numpy as np
import pytest
from tests.support.effort import long_beyond
from tests.support.playing import MOST_MISSES, coverage_misses

import noisewise as nw


def misses(name, rounds, *, law, n=12, dim=3, low=0.02, **options):
    """Of 200 runs at delta 0.05, looked at after every round; sigmas are at most 0.5."""
    instance = nw.instances.sphere(n, dim)
    schedule = nw.schedules.named("log-uniform", low=low, high=0.5)
    env = instance.environment(schedule, noise=law, announced=True)
    policy = nw.make_policy(name, instance.actions, **options)
    return coverage_misses(policy, env, np.arange(1, rounds + 1))


#: The last one is not compiled.
ROUNDS = (
    ("lingape", 100),
    ("weighted_lingape", 100),
    ("phased_elimination", 60),
    ("information_directed", 15),
)


@pytest.mark.parametrize(("name", "rounds"), long_beyond(1, ROUNDS, "statistics"))
def test_the_confidence_set_holds_theta_at_every_round(name, rounds):
    options = {"noise_level": 0.5} if name == "lingape" else {}
    assert misses(name, rounds, law="gaussian", n=15, low=0.05, **options) <= MOST_MISSES


LARGER = {"name": "weighted_oful", "rounds": 200, "n": 20, "dim": 4}


@pytest.mark.long("statistics")
@pytest.mark.parametrize(
    ("options", "law"),
    [
        ({"noise": "bounded", "noise_bound": 0.5}, "rademacher"),
        ({"noise": "sub-gaussian"}, "gaussian"),
        ({"noise": "sub-gaussian", "radius": "self-normalised"}, "gaussian"),
        ({"noise": "sub-gaussian"}, "rademacher"),
    ],
    ids=lambda given: given if isinstance(given, str) else f"weighted_oful {list(given.values())}",
)
def test_the_confidence_set_of_weighted_oful_holds_theta_at_every_round(options, law):
    assert misses(**LARGER, law=law, **options) <= MOST_MISSES


@pytest.mark.long("statistics")
def test_a_tenth_of_the_radius_of_weighted_oful_is_caught():
    options = {"noise": "sub-gaussian", "radius": "self-normalised", "scale": 0.1}
    assert misses(**LARGER, law="gaussian", **options) > MOST_MISSES


BOUNDED = {"rounds": 100, "law": "rademacher", "noise_bound": 0.5, "horizon": 100}


RULES = ("weighted_oful_plus", "varcb", "linnats", "save", "linnats_unknown")


@pytest.mark.parametrize("name", long_beyond(1, RULES, "statistics"))
def test_the_confidence_sets_hold_theta_at_every_round(name):
    assert misses(name, **BOUNDED) <= MOST_MISSES


@pytest.mark.parametrize(("name", "norm_bound"), [("weighted_oful_plus", 0.9)])
def test_a_confidence_set_that_is_too_small_is_caught(name, norm_bound):
    """The same judgement on a radius of almost nothing but the bias of the ridge: it must fail."""
    with pytest.warns(UserWarning, match="theta exceeds norm_bound"):
        assert misses(name, **BOUNDED, scale=1e-6, norm_bound=norm_bound) > MOST_MISSES
