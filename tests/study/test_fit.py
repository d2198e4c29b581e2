"""The fit and its boundaries against plain matrices."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from noisewise.study.boundary import COMPARING, INDEPENDENT, LINEAR, UNCONNECTED, Boundary, Shares
from noisewise.study.fit import fit_independent
from noisewise.study.measurements import Columns
from noisewise.study.mixed_boundary import LinearBoundary
from noisewise.study.mixed_fit import fit_linear
from noisewise.study.sums import pool

N = 7
BLOCKS = ["", "b2", "b1", "b3"]


def columns(rng, *, rows=50, blocks=True, differences=True):
    plus, minus = rng.integers(N, size=rows), np.full(rows, -1)
    block = rng.integers(len(BLOCKS), size=rows) if blocks else np.zeros(rows, int)
    if differences:
        compared = rng.random(rows) < 0.2
        minus[compared] = (plus[compared] + rng.integers(1, N, compared.sum())) % N
    sigma = 10.0 ** rng.uniform(-1.5, 0.5, rows)
    value = np.where(minus < 0, 50.0, 0.0) + rng.normal(size=rows)
    ones, zeros = np.ones(rows), np.zeros(rows, int)
    return Columns(
        np.arange(rows) + 1, plus, minus, block, value, zeros, sigma, ones, ones, zeros, BLOCKS, [""]
    )


def design(told, unknowns):
    """One row per measurement: option, less the other one, and the block's offset."""
    rows = np.zeros((told.value.size, unknowns + len(BLOCKS)))
    at = np.arange(told.value.size)
    rows[at, told.plus] = 1.0
    difference = told.minus >= 0
    rows[at[difference], told.minus[difference]] = -1.0
    rows[at[~difference], unknowns + told.block[~difference]] = 1.0
    return rows


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32), blocks=st.booleans(), differences=st.booleans())
def test_the_independent_fit_is_weighted_least_squares(seed, blocks, differences):
    told = columns(np.random.default_rng(seed), blocks=blocks, differences=differences)
    sums = pool(told, told.sigma, 1.0)
    fit = fit_independent(N, sums)
    rows, weight = design(told, N), told.sigma**-2.0
    inverse = np.linalg.pinv((rows * weight[:, None]).T @ rows, rcond=1e-13)
    solution = inverse @ (rows * weight[:, None]).T @ told.value
    reached = np.flatnonzero(fit.group == fit.group[told.plus[0]])
    here = reached[0]
    contrasts = np.zeros((reached.size, rows.shape[1]))
    contrasts[np.arange(reached.size), reached] = 1.0
    contrasts[:, here] -= 1.0
    variances = np.einsum("ij,jk,ik->i", contrasts, inverse, contrasts)
    assert_allclose((fit.means - fit.means[here])[reached], contrasts @ solution, atol=1e-8)
    loads = np.zeros((N, fit.loads.shape[1]))
    loads[fit.touched] = fit.loads
    covariance = np.diag(np.where(np.isfinite(fit.own), fit.own, 0.0)) + loads @ fit.covariance @ loads.T
    pairs = np.eye(N)[reached] - np.eye(N)[here]
    assert_allclose(np.einsum("ij,jk,ik->i", pairs, covariance, pairs), variances, atol=1e-9)
    squares = sums.within + np.sum(sums.weight * fit.residuals**2)
    assert squares == pytest.approx(np.sum(weight * (told.value - rows @ solution) ** 2), rel=1e-6)
    assert fit.rank == np.linalg.matrix_rank(rows)


def naive_half_widths(told, resolution, delta):
    """The formula of the module with all matrices written out; the block without a name is set to 0."""
    rows, weight = np.delete(design(told, N), N, axis=1), told.sigma**-2.0
    rows = rows[:, (rows != 0.0).any(axis=0)]
    precision = (rows * weight[:, None]).T @ rows
    inverse = np.linalg.inv(precision)
    half = np.zeros((N, N))
    for one in range(N):
        for other in range(N):
            if one == other:
                continue
            contrast = np.zeros(rows.shape[1])
            contrast[[one, other]] = 1.0, -1.0
            x = inverse @ contrast
            tried = []
            for rho, big, share in INDEPENDENT:
                prior = np.full(rows.shape[1], big / resolution**2)
                prior[[one, other]] = rho / resolution**2
                doubt = math.log((N - 1) / (COMPARING * delta * share))
                radius = 2.0 * doubt + np.log1p(np.diag(precision) / prior).sum()
                tried.append(x @ (precision + np.diag(prior)) @ x * radius)
            half[one, other] = math.sqrt(min(tried))
    return half


