"""One loop for all rules, compiled once; and a sentence where nothing can be compiled."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import noisewise as nw
from noisewise.core.compiler.kernels import kernel
from noisewise.core.model.dense import TOLD
from noisewise.policies.registry import rule_named
from noisewise.policies.shell.policy import Policy
from noisewise.simulation import compilation
from noisewise.simulation.compilation import cache_directory, compiled_loop

SPHERE = nw.instances.sphere(20, 3)
ENV = SPHERE.environment(nw.schedules.log_uniform)


@pytest.fixture(autouse=True)
def fresh():
    compiled_loop.cache_clear()
    yield
    compiled_loop.cache_clear()


def test_all_rules_share_one_loop():
    loops = [compiled_loop(rule_named(name)) for name in ("vaee", "greedy", "vagd")]
    assert len({id(loop.shared) for loop in loops}) == 1
    assert len({id(loop.glue) for loop in loops}) == 3


def test_the_folder_of_the_shared_loop_does_not_depend_on_what_else_is_loaded():
    folder = cache_directory()
    code = "import noisewise.paper.reproduction; from noisewise.simulation.compilation import *;"
    code += "print(cache_directory())"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == str(folder)


def test_machine_code_that_was_kept_is_used_in_another_process(tmp_path, monkeypatch):
    monkeypatch.setenv("NOISEWISE_CACHE_DIR", str(tmp_path))
    code = (
        "import numpy as np, noisewise as nw\n"
        "world = nw.instances.sphere(20, 3)\n"
        "sim = nw.simulate(nw.greedy(world.actions), world.environment(nw.schedules.log_uniform), horizon=40,"
        " replications=2, threads=1, compile=True)\n"
        "from noisewise.simulation.compilation import compiled_loop\n"
        "loop = compiled_loop(nw.greedy(world.actions).rule)\n"
        "hits = [c.cache_hits for code in (loop.glue, loop.shared) for c in code._known.values()]\n"
        "print(hits, sim.pulled.tolist())\n"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert runs[0].startswith("[0, 0]")
    assert runs[1].startswith("[1, 1]")
    assert runs[0][6:] == runs[1][6:]


def test_without_numba_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setattr(compilation, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"need Numba, which is not installed: pip install 'noisewise"):
        compiled_loop(rule_named("vaee"))
    with pytest.raises(ImportError, match="need Numba"):
        nw.simulate(nw.vaee(SPHERE.actions), ENV, horizon=5, replications=1, compile=True)


def test_without_the_compiled_verbs_a_sentence_says_so(monkeypatch):
    monkeypatch.setattr(compilation, "extension", None)
    with pytest.raises(ImportError, match="compiled simulations call the compiled verbs"):
        compiled_loop(rule_named("vaee"))


@kernel
def choose_twice(params, state, allowed, sigma, draws):
    if state.model.tally[TOLD] >= 2.0:
        raise ValueError("a third choice is not for me")
    return 1


def test_what_a_rule_raises_in_machine_code_is_raised():
    rule = replace(rule_named("greedy"), choose=choose_twice)
    policy = Policy(rule, SPHERE.actions, dict(nw.greedy(SPHERE.actions).options))
    assert nw.simulate(policy, ENV, horizon=2, replications=1, compile=True).pulled.shape == (1, 2)
    with pytest.raises(ValueError, match="a third choice"):
        nw.simulate(policy, ENV, horizon=9, replications=1, compile=True)


def test_arrays_that_machine_code_cannot_read_are_refused():
    policy = nw.vaee(np.eye(3))
    rule, params = policy.rule, policy._params
    columns = np.asfortranarray(np.ones((2, 3)))
    params = params._replace(setting=params.setting._replace(columns=columns))
    with pytest.raises(ValueError, match="arrays in C order"):
        compiled_loop(rule)(params, rule.init(params), None, None, None, None, 0)
