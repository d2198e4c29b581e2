"""The page of comparisons says what the kept runs say, and the runs can be played again."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
KEPT = json.loads((ROOT / "docs" / "comparisons.json").read_text("utf-8"))


def benchmark(module, *arguments):
    """Tests import no benchmark; this one is a program."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
    command = [sys.executable, "-m", f"benchmarks.rivals.{module}", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_the_tables_of_the_page_are_made_from_the_kept_runs():
    done = benchmark("page", "--check")
    assert done.returncode == 0, done.stderr


def test_everyone_met_the_same_seeds():
    for worlds in KEPT["cells"].values():
        for cell in worlds.values():
            assert [run["seed"] for run in cell["runs"]] == list(range(len(cell["runs"])))


@pytest.mark.long("statistics")
def test_a_kept_run_can_be_played_again():
    """One that needs nothing but NumPy."""
    for rival in ("uniform", "peeking"):
        done = benchmark("play", rival, '{"equal error bars": [3, 4]}')
        (run,) = json.loads(done.stdout)["runs"]
        kept = KEPT["cells"][rival]["equal error bars"]["runs"][3]
        assert {name: run[name] for name in ("losses", "claimed", "claim_loss")} == {
            name: kept[name] for name in ("losses", "claimed", "claim_loss")
        }


@pytest.mark.long("statistics")
def test_a_rival_that_is_not_installed_is_left_out_with_its_reason():
    if "skipped" not in (done := json.loads(benchmark("play", "kn", '{"many options": [0, 0]}').stdout)):
        pytest.skip("sim-tools is installed here")
    assert done["skipped"].startswith("sim-tools is not installed here")
