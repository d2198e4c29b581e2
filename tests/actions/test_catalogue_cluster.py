"""Catalogues on a Dask cluster: the same actions and designs, few bytes, and no answer from fewer shards."""

import os
import pickle
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.support.clusters import cluster_of, small_cluster

import noisewise as nw
from noisewise.actions.catalogue import catalogue as catalogues
from noisewise.actions.catalogue import files, shards
from noisewise.actions.catalogue.shards import ShardError
from noisewise.policies.shell.catalogues import working_set

N, DIM = 6000, 4
RULES = ("vaee", "widest", "vagd", "vage", "static_design")


@pytest.fixture(scope="module")
def cluster():
    with small_cluster() as client:
        yield client


@pytest.fixture
def client(cluster):
    cluster.wait_for_workers(2, timeout=120)  # tests kill some
    return cluster


@pytest.fixture
def small_shards(monkeypatch):
    monkeypatch.setattr(files, "ROWS_PER_SHARD", 3000)


@pytest.fixture
def path(tmp_path, small_shards):
    np.save(tmp_path / "rows.npy", rows_of(0))
    return tmp_path / "rows.npy"


def rows_of(seed, n=N, dim=DIM):
    return np.random.default_rng(seed).standard_normal((n, dim)).astype(np.float32)


def answers_counted(catalogue):
    """From now on: the bytes of every answer as it travels, and of the questions."""
    sizes, spread = [], catalogue._workers.spread

    def counted(work, pieces, **how):
        for piece, answer in spread(work, pieces, **how):
            sizes.append(len(pickle.dumps(answer)))
            yield piece, answer

    catalogue._workers.spread = counted
    return sizes


def play(spread, alone, rounds=15, between=lambda t: None):
    """Two policies, told the same: they must ask for the same rows."""
    rng = np.random.default_rng(1)
    theta = rng.standard_normal(alone.actions.dim) / 3
    for t in range(rounds):
        between(t)
        action = alone.ask()
        assert spread.ask() == action, t
        value = float(alone.actions.vectors[action] @ theta) + 0.1 * rng.standard_normal()
        for policy in (spread, alone):
            policy.tell(action, value, 0.1)
    assert spread.recommend() == alone.recommend()


@pytest.mark.parametrize("rule", RULES)
def test_policies_over_shards_measure_and_advise_the_same(rule, client, path, monkeypatch):
    monkeypatch.setattr(working_set, "FEWEST", 60)
    spread = nw.make_policy(rule, nw.Catalogue.from_memmap(path, on=client))
    alone = nw.make_policy(rule, nw.ActionSet(np.load(path).astype(float)))
    play(spread, alone)
    assert spread.actions.passes > 1
    there, here = spread.estimate(), alone.estimate()
    assert there.regret_bound == pytest.approx(here.regret_bound, rel=1e-6)
    assert spread.survivors().tolist() == np.flatnonzero(here.candidates).tolist()


@pytest.mark.parametrize(
    "options", [{"gap": 1e-6}, {"support": "core"}, {"support": "caratheodory"}], ids=str
)
def test_a_design_over_shards_has_the_support_of_one_process(options, client, path):
    alone = nw.optimal_design(np.load(path), **options)
    spread = nw.optimal_design(nw.Catalogue.from_memmap(path, on=client), **options)
    assert spread.indices.tolist() == alone.indices.tolist()
    assert spread.weights == pytest.approx(alone.weights)
    assert spread.g_value == pytest.approx(alone.g_value)


def test_only_the_widest_and_the_worst_rows_travel(client, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "ROWS_PER_SHARD", 50_000)
    monkeypatch.setattr(working_set, "FEWEST", 1000)
    vectors = rows_of(2, 200_000, 10)
    np.save(tmp_path / "rows.npy", vectors)
    catalogue = nw.Catalogue.from_memmap(tmp_path / "rows.npy", on=client)
    sizes = answers_counted(catalogue)
    policy, before = nw.vaee(catalogue), catalogue.passes
    for _ in range(20):
        policy.tell(policy.ask(), 0.0, 0.5)
    passes = catalogue.passes - before
    assert passes >= 1
    assert sum(sizes) / passes <= 0.01 * vectors.nbytes
    assert catalogue.returned <= sum(sizes) <= 1.1 * catalogue.returned + 1000 * len(sizes)
    sizes.clear()
    catalogue.returned = 0
    design = nw.optimal_design(catalogue, gap=1e-4)
    assert design.gap <= 1e-4
    assert catalogue.returned <= sum(sizes) <= 1.1 * catalogue.returned + 1000 * len(sizes)
    sampled = 8 * 10 * 20_000  # rows in float64, on which the design is rehearsed
    assert sum(sizes) <= sampled + 0.1 * vectors.nbytes


