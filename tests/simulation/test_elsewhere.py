"""Simulations on a cluster: the bits of one process, however they are cut and whoever dies."""

import dataclasses
import os
import re
import shutil
import signal
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from tests.support.clusters import a_worker_killed, cluster_of, small_cluster

import noisewise as nw
from noisewise.core.spreading.tasks import StrangerError
from noisewise.core.spreading.workers import workers_on
from noisewise.policies.registry import rule_named
from noisewise.simulation.compilation import compiled_loop
from noisewise.simulation.sharing import replications
from noisewise.simulation.sharing.elsewhere import Elsewhere
from noisewise.simulation.sharing.replications import Replications
from noisewise.simulation.simulate import make_run

SPHERE = nw.instances.sphere(20, 3)
ENV = SPHERE.environment(nw.schedules.log_uniform)
POLICY = nw.vaee(SPHERE.actions)


@pytest.fixture(scope="module")
def client():
    with small_cluster() as client:
        yield client


def assert_same_bits(one, other):
    for field in dataclasses.fields(one):
        mine, theirs = getattr(one, field.name), getattr(other, field.name)
        if isinstance(mine, np.ndarray):
            assert mine.dtype == theirs.dtype
            assert mine.tobytes() == theirs.tobytes(), field.name
        else:
            assert mine == theirs, field.name


@pytest.mark.parametrize("compile", [False, True], ids=["plain", "compiled"])
@pytest.mark.parametrize("at_a_time", [1, 7, 40])
def test_any_cut_gives_the_bits_of_one_process(at_a_time, compile, client):
    here = nw.simulate(POLICY, ENV, horizon=60, replications=40, compile=compile, threads=1)
    todo = Replications(make_run(POLICY, ENV, 60, 0, None, (None, None)), 40, None)
    with workers_on(client) as workers:
        Elsewhere(todo, workers).run(compile, at_a_time)
    assert_same_bits(here, todo.results)
    assert here.arithmetic


def test_infinite_sets_and_stopping_rules_travel_as_well(client):
    world = nw.instances.ball(3).environment(nw.schedules.log_uniform)
    policy = nw.vaee(world.actions)
    how = {"horizon": 50, "replications": 12, "stop": "gap", "eps": 0.5, "compile": False}
    here = nw.simulate(policy, world, threads=1, **how)
    assert_same_bits(here, nw.simulate(policy, world, on=client, **how))


def test_an_address_and_an_executor_do_as_well(client):
    here = nw.simulate(POLICY, ENV, horizon=30, replications=10, compile=False, threads=1)
    seen = []
    there = nw.simulate(
        POLICY, ENV, horizon=30, replications=10, compile=False, on=client.scheduler.address,
        progress=lambda done, all: seen.append((done, all)),
    )  # fmt: skip
    assert_same_bits(here, there)
    assert seen[-1] == (10, 10)
    with ProcessPoolExecutor(2) as pool:
        assert_same_bits(here, nw.simulate(POLICY, ENV, horizon=30, replications=10, compile=False, on=pool))


def test_the_engine_is_chosen_once_for_all_workers(client):
    assert nw.simulate(POLICY, ENV, horizon=20, replications=4, on=client).engine == "plain"


def compilations(name):
    """On a worker: how often it compiled the parts of a rule's loop itself, and whether it used them."""
    codes = compiled_loop(rule_named(name)).codes
    return [code.made for code in codes], [len(code._known) for code in codes]


def machines(folder, count=2):
    """Environments as if every worker were a machine: a cache of its own, and the package elsewhere."""
    source = Path(nw.__file__).parents[1]
    for number in range(count):
        home = folder / f"machine{number}"
        shutil.copytree(source / "noisewise", home / "noisewise")
        path = os.pathsep.join([str(home), *(part for part in sys.path if part)])
        yield {"NOISEWISE_CACHE_DIR": str(home / "cache"), "PYTHONPATH": path}


def test_machine_code_is_compiled_once_and_travels_to_machines_that_lie_elsewhere(tmp_path):
    here = nw.simulate(POLICY, ENV, horizon=40, replications=20, compile=True, threads=1)
    with cluster_of(list(machines(tmp_path))) as client:
        homes = client.run(lambda: __import__("noisewise").__file__)
        assert len(set(homes.values())) == 2
        with workers_on(client) as workers:
            todo = Replications(make_run(POLICY, ENV, 40, 0, None, (None, None)), 20, None)
            Elsewhere(todo, workers).run(True, at_a_time=1)
        found = list(client.run(compilations, "vaee").values())
    assert_same_bits(here, todo.results)
    assert sorted(found) == [([0, 0], [1, 1]), ([1, 1], [1, 1])]


