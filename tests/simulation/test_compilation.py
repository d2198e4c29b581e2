"""Where nothing can be compiled, a sentence says what to install."""

import pytest

import noisewise as nw
from noisewise.policies.registry import rule_named
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
