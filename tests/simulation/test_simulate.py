"""Simulations: common random numbers, the same under any threading, honest about interruptions."""

import math
from dataclasses import replace

import numpy as np
import pytest

import noisewise as nw
from noisewise.policies.registry import rule_named
from noisewise.policies.shared.least_squares import State, plain_init
from noisewise.policies.shell.policy import Policy
from noisewise.simulation.sharing import replications

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


def test_a_rule_that_is_not_compiled_runs_in_plain_numpy():
    rule = replace(
        rule_named("widest"), name="plain", init=lambda params: State(*plain_init(params)), compiled=False
    )
    policy = Policy(rule, SPHERE.actions, nw.widest(SPHERE.actions).options)
    plain = nw.simulate(policy, ENV, horizon=20, replications=3)
    assert np.array_equal(
        plain.pulled, nw.simulate(nw.widest(SPHERE.actions), ENV, horizon=20, replications=3).pulled
    )
    with pytest.raises(ValueError, match="plain NumPy only"):
        nw.simulate(policy, ENV, horizon=20, compile=True)


@pytest.mark.parametrize("compiled", [pytest.param(True, marks=pytest.mark.long("compiled loops")), False])
def test_an_interrupt_keeps_what_is_finished(compiled, monkeypatch):
    monkeypatch.setattr(replications, "BETWEEN_REPORTS", 0.0)
    policy, how = nw.vaee(SPHERE.actions), {"horizon": 30, "compile": compiled}

    def interrupt(done, total):
        raise KeyboardInterrupt

    with pytest.raises(nw.SimulationInterrupted) as caught:
        nw.simulate(policy, ENV, replications=10_000, threads=2, progress=interrupt, **how)
    finished = caught.value.finished
    assert finished.engine == ("compiled" if compiled else "plain")
    assert 0 < finished.replications < 10_000
    again = nw.simulate(policy, ENV, replications=1, **how)
    assert np.array_equal(finished.pulled[0], again.pulled[0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"horizon": 0}, "`horizon` must be at least 1; got 0."),
        ({"horizon": 10, "replications": 0}, "`replications` must be at least 1; got 0."),
        ({"horizon": 10, "threads": 0}, "`threads` must be at least 1; got 0."),
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
        nw.simulate(nw.vaee_as_printed(env.actions, sigma_min=0.15), env, horizon=2)
