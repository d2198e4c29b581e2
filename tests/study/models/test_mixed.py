"""The model with deviations against plain matrices: fit, boundary, restricted likelihood, what rules see."""

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests.support.effort import effort
from tests.support.measured import BLOCKS, random_columns

import noisewise as nw
from noisewise.core.choice.radius import SCALE_SHARES, SCALES
from noisewise.study.models.boundary import COMPARING
from noisewise.study.models.features.deviation_posterior import on_a_level
from noisewise.study.models.features.linear_boundary import FIXED, RESTARTS, MixedBoundary
from noisewise.study.models.features.linear_fit import estimated_weights, fit_linear, fit_mixed
from noisewise.study.models.features.weight_regions import log_sum
from noisewise.study.models.scatter import upper_limit
from noisewise.study.models.sizes.size_limits import FRACTIONS, lower_size, upper_size
from noisewise.study.models.sizes.variance_components import Likelihood, estimate_one
from noisewise.study.models.sums import pool

N, DIM = 9, 3


def columns(rng, *, rows=60, options=N, differences=True, blocks=True):
    """Random columns in which four options are compared with their neighbours."""
    return random_columns(
        rng, rows=rows, options=options, blocks=blocks, differences=differences, share=0.15, steps=3, among=4
    )


def design(told, features):
    """Rows over weights and offsets (sorted blocks that occur), and over deviations."""
    at, difference = np.arange(told.value.size), told.minus >= 0
    names = sorted({BLOCKS[b] for b in told.block[~difference]})
    fixed = np.zeros((at.size, DIM + len(names)))
    random = np.zeros((at.size, len(features)))
    random[at, told.plus] = 1.0
    random[at[difference], told.minus[difference]] -= 1.0
    fixed[:, :DIM] = random @ features
    for i in at[~difference]:
        fixed[i, DIM + names.index(BLOCKS[told.block[i]])] = 1.0
    return fixed, random


def dense(told, features, tau, ridge):
    """Mean and covariance of option values, of the weights and offsets, and the marginal precision."""
    fixed, random = design(told, features)
    covariance = np.diag(told.sigma**2) + tau**2 * random @ random.T
    precision = np.linalg.inv(covariance)
    prior = np.diag([ridge] * DIM + [0.0] * (fixed.shape[1] - DIM))
    beta_covariance = np.linalg.inv(fixed.T @ precision @ fixed + prior)
    beta = beta_covariance @ fixed.T @ precision @ told.value
    follow = tau**2 * random.T @ precision  # of the deviations on the residuals
    loads = np.column_stack([features, np.zeros((len(features), fixed.shape[1] - DIM))]) - follow @ fixed
    means = features @ beta[:DIM] + follow @ (told.value - fixed @ beta)
    inner = tau**2 * np.eye(len(features)) - follow @ random * tau**2
    return means, loads, beta_covariance, inner


@settings(max_examples=effort(6, 30))
@given(seed=st.integers(0, 2**32), differences=st.booleans(), blocks=st.booleans())
def test_the_fit_is_the_mixed_model_written_out(seed, differences, blocks):
    rng = np.random.default_rng(seed)
    told = columns(rng, differences=differences, blocks=blocks)
    features, tau, ridge = rng.normal(size=(N, DIM)), 10.0 ** rng.uniform(-1.5, 1.0), 0.3
    sums = pool(told, told.sigma, 1.0)
    fit = fit_mixed(features, sums, tau, ridge)
    means, loads, beta_covariance, inner = dense(told, features, tau, ridge)
    # Only differences mean something: the level is that of the median.
    assert_allclose(fit.means - fit.means[0], means - means[0], atol=1e-6)
    covariance = inner + loads @ beta_covariance @ loads.T
    assert_allclose(fit.variances(), np.diag(covariance), rtol=1e-6, atol=1e-10)
    mine = np.diag(fit.own) + fit.loads @ fit.covariance @ fit.loads.T
    assert_allclose(mine, covariance, rtol=1e-6, atol=1e-8 * np.diag(covariance).max())
    fixed, random = design(told, features)
    marginal = np.linalg.inv(np.diag(told.sigma**2) + tau**2 * random @ random.T)
    free = np.linalg.pinv(fixed.T @ marginal @ fixed) @ fixed.T @ marginal @ told.value
    left = told.value - fixed @ free
    assert fit.squares(sums) == pytest.approx(left @ marginal @ left, rel=1e-6)
    assert fit.rank == np.linalg.matrix_rank(fixed)


def test_without_deviations_it_is_the_linear_model():
    rng = np.random.default_rng(3)
    told, features = columns(rng), rng.normal(size=(N, DIM))
    sums = pool(told, told.sigma, 1.0)
    one, other = fit_mixed(features, sums, 0.0, 0.2), fit_linear(features, sums, 0.2)
    assert_allclose(one.means, other.means, atol=1e-9)
    assert_allclose(one.variances(), other.variances(), rtol=1e-9)
    assert one.squares(sums) == pytest.approx(other.squares(sums))
    assert (one.rank, one.level) == (other.rank, pytest.approx(other.level))


