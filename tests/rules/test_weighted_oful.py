"""Weighted OFUL, compared with its box and with OFUL."""

import math

import numpy as np
import pytest
from tests.support.playing import bounded_problem, live_choices

import noisewise as nw


def textbook_choices(vectors, theta, sigmas, noise, *, ridge, norm_bound, noise_bound, scale, delta, bounded):
    """The box of Zhou, Gu and Szepesvári (or its sub-Gaussian variant), every matrix inverted afresh."""
    n, d = vectors.shape
    longest = max(np.linalg.norm(vector) for vector in vectors)
    precision, weighted = ridge * np.eye(d), np.zeros(d)
    beta, least, pulled = 0.0, math.inf, []
    if not bounded:
        beta = math.sqrt(2 * math.log(1 / delta))
    for t, (sigma, unit) in enumerate(zip(sigmas, noise, strict=True), start=1):
        covariance = np.linalg.inv(precision)
        mu = covariance @ weighted
        radius = scale * beta + math.sqrt(ridge) * norm_bound
        upper = [a @ mu + radius * math.sqrt(a @ covariance @ a) for a in vectors]
        top = max(upper)
        tolerance = 1e-9 * max(abs(value) for value in upper)
        action = next(k for k in range(n) if upper[k] >= top - tolerance)
        pulled.append(action)
        reward = vectors[action] @ theta + sigma * unit
        floored = max(noise_bound / math.sqrt(d), sigma) if bounded else sigma
        precision += np.outer(vectors[action], vectors[action]) / floored**2
        weighted += reward * vectors[action] / floored**2
        least = min(least, floored)
        if bounded:
            doubt = math.log(4 * t**2 / delta)
            spread = math.log(1 + t * longest**2 / (least**2 * d * ridge))
            beta = 8 * math.sqrt(d * spread * doubt) + 4 * noise_bound / least * doubt
        else:
            information = np.linalg.slogdet(precision)[1] - d * math.log(ridge)
            beta = math.sqrt(2 * math.log(1 / delta) + information)
    return pulled


@pytest.mark.parametrize("noise", ["bounded", "sub-gaussian"])
@pytest.mark.parametrize("scale", [1.0, 0.02])
def test_weighted_oful_measures_what_the_textbook_measures(noise, scale):
    """30 random problems each; ridge, norm bound and noise bound are not 1."""
    different = set()
    for seed in range(30):
        problem = bounded_problem(seed, horizon=40)
        options = {
            "ridge": [0.3, 2.5][seed % 2],
            "norm_bound": [0.9, 1.7][seed // 2 % 2],
            "noise_bound": [0.2, 3.0][seed // 4 % 2],
            "delta": 0.1,
            "scale": scale,
        }
        radius = {} if noise == "bounded" else {"radius": "self-normalised"}
        policy = nw.rules.weighted_oful(problem[0], noise=noise, **options, **radius)
        choices = live_choices(policy, *problem)
        assert choices == textbook_choices(*problem, **options, bounded=noise == "bounded"), seed
        different.add(len(set(choices)))
    assert len(different) > 3


@pytest.mark.parametrize("level", [0.05, 0.4, 3.0])
def test_with_equal_sigmas_weighted_oful_is_oful(level):
    """The same actions as OFUL with this noise level and ridge·level²: the bounds are equal term by term."""
    ridge = 0.6
    for seed in range(10):
        vectors, theta, _, noise = bounded_problem(seed, horizon=60)
        sigmas = np.full(60, level)
        weighted = nw.rules.weighted_oful(
            vectors, noise="sub-gaussian", radius="self-normalised", ridge=ridge
        )
        plain = nw.rules.oful(vectors, noise_level=level, ridge=ridge * level**2)
        problem = vectors, theta, sigmas, noise
        assert live_choices(weighted, *problem) == live_choices(plain, *problem)
        assert weighted.estimate().radius == pytest.approx(plain.estimate().radius, rel=1e-12)
