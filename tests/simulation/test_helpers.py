"""Helper processes: the same bits on any number of them, whatever goes wrong with one."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from dataclasses import replace

import numpy as np
import pytest

import noisewise as nw
from noisewise.cli.worlds.racers import choose_racers
from noisewise.core.compiler.kernels import kernel
from noisewise.core.native.verbs import numpy_verbs
from noisewise.policies.shell.policy import Policy
from noisewise.simulation.sharing import helpers, parcel, team
from noisewise.simulation.sharing.replications import PARTS, Replications, parts_of
from noisewise.simulation.sharing.worker import MARK
from noisewise.simulation.simulate import make_run
from noisewise.world import instances

SOARE = nw.instances.soare(4)
ENV = SOARE.environment("rare-quiet", noise="student-t")


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
            self.seen()

        def seen(self):
            """Wait until the first one has done something, or is gone."""
            waited = time.monotonic()
            while not self._replications.finished[2:].any() and time.monotonic() - waited < 60:
                if all(not thread.is_alive() for thread in self._threads):
                    return
                time.sleep(0.01)

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
        (nw.linear_thompson(SOARE.actions), ENV, {}),
        (nw.vaee(SOARE.actions), ENV, {"stop": "gap", "eps": 1.0}),
        (nw.vaee(nw.Ball(3)), nw.Environment(nw.Ball(3), [0.5, 0.1, 0.2], np.full(30, 0.3)), {}),
    ],
)
def test_any_number_of_processes_gives_the_same_bits(policy, env, more, started):
    alone = simulated(policy, env, **more, threads=1)
    assert not started
    for threads in (2, 3):
        assert_same(alone, simulated(policy, env, **more, threads=threads))
    assert len(started) == 1 + 2
    assert all(process.returncode is not None for process in started)


def test_helpers_do_what_this_process_would(started):
    with numpy_verbs(), np.errstate(over="raise"):
        alone = simulated(threads=1)
        assert_same(alone, simulated(threads=2))
    assert len(started) == 1


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


@kernel
def stubborn(params, state, allowed, sigma, draws):
    return 0


def test_what_a_person_wrote_stays_in_this_process(started):
    """Sending it would import this file, and run whatever else is in it, in every helper."""
    env = SOARE.environment(lambda horizon, rng: np.ones(horizon))
    policy = nw.widest(SOARE.actions)
    assert_same(simulated(policy, env, threads=1), simulated(policy, env, threads=3))
    mine = Policy(replace(policy.rule, choose=stubborn), SOARE.actions, policy.options)
    assert_same(simulated(mine, threads=1), simulated(mine, threads=3))
    assert not started


def test_helpers_and_children_start_no_helpers(started, monkeypatch):
    monkeypatch.setenv(MARK, "1")
    simulated(threads=2)
    monkeypatch.delenv(MARK)
    monkeypatch.setattr(sys, "executable", "/usr/bin/an-application")
    simulated(threads=2)
    assert not started


def test_an_error_is_the_one_of_a_single_process(started):
    """The sigmas of some replications are too small for this rule."""
    env = SOARE.environment("log-uniform")
    least = sorted(float(env.sigmas(30, 3, r).min()) for r in range(12))
    first = [float(env.sigmas(30, 3, r).min()) for r in range(12)]
    failing = [r for r in range(12) if first[r] < least[1]]
    assert failing[0] > 3  # a helper meets it: this process has the first ones
    policy = nw.vaee_as_printed(env.actions, sigma_min=least[1])
    errors = []
    for threads in (1, 2):
        with pytest.raises(ValueError, match="smallest sigma of the schedule") as caught:
            simulated(policy, env, threads=threads)
        errors.append((type(caught.value), str(caught.value)))
    assert errors[0] == errors[1]
    assert len(started) == 1


def complaining(horizon, rng):
    """A schedule that warns in every fourth replication or so."""
    sigmas = rng.uniform(0.1, 1.0, horizon)
    if sigmas[0] < 0.3:
        warnings.warn(f"began with {sigmas[0]}", UserWarning, stacklevel=1)
    return sigmas


def test_warnings_are_those_of_a_single_process(started, monkeypatch):
    """Helpers leave such replications to this process, which shows the warning, or makes it an error."""
    monkeypatch.setattr(parcel, "_is_installed", lambda name: True)
    env = SOARE.environment(complaining)
    found = []
    for threads in (1, 2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            simulated(env=env, threads=threads)
        found.append({str(warning.message) for warning in caught})
    assert found[0] == found[1]
    assert found[0]
    assert len(started) == 1
    with pytest.raises(UserWarning, match="began with"):  # as everywhere in these tests
        simulated(env=env, threads=2)


@pytest.mark.parametrize("begin", ["raise SystemExit(1)", "import os; os.close(0)", "print('hello')"])
def test_a_helper_that_does_not_start_is_one_fewer(begin, started, monkeypatch):
    monkeypatch.setattr(helpers, "BEGIN", begin)
    assert_same(simulated(threads=1), simulated(threads=3))
    assert len(started) == 2


def test_a_helper_that_dies_is_one_fewer(started, monkeypatch):
    alone = simulated(threads=1)
    real = Replications.keep

    def keep(self, piece, parts):
        """After its first answer it is asked no more."""
        started[0].kill()
        started[0].wait()
        real(self, piece, parts)

    monkeypatch.setattr(Replications, "keep", keep)
    assert_same(alone, simulated(threads=2))
    assert len(started) == 1


@pytest.mark.skipif(os.name == "nt", reason="no signals there")
def test_ctrl_c_ends_helpers_and_keeps_what_they_did(started):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(3.0, signal.raise_signal, [signal.SIGINT])
    try:
        timer.start()
        with pytest.raises(nw.SimulationInterrupted) as caught:
            simulated(horizon=300, replications=100_000, threads=2)
        timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
    finished = caught.value.finished
    assert finished.engine == "plain"
    # This process does them one by one, a helper several ahead.
    assert finished.replications > 8
    few = simulated(horizon=300, replications=8, threads=1)
    assert np.array_equal(finished.pulled[:8], few.pulled)
    assert [process.returncode for process in started] == [-signal.SIGKILL]


SCRIPT = """
print("the script runs")
import noisewise as nw
from noisewise.simulation.sharing import team
from noisewise.simulation.sharing.helpers import Helpers

team.LOOK, team.WORTH_HELPERS = 0.0, 1e-9
real = Helpers.start
Helpers.start = lambda self, *more: (print("with helpers"), real(self, *more))
actions = nw.instances.soare(4).actions
env = nw.instances.soare(4).environment("rare-quiet")
how = {"horizon": 400, "replications": 60, "compile": False}
sims = [nw.simulate(nw.vaee(actions), env, threads=n, **how) for n in (1, 3)]
print((sims[0].pulled == sims[1].pulled).all(), (sims[0].bound == sims[1].bound).all())
"""


def test_a_script_without_a_guard_runs_once(tmp_path):
    (tmp_path / "experiment.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "experiment.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["the script runs", "with helpers", "True True"]
    assert not done.stderr
