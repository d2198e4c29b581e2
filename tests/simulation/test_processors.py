"""Other processors: other kernels of BLAS and other machine code may change last digits, and no decision."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import noisewise as nw
from noisewise.core.spreading.arithmetic import arithmetic, difference
from noisewise.simulation.compilation import cache_directory

CODE = """
import sys
import noisewise as nw
compiled = sys.argv[1] == "compiled"
world = nw.instances.sphere(40, 6)
env = world.environment(nw.schedules.log_uniform)
runs = [
    nw.simulate(
        nw.make_policy(name, world.actions), env, horizon=150, replications=6, threads=1, compile=compiled
    )
    for name in ("vaee", "vage")[: 1 if compiled else 2]
]
nw.save_simulations(runs, sys.argv[2])
"""


def simulated(tmp_path, engine, name, **environment):
    """In a process that computes as on another machine."""
    file = tmp_path / f"{name}.parquet"
    command = [sys.executable, "-c", CODE, engine, str(file)]
    subprocess.run(command, check=True, env=os.environ | environment)
    return nw.load_simulations(file)


@pytest.mark.parametrize(
    ("engine", "other"),
    [("plain", {"OPENBLAS_CORETYPE": "Nehalem"}), ("compiled", {"NUMBA_CPU_NAME": "nehalem"})],
    ids=["another kernel of OpenBLAS", "another target of LLVM"],
)
def test_decisions_are_equal_on_every_processor_and_results_say_which_it_was(engine, other, tmp_path):
    here = simulated(tmp_path, engine, "here")
    there = simulated(tmp_path, engine, "there", **other)
    for mine, theirs in zip(here, there, strict=True):
        assert mine.engine == theirs.engine == engine
        assert np.array_equal(mine.pulled, theirs.pulled)
        assert np.array_equal(mine.advised, theirs.advised)
        assert np.allclose(mine.bound, theirs.bound, rtol=1e-9)
        assert mine.arithmetic != theirs.arithmetic
        assert "ehalem" in difference(theirs.arithmetic, mine.arithmetic).partition(" there and ")[0]


def test_what_is_equal_is_said_to_be_equal():
    assert arithmetic(False) == arithmetic(False)
    assert arithmetic(True).startswith(arithmetic(False))
    assert difference(arithmetic(True), arithmetic(True)) == ""


def test_machine_code_for_another_processor_is_kept_apart(monkeypatch):
    code = "from noisewise.simulation.compilation import *; print(cache_directory())"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env=os.environ | {"NUMBA_CPU_NAME": "nehalem"},
    )  # fmt: skip
    assert found.stdout.strip() != str(cache_directory())


def test_simulations_in_files_remember_how_they_were_computed(tmp_path):
    world = nw.instances.sphere(8, 2)
    made = nw.simulate(
        nw.vaee(world.actions), world.environment(nw.schedules.log_uniform), horizon=5, replications=2
    )
    made.save(tmp_path / "one.parquet")
    assert nw.load_simulations(tmp_path / "one.parquet")[0].arithmetic == made.arithmetic == arithmetic(False)
    assert json.dumps(made.arithmetic)
