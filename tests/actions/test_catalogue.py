"""Catalogues: where rows come from, what is refused, and what shards answer."""

import os
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest

import noisewise as nw
from noisewise.actions.catalogue import files, kept
from noisewise.actions.catalogue.gains import GainQuestion, highest_gains
from noisewise.actions.catalogue.kept import Course
from noisewise.actions.catalogue.leading import (
    ContrastQuestion,
    LeadingQuestion,
    highest_contrasts,
    leading_rows,
)
from noisewise.actions.catalogue.lowers import LowerQuestion, highest_lowers
from noisewise.actions.catalogue.passes import Norm
from noisewise.actions.catalogue.shards import ShardError

N, DIM = 1000, 4


@pytest.fixture
def rows():
    return np.random.default_rng(0).standard_normal((N, DIM)).astype(np.float32)


@pytest.fixture
def small_shards(monkeypatch):
    monkeypatch.setattr(files, "ROWS_PER_SHARD", 300)


def test_an_array_is_used_as_it_is(rows):
    catalogue = nw.Catalogue.from_array(rows)
    assert catalogue.shards[0].rows() is rows or np.shares_memory(catalogue.shards[0].rows(), rows)
    assert (len(catalogue), catalogue.dim, catalogue.rank) == (N, DIM, DIM)
    assert catalogue.max_norm == pytest.approx(np.linalg.norm(rows, axis=1).max())
    assert catalogue.take([5, 2, 5]).tolist() == rows[[5, 2, 5]].astype(float).tolist()


def test_files_are_cut_into_shards_and_rows_keep_their_numbers(rows, tmp_path, small_shards):
    np.save(tmp_path / "a.npy", rows[:400])
    rows[400:].tofile(tmp_path / "b.bin")
    catalogue = nw.Catalogue.from_memmap([tmp_path / "a.npy", tmp_path / "b.bin"], dim=DIM)
    assert [shard.count for shard in catalogue.shards] == [200, 200, 300, 300]
    some = np.random.default_rng(1).integers(0, N, 50)
    assert np.array_equal(catalogue.take(some), rows[some])
    assert catalogue.fingerprint() == nw.Catalogue.from_array(rows).fingerprint()
    assert catalogue.fingerprint() != nw.Catalogue.from_array(rows[::-1]).fingerprint()


def test_columns_choose_what_counts(rows, tmp_path):
    np.save(tmp_path / "a.npy", rows)
    for catalogue in (
        nw.Catalogue.from_array(rows, columns=[3, 1]),
        nw.Catalogue.from_memmap(tmp_path / "*.npy", columns=[3, 1]),
    ):
        assert np.array_equal(catalogue.take([7, 8]), rows[[7, 8]][:, [3, 1]])


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


def course_of(vectors, rng, measurements):
    """A run of so many measurements: what is known after each, and V⁻¹ after all."""
    catalogue = nw.Catalogue.from_array(vectors)
    inverse, steps = np.eye(vectors.shape[1]), []
    for _ in range(measurements):
        measured = vectors[rng.integers(len(vectors))].astype(float)
        step = inverse @ measured / np.sqrt(0.5 * catalogue.max_norm**2 + measured @ inverse @ measured)
        inverse -= np.outer(step, step)
        steps.append(step)
    root = np.linalg.cholesky(inverse)
    norm = Norm(root, catalogue.max_norm, catalogue.max_norm**2)
    exact = np.square(vectors.astype(float) @ root).sum(axis=1)
    steps = np.array(steps).reshape(-1, vectors.shape[1])
    return (
        catalogue.shards[0],
        Course(norm, steps, 0, float(exact.max()), str(rng.integers(2**60)), True),
        exact,
    )


def test_kept_bounds_are_above_the_widths_and_by_no_more_than_they_say():
    rng = np.random.default_rng(5)
    vectors = (rng.standard_normal((500, 12)) * 10.0 ** rng.uniform(-2, 0, (500, 1))).astype(np.float32)
    shard, course, _ = course_of(vectors, rng, 300)
    for told in range(1, 301):
        so_far = course._replace(steps=course.steps[:told])
        inverse = np.eye(12) - so_far.steps.T @ so_far.steps
        exact = np.einsum("ij,jk,ik->i", vectors.astype(float), inverse, vectors.astype(float))
        norm = course.norm._replace(root=np.linalg.cholesky(inverse))
        found = kept.brought_up(shard, so_far._replace(norm=norm, top=float(exact.max())))
        assert (found.bounds * norm.scale >= exact).all()
        assert (found.least() * norm.scale <= exact).all()
        assert (found.least() * norm.scale >= 0.99 * exact - 1e-4 * exact.max()).all()
        assert found.lowered <= kept.MOST_STEPS
    kept.forget(course.run)


