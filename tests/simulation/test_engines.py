"""Which engine runs a simulation: the sooner one, said afterwards, and the same results from both."""

import json
import sys

import numpy as np
import polars as pl
import pytest

import noisewise as nw
from noisewise.simulation import engine, files
from noisewise.simulation.compilation import cache_directory
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


@pytest.fixture
def paced(monkeypatch):
    """Let plain rounds take so many seconds, one figure for each time that they are timed."""

    def pretend(*seconds):
        given = iter(seconds)
        real = Run.pace
        monkeypatch.setattr(Run, "pace", lambda self, results: Pace(next(given), real(self, results).rounds))

    return pretend


def test_a_short_simulation_is_plain_and_says_so():
    sim = simulated()
    assert sim.engine == "plain"
    assert repr(sim).endswith(", plain)")


def test_an_engine_can_be_asked_for_under_both_names():
    assert simulated(compiled=True).engine == "compiled"
    assert simulated(compile=False).engine == simulated(compiled=False).engine == "plain"
    assert simulated(compile=False, compiled=False).engine == "plain"
    with pytest.raises(ValueError, match="`compiled` is an older name of `compile`; got False and True"):
        simulated(compile=True, compiled=False)


@pytest.mark.parametrize("horizon", [TIMED_ROUNDS, TIMED_ROUNDS + 30])
@pytest.mark.parametrize("stop", [{}, {"stop": "gap", "eps": 0.9}])
def test_whatever_is_chosen_gives_what_was_asked_for(horizon, stop, paced):
    """No trace of the rounds that were timed: bit for bit the same as if the engine had been named."""
    shared = {"horizon": horizon, **stop}
    plain = simulated(**shared)
    by_name = {wanted: simulated(**shared, compile=wanted) for wanted in (False, True)}
    paced(*[10.0] * engine.TRIES)
    compiled = simulated(**shared)
    assert (plain.engine, compiled.engine) == ("plain", "compiled")
    for name in PARTS:
        for sim, asked in ((plain, by_name[False]), (compiled, by_name[True])):
            assert np.array_equal(getattr(sim, name), getattr(asked, name)), name
    assert np.array_equal(plain.pulled, compiled.pulled)
    assert np.allclose(plain.distance, compiled.distance, rtol=1e-6, atol=1e-9)


def test_a_hiccup_of_the_machine_decides_nothing(paced):
    paced(10.0, 1e-6)
    assert simulated().engine == "plain"


def test_machine_code_that_is_at_hand_costs_nothing_more(paced, monkeypatch):
    paced(*[0.01] * 8)
    monkeypatch.setattr(engine, "is_cached", lambda *code: False)
    assert simulated().engine == "plain"  # 0.6 s in all
    assert simulated(compile=True).engine == "compiled"
    assert simulated().engine == "compiled"


def test_what_is_on_the_disk_is_read_sooner_than_made(tmp_path, paced, monkeypatch):
    monkeypatch.setenv("NOISEWISE_CACHE_DIR", str(tmp_path))
    rounds = 20 * 3
    paced(*[(engine.IMPORT + engine.LOOK + engine.READ + 0.1) / rounds] * 8)
    assert simulated(threads=1).engine == "plain"
    folder = cache_directory(nw.widest(ENV.actions).rule)
    (folder / "loop.nbi").touch()
    assert simulated(threads=1).engine == "compiled"


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


def test_files_remember_the_engine_and_those_of_before_still_open(tmp_path, monkeypatch):
    sims = [simulated(compile=False), simulated(compile=True)]
    nw.save_simulations(sims, tmp_path / "new.parquet")
    assert [sim.engine for sim in nw.load_simulations(tmp_path / "new.parquet")] == ["plain", "compiled"]

    def without_engine(content, **how):
        runs = [{key: run[key] for key in run if key != "engine"} for run in content["runs"]]
        return json.JSONEncoder(**how).encode(content | {"runs": runs})

    monkeypatch.setattr(files.json, "dumps", without_engine)
    nw.save_simulations(sims, tmp_path / "old.parquet")
    monkeypatch.undo()
    assert "engine" not in pl.read_parquet_metadata(tmp_path / "old.parquet")["noisewise"]
    (old, _) = nw.load_simulations(tmp_path / "old.parquet")
    assert old.engine == ""
    assert repr(old) == repr(sims[0]).replace(", plain)", ")")
    assert np.array_equal(old.pulled, sims[0].pulled)