@pytest.mark.parametrize("seed", range(5))
def test_boundaries_of_independent_options_are_the_written_formula(seed):
    rng = np.random.default_rng(seed)
    told = columns(rng, rows=80)
    fit = fit_independent(N, pool(told, told.sigma, 1.0))
    boundary = Boundary(fit, Shares(0.05, N, N, False), 0.7)
    expected = naive_half_widths(told, 0.7, 0.05)
    found = np.array([boundary.half_widths(option) for option in range(N)])
    assert_allclose(found, expected, rtol=1e-6)
    assert_allclose(found, found.T, rtol=1e-9)


def test_without_blocks_two_scalar_boundaries_remain():
    told = columns(np.random.default_rng(1), blocks=False, differences=False)
    fit = fit_independent(N, pool(told, told.sigma, 1.0))
    found = Boundary(fit, Shares(0.05, N, N, False), 1.0).half_widths(2)
    expected = naive_half_widths(told, 1.0, 0.05)[2]
    assert len(INDEPENDENT) > UNCONNECTED
    assert (found >= expected - 1e-9).all()  # those that differ in Λ alone are left out
    assert_allclose(found, expected, rtol=0.02)


@pytest.mark.parametrize("seed", range(5))
def test_boundaries_of_the_linear_model_are_the_written_formula(seed):
    rng = np.random.default_rng(seed)
    told, features = columns(rng), rng.normal(size=(N, 2))
    span, resolution, delta = 3.0, 0.4, 0.05
    ridge = (2.0 / span) ** 2
    fit = fit_linear(features, pool(told, told.sigma, 1.0), ridge)
    found = LinearBoundary(fit, delta, resolution, any_order=True).half_widths(3)
    projected = LinearBoundary(fit, delta, resolution).half_widths(3)
    rows = design(told, N)
    rows, weight = np.column_stack([rows[:, :N] @ features, rows[:, N:]]), told.sigma**-2.0
    precision = (rows * weight[:, None]).T @ rows
    inverse = np.linalg.inv(precision + np.diag([ridge] * 2 + [0.0] * len(BLOCKS)))
    assert_allclose(fit.means, features @ (inverse @ (rows * weight[:, None]).T @ told.value)[:2], atol=1e-9)
    for option in range(N):
        x = inverse @ np.append(features[option] - features[3], np.zeros(len(BLOCKS)))
        tried = []
        for tuning in LINEAR:
            prior = np.array([ridge] * 2 + [tuning.elsewhere / resolution**2] * len(BLOCKS))
            grown = np.linalg.slogdet(np.eye(prior.size) + precision / prior[:, None])[1]
            radius = 2.0 * math.log(1.0 / (COMPARING * delta * tuning.share)) + grown + 1.0
            tried.append(x @ (precision + np.diag(prior)) @ x * radius)
        assert found[option] == pytest.approx(math.sqrt(min(tried)), rel=1e-6)
        # With offsets projected out: what is known of the weights alone.
        known = np.linalg.inv(inverse[:2, :2])
        radius = 2.0 * math.log(1.0 / (COMPARING * delta)) + np.linalg.slogdet(known / ridge)[1] + 1.0
        assert projected[option] == pytest.approx(math.sqrt(x[:2] @ known @ x[:2] * radius), rel=1e-6)


def test_balanced_blocks_cost_nothing():
    """Every option equally often in every block: as if nobody had named the blocks."""
    plus, block = np.tile(np.arange(N), 9), np.repeat(np.arange(1, 4), 3 * N)
    rows = plus.size
    ones, zeros = np.ones(rows), np.zeros(rows, int)
    sigma = np.full(rows, 0.5)
    told = Columns(ones, plus, zeros - 1, block, ones, zeros, sigma, ones, ones, zeros, BLOCKS, [""])
    half = [
        Boundary(fit_independent(N, pool(part, sigma, 1.0)), Shares(0.05, N, N, False), 1.0).half_widths(0)
        for part in (told, told._replace(block=zeros))
    ]
    assert_allclose(half[0], half[1], rtol=1e-6)


def test_options_without_a_link_have_no_bound():
    told = columns(np.random.default_rng(0), rows=2, differences=False)
    told = told._replace(plus=np.array([0, 1]), block=np.array([1, 2]))
    fit = fit_independent(N, pool(told, told.sigma, 1.0))
    half = Boundary(fit, Shares(0.05, N, N, False), 1.0).half_widths(0)
    assert np.isinf(half[1:]).all()
    assert half[0] == 0.0


def test_shares_of_the_error_probability_add_up_to_less_than_one():
    for n_first, n_now in ((5, 5), (5, 9), (1, 4)):
        fixed = Shares(1.0, n_first, n_first, False)
        comparing = sum(np.exp(-fixed.doubt(0))[1:])
        changed = Shares(1.0, n_first, n_now, True)
        pairs = sum(np.exp(-changed.doubt(k))[np.arange(n_now) != k].sum() for k in range(n_now))
        assert comparing + pairs <= 0.9 + 1e-12
    assert sum(tuning.share for tuning in INDEPENDENT) <= 1.0 + 1e-12
    assert sum(tuning.share for tuning in LINEAR) <= 1.0 + 1e-12