@pytest.mark.parametrize("size", [1e-8, 1e40])
@pytest.mark.parametrize("before", [0, 6])
def test_rows_that_gain_or_lead_most_come_back_and_no_other_exceeds_the_cut(size, before):
    rng = np.random.default_rng(6)
    vectors = rng.standard_normal((3000, 8)) * rng.pareto(3.0, (3000, 1)) * size
    shard, course, exact = course_of(vectors, rng, 10)
    if before:
        early = course._replace(steps=course.steps[:before])
        inverse = np.eye(8) - early.steps.T @ early.steps
        kept.brought_up(shard, early._replace(norm=course.norm._replace(root=np.linalg.cholesky(inverse))))
    columns, inverse = rng.standard_normal((8, 3)) / size, course.norm.root @ course.norm.root.T
    variance = 0.1 * float(exact.max())
    gains = np.square(vectors @ columns).sum(axis=1) / (variance + exact)
    found = highest_gains(shard, GainQuestion(course, columns, variance, 20))
    check_answer(found, gains, found.cut)

    theta, reach = rng.standard_normal(8), 1.3
    means, widths = vectors @ theta, np.sqrt(exact)
    levels = np.array([0.0, 1.0, 4.0])
    led = leading_rows(shard, LeadingQuestion(course, theta, reach, levels, 40))
    for level, cut in zip(levels, led.cuts, strict=True):
        assert np.delete(means + level * widths, led.numbers).max() <= cut
    assert np.argmax(means) in led.numbers
    assert np.argmax(means + reach * widths) in led.numbers
    assert widths.max() <= led.widest

    leader = vectors[np.argmax(means)]
    scores = (vectors - leader) @ theta + reach * np.linalg.norm(
        (vectors - leader) @ course.norm.root, axis=1
    )
    found = highest_contrasts(shard, ContrastQuestion(course, theta, reach, leader, inverse @ leader, 20))
    check_answer(found, scores, found.cut)
    kept.forget(course.run)


def check_answer(found, scores, cut):
    rest = np.delete(scores, found.numbers).max()
    assert rest <= cut <= rest + 1e-3 * (scores.max() - rest)
    assert scores[found.numbers].max() == scores.max()


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


@pytest.mark.parametrize("size", [1e-8, 1e40])
@pytest.mark.parametrize("rounds", [1, 4])
def test_rows_with_the_largest_lower_ends_come_back_with_all_that_may_be_left(size, rounds):
    rng = np.random.default_rng(8)
    vectors = rng.standard_normal((3000, 8)) * rng.pareto(3.0, (3000, 1)) * size
    shard, course, _ = course_of(vectors, rng, 10)
    thetas, radii = rng.standard_normal((rounds, 8)), rng.uniform(0.3, 0.9, rounds)
    lowers = []
    for number in range(rounds):
        told = course.steps[: len(course.steps) - rounds + 1 + number]
        widths = np.sqrt(np.einsum("ij,jk,ik->i", vectors, np.eye(8) - told.T @ told, vectors))
        lowers.append(vectors @ thetas[number] - radii[number] * widths)
    uppers = vectors @ thetas[-1] + radii[-1] * widths
    floor = float(np.sort(uppers)[-40])
    question = LowerQuestion(thetas, radii, course.steps[len(course.steps) - rounds + 1 :], 10, floor, 50)
    found = highest_lowers(shard, question, course)
    again = highest_gains(shard, GainQuestion(course, np.eye(8)[:, :2], 1.0, 5, question)).lowers
    assert again.numbers.tolist() == found.numbers.tolist()
    assert (found.rows == vectors[found.numbers]).all()
    others = np.setdiff1d(np.arange(3000), found.numbers)
    for lower, cut in zip(lowers, found.cuts, strict=True):
        assert np.isin(np.argsort(lower)[-8:], found.numbers).all()
        assert lower[others].max() <= cut <= lower[others].max() + 1e-3 * np.abs(lower).max()
    assert found.has_all_left
    assert np.isin(np.flatnonzero(uppers >= floor), found.numbers).all()
    many = highest_lowers(shard, question._replace(few=20), course)
    assert not many.has_all_left
    assert len(many.numbers) <= 10 * rounds
    everybody = highest_lowers(shard, question._replace(most=3000), course)
    assert (everybody.cuts == -np.inf).all()
    kept.forget(course.run)
