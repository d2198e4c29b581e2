"""Catalogues: where rows come from, what is refused, and what shards answer."""

import os
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest

import noisewise as nw
from noisewise.actions.catalogue import files
from noisewise.actions.catalogue.shards import ShardError

N, DIM = 1000, 4


@pytest.fixture
def rows():
    return np.random.default_rng(0).standard_normal((N, DIM)).astype(np.float32)


@pytest.fixture
def small_shards(monkeypatch):
    monkeypatch.setattr(files, "ROWS_PER_SHARD", 300)


def test_files_are_cut_into_shards_and_rows_keep_their_numbers(rows, tmp_path, small_shards):
    np.save(tmp_path / "a.npy", rows[:400])
    rows[400:].tofile(tmp_path / "b.bin")
    catalogue = nw.Catalogue.from_memmap([tmp_path / "a.npy", tmp_path / "b.bin"], dim=DIM)
    assert [shard.count for shard in catalogue.shards] == [200, 200, 300, 300]
    some = np.random.default_rng(1).integers(0, N, 50)
    assert np.array_equal(catalogue.take(some), rows[some])
    assert catalogue.fingerprint() == nw.Catalogue.from_array(rows).fingerprint()
    assert catalogue.fingerprint() != nw.Catalogue.from_array(rows[::-1]).fingerprint()


def test_parquet_becomes_a_map_once(rows, tmp_path, monkeypatch):
    monkeypatch.setenv("NOISEWISE_CACHE_DIR", str(tmp_path / "cache"))
    frame = pl.DataFrame({"name": [str(k) for k in range(N)]} | {f"x{j}": rows[:, j] for j in range(DIM)})
    frame[:600].write_parquet(tmp_path / "1.parquet")
    frame[600:].write_parquet(tmp_path / "2.parquet")
    catalogue = nw.Catalogue.from_parquet(tmp_path / "*.parquet", columns=["x2", "x0"])
    assert np.array_equal(catalogue.take(np.arange(N)), rows[:, [2, 0]])
    assert catalogue.single
    made = sorted((tmp_path / "cache" / "catalogues").iterdir())
    seen = [file.stat().st_mtime_ns for file in made]
    nw.Catalogue.from_parquet(tmp_path / "*.parquet", columns=["x2", "x0"])
    assert [file.stat().st_mtime_ns for file in sorted((tmp_path / "cache" / "catalogues").iterdir())] == seen
    assert nw.Catalogue.from_parquet(tmp_path / "*.parquet").dim == DIM  # the name is no number


def test_a_shard_that_cannot_be_read_is_an_error_that_names_the_file(rows, tmp_path, small_shards):
    path = tmp_path / "rows.npy"
    np.save(path, rows)
    catalogue = nw.Catalogue.from_memmap(path)
    fresh = nw.Catalogue.from_memmap(path)
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(ShardError, match=r"rows 0 to 249 in .*rows\.npy.* cannot be read"):
        nw.vaee(catalogue).ask()
    path.unlink()
    with pytest.raises(ShardError, match=r"rows\.npy"):
        nw.optimal_design(fresh)


def test_a_file_with_other_rows_is_an_error_and_a_new_catalogue_reads_them(rows, tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, rows)
    old = nw.Catalogue.from_memmap(path)
    policy = nw.vaee(old)
    policy.tell(policy.ask(), 0.0, 1.0)
    np.save(tmp_path / "new.npy", -rows)
    (tmp_path / "new.npy").replace(path)
    for question in (policy.recommend, policy.survivors, old.fingerprint):
        with pytest.raises(ShardError, match=r"rows\.npy.* was written to or replaced"):
            question()
    assert np.array_equal(nw.Catalogue.from_memmap(path).take([3]), -rows[[3]])


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda folder: nw.Catalogue.from_array(np.zeros(3)), "two|must be numbers"),
        (lambda folder: nw.Catalogue.from_array([[1.0, np.nan]]), "finite numbers .* row 0"),
        (lambda folder: nw.Catalogue.from_memmap(folder / "none.npy"), "files that are there"),
        (lambda folder: nw.Catalogue.from_memmap(folder / "a.bin"), "`dim` must say"),
        (lambda folder: nw.Catalogue.from_memmap(folder / "a.bin", dim=7), "`dim` must fit the file"),
        (lambda folder: nw.Catalogue.from_memmap(folder / "a.bin", dim=4, dtype="int8"), "`dtype` must be"),
        (
            lambda folder: nw.Catalogue.from_memmap(folder / "a.bin", dim=4, columns=[9]),
            "`columns` must be in",
        ),
        (lambda folder: nw.Catalogue.from_memmap(folder / "t.npy"), "column after column"),
        (lambda folder: nw.Catalogue.from_parquet(folder / "a.parquet", columns=["z"]), "has no 'z'"),
        (lambda folder: nw.Catalogue.from_parquet(folder / "a.parquet", columns=["s"]), "must be numbers"),
        (lambda folder: nw.Catalogue.from_parquet(folder / "gap.parquet"), "empty in row 1"),
        (lambda folder: nw.Catalogue.from_array(np.eye(2), on=object()), "in a file that all workers"),
    ],
)
def test_what_cannot_be_a_catalogue_is_refused_in_one_sentence(make, said, rows, tmp_path, monkeypatch):
    monkeypatch.setenv("NOISEWISE_CACHE_DIR", str(tmp_path / "cache"))
    rows.tofile(tmp_path / "a.bin")
    np.save(tmp_path / "t.npy", np.asfortranarray(rows))
    pl.DataFrame({"x": [1.0, 2.0], "s": ["a", "b"]}).write_parquet(tmp_path / "a.parquet")
    pl.DataFrame({"x": [1.0, None]}).write_parquet(tmp_path / "gap.parquet")
    with pytest.raises((ValueError, OSError), match=said):
        make(tmp_path)


@pytest.mark.parametrize(
    "executor", [ThreadPoolExecutor, pytest.param(ProcessPoolExecutor, marks=pytest.mark.long("processes"))]
)
def test_workers_measure_the_same_actions(rows, tmp_path, small_shards, executor):
    np.save(tmp_path / "rows.npy", rows)
    theta, noise = np.array([0.3, -0.2, 0.1, 0.4]), np.random.default_rng(5).standard_normal(30)
    with executor(2) as workers:
        spread = nw.vaee(nw.Catalogue.from_memmap(tmp_path / "rows.npy", on=workers))
        alone = nw.vaee(nw.ActionSet(rows.astype(float)))
        for t in range(30):
            action = alone.ask()
            assert spread.ask() == action
            value = float(rows[action] @ theta) + 0.1 * noise[t]
            spread.tell(action, value, 0.1)
            alone.tell(action, value, 0.1)
        assert spread.recommend() == alone.recommend()
        assert spread.survivors().tolist() == np.flatnonzero(alone.estimate().candidates).tolist()
        assert nw.optimal_design(spread.actions).indices.tolist() == nw.optimal_design(rows).indices.tolist()
