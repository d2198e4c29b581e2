"""Lists that need not fit into memory: the same actions as on the list in memory, and few rows read."""

import os
import signal
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.support.clusters import dask_or_skip, small_cluster

import noisewise as nw
from noisewise.actions import large_list
from noisewise.actions.large_list import LargeList
from noisewise.rules import lazy_model

N, DIM = 3000, 6


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Shards of 700 rows, of which 40 are at hand."""
    monkeypatch.setattr(large_list, "TOGETHER", 700)
    monkeypatch.setattr(lazy_model, "AT_HAND", 40)


def vectors(kind="gaussian"):
    rows = np.random.default_rng(3).standard_normal((N, DIM)).astype(np.float32)
    if kind == "unit":
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    if kind == "copies":  # more rows tie than are at hand
        rows = np.sign(rows)
    return rows


def stored(kind, rows, folder):
    """The rows where a list may be: one memory map, files, an array of Dask."""
    if kind == "memory map":
        np.save(folder / "rows.npy", rows)
        return np.load(folder / "rows.npy", mmap_mode="r")
    if kind == "npy":
        for k, part in enumerate(np.array_split(rows, 3)):
            np.save(folder / f"part-{k}.npy", part)
        return str(folder / "part-*.npy")
    if kind == "parquet":
        paths = [folder / f"part-{k}.parquet" for k in range(2)]
        for path, part in zip(paths, np.array_split(rows, 2), strict=True):
            pl.DataFrame(part, schema=[f"f{j}" for j in range(DIM)]).write_parquet(path)
        return paths
    dask_or_skip()
    import dask.array

    return dask.array.from_array(rows, chunks=(500, 4))


def play(policy, rows, rounds=120, seed=0):
    """What a policy measures, with sigmas over three decades."""
    rng = np.random.default_rng(seed)
    theta, pulls = rng.standard_normal(DIM) / 3.0, []
    for _ in range(rounds):
        sigma = 10.0 ** rng.uniform(-2.0, 1.0)
        pulls.append(policy.ask())
        policy.tell(pulls[-1], float(rows[pulls[-1]] @ theta + sigma * rng.standard_normal()), sigma)
    return pulls


@pytest.mark.parametrize("place", ["memory map", "npy", "parquet", "dask"])
@pytest.mark.parametrize("kind", ["gaussian", "unit", "copies"])
@pytest.mark.parametrize("rule", [nw.vaee, nw.rules.widest], ids=["vaee", "widest"])
def test_a_large_list_is_measured_as_the_list_in_memory(place, kind, rule, tmp_path):
    rows = vectors(kind)
    actions = LargeList(stored(place, rows, tmp_path))
    assert isinstance(actions, nw.ActionSet)
    assert (actions.n_actions, actions.dim, actions.rank) == (N, DIM, DIM)
    large, small = rule(actions), rule(rows.astype(float))
    assert isinstance(large.rule.model, lazy_model.LazyModel)
    assert play(large, rows) == play(small, rows)
    one, other = large.estimate(), small.estimate()
    assert one.recommended == other.recommended == large.recommend()
    assert one.regret_bound == pytest.approx(other.regret_bound, rel=1e-9)
    assert_allclose(one.means, other.means, atol=1e-10)
    assert_allclose(one.widths, other.widths, rtol=1e-9)
    # In memory, what an earlier certificate ruled out stays so.
    assert_array_equal(one.candidates | other.candidates, one.candidates)


def test_few_rows_are_read(tmp_path):
    rows = vectors()
    actions = LargeList(stored("memory map", rows, tmp_path))
    before = actions.rows_read
    play(nw.vaee(actions), rows, rounds=200)
    assert actions.rows_read - before < 0.5 * 200 * N  # a pass for each round would be twice as much


def test_pending_allowed_and_copies(tmp_path):
    rows = vectors()
    large, small = nw.vaee(LargeList(stored("npy", rows, tmp_path))), nw.vaee(rows.astype(float))
    play(large, rows, 20)
    play(small, rows, 20)
    few = np.arange(0, N, 7)
    assert large.ask(allowed=few) == small.ask(allowed=few)
    assert large.ask(pending=[5, (large.ask(), 0.1)]) == small.ask(pending=[5, (small.ask(), 0.1)])
    twin = large.copy()
    play(twin, rows, 5, seed=1)
    assert large.ask() == small.ask()
    assert large.is_candidate(large.recommend())
    assert large.n_told == 20


def test_a_saved_policy_is_read_with_its_list(tmp_path):
    rows = vectors()
    actions = LargeList(stored("parquet", rows, tmp_path))
    policy = nw.vaee(actions)
    play(policy, rows, 10)
    policy.save(tmp_path / "policy.npz")
    assert nw.load_policy(tmp_path / "policy.npz", actions=actions).ask() == policy.ask()
    with pytest.raises(ValueError, match="`actions` must be given"):
        nw.load_policy(tmp_path / "policy.npz")


def test_an_action_set_of_a_large_source_is_a_large_list(tmp_path, monkeypatch):
    rows = vectors()
    map_of_rows = stored("memory map", rows, tmp_path)
    assert type(nw.ActionSet(map_of_rows)) is nw.ActionSet
    monkeypatch.setattr(large_list, "MANY", N)
    assert type(nw.ActionSet(map_of_rows)) is LargeList
    assert type(nw.ActionSet(stored("npy", rows, tmp_path))) is LargeList
    assert nw.vagd(nw.ActionSet(map_of_rows)).ask() == nw.vagd(rows.astype(float)).ask()  # reads them all


@pytest.mark.parametrize(
    "use",
    [
        nw.vagd,
        nw.vage,
        lambda actions: nw.vaee(actions, explore="candidates"),
        lambda actions: nw.vaee(actions, recommendation="smallest-bound"),
        nw.optimal_design,
        lambda actions: nw.Environment(actions, np.ones(DIM), "flat"),
    ],
)
def test_what_looks_at_every_vector_refuses_files_in_one_sentence(use, tmp_path):
    actions = nw.ActionSet(stored("npy", vectors(), tmp_path))
    with pytest.raises(ValueError, match=r"`actions` must be one array, .* got LargeList\(3000 actions"):
        use(actions)


def test_bad_sources_are_refused_in_one_sentence(tmp_path):
    rows = vectors()
    rows[1234, 2] = np.nan
    with pytest.raises(ValueError, match="finite numbers; got nan in row 1234, column 2"):
        LargeList(stored("npy", rows, tmp_path))
    np.save(tmp_path / "part-9.npy", np.ones((3, 2)))
    with pytest.raises(ValueError, match="as many columns in every file; got 6 and 2"):
        LargeList([tmp_path / "part-0.npy", tmp_path / "part-9.npy"])
    with pytest.raises(ValueError, match=r"files that end in .npy or .parquet; got 'rows\.csv'"):
        nw.ActionSet("rows.csv")
    pl.DataFrame({"a": ["x"], "b": [1.0]}).write_parquet(tmp_path / "words.parquet")
    with pytest.raises(ValueError, match="`vectors` must be columns of numbers"):
        nw.ActionSet(tmp_path / "words.parquet")


class Deadly:
    """An array whose rows kill the worker that reads them, once."""

    def __init__(self, rows, flag):
        self.rows, self.flag = rows, flag
        self.shape, self.dtype, self.ndim = rows.shape, rows.dtype, rows.ndim

    def __getitem__(self, places):
        if Path(self.flag).exists():
            Path(self.flag).unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.rows[places]


@pytest.mark.long("clusters")
def test_a_worker_that_dies_changes_nothing(tmp_path):
    dask_or_skip()
    import dask.array

    rows, flag = vectors(), tmp_path / "kill"
    with small_cluster() as client, client.as_current():
        lazy = dask.array.from_array(Deadly(rows, str(flag)), chunks=(500, DIM), name=False)
        large, small = nw.vaee(lazy), nw.vaee(rows.astype(float))
        first = play(large, rows, 10), play(small, rows, 10)
        flag.touch()
        second = play(large, rows, 40, seed=1), play(small, rows, 40, seed=1)
    assert first[0] == first[1]
    assert second[0] == second[1]
    assert not flag.exists()
