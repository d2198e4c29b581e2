"""Simulations on other workers: the bits of one process, whatever the pieces."""

import dataclasses
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from tests.support.clusters import small_cluster

import noisewise as nw
from noisewise.core.spreading.workers import workers_on
from noisewise.simulation.sharing import replications
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


def test_infinite_sets_and_stopping_rules_can_be_sent(on):
    world = nw.instances.ball(3).environment(nw.schedules.log_uniform)
    policy = nw.vaee(world.actions)
    how = {"horizon": 50, "replications": 12, "stop": "gap", "eps": 0.5, "compile": False}
    here = nw.simulate(policy, world, threads=1, **how)
    assert_same_bits(here, nw.simulate(policy, world, on=on, **how))


@pytest.mark.long("processes")
def test_a_pool_of_processes_gives_the_bits_of_one_process():
    how = {"horizon": 30, "replications": 10, "compile": False}
    seen = []
    with ProcessPoolExecutor(2) as pool:
        there = nw.simulate(POLICY, ENV, on=pool, progress=lambda *counts: seen.append(counts), **how)
    assert_same_bits(nw.simulate(POLICY, ENV, threads=1, **how), there)
    assert seen[-1] == (10, 10)


def test_ctrl_c_keeps_the_replications_that_came_back(on, monkeypatch):
    monkeypatch.setattr(replications, "BETWEEN_REPORTS", 0.0)

    def interrupt(done, total):
        if 0 < done < total:
            raise KeyboardInterrupt

    todo = Replications(make_run(POLICY, ENV, 60, 0, None, (None, None)), 40, interrupt)
    with workers_on(on) as workers, pytest.raises(KeyboardInterrupt):
        Elsewhere(todo, workers).run(False, 4)
    kept = todo.whole_ones()
    assert 0 < kept.replications < 40
    here = nw.simulate(POLICY, ENV, horizon=60, replications=40, compile=False, threads=1)
    for r in range(kept.replications):
        assert any(np.array_equal(kept.pulled[r], here.pulled[k]) for k in range(40))


def test_threads_mean_nothing_elsewhere():
    with (
        ThreadPoolExecutor(1) as pool,
        pytest.raises(ValueError, match="`threads` must be left out with `on`"),
    ):
        nw.simulate(POLICY, ENV, horizon=5, replications=2, threads=2, on=pool)
