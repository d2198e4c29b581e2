"""Simulations on other workers: the bits of one process, whatever the pieces."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.support.clusters import small_cluster

import noisewise as nw
from noisewise.core.spreading.workers import workers_on
from noisewise.simulation.sharing.elsewhere import Elsewhere
from noisewise.simulation.sharing.replications import Replications
from noisewise.simulation.simulate import make_run

SPHERE = nw.instances.sphere(20, 3)
ENV = SPHERE.environment(nw.schedules.log_uniform)
POLICY = nw.vaee(SPHERE.actions)
ELSEWHERE = pytest.param("cluster", marks=pytest.mark.long("clusters"))


@pytest.fixture(params=["thread", ELSEWHERE])
def on(request):
    """A place to work."""
    with ThreadPoolExecutor(1) if request.param == "thread" else small_cluster() as place:
        yield place


def assert_same_bits(one, other):
    for field in dataclasses.fields(one):
        mine, theirs = getattr(one, field.name), getattr(other, field.name)
        if isinstance(mine, np.ndarray):
            assert mine.dtype == theirs.dtype
            assert mine.tobytes() == theirs.tobytes(), field.name
        else:
            assert mine == theirs, field.name


@pytest.mark.parametrize("compile", [False, pytest.param(True, marks=pytest.mark.long("compiled loops"))])
def test_any_cut_gives_the_bits_of_one_process(compile, on):
    here = nw.simulate(POLICY, ENV, horizon=40, replications=12, compile=compile, threads=1)
    for at_a_time in (1, 7, 12):
        todo = Replications(make_run(POLICY, ENV, 40, 0, None, (None, None)), 12, None)
        with workers_on(on) as workers:
            Elsewhere(todo, workers).run(compile, at_a_time)
        assert_same_bits(here, todo.results)
    assert here.arithmetic


def test_threads_mean_nothing_elsewhere():
    with (
        ThreadPoolExecutor(1) as pool,
        pytest.raises(ValueError, match="`threads` must be left out with `on`"),
    ):
        nw.simulate(POLICY, ENV, horizon=5, replications=2, threads=2, on=pool)
