"""Which engine runs a simulation: the sooner one, said afterwards, and the same results from both."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import noisewise as nw
from noisewise.simulation import engine
from noisewise.simulation.compilation import compiled_loop
from noisewise.simulation.list_run import ListRun
from noisewise.simulation.run import Pace, Run
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


def test_machine_code_gives_what_plain_rounds_do(tmp_path, monkeypatch):
    """Made anew, here and for another worker; this is the one test of the short suite that compiles."""
    monkeypatch.setenv("NOISEWISE_CACHE_DIR", str(tmp_path))
    compiled_loop.cache_clear()
    plain, here = simulated(compile=False), simulated(compile=True)
    with ThreadPoolExecutor(1) as pool:
        there = simulated(compile=True, on=pool)
    compiled_loop.cache_clear()
    assert [sim.engine for sim in (plain, here, there)] == ["plain", "compiled", "compiled"]
    assert any(tmp_path.rglob("*.nbi"))
    for name in PARTS:
        assert np.array_equal(getattr(here, name), getattr(there, name)), name
    assert np.array_equal(plain.pulled, here.pulled)
    assert np.allclose(plain.distance, here.distance, rtol=1e-6, atol=1e-9)


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