@pytest.mark.parametrize("differences", [False, True])
@pytest.mark.parametrize("rows", [9, 60])
def test_boundaries_are_the_written_formula(rows, differences):
    """Offsets are projected out: they belong to what is unknown beside the weights. Nothing was restarted."""
    rng = np.random.default_rng(1)
    told, features = columns(rng, rows=rows, differences=differences), rng.normal(size=(N, DIM))
    tau, ridge, delta = 0.4, 0.3, 0.05
    pooled = pool(told, told.sigma, 1.0)
    fit = fit_mixed(features, pooled, tau, ridge)
    found = MixedBoundary(fit, delta, N, 0.7).half_widths(2)
    _, loads, beta_covariance, inner = dense(told, features, tau, ridge)
    known = np.linalg.inv(beta_covariance[:DIM, :DIM])
    follow = beta_covariance[DIM:, :DIM] @ known  # of the offsets on the weights
    rest = beta_covariance[DIM:, DIM:] - follow @ beta_covariance[:DIM, DIM:]
    level = math.log(1.0 / (FIXED * COMPARING * delta))
    information, weights = known - ridge * np.eye(DIM), estimated_weights(features, pooled, tau, ridge)
    pull = known @ weights
    logs = []
    for scale, share in zip(SCALES, SCALE_SHARES, strict=True):
        prior = scale * DIM * ridge
        posterior = information + prior * np.eye(DIM)
        fitted = pull @ np.linalg.solve(posterior, pull) - np.linalg.slogdet(posterior / prior)[1]
        logs.append(math.log(share) + 0.5 * fitted)
    mixture = math.log(1.0 - RESTARTS) + log_sum(logs)
    quantile = NormalDist().inv_cdf(1.0 - (1.0 - FIXED) * COMPARING * delta / (N - 1))
    for option in range(N):
        apart, pair = loads[option] - loads[2], np.eye(N)[option] - np.eye(N)[2]
        along = apart[:DIM] + apart[DIM:] @ follow
        tried = []
        for eta in (0.0, ridge):  # without the span, and with it
            matrix = information + eta * np.eye(DIM)
            centre = np.linalg.solve(matrix, pull)
            squared = 2.0 * (level - mixture) + pull @ centre + eta / ridge
            reach = math.sqrt(along @ np.linalg.solve(matrix, along) * squared)
            tried.append(along @ (centre - weights) + reach)
        expected = min(tried) + quantile * math.sqrt(
            max(0.0, pair @ inner @ pair + apart[DIM:] @ rest @ apart[DIM:])
        )
        assert found[option] == pytest.approx(0.0 if option == 2 else expected, rel=1e-6)


@pytest.mark.parametrize("differences", [False, True])
@pytest.mark.parametrize("model", ["linear", "independent"])
def test_the_restricted_likelihood_is_the_written_formula(model, differences):
    """Differences between sizes: what does not depend on them may be left out."""
    rng = np.random.default_rng(2)
    told, features = columns(rng, differences=differences), rng.normal(size=(N, DIM))
    likelihood = Likelihood(told, told.sigma, N, features if model == "linear" else None, 1.0)
    fixed, random = design(told, features)
    if model == "independent":
        fixed = np.column_stack([random, fixed[:, DIM:]])
    _, sizes, right = np.linalg.svd(fixed, full_matrices=False)
    fixed = fixed @ right[: (sizes > 1e-9).sum()].T

    def written(tau, extra):
        covariance = np.diag(told.sigma**2 + extra**2)
        covariance = covariance + (tau**2 * random @ random.T if model == "linear" else 0.0)
        precision = np.linalg.inv(covariance)
        information = fixed.T @ precision @ fixed
        left = told.value - fixed @ np.linalg.solve(information, fixed.T @ precision @ told.value)
        logs = np.linalg.slogdet(covariance)[1] + np.linalg.slogdet(information)[1]
        return logs + left @ precision @ left

    base = likelihood(0.0, 0.0) - written(0.0, 0.0)
    for tau, extra in ((0.5, 0.0), (0.0, 0.7), (1.3, 0.2)):
        assert likelihood(tau, extra) - written(tau, extra) == pytest.approx(base, abs=1e-6)


