"""Restarts against plain matrices: where they stand, their likelihood ratios, and what they limit."""

import math

import numpy as np
import pytest
from tests.support.effort import effort

from noisewise.core.model import contrast_widths, fold, new_dense, spread, theta
from noisewise.core.radius import RESTARTS, SCALE_SHARES, SCALES, make_radius
from noisewise.core.restarts import SLOTS, Restarts, root_of

DELTA, NORM_BOUND = 0.1, 1.5


class History:
    """Random measurements, told to a model with restarts, and kept as plain matrices."""

    def __init__(self, seed, dim=2, n=8, rounds=60, ridge=0.7, sigmas=(0.2, 0.9)):
        rng = np.random.default_rng(seed)
        self.vectors = rng.normal(size=(n, dim))
        self.theta = rng.normal(size=dim)
        self.theta *= 0.6 * NORM_BOUND / np.linalg.norm(self.theta)
        self.rows = rng.integers(n, size=rounds)
        self.sigma = np.exp(rng.uniform(*np.log(sigmas), size=rounds))
        self.reward = self.vectors[self.rows] @ self.theta + self.sigma * rng.normal(size=rounds)
        self.ridge, self.dim = ridge, dim
        self.limits = make_radius(
            "restarted",
            delta=DELTA,
            ridge=ridge,
            norm_bound=NORM_BOUND,
            max_norm=3.0,
            sigma_min=None,
            rank=dim,
        )
        self.model = new_dense(self.vectors.T.copy(), ridge)
        self.restarts = Restarts(self.limits, self.model)
        self.places = []
        for t in range(rounds):
            self.tell(t)

    def tell(self, t):
        before = self.restarts.begun
        fold(self.model, int(self.rows[t]), float(self.reward[t]), float(self.sigma[t]))
        self.restarts.begin_if_due(self.model)
        if self.restarts.begun > before:
            self.places.append(t + 1)

    def sums(self, count):
        """V without ridge and b of the first measurements."""
        x = self.vectors[self.rows[:count]] / self.sigma[:count, None]
        return x.T @ x, x.T @ (self.reward[:count] / self.sigma[:count])

    def log_ratio(self, first, prior, mean, point):
        """The logarithm of the likelihood after ``first``, averaged over a prior, over that at a point.

        By Bayes' rule it is the prior density there over the posterior one.
        """
        all_v, all_b = self.sums(self.rows.size)
        first_v, first_b = self.sums(first)
        posterior = prior + all_v - first_v
        centre = np.linalg.solve(posterior, prior @ mean + all_b - first_b)

        def log_density(precision, middle):
            away = point - middle
            return 0.5 * np.linalg.slogdet(precision)[1] - 0.5 * away @ precision @ away

        return log_density(prior, mean) - log_density(posterior, centre)

    def written_out(self, point):
        """The logarithms of all likelihood ratios with their shares at a point."""
        unit = np.eye(self.dim)
        start = [
            math.log((1.0 - RESTARTS) * share)
            + self.log_ratio(0, scale * self.dim / NORM_BOUND**2 * unit, np.zeros(self.dim), point)
            for scale, share in zip(SCALES, SCALE_SHARES, strict=True)
        ]
        logs = [float(np.logaddexp.reduce(start))]
        for k, place in list(enumerate(self.places, start=1))[-SLOTS:]:
            v, b = self.sums(place)
            prior = v + self.ridge * unit
            share = RESTARTS / (k * (k + 1))
            logs.append(math.log(share) + self.log_ratio(place, prior, np.linalg.solve(prior, b), point))
        return logs

    def region(self):
        return self.restarts.region(self.model, spread(self.model))

    def units_of(self, point):
        """u of a point."""
        return root_of(self.model) @ (point - theta(self.model))


def values(region, u):
    """The logarithms of the martingales of a region at u."""
    return [
        0.5 * u @ curvature @ u - slope @ u + constant
        for curvature, slope, constant in zip(region.curvatures, region.slopes, region.constants, strict=True)
    ]


