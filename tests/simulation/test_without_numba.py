"""Numba is optional: without it everything works, in plain Python."""

import subprocess
import sys

import pytest

BLOCKED = {
    "as if it were not there": 'import sys; sys.modules["numba"] = None',
    "refused by a finder": """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("numba", "llvmlite"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Refuse())
""",
}

SCRIPT = """
import numpy as np
import noisewise as nw
from noisewise.arena import Cell, run_arena
from noisewise.cli import main

instance = nw.instances.soare(3)
env = instance.environment("rare-quiet")
sims = [nw.simulate(rule(instance.actions), env, horizon=30, replications=3) for rule in (nw.vaee, nw.vage)]
assert [sim.engine for sim in sims] == ["plain", "plain"]
assert len(nw.compare(sims)) == 2
ball = nw.instances.ball(2)
assert nw.simulate(nw.vaee(ball.actions), ball.environment("rare-quiet"), horizon=5).engine == "plain"
try:
    nw.simulate(nw.vaee(instance.actions), env, horizon=30, compile=True)
except ModuleNotFoundError as refusal:
    assert "pip install 'noisewise[compiled]'" in str(refusal)
policy = nw.vaee(np.eye(3))
policy.tell(policy.ask(), 1.0, 0.5)
size = {"horizon": 20, "replications": 4, "processes": 1}
arena = run_arena(["vaee", "round_robin"], [Cell("soare", "flat")], "arena", **size)
assert [match.engine for match in arena.matches] == ["plain", "plain"]
assert sys.modules.get("numba") is None
sys.argv = ["noisewise", "simulate", "-p", "vaee,uniform", "--horizon", "20", "--replications", "3"]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print("all of it")
"""


@pytest.mark.parametrize("how", BLOCKED)
def test_everything_works_without_numba(how, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED[how] + SCRIPT],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Simple regret at the end" in done.stdout
    assert done.stdout.endswith("all of it\n")
    assert not done.stderr


def test_a_simulation_of_a_second_does_not_load_the_compiler(tmp_path):
    script = (
        "import sys, noisewise as nw; actions = nw.instances.soare(6).actions\n"
        "env = nw.instances.soare(6).environment('rare-quiet')\n"
        "sim = nw.simulate(nw.vaee(actions), env, horizon=100, replications=20)\n"
        "print(sim.engine, 'numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["plain", "False"]