@pytest.mark.parametrize("tau", [0.6, 0.0])
def test_what_rules_see_is_the_posterior_with_a_ridge_on_everything(tau):
    rng = np.random.default_rng(4)
    told, features = columns(rng), rng.normal(size=(N, DIM))
    ridge = 1.7
    sums = pool(told, told.sigma, 1.0)
    named = np.unique(sums.block[(sums.minus < 0) & (sums.block > 0)])
    found = on_a_level(features, sums, tau, ridge)
    level = (sums.minus < 0).astype(float)
    unknowns = np.zeros((sums.plus.size, DIM + 1 + named.size + N))
    ends = np.eye(N)[sums.plus] - np.where(level[:, None] > 0.0, 0.0, np.eye(N)[sums.minus])
    unknowns[:, :DIM], unknowns[:, DIM], unknowns[:, -N:] = ends @ features, level, ends
    for row in np.flatnonzero((sums.minus < 0) & (sums.block > 0)):
        unknowns[row, DIM + 1 + np.searchsorted(named, sums.block[row])] = 1.0
    prior = np.array([ridge] * (DIM + 1 + named.size) + [max(tau, 1e-7) ** -2.0] * N)
    precision = np.diag(prior) + (unknowns * sums.weight[:, None]).T @ unknowns
    covariance = np.linalg.inv(precision)
    options = np.column_stack([features, np.ones(N), np.zeros((N, named.size)), np.eye(N)])
    mean = options @ covariance @ unknowns.T @ (sums.weight * sums.value)
    assert_allclose(found.means, mean, atol=1e-8)
    mine = np.diag(found.own) + found.loads @ found.loads.T
    assert_allclose(mine, options @ covariance @ options.T, atol=1e-9)
    grown = np.linalg.slogdet(precision)[1] - np.log(prior).sum()
    assert found.log_det == pytest.approx(grown, abs=1e-6)


def test_the_largest_likelihood_is_found_between_the_sizes_tried_or_is_none():
    tried = 10.0 ** np.arange(-2.0, 3.0, 0.25)
    assert estimate_one(lambda size: (math.log(max(size, 1e-9)) - 0.3) ** 2, tried) == pytest.approx(
        math.exp(0.3), rel=1e-5
    )
    assert estimate_one(lambda size: size, tried) == 0.0


def test_limits_are_where_the_mean_likelihood_ratio_is_too_large():
    """Normal readings with known mean: -2·log L = ν·log s² + Q/s², as in the limit of a pooled scatter."""
    freedom, squares, delta = 30, 24.0, 0.01

    def minus_log(size):
        return 2.0 * freedom * math.log(size) + squares / size**2 if size else math.inf

    tried = 10.0 ** np.arange(-2.0, 1.0, 0.25)
    estimate = math.sqrt(squares / freedom)
    upper = upper_size(minus_log, estimate, tried, delta)
    lower = lower_size(minus_log, estimate, tried, delta)

    def ratio(size, factors):
        return np.mean([math.exp(0.5 * (minus_log(size) - minus_log(f * size))) for f in factors])

    parts = [f for f in FRACTIONS if f]
    assert ratio(upper, parts) * len(parts) / len(FRACTIONS) == pytest.approx(1.0 / delta, rel=0.01)
    assert ratio(lower, [1.0 / f for f in parts]) == pytest.approx(1.0 / delta, rel=0.01)
    assert upper == pytest.approx(upper_limit(squares, freedom, delta), rel=0.03)
    # Too little to say anything: no lower limit, and an upper one beyond all sizes tried.
    assert lower_size(lambda size: 0.0, 0.5, tried, delta) == 0.0
    assert upper_size(lambda size: 0.0, 0.0, tried, delta) > 1e3 * tried[-1]


def test_limits_hold_at_every_moment():
    """1000 courses of 60 looks: 5 % may fail at any of them; 86 would be exceeded with probability 1e-6."""
    rng = np.random.default_rng(0)
    sums = np.cumsum(np.hypot(1.0, 0.7) ** 2 * rng.standard_normal((1000, 120)) ** 2, axis=1)[:, 20::5]
    counts = np.arange(1, 121)[20::5]

    def half_log(size):
        variance = 1.0 + size**2
        return 0.5 * (counts * math.log(variance) + sums / variance)

    ratios = np.mean([np.exp(half_log(0.7) - half_log(f * 0.7)) for f in FRACTIONS], axis=0)
    assert (ratios > 1.0 / 0.05).any(axis=1).sum() <= 86
    at = (3, 5)
    found = upper_size(lambda size: 2.0 * half_log(size)[at], 0.0, 10.0 ** np.arange(-2.0, 2.0, 0.25), 0.05)
    assert (ratios[at] > 20.0) == (found < 0.7)


@pytest.mark.parametrize("deviation", [1e-9, 0.1, "estimate"])
@pytest.mark.parametrize("se", [1e-8, 1e-40])
def test_questions_go_on_after_measurements_far_below_the_span(deviation, se):
    """What is left of an option's variance is lost in rounding then."""
    study = nw.create_study(
        options={"id": ["A", "B", "C"], "x": [0.3, 1.0, -2.0]}, id="id", model="linear+deviation",
        deviation=deviation, span=20, eps=0.1,
    )  # fmt: skip
    for option in "ABC":
        study.tell(option=option, value=1.0, se=se)
        assert len(study.ask(3)) == 3
