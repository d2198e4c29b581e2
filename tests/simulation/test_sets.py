"""Simulations on infinite sets: shapes, files, stopping, and the lower bound on the regret."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from tests.support.effort import effort

import noisewise as nw


def small(policy, env, **options):
    return nw.simulate(policy, env, horizon=30, replications=3, on=1, **options)


def test_vectors_are_recorded_and_survive_a_file(tmp_path):
    instance = nw.instances.ball(3)
    sim = small(nw.vaee(instance.actions), instance.environment(nw.schedules.log_uniform))
    assert sim.pulled.shape == (3, 30, 3)
    assert sim.advised.shape == (3, sim.checkpoints.size, 3)
    assert np.allclose(np.linalg.norm(sim.pulled, axis=2), 1.0)
    assert sim.frame()["advised"].dtype.is_nested()
    sim.save(tmp_path / "sim.parquet")
    (loaded,) = nw.simulation.load_simulations(tmp_path / "sim.parquet")
    for name in ("pulled", "advised", "simple_regret", "bound", "stopped"):
        assert_array_equal(getattr(loaded, name), getattr(sim, name))


def test_stopping_by_the_certified_gap():
    env = nw.Environment(nw.sets.Ball(2), [1.0, 0.0], np.full(200, 0.05))
    policy = nw.vaee(nw.sets.Ball(2))
    sim = nw.simulate(policy, env, horizon=200, replications=2, stop="gap", eps=0.05)
    assert sim.fired.all()
    assert (sim.bound[:, -1] <= 0.05).all()
    assert np.isnan(sim.pulled[0, sim.stopped[0] :]).all()
    with pytest.raises(ValueError, match="`stop` must be 'gap' on an infinite set"):
        small(policy, env, stop="glr")


def test_candidates_only_and_sets_without_enumeration_run():
    env = nw.Environment(nw.sets.Ball(2), [1.0, 0.0], np.full(30, 0.1))
    paper = nw.vaee(nw.sets.Ball(2), explore="candidates", radius=1.0)
    sim = nw.simulate(paper, env, horizon=8, replications=1)
    assert sim.pulled.shape == (1, 8, 2)
    mixed = nw.instances.random_parameter(nw.sets.Product(nw.sets.Ball(2), nw.sets.Simplex(2)))
    sim = nw.simulate(
        nw.rules.weighted_oful(mixed.actions), mixed.environment(np.ones(3)), horizon=3, replications=1
    )
    assert (sim.simple_regret <= sim.bound).all()


def test_bad_worlds_are_refused():
    with pytest.raises(ValueError, match="`theta` must be 2 finite numbers"):
        nw.Environment(nw.sets.Ball(2), [1.0], [1.0])
    with pytest.raises(ValueError, match="`action_sigma` must be left out on Ball"):
        nw.Environment(nw.sets.Ball(2), [1.0, 0.0], [1.0], action_sigma=[1.0])
    with pytest.raises(TypeError, match="`actions` must be a set such as"):
        nw.instances.random_parameter(np.eye(2))
    env = nw.Environment(nw.sets.Ball(2), [1.0, 0.0], [1.0])
    with pytest.raises(ValueError, match="`policy` must be made for the actions of `env`"):
        nw.simulate(nw.vaee(nw.sets.Ball(2, radius=3.0)), env, horizon=1)
    with pytest.raises(ValueError, match="`policy` must be made for the actions of `env`"):
        nw.simulate(nw.vaee(np.eye(2)), env, horizon=1)


def test_on_the_hypercube_the_regret_is_near_the_physical_limit():
    """Note 12: no algorithm can beat 0.3400·d/√S on this family."""
    instance = nw.instances.signs(6)
    env = instance.environment(nw.schedules.log_uniform)
    sim = nw.simulate(
        nw.vaee(instance.actions), env, horizon=300, replications=effort(200, 2000), checkpoints=[300]
    )
    limit = 0.3400 * 6 / np.sqrt(sim.total_precision[:, -1])
    assert 0.9 < sim.simple_regret[:, -1].mean() / limit.mean() < 1.15
