"""Certificates hold as often as they promise, judged at a false-alarm probability of 1e-6."""

import numpy as np
import pytest

import noisewise as nw

#: Misses of 1000 runs at delta = 0.05 that a true certificate exceeds with probability below 1e-6.
MOST_MISSES = 86
REPLICATIONS = 1000


@pytest.mark.parametrize("noise", ["gaussian", "rademacher", "uniform"])
@pytest.mark.parametrize("radius", ["mixture", "self-normalised", "paper", "averaged"])
def test_each_radius_covers_at_every_round(radius, noise):
    """theta on the sphere, adaptive pulls among the candidates, looked at after every round."""
    instance = nw.instances.sphere(30, 3)
    env = instance.environment(nw.schedules.log_uniform, noise=noise)
    policy = nw.vaee(instance.actions, explore="candidates", radius=radius, sigma_min=1e-2)
    sim = nw.simulate(policy, env, horizon=100, replications=REPLICATIONS, checkpoints=np.arange(1, 101))
    inside = (sim.distance <= sim.radius).all(axis=1)
    misses = int((~inside).sum())
    assert misses <= MOST_MISSES
    # The bound on the regret is true whenever the certificate is.
    assert sim.covered[inside].all()


def test_a_radius_that_is_too_small_is_caught():
    """The same judgement on a radius of 1, which is no certificate: it must fail."""
    instance = nw.instances.sphere(30, 3)
    env = instance.environment(nw.schedules.log_uniform)
    policy = nw.vaee(instance.actions, explore="candidates", radius=1.0)
    sim = nw.simulate(policy, env, horizon=100, replications=REPLICATIONS, checkpoints=np.arange(1, 101))
    assert (sim.distance > sim.radius).any(axis=1).sum() > MOST_MISSES


def test_elimination_loses_the_informative_action_and_exploring_all_does_not():
    """Note 4: Soare's instance, d = 5, sigma² = 0.1: about 24 % of wrong answers against about 0.5 %."""
    instance = nw.instances.soare(5)
    env = instance.environment(np.full(1000, np.sqrt(0.1)))
    wrong = {}
    for explore in ("candidates", "all"):
        policy = nw.vaee(instance.actions, explore=explore)
        sim = nw.simulate(policy, env, horizon=1000, replications=400)
        wrong[explore] = (sim.advised[:, -1] != 0).mean()
    assert 0.14 < wrong["candidates"] < 0.35
    assert wrong["all"] < 0.03
