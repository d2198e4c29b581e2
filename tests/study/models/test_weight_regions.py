"""The region of the weights: likelihood ratios against integrals, ellipsoids against the region itself."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.support.effort import long_beyond
from tests.support.measured import random_columns

from noisewise.core.choice.radius import SCALE_SHARES, SCALES
from noisewise.study.models.features.linear_boundary import LinearBoundary, restart_ridge
from noisewise.study.models.features.linear_fit import Parts, fit_mixed
from noisewise.study.models.features.restarts import ToldInOrder, restarted
from noisewise.study.models.features.weight_regions import (
    Reaches,
    Units,
    WeightRegion,
    from_start,
)
from noisewise.study.models.sums import pool

N, DIM, RIDGE = 7, 2, 0.3


class Problem:
    """Measurements in blocks and of differences, with a deviation per option or none, told one by one."""

    def __init__(self, seed, deviation=0.0, rows=40):
        rng = np.random.default_rng(seed)
        told = random_columns(
            rng, rows=rows, options=N, blocks=True, differences=True, share=0.2, steps=5, among=N
        )
        self.features, self.deviation = rng.normal(size=(N, DIM)), deviation
        weights, offsets = rng.normal(size=DIM), 3.0 * rng.normal(size=len(told.blocks))
        weights /= np.linalg.norm(weights)  # well within the span
        values = self.features @ weights + deviation * rng.normal(size=N)
        clean = values[told.plus] + np.where(told.minus < 0, offsets[told.block], -values[told.minus])
        self.told = told._replace(
            value=clean + told.sigma * rng.normal(size=rows), moment=np.arange(rows, dtype=np.int64)
        )
        self.ridge = restart_ridge(DIM, RIDGE)

    def parts(self):
        return Parts(self.features, pool(self.told, self.told.sigma, 1.0), self.deviation, RIDGE)

    def fits(self, places):
        told = ToldInOrder(self.told, self.told.sigma, 1.0, self.features, self.deviation, self.ridge)
        return [told.fit_of_first(count) for count in places]

    def minus_log_likelihood(self, count):
        """``½·θᵀVθ - bᵀθ`` of the first measurements as (V, b): plain matrices, offsets with a flat prior."""
        told = self.told.select(np.arange(count))
        rows = np.zeros((count, N))
        rows[np.arange(count), told.plus] = 1.0
        difference = told.minus >= 0
        rows[np.flatnonzero(difference), told.minus[difference]] -= 1.0
        level = np.zeros((count, len(told.blocks)))
        level[np.flatnonzero(~difference), told.block[~difference]] = 1.0
        level = level[:, level.any(axis=0)]
        covariance = np.diag(told.sigma**2) + self.deviation**2 * rows @ rows.T
        weight = np.linalg.inv(covariance)
        weight = weight - weight @ level @ np.linalg.pinv(level.T @ weight @ level) @ level.T @ weight
        x = rows @ self.features
        return x.T @ weight @ x, x.T @ weight @ told.value


def coordinates(problem):
    """The present fit as coordinates, with its factor and weights."""
    parts = problem.parts()
    before = parts.layout.before
    factor = parts.solved.factor.high[before:, before:]
    weights = parts.solved.solution.high[before:]
    root = math.sqrt(RIDGE)
    return Units(root * np.linalg.inv(factor), root * weights), factor, weights


def written_out(later, mean, precision, theta):
    """The logarithm of a likelihood ratio at θ, integrated over a normal prior on a grid."""
    information, pull = later
    posterior = information + precision
    centre = np.linalg.solve(posterior, pull + precision @ mean)
    half = np.linalg.cholesky(np.linalg.inv(posterior))
    steps = np.linspace(-7.0, 7.0, 121)
    grid = centre + np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2) @ half.T

    def minus_log(points):
        return 0.5 * np.einsum("ki,ij,kj->k", points, information, points) - points @ pull

    away = grid - mean
    prior = -0.5 * np.einsum("ki,ij,kj->k", away, precision, away)
    prior += 0.5 * np.linalg.slogdet(precision)[1] - math.log(2.0 * math.pi)
    logs = prior - minus_log(grid) + minus_log(theta[None])[0]
    area = (steps[1] - steps[0]) ** 2 * abs(np.linalg.det(half))
    return float(logs.max() + np.log(np.exp(logs - logs.max()).sum() * area))


@pytest.mark.parametrize("deviation", [0.0, 0.4])
@pytest.mark.parametrize("seed", range(4))
def test_a_restart_is_a_likelihood_ratio_of_what_came_later(seed, deviation):
    """Its prior is the fit of the first measurements; the integral over it is done on a grid."""
    problem = Problem(seed, deviation)
    units, factor, weights = coordinates(problem)
    (fit,) = problem.fits([7])
    (found,) = restarted(units, factor, weights, [fit], problem.ridge / RIDGE, 0.2)
    information, pull = problem.minus_log_likelihood(7)
    precision = information + problem.ridge * np.eye(DIM)
    every, all_pull = problem.minus_log_likelihood(40)
    mean = np.linalg.solve(precision, pull)
    for u in np.random.default_rng(seed).normal(size=(4, DIM)) * 2.0:
        theta = weights + np.linalg.solve(factor, u)
        expected = written_out((every - information, all_pull - pull), mean, precision, theta)
        # The first restart has half of the share of all.
        assert found.at(u) == pytest.approx(expected + math.log(0.1), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("deviation", [0.0, 0.4])
def test_from_the_start_it_is_the_mean_over_scales(deviation):
    problem = Problem(11, deviation)
    units, factor, weights = coordinates(problem)
    found = from_start(units, 0.5)
    whole = problem.minus_log_likelihood(40)
    for u in np.random.default_rng(1).normal(size=(4, DIM)) * 2.0:
        theta = weights + np.linalg.solve(factor, u)
        ratios = [
            share * math.exp(written_out(whole, np.zeros(DIM), scale * DIM * RIDGE * np.eye(DIM), theta))
            for scale, share in zip(SCALES, SCALE_SHARES, strict=True)
        ]
        assert found.at(u) == pytest.approx(math.log(0.5 * sum(ratios)), rel=1e-6, abs=1e-6)


def region_and_points(problem, level):
    """The region, the martingales it is made of, and points of it: as far as it goes, in all directions."""
    units, factor, weights = coordinates(problem)
    fits = problem.fits([8, 16, 32])
    later = restarted(units, factor, weights, fits, problem.ridge / RIDGE, 1.0 / 3.0)
    martingales = [from_start(units, 2.0 / 3.0), *later]

    def inside(u):
        logs = [one.at(u) for one in martingales]
        spanned = np.sum((units.pulled + units.shrunk @ u) ** 2) <= 1.0
        return spanned and np.logaddexp.reduce(logs) < level

    points = []
    for angle in np.linspace(0.0, 2.0 * math.pi, 180, endpoint=False):
        way = np.array([math.cos(angle), math.sin(angle)])
        low, high = 0.0, 30.0
        for _ in range(40):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if inside(middle * way) else (low, middle)
        points.append(low * way)
    return WeightRegion(units, martingales, level), np.array(points), inside


@pytest.mark.parametrize("seed", long_beyond(2, range(6), "statistics"))
def test_ellipsoids_hold_the_region_and_little_more(seed):
    problem = Problem(20 + seed)
    region, points, inside = region_and_points(problem, 3.0)
    assert inside(np.zeros(DIM))
    angles = np.linspace(0.0, 2.0 * math.pi, 16, endpoint=False)
    for way in np.column_stack([np.cos(angles), np.sin(angles)]):
        reach = Reaches(region.ellipsoids(np.outer(way, way))).along(way[:, None])[0]
        furthest = (points @ way).max()
        assert reach >= furthest - 1e-6
        assert reach <= 1.25 * furthest


def test_nothing_limits_what_nothing_was_told_about():
    assert np.isinf(Reaches([]).along(np.ones((2, 3)))).all()


def test_a_restart_that_lost_digits_is_left_out():
    problem = Problem(3)
    fit = fit_mixed(problem.features, pool(problem.told, problem.told.sigma, 1.0), 0.0, RIDGE)
    fits = problem.fits([8, 16])
    spoiled = [one._replace(usable=False, factor=1e3 * one.factor) for one in fits]
    with_none, with_spoiled, with_all = (
        LinearBoundary(fit, 0.05, 0.1, restarts=some).half_widths(1) for some in ([], spoiled, fits)
    )
    assert_allclose(with_none, with_spoiled)
    assert (with_all <= with_none * (1.0 + 1e-12)).all()
    assert (with_all < 0.99 * with_none).any()


def test_limits_are_not_the_same_on_both_sides():
    """j over i is limited from above by half_widths(i)[j] and, the other way round, by lead_widths(j)[i]."""
    problem = Problem(5)
    fit = fit_mixed(problem.features, pool(problem.told, problem.told.sigma, 1.0), 0.0, RIDGE)
    boundary = LinearBoundary(fit, 0.05, 0.1, restarts=problem.fits([8, 16]))
    half = np.array([boundary.half_widths(i) for i in range(N)])
    lead = np.array([boundary.lead_widths(j) for j in range(N)])
    assert_allclose(half, lead.T, rtol=1e-9)
    assert np.abs(half - half.T).max() > 0.01 * half.max()
