"""What bounds of the linear models must not depend on: order, shifts, blocks that say nothing, anchors."""

import tracemalloc

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import noisewise as nw
from noisewise.study.log.measurements import Columns
from noisewise.study.models.fit import fit_features, pool
from noisewise.study.models.linear import FeatureBounds

N, DIM, DELTA = 6, 2, 0.05


def columns(plus, minus, block, value, sigma, blocks):
    rows = len(plus)
    ones, zeros = np.ones(rows), np.zeros(rows, int)
    return Columns(
        np.arange(rows) + 1,
        np.asarray(plus),
        np.asarray(minus),
        np.asarray(block),
        np.asarray(value, float),
        zeros,
        np.asarray(sigma, float),
        ones,
        ones,
        zeros,
        blocks,
        [""],
    )


def example(seed):
    rng = np.random.default_rng(seed)
    rows = 24
    plus, minus = rng.integers(N, size=rows), np.full(rows, -1)
    compared = rng.random(rows) < 0.2
    minus[compared] = (plus[compared] + rng.integers(1, N, compared.sum())) % N
    block = np.where(compared, 0, rng.integers(4, size=rows))
    sigma = 10.0 ** rng.uniform(-3, 0, rows)
    told = columns(plus, minus, block, rng.normal(size=rows), sigma, ["", "b1", "b2", "b3"])
    return told, rng.normal(size=(N, DIM))


def answers(told, features, deviation):
    """Estimated differences and half-widths of all pairs."""
    fit = fit_features(features, pool(told, told.sigma, 1.0), deviation)
    boundary = FeatureBounds(fit, DELTA, 0.5, DELTA / N if deviation else None)
    return (
        np.array([fit.differences(k) for k in range(N)]),
        np.array([boundary.half_widths(k) for k in range(N)]),
    )


def same(one, other, rtol=1e-9):
    for a, b in zip(one, other, strict=True):
        assert_allclose(a, b, rtol=rtol, atol=1e-9 * np.abs(other[1]).max())


@pytest.mark.parametrize("deviation", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_options_blocks_and_telling_does_not_matter(seed, deviation):
    told, features = example(seed)
    rng = np.random.default_rng(100 + seed)
    expected = answers(told, features, deviation)
    place = rng.permutation(N)  # option k is now at place[k]
    minus = np.where(told.minus < 0, -1, place[told.minus])
    renamed = told._replace(plus=place[told.plus], minus=minus)
    moved = np.empty_like(features)
    moved[place] = features
    found = answers(renamed, moved, deviation)
    same([part[np.ix_(place, place)] for part in found], expected)
    same(answers(told._replace(blocks=["", "z", "m", "a"]), features, deviation), expected)
    shuffled = told.select(rng.permutation(told.value.size))
    same(answers(shuffled, features, deviation), expected)


@pytest.mark.parametrize("deviation", [0.0, 0.3])
def test_a_shift_of_a_block_does_not_matter(deviation):
    told, features = example(5)
    told = told._replace(value=np.round(told.value * 2.0**20) / 2.0**20)  # so that shifts are exact
    shifted = told._replace(value=told.value + np.where(told.block == 2, 2.0**20, 0.0))
    same(answers(shifted, features, deviation), answers(told, features, deviation))


@pytest.mark.parametrize("deviation", [0.0, 0.3])
def test_blocks_of_two_are_measured_differences(deviation):
    rng = np.random.default_rng(7)
    features = rng.normal(size=(N, DIM))
    one, other = rng.integers(N, size=15), rng.integers(1, N, size=15)
    other = (one + other) % N
    first, second = rng.normal(size=15) + 1e3 * rng.normal(size=15), rng.normal(size=15)
    errors = 10.0 ** rng.uniform(-2, 0, (2, 15))
    nobody = np.full(15, -1)
    blocks = columns(
        np.append(one, other),
        np.append(nobody, nobody),
        np.tile(np.arange(15), 2),
        np.append(first, second),
        errors.ravel(),
        [f"b{k}" for k in range(15)],
    )
    sigma = np.hypot(*errors)
    differences = columns(one, other, np.zeros(15, int), first - second, sigma, [""])
    same(answers(blocks, features, deviation), answers(differences, features, deviation), rtol=1e-8)


@pytest.mark.parametrize("model", ["linear", "linear+deviation"])
def test_four_thousand_blocks_of_one_measurement_need_no_matrix_of_all_blocks(model):
    rng = np.random.default_rng(0)
    n, rows = 40, 4000
    options = pl.DataFrame({"option": [f"o{k}" for k in range(n)], "x": rng.normal(size=n)})
    model = f"{model}:0.3" if model != "linear" else model
    study = nw.create_study(options=options, roles={"option": "option"}, model=model, eps=0.2)
    told = {
        "option": [f"o{k}" for k in rng.integers(n, size=rows)],
        "value": rng.normal(size=rows),
        "se": np.full(rows, 0.5),
        "block": [f"b{k}" for k in range(rows)],
    }
    study.tell_many(pl.DataFrame(told))
    tracemalloc.start()
    certificate = study.certificate()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert not np.isfinite(certificate.bound)
    assert most < 100e6  # bytes; a matrix of all blocks has 128e6


def test_error_bars_beyond_all_arithmetic_withhold_the_certificate():
    options = pl.DataFrame({"option": ["a", "b", "c"], "x": [0.0, 1.0, 2.5], "y": [1.0, 0.0, 3.0]})
    study = nw.create_study(options=options, roles={"option": "option"}, model="linear", eps=1.0)
    for option, se in (("a", 1e-40), ("b", 1e-40), ("b", 1.0), ("c", 1e5), ("a", 1e3)):
        study.tell(option=option, value=1.0, se=se)
    certificate = study.certificate()
    assert not certificate.reached
    assert "too small beside the others" in str(certificate)
    study.ask()
