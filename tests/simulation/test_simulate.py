"""Simulations: common random numbers, the same under any threading, honest about interruptions."""

import contextlib
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields

import numpy as np
import pytest
from tests.support.clusters import small_cluster

import noisewise as nw
from noisewise.core.remarks import heard_progress

SPHERE = nw.instances.sphere(20, 3)
ENV = SPHERE.environment(nw.schedules.log_uniform)


def test_two_policies_face_the_same_world_and_noise():
    sims = [
        nw.simulate(nw.make_policy(name, SPHERE.actions), ENV, horizon=30, replications=4, seed=9)
        for name in ("widest", "round_robin")
    ]
    assert np.array_equal(sims[0].total_precision, sims[1].total_precision)


def test_the_simulated_rule_is_the_live_policy():
    env = nw.Environment(SPHERE.actions, [0.6, 0.0, 0.8], nw.schedules.fast_decaying(40))
    sim = nw.simulate(nw.vaee(env.actions), env, horizon=40, replications=1, checkpoints=[40])
    world, live = env.world(40, 0, 0), nw.vaee(env.actions)
    for t in range(40):
        action = live.ask()
        assert action == sim.pulled[0, t]
        live.tell(action, world.means[action] + world.sigma[t] * world.noise[t], world.sigma[t])
    assert live.recommend() == sim.advised[0, 0]
    assert math.isclose(live.estimate().regret_bound, sim.bound[0, 0], rel_tol=1e-6, abs_tol=1e-12)


PROCESSES = pytest.param(2, marks=pytest.mark.long("processes"))
MANY = pytest.param(8, marks=pytest.mark.long("processes"))
CLUSTER = pytest.param("cluster", marks=pytest.mark.long("clusters"))


@contextlib.contextmanager
def place(name):
    """What `on` names, and the executors and clusters behind words."""
    if name == "threads":
        with ThreadPoolExecutor(2) as pool:
            yield pool
    elif name == "cluster":
        with small_cluster() as client:
            yield client
    else:
        yield name


@pytest.mark.parametrize("name", [None, PROCESSES, MANY, "threads", CLUSTER])
@pytest.mark.parametrize("policy", [nw.vaee(SPHERE.actions), nw.rules.linear_thompson(SPHERE.actions)])
def test_simulations_have_the_same_bits_wherever_they_run(policy, name):
    how = {"horizon": 40, "replications": 100, "seed": 3}
    here = nw.simulate(policy, ENV, **how, on=1)
    with place(name) as on:
        there = nw.simulate(policy, ENV, **how, on=on)
    for field in fields(here):
        mine, theirs = getattr(here, field.name), getattr(there, field.name)
        if isinstance(mine, np.ndarray):
            assert (mine.dtype, mine.tobytes()) == (theirs.dtype, theirs.tobytes()), field.name
        else:
            assert mine == theirs, field.name


def test_an_interrupt_keeps_what_is_finished():
    policy = nw.vaee(SPHERE.actions)

    def interrupt(doing, done, of):
        assert doing == "simulating vaee"
        if done >= 10:
            raise KeyboardInterrupt

    with pytest.raises(nw.simulation.SimulationInterrupted) as caught, heard_progress(interrupt):
        nw.simulate(policy, ENV, horizon=30, replications=320, on=1)
    finished = caught.value.finished
    assert 1 <= finished.replications < 320
    again = nw.simulate(policy, ENV, horizon=30, replications=1)
    assert np.array_equal(finished.pulled[0], again.pulled[0])


def test_a_theta_beyond_the_norm_bound_is_counted_and_said():
    env = nw.Environment(np.eye(2), [3.0, 0.0], nw.schedules.fast_decaying(20))
    with pytest.warns(UserWarning, match=r"theta exceeds norm_bound=1 of vaee in 4 of 4 repl.* up to 3"):
        sim = nw.simulate(nw.vaee(env.actions), env, horizon=20, replications=4)
    assert sim.beyond_norm_bound.all()
    assert "theta exceeds" in repr(sim)
    right = nw.simulate(nw.vaee(env.actions, norm_bound=3.0), env, horizon=20, replications=4)
    assert not right.beyond_norm_bound.any()
    assert "theta" not in repr(right)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"horizon": 0}, "`horizon` must be at least 1; got 0."),
        ({"horizon": 10, "replications": 0}, "`replications` must be at least 1; got 0."),
        ({"horizon": 10, "seed": -1}, "`seed` must be a whole number"),
        ({"horizon": 10, "checkpoints": [0]}, "`checkpoints` must be whole numbers from 1"),
        ({"horizon": 10, "checkpoints": [11]}, "`checkpoints` must be whole numbers from 1"),
        ({"horizon": 10, "checkpoints": [1.5]}, "`checkpoints` must be whole numbers from 1"),
    ],
)
def test_bad_numbers_are_refused(call, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the text is compared below
        nw.simulate(nw.vaee(SPHERE.actions), ENV, **call)
    assert str(caught.value).startswith(message)


def test_a_policy_for_other_actions_is_refused():
    with pytest.raises(ValueError, match="`policy` must be made for the actions of `env`"):
        nw.simulate(nw.vaee(np.eye(2)), ENV, horizon=5)


def test_a_schedule_too_short_or_too_quiet_is_refused():
    env = nw.Environment(np.eye(2), [1.0, 0.0], [0.1, 0.2])
    with pytest.raises(ValueError, match="a sigma for each of the 3 rounds; got 2"):
        nw.simulate(nw.vaee(env.actions), env, horizon=3)
    with pytest.raises(ValueError, match=r"smallest sigma of the schedule, 0.1; got 0.15"):
        nw.simulate(nw.rules.vaee_as_printed(env.actions, sigma_min=0.15), env, horizon=2)
