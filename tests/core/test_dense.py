"""The model agrees with the textbook, and with 60-digit arithmetic where the textbook fails."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests.support import naive
from tests.support.effort import effort

from noisewise import schedules
from noisewise.core.any_model import RESIDUAL, log_det, total_precision
from noisewise.core.model import contrast_widths, covariance_with, distance_to, fold, new_model, theta
from noisewise.core.selection import first_largest


def unit_vectors(rng, n, dim):
    vectors = rng.standard_normal((n, dim))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def measure_widest(model, truth, sigmas, noise, allowed, pulled, rewards):
    for t in range(sigmas.size):
        action = first_largest(model.squared_widths, allowed)
        pulled[t] = action
        rewards[t] = truth[action] + sigmas[t] * noise[t]
        fold(model, action, rewards[t], sigmas[t])


def run(vectors, sigmas, ridge, seed):
    rng = np.random.default_rng(seed)
    parameter = unit_vectors(rng, 1, vectors.shape[1])[0]
    model = new_model(np.ascontiguousarray(vectors.T), ridge)
    pulled, rewards = np.empty(sigmas.size, np.int64), np.empty(sigmas.size)
    noise, allowed = rng.standard_normal(sigmas.size), np.ones(len(vectors), bool)
    measure_widest(model, vectors @ parameter, sigmas, noise, allowed, pulled, rewards)
    return model, list(zip(pulled.tolist(), rewards.tolist(), sigmas.tolist(), strict=True))


@given(
    sigmas=st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=40),
    ridge=st.floats(0.05, 20.0),
    seed=st.integers(0, 2**32),
)
def test_learning_one_by_one_matches_the_textbook(sigmas, ridge, seed):
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((7, 3))
    model = new_model(vectors.T, ridge)
    history = [(int(rng.integers(7)), float(rng.standard_normal()), sigma) for sigma in sigmas]
    for measurement in history:
        fold(model, *measurement)
    means, squared_widths, information = naive.posterior(vectors, history, ridge)
    widths = np.sqrt(squared_widths)
    # The textbook inverts matrices of condition up to 1e12: that, not the model, sets the tolerance.
    assert_allclose(model.squared_widths, squared_widths, rtol=1e-4, atol=1e-9)
    assert_allclose(model.means / widths, means / widths, rtol=1e-3, atol=1e-2)
    assert_allclose(log_det(model), information, rtol=1e-6, atol=1e-6)
    assert_allclose(total_precision(model), sum(sigma**-2 for sigma in sigmas))


def test_the_verbs_match_the_textbook():
    rng = np.random.default_rng(3)
    vectors = rng.standard_normal((9, 4))
    model = new_model(vectors.T, 0.7)
    history = [
        (int(rng.integers(9)), float(rng.standard_normal()), float(rng.uniform(0.1, 2))) for _ in range(50)
    ]
    for measurement in history:
        fold(model, *measurement)
    precision = 0.7 * np.eye(4) + sum(np.outer(vectors[a], vectors[a]) / s**2 for a, _, s in history)
    covariance = vectors @ np.linalg.inv(precision) @ vectors.T
    estimate = np.linalg.solve(precision, sum(vectors[a] * r / s**2 for a, r, s in history))
    assert_allclose(theta(model), estimate, rtol=1e-10)
    assert_allclose(covariance_with(model, 2), covariance[2], rtol=1e-9, atol=1e-15)
    gaps = np.diag(covariance) + covariance[5, 5] - 2 * covariance[5]
    assert_allclose(contrast_widths(model, 5), np.sqrt(np.maximum(gaps, 0)), rtol=1e-8, atol=1e-12)
    wanted = math.sqrt((estimate - 1.0) @ precision @ (estimate - 1.0))
    assert_allclose(distance_to(model, np.ones(4)), wanted, rtol=1e-10)
    # The residual's weighted sum of squares, ridge included, comes for free.
    residual = sum(((r - vectors[a] @ estimate) / s) ** 2 for a, r, s in history) + 0.7 * estimate @ estimate
    assert_allclose(model.tally[RESIDUAL], residual, rtol=1e-10)


@pytest.mark.parametrize("name", ["fast-decaying", "flat", "moderate-spikes", "front-loaded"])
def test_the_papers_schedules_stay_exact_for_a_hundred_thousand_rounds(name):
    options = {"dim": 10} if name == "flat" else {}
    sigmas = schedules.named(name, **options)(effort(20_000, 100_000), None)
    vectors = unit_vectors(np.random.default_rng(3), 30, 10)
    model, history = run(vectors, sigmas, ridge=1.0, seed=1)
    wide, off = naive.largest_errors(model, vectors, history, 1.0)
    assert wide < 1e-9
    assert off < 1e-6


def wild_sigmas(rng, dim):
    quiet = max(1, dim // 2)
    return {
        "log-uniform": 10 ** rng.uniform(-8, 3, 300),
        "quiet, then loud": np.r_[np.full(quiet, 1e-8), np.full(150, 1e3)],
        "loud, then quiet": np.r_[np.full(150, 1e3), np.full(quiet, 1e-8)],
        "now and then quiet": np.where(rng.random(200) < 0.1, 1e-8, 1.0),
    }


@pytest.mark.parametrize("seed", range(effort(3, 8)))
def test_sigmas_over_eleven_decades_stay_exact(seed):
    rng = np.random.default_rng(seed)
    dim, ridge = int(rng.integers(2, 11)), [1.0, 0.3, 1e-3, 50.0][seed % 4]
    vectors = unit_vectors(rng, 40, dim)
    if seed % 3 == 0:
        vectors = np.vstack([np.eye(dim), vectors[:20]])
    for name, sigmas in wild_sigmas(rng, dim).items():
        model, history = run(vectors, sigmas, ridge, seed)
        wide, off = naive.largest_errors(model, vectors, history, ridge)
        assert wide < 1e-9, name
        assert off < 1e-6, name