def test_machine_code_is_made_once_for_each_type_of_processor_and_decides_the_same(tmp_path):
    here = nw.simulate(POLICY, ENV, horizon=40, replications=20, compile=True, threads=1)
    places = list(machines(tmp_path, 3))
    places[2]["NUMBA_CPU_NAME"] = "nehalem"
    todo = Replications(make_run(POLICY, ENV, 40, 0, None, (None, None)), 20, None)
    with cluster_of(places) as client, workers_on(client) as workers:
        with pytest.warns(UserWarning, match=r"^The workers have 2 types of processors"):
            Elsewhere(todo, workers).run(True, at_a_time=1)
        names = client.run(lambda: __import__("os").environ.get("NUMBA_CPU_NAME", ""))
        found = client.run(compilations, "vaee")
    made = {name: sorted(found[at][0] for at in names if names[at] == name) for name in ("", "nehalem")}
    assert made == {"": [[0, 0], [1, 1]], "nehalem": [[1, 1]]}
    assert np.array_equal(todo.results.pulled, here.pulled)
    assert np.array_equal(todo.results.advised, here.advised)
    assert "nehalem" in todo.results.arithmetic


def test_a_worker_with_other_sources_is_refused_before_the_first_piece(tmp_path):
    places = list(machines(tmp_path, 2))
    with (tmp_path / "machine1" / "noisewise" / "world" / "noise.py").open("a") as file:
        file.write("# another line\n")
    with (
        cluster_of(places) as client,
        pytest.raises(
            StrangerError, match=r"^The worker at .* runs other sources of noisewise .* there than here"
        ),
    ):
        nw.simulate(POLICY, ENV, horizon=10, replications=4, compile=False, on=client)


@pytest.mark.long("clusters")
def test_a_worker_killed_while_it_compiles_changes_nothing(tmp_path):
    here = nw.simulate(POLICY, ENV, horizon=40, replications=20, compile=True, threads=1)
    with cluster_of(list(machines(tmp_path))) as client:
        with a_worker_killed(client, lambda key: "noisewise-kit-" in key, after=1.0) as killed:
            there = nw.simulate(POLICY, ENV, horizon=40, replications=20, compile=True, on=client)
        assert killed
    assert_same_bits(here, there)


def test_a_worker_killed_in_a_piece_changes_nothing(client):
    how = {"horizon": 200, "replications": 400, "compile": False}
    here = nw.simulate(POLICY, ENV, **how)
    pieces = re.compile(r"noisewise-replicated-").search
    with a_worker_killed(client, pieces, after=0.1) as killed:
        there = nw.simulate(POLICY, ENV, **how, on=client)
    assert killed
    assert_same_bits(here, there)


def test_ctrl_c_keeps_the_replications_that_came_back(client, monkeypatch):
    main = threading.main_thread().ident
    monkeypatch.setattr(replications, "BETWEEN_REPORTS", 0.0)  # it hears of the first piece, too

    def interrupt(done, total):
        if 0 < done < total:
            signal.pthread_kill(main, signal.SIGINT)
            time.sleep(0.2)

    todo = Replications(make_run(POLICY, ENV, 60, 0, None, (None, None)), 40, interrupt)
    with workers_on(client) as workers, pytest.raises(KeyboardInterrupt):
        Elsewhere(todo, workers).run(False, 4)
    kept = todo.whole_ones()
    assert 0 < kept.replications < 40
    here = nw.simulate(POLICY, ENV, horizon=60, replications=40, compile=False, threads=1)
    for r in range(kept.replications):
        assert any(np.array_equal(kept.pulled[r], here.pulled[k]) for k in range(40))


def test_two_types_of_processors_are_said_in_one_sentence_and_decide_the_same():
    here = nw.simulate(POLICY, ENV, horizon=60, replications=20, compile=False, threads=1)
    environments = [{"OPENBLAS_CORETYPE": "Haswell"}, {"OPENBLAS_CORETYPE": "Prescott"}]
    todo = Replications(make_run(POLICY, ENV, 60, 0, None, (None, None)), 20, None)
    with (
        cluster_of(environments) as client,
        workers_on(client) as workers,
        pytest.warns(
            UserWarning, match=r"^The workers have 2 types of processors: decisions are those of any"
        ),
    ):
        Elsewhere(todo, workers).run(False, 1)
    assert " | " in todo.results.arithmetic
    assert np.array_equal(todo.results.pulled, here.pulled)
    assert np.array_equal(todo.results.advised, here.advised)


def test_threads_mean_nothing_elsewhere(client):
    with pytest.raises(ValueError, match="`threads` must be left out with `on`"):
        nw.simulate(POLICY, ENV, horizon=5, replications=2, threads=2, on=client)
