"""One loop for all rules, compiled once; and a sentence where nothing can be compiled."""

from dataclasses import replace

import numpy as np
import pytest

import noisewise as nw
from noisewise.core.compiler.kernels import kernel
from noisewise.core.model.dense import TOLD
from noisewise.policies.registry import rule_named
from noisewise.policies.shell.policy import Policy
from noisewise.simulation import compilation
from noisewise.simulation.compilation import compiled_loop

SPHERE = nw.instances.sphere(20, 3)
ENV = SPHERE.environment(nw.schedules.log_uniform)


@pytest.fixture(autouse=True)
def fresh():
    compiled_loop.cache_clear()
    yield
    compiled_loop.cache_clear()


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


@pytest.mark.long("compiled loops")
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