@pytest.mark.parametrize("dim", [1, 2, 5])
@pytest.mark.parametrize("seed", range(4))
def test_the_likelihood_ratios_are_those_of_plain_matrices(seed, dim):
    history = History(seed, dim=dim, rounds=37)
    region = history.region()
    assert len(history.places) >= 2
    rng = np.random.default_rng(seed)
    for _ in range(5):
        point = history.theta + 0.3 * rng.normal(size=dim)
        expected = history.written_out(point)
        got = values(region, history.units_of(point))
        # A restart that has learned next to nothing is left out: it is the last one if any.
        assert len(expected) - 1 <= len(got) <= len(expected)
        np.testing.assert_allclose(got, expected[: len(got)], rtol=1e-9, atol=1e-9)


def test_restarts_stand_where_information_has_doubled_whatever_the_rewards():
    history, other = History(3, dim=3, rounds=200), History(3, dim=3, rounds=200)
    expected, last, told = [], 0.0, 0
    for t in range(1, 201):
        log_det = np.linalg.slogdet(np.eye(3) + history.sums(t)[0] / history.ridge)[1]
        if t - told >= (6 if not expected else 3) and log_det - last >= 3 * math.log(2.0):
            expected.append(t)
            last, told = log_det, t
    assert history.places == expected
    assert len(expected) > 4
    other.reward = -5.0 * other.reward
    other.model, other.places = new_dense(other.vectors.T.copy(), 0.7), []
    other.restarts = Restarts(other.limits, other.model)
    for t in range(200):
        other.tell(t)
    assert other.places == expected


@pytest.mark.parametrize("seed", range(effort(1, 3)))
def test_limits_hold_the_region_and_little_more(seed):
    """In two dimensions the region is followed along 120 directions from a point inside."""
    history = History(30 + seed, rounds=80)
    level = math.log(1.0 / DELTA)

    def inside(point):
        return np.linalg.norm(point) <= NORM_BOUND and np.logaddexp.reduce(history.written_out(point)) < level

    middle = theta(history.model)
    assert inside(middle)
    border = []
    for angle in np.linspace(0.0, 2.0 * math.pi, 120, endpoint=False):
        way, low, high = np.array([math.cos(angle), math.sin(angle)]), 0.0, 4.0
        for _ in range(22):
            half = 0.5 * (low + high)
            low, high = (half, high) if inside(middle + half * way) else (low, half)
        border.append(middle + low * way)
    values_there = np.array(border) @ history.vectors.T  # (120, n)
    leader = int(np.argmax(history.model.means))
    history.restarts.look(history.model, leader)
    everybody = np.ones(len(history.vectors), dtype=bool)
    upper = history.restarts.limits_above(history.model, leader, everybody)
    furthest = (values_there - values_there[:, [leader]]).max(axis=0)
    estimated = history.model.means - history.model.means[leader]
    for k in range(len(history.vectors)):
        if k != leader:
            assert upper[k] >= furthest[k] - 1e-6
            assert upper[k] - estimated[k] <= 1.4 * (furthest[k] - estimated[k])
    assert upper[leader] == -np.inf
    assert history.restarts.largest_above(history.model, leader, everybody) == upper.max()


@pytest.mark.parametrize("rounds", [1, 5, 40, 300])
def test_no_limit_is_larger_than_that_of_the_radius(rounds):
    history = History(8, dim=3, rounds=rounds)
    history.restarts.look(history.model, 2)
    radius = history.limits.at(history.model)
    for action in range(8):
        ball = (
            history.model.means
            - history.model.means[action]
            + radius * contrast_widths(history.model, action)
        )
        some = np.arange(8) % 2 == action % 2
        upper = history.restarts.limits_above(history.model, action, some)
        assert (upper <= ball * (1.0 + 1e-9) + 1e-9).all()
        assert np.isneginf(upper[~some]).all()