def change(path, how):
    """Something happens to a file of a catalogue."""
    others = rows_of(9)
    if how == "deleted":
        path.unlink()
    elif how == "truncated":
        os.truncate(path, path.stat().st_size // 2)
    elif how == "longer":
        np.save(path, np.vstack([others, others]))
    elif how == "other rows of the same size":
        np.save(path.with_suffix(".new.npy"), others)
        path.with_suffix(".new.npy").replace(path)
    elif how == "one row written to":
        np.load(path, mmap_mode="r+")[4000] = 0.0
    else:
        path.unlink()
        path.mkdir()


CHANGES = (
    "deleted", "truncated", "longer", "other rows of the same size", "one row written to", "a folder",
)  # fmt: skip


@pytest.mark.parametrize("where", ["here", "on a cluster"])
@pytest.mark.parametrize("how", CHANGES)
def test_what_happens_to_a_file_between_passes_is_an_error_that_names_it(how, where, client, path):
    catalogue = nw.Catalogue.from_memmap(path, on=client if where == "on a cluster" else None)
    policy = nw.vaee(catalogue)
    policy.tell(policy.ask(), 0.0, 1.0)
    change(path, how)
    for question in (policy.recommend, policy.estimate, policy.survivors, catalogue.fingerprint):
        with pytest.raises(ShardError, match=r"^A catalogue must be read whole; rows .* in .*rows\.npy"):
            question()
    with pytest.raises(ShardError, match=r"cannot be read here \(.*\): put the file back as it was"):
        nw.optimal_design(catalogue)


def test_a_file_that_was_moved_away_and_back_is_read_again(client, path):
    catalogue = nw.Catalogue.from_memmap(path, on=client)
    before = catalogue.fingerprint()
    path.rename(path.with_suffix(".away"))
    with pytest.raises(ShardError, match="it is gone"):
        catalogue.fingerprint()
    path.with_suffix(".away").rename(path)
    assert catalogue.fingerprint() == before


def test_a_new_catalogue_of_a_file_that_was_replaced_reads_the_new_rows(client, path):
    old = nw.Catalogue.from_memmap(path, on=client)
    change(path, "other rows of the same size")
    for on in (client, None):
        new = nw.Catalogue.from_memmap(path, on=on)
        assert np.array_equal(new.take([3, 4000]), rows_of(9)[[3, 4000]])
    with pytest.raises(ShardError, match="other rows are in it"):
        old.fingerprint()


@pytest.fixture
def machines(client, tmp_path, small_shards):
    """A folder for each worker, as if each were a machine with a disk of its own."""
    if not Path("/proc/self/cwd").exists():
        pytest.skip("needs /proc, by which every process has a folder of its own under one name")
    homes = {}
    for number, address in enumerate(client.run(os.getcwd)):
        homes[address] = tmp_path / f"machine{number}"
        homes[address].mkdir()
        np.save(homes[address] / "rows.npy", rows_of(0))
        client.run(os.chdir, str(homes[address]), workers=[address])
    yield list(homes.values())
    client.run(os.chdir, str(Path.cwd()))


def catalogue_of_copies(client, folder):
    """Shards under a name that is another file on every worker."""
    here = nw.Catalogue.from_memmap(folder / "rows.npy")
    parts = [replace(shard, path="/proc/self/cwd/rows.npy", sample="") for shard in here.shards]
    return nw.Catalogue(parts, on=client)


def folder_of(shard):
    """On a worker: where it is."""
    return os.getcwd()


def test_workers_may_have_copies_of_the_files(client, machines):
    spread = nw.optimal_design(catalogue_of_copies(client, machines[0]))
    assert spread.indices.tolist() == nw.optimal_design(rows_of(0)).indices.tolist()


@pytest.mark.parametrize("how", ["deleted", "truncated", "other rows of the same size"])
def test_a_worker_that_lost_its_copy_is_an_error(how, client, machines):
    catalogue = catalogue_of_copies(client, machines[0])
    reader = Path(catalogue.every(folder_of)[0])  # whose worker reads the first shard
    assert reader in machines
    change(reader / "rows.npy", how)
    with pytest.raises(ShardError, match=r"cannot be read here"):
        nw.optimal_design(catalogue)
    with pytest.raises(ShardError, match=r"cannot be read here"):
        nw.vaee(catalogue).estimate()


def all_closed():
    """On a worker: it has no file open, as if it had just been started."""
    shards._open.clear()


def test_a_fresh_worker_with_other_rows_under_the_name_is_an_error(client, machines):
    catalogue = catalogue_of_copies(client, machines[0])
    for home in machines:
        shutil.copy(home / "rows.npy", home / "kept.npy")
        change(home / "rows.npy", "other rows of the same size")
    client.run(all_closed)
    with pytest.raises(ShardError, match="other rows are in it than when the catalogue was made"):
        catalogue.fingerprint()
    for home in machines:
        (home / "kept.npy").replace(home / "rows.npy")
    client.run(all_closed)
    assert catalogue.fingerprint() == nw.Catalogue.from_array(rows_of(0)).fingerprint()


def die_in_a_pass(mark, calls):
    """On a worker: it answers some questions; whoever is first in the next is killed, the answer ready."""
    answer, left = catalogues.answer, [calls]

    def once(task):
        found = answer(task)
        left[0] -= 1
        if left[0] < 0 and not os.path.exists(mark):
            Path(mark).write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    catalogues.answer = once


@pytest.mark.parametrize("rule", ["vaee", "vage"])
def test_a_worker_killed_in_a_pass_changes_no_action(rule, path, client, monkeypatch, tmp_path):
    monkeypatch.setattr(working_set, "FEWEST", 60)
    spread = nw.make_policy(rule, nw.Catalogue.from_memmap(path, on=client))
    alone = nw.make_policy(rule, nw.ActionSet(np.load(path).astype(float)))
    client.run(die_in_a_pass, str(tmp_path / "killed"), 0)
    play(spread, alone, rounds=8)
    assert (tmp_path / "killed").exists()


def test_a_worker_killed_in_a_pass_changes_no_design(client, path, tmp_path):
    alone = nw.optimal_design(np.load(path), gap=1e-6)
    catalogue = nw.Catalogue.from_memmap(path, on=client)
    client.run(die_in_a_pass, str(tmp_path / "killed"), 2)
    spread = nw.optimal_design(catalogue, gap=1e-6)
    assert spread.indices.tolist() == alone.indices.tolist()
    assert spread.weights == pytest.approx(alone.weights)
    assert (tmp_path / "killed").exists()


def test_a_worker_killed_between_two_passes_changes_no_action(client, path):
    def kill(t):
        if t == 8:
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

    spread = nw.vaee(nw.Catalogue.from_memmap(path, on=client))
    play(spread, nw.vaee(nw.ActionSet(np.load(path).astype(float))), between=kill)
    assert spread.actions.passes > 3


def test_workers_with_other_kernels_of_blas_choose_the_same_rows(path, monkeypatch):
    monkeypatch.setattr(working_set, "FEWEST", 60)
    with cluster_of([{"OPENBLAS_CORETYPE": "Nehalem"}, {"OPENBLAS_CORETYPE": "Haswell"}]) as mixed:
        catalogue = nw.Catalogue.from_memmap(path, on=mixed)
        for rule in ("vaee", "vage"):
            alone = nw.make_policy(rule, nw.ActionSet(np.load(path).astype(float)))
            play(nw.make_policy(rule, catalogue), alone)
        design = nw.optimal_design(catalogue, gap=1e-6)
    assert design.indices.tolist() == nw.optimal_design(np.load(path), gap=1e-6).indices.tolist()
