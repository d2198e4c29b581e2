"""Which engine runs a simulation: the sooner one, said afterwards, and the same results from both."""

import sys

import numpy as np
import pytest
from tests.support.effort import effort

import noisewise as nw
from noisewise.simulation import engine
from noisewise.simulation.list_run import ListRun
from noisewise.simulation.run import TIMED_ROUNDS, Pace, Run
from noisewise.simulation.sharing.replications import PARTS

SPHERE = nw.instances.sphere(12, 3)
ENV = SPHERE.environment(nw.schedules.log_uniform)


def simulated(rule=nw.widest, env=ENV, **more):
    return nw.simulate(rule(env.actions), env, **{"horizon": 20, "replications": 3} | more)


@pytest.fixture(autouse=True)
def nothing_ready(monkeypatch):
    """As in a new process."""
    monkeypatch.setattr(engine, "_ready", set())
    monkeypatch.setattr(engine, "SHORT", 0.2)


@pytest.fixture
def paced(monkeypatch):
    """Let plain rounds take so many seconds, one figure for each time that they are timed."""

    def pretend(*seconds):
        given = iter(seconds)
        real = Run.pace
        monkeypatch.setattr(Run, "pace", lambda self, results: Pace(next(given), real(self, results).rounds))

    return pretend


def test_a_short_simulation_is_plain_and_says_so(paced):
    paced(1e-6)
    sim = simulated()
    assert sim.engine == "plain"
    assert repr(sim).endswith(", plain)")


def test_an_engine_can_be_asked_for_under_both_names():
    assert simulated(compile=False).engine == simulated(compiled=False).engine == "plain"
    assert simulated(compile=False, compiled=False).engine == "plain"
    with pytest.raises(ValueError, match="`compiled` is an older name of `compile`; got False and True"):
        simulated(compile=True, compiled=False)


@pytest.mark.parametrize("horizon", effort([TIMED_ROUNDS + 30], [TIMED_ROUNDS, TIMED_ROUNDS + 30]))
@pytest.mark.parametrize("stop", effort([{}], [{}, {"stop": "gap", "eps": 0.9}]))
def test_whatever_is_chosen_gives_what_was_asked_for(horizon, stop, paced):
    """No trace of the rounds that were timed: bit for bit the same as if the engine had been named."""
    shared = {"horizon": horizon, **stop}
    by_name = {wanted: simulated(**shared, compile=wanted) for wanted in (False, True)}
    paced(1e-6, *[10.0] * engine.TRIES)
    plain, compiled = simulated(**shared), simulated(**shared)
    assert (plain.engine, compiled.engine) == ("plain", "compiled")
    for name in PARTS:
        for sim, asked in ((plain, by_name[False]), (compiled, by_name[True])):
            assert np.array_equal(getattr(sim, name), getattr(asked, name)), name
    assert np.array_equal(plain.pulled, compiled.pulled)
    assert np.allclose(plain.distance, compiled.distance, rtol=1e-6, atol=1e-9)


def test_a_hiccup_of_the_machine_decides_nothing(paced):
    paced(10.0, 1e-6)
    assert simulated().engine == "plain"


def test_a_large_world_gains_nothing_by_machine_code(paced):
    """What a round has to read takes its time in every engine."""
    many = nw.instances.sphere(400, 50)
    paced(*[400 * 50 * engine.PER_NUMBER] * 4)
    sim = simulated(env=many.environment(nw.schedules.log_uniform), threads=1, replications=100)
    assert sim.engine == "plain"


@pytest.mark.parametrize("blocked", ["missing", "broken"])
def test_without_numba_everything_is_plain(blocked, paced, monkeypatch):
    paced(*[10.0] * 8)
    if blocked == "missing":
        monkeypatch.setitem(sys.modules, "numba", None)
        reason = (
            r"compiled simulations need Numba, which is not installed: pip install 'noisewise\[compiled\]'\."
        )
    else:

        def fail(self, compiled, real=ListRun.loop):
            if compiled:
                raise ImportError("Numba needs NumPy 1.0 or less")
            return real(self, compiled)

        monkeypatch.setattr(ListRun, "loop", fail)
        reason = "Numba cannot be imported: Numba needs NumPy 1.0 or less"
    sim = simulated()
    assert sim.engine == "plain"
    assert np.array_equal(sim.pulled, simulated(compile=False).pulled)
    with pytest.raises(ModuleNotFoundError, match=f"`compile` must be False or left out here: {reason}"):
        simulated(compile=True)
