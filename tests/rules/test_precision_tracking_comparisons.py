"""Quantiles of comparisons with the best, against draws of their own."""

import numpy as np
import pytest
from scipy import stats

from noisewise.rules.looks import (
    comparison_quantiles,
)

DRAWS = 60_000


def statistics_of(points, i, rng):
    """Draws of ``max over j of <p_i - p_j, g>/|p_i - p_j|``, one difference at a time."""
    normals = rng.standard_normal((DRAWS, points.shape[1]))
    largest = np.full(DRAWS, -np.inf)
    for j in range(len(points)):
        if j != i:
            apart = points[i] - points[j]
            largest = np.maximum(largest, normals @ apart / np.linalg.norm(apart))
    return largest


@pytest.mark.parametrize(("n", "dim"), [(2, 1), (5, 4), (30, 3), (12, 8)])
@pytest.mark.parametrize("delta", [0.05, 0.004])
def test_exceeded_as_often_as_allowed(n, dim, delta):
    rng = np.random.default_rng([n, dim])
    points = rng.standard_normal((n, dim)) * np.exp(rng.uniform(-2, 2, dim))
    quantile = comparison_quantiles(points, np.array([1]), delta)[0]
    exceeded = int((statistics_of(points, 1, rng) > quantile).sum())
    # False alarms with probability 1e-6 on either side; from below the guard of the average may cost a third.
    assert exceeded <= stats.binom.isf(1e-6, DRAWS, delta)
    assert exceeded >= stats.binom.ppf(1e-6, DRAWS, delta / 1.5)


@pytest.mark.parametrize("delta", [1e-3, 1e-5, 1e-8])
def test_rare_events_are_not_underrated(delta):
    """A hundred orthogonal options, where the probability is a single integral."""
    n = 100
    x = np.linspace(-12.0, 12.0, 4001)
    for quantile in comparison_quantiles(np.eye(n), np.arange(0, n, 9), delta):
        below = stats.norm.cdf(x - quantile * np.sqrt(2.0))
        chance = np.trapezoid(stats.norm.pdf(x) * -np.expm1((n - 1) * np.log1p(-below)), x)
        assert delta / 2 <= chance <= 1.05 * delta


def test_one_that_stands_alone_is_not_missed():
    """A crowd of almost equal differences counts as one, and the one beside it as another."""
    rng = np.random.default_rng(0)
    crowd = np.array([1.0, 0.0]) + 1e-6 * rng.standard_normal((200, 2))
    points = np.vstack([[0.0, 0.0], crowd, [0.0, 1.0]])
    quantile = comparison_quantiles(points, np.array([0]), 1e-4)[0]
    assert stats.norm.isf(1e-4 / 2) - 1e-3 <= quantile <= stats.norm.isf(1e-4 / 6)
