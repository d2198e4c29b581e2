"""The ridge by its name: as many units of 1/norm_bound² as the actions span directions."""

import numpy as np
import pytest

import noisewise as nw

#: Misses of 1000 runs at delta = 0.05 that a true certificate exceeds with probability below 1e-6.
MOST_MISSES = 86


@pytest.mark.parametrize("name", ["vaee", "oful", "lingape", "vage"])
def test_the_ridge_of_the_dimension_is_the_number_that_it_stands_for(name):
    actions = np.random.default_rng(0).normal(size=(12, 5))
    level = {"noise_level": 0.5} if name in ("oful", "lingape") else {}
    unit = 0.25 if level else 1.0  # these two divide a number by the square of the noise level
    one = getattr(nw.rules, name)(actions, ridge="dim", norm_bound=2.0, **level)
    other = getattr(nw.rules, name)(actions, ridge=unit * 5.0 / 4.0, norm_bound=2.0, **level)
    for policy in (one, other):
        for k in (3, 1, 7, 3):
            policy.tell(k, 0.3 * k, sigma=0.5)
    assert one.options["ridge"] == "dim"
    assert one.estimate().radius == pytest.approx(other.estimate().radius, rel=1e-12)
    np.testing.assert_allclose(one.estimate().means, other.estimate().means, rtol=1e-12)


def test_the_certificate_covers_at_every_round():
    """theta on the sphere of norm_bound, adaptive pulls, looked at after every round."""
    instance = nw.instances.sphere(30, 6)
    env = instance.environment(nw.schedules.log_uniform)
    policy = nw.vaee(instance.actions, explore="candidates", ridge="dim")
    sim = nw.simulate(policy, env, horizon=60, replications=1000, checkpoints=np.arange(1, 61))
    inside = (sim.distance <= sim.radius).all(axis=1)
    assert (~inside).sum() <= MOST_MISSES
    assert sim.covered[inside].all()
