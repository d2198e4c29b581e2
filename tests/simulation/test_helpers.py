"""Helper processes: the same bits on any number of them, whatever goes wrong with one."""

import pickle
import signal
import threading

import numpy as np
import pytest
from tests.support.waiting import wait_until

import noisewise as nw
from noisewise.cli.worlds.racers import choose_racers
from noisewise.simulation.sharing import helpers, replications, team
from noisewise.simulation.sharing.replications import PARTS, parts_of
from noisewise.simulation.simulate import make_run
from noisewise.world import instances

SOARE = nw.instances.soare(4)
ENV = SOARE.environment("rare-quiet", noise="student-t")
BALL = nw.Ball(3)
BALL_ENV = nw.Environment(BALL, [0.5, 0.1, 0.2], np.full(30, 0.3))


@pytest.fixture
def started(monkeypatch):
    """Helpers are worth their start from the first moment on; those that were started."""
    monkeypatch.setattr(team, "LOOK", 0.0)
    monkeypatch.setattr(team, "WORTH_HELPERS", 1e-9)
    found = []

    class Listed(helpers.Helpers):
        def start(self, *arguments):
            super().start(*arguments)
            found.extend(self._processes)
            wait_until(self.seen, "an answer of a helper")

        def seen(self):
            """Whether a helper has done something, or none is left."""
            return self._replications.finished[2:].any() or not any(
                map(threading.Thread.is_alive, self._threads)
            )

    monkeypatch.setattr(team, "Helpers", Listed)
    return found


def simulated(policy=None, env=ENV, **more):
    return nw.simulate(
        policy or nw.linear_thompson(env.actions),
        env,
        **{"horizon": 30, "replications": 12, "seed": 3, "compile": False} | more,
    )


def assert_same(one, other):
    for name in PARTS:
        assert np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True), name


@pytest.mark.parametrize(
    ("policy", "env", "more"),
    [
        (nw.vaee(SOARE.actions), ENV, {"stop": "gap", "eps": 1.0}),
        pytest.param(nw.vaee(BALL), BALL_ENV, {}, marks=pytest.mark.long("processes")),
    ],
)
def test_any_number_of_processes_gives_the_same_bits(policy, env, more, started):
    alone = simulated(policy, env, **more, threads=1)
    assert not started
    assert_same(alone, simulated(policy, env, **more, threads=3))
    assert len(started) == 2
    assert all(process.returncode is not None for process in started)


def test_every_rule_and_every_instance_can_be_sent():
    racers, _ = choose_racers(["all"], SOARE.environment("rare-quiet", announced=True), 20, 2, 0)
    worlds = [(policy, SOARE.environment("rare-quiet", announced=True)) for policy in racers.values()]
    for name in instances.NAMES:
        problem = instances.named(name, **({"horizon": 20} if name == "case-study" else {}))
        world = problem.environment(problem.schedule or nw.schedules.rare_quiet)
        worlds.append((nw.vaee(world.actions), world))
    for policy, world in worlds:
        run = make_run(policy, world, 20, 0, None, (None, None))
        order = pickle.loads(helpers.order_to_send(run))
        kind, *rest = order.recipe
        again = kind(*rest)
        here, there = (parts_of(each, range(1, 2), each.loop(compiled=False)) for each in (run, again))
        assert all(np.array_equal(here[name], there[name], equal_nan=True) for name in PARTS), policy.name


@pytest.mark.parametrize("begin", ["raise SystemExit(1)", "import os; os.close(0)", "print('hello')"])
def test_a_helper_that_does_not_start_is_one_fewer(begin, started, monkeypatch):
    monkeypatch.setattr(helpers, "BEGIN", begin)
    assert_same(simulated(threads=1), simulated(threads=3))
    assert len(started) == 2


def test_an_interrupt_ends_helpers_and_keeps_what_they_did(started, monkeypatch):
    monkeypatch.setattr(replications, "BETWEEN_REPORTS", 0.0)

    def interrupt(done, total):
        if started:  # one of them has answered by now
            raise KeyboardInterrupt

    with pytest.raises(nw.SimulationInterrupted) as caught:
        simulated(replications=100_000, threads=2, progress=interrupt)
    finished = caught.value.finished
    assert finished.engine == "plain"
    assert 2 < finished.replications < 100_000
    few = simulated(replications=2, threads=1)
    assert np.array_equal(finished.pulled[:2], few.pulled)
    assert [process.returncode for process in started] == [-signal.SIGKILL]
