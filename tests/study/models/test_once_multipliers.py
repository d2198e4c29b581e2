"""Multipliers for one look: the numbers of the tables, naive integrals, and simulated errors."""

import math

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import ndtr
from tests.support.effort import effort

from noisewise.study.models.once.multipliers import (
    all_within,
    at_most,
    in_dimensions,
    independent_at_most,
    no_heavier_than_normal,
    two_evidences,
    whole_ellipsoid,
)

#: One-sided 5 % points of Dunnett's t for 1, 2, 3, 4, 5 and 9 comparisons (Dunnett 1955, table 1a).
DUNNETT = {
    5: (2.02, 2.44, 2.68, 2.85, 2.98, 3.30),
    10: (1.81, 2.15, 2.34, 2.47, 2.56, 2.81),
    20: (1.72, 2.03, 2.19, 2.30, 2.39, 2.60),
    None: (1.64, 1.92, 2.06, 2.16, 2.23, 2.42),
}


def one_row(common, delta, freedom=None):
    row = np.array([common], dtype=float)
    return float(all_within(row, np.ones(row.shape), delta, freedom)[0])


def naive(common, c, freedom=None):
    """The probability that some comparison is further off, by nested integrals."""
    common = np.array(common)

    own = np.sqrt(1.0 - common**2)

    def inside(limit):
        def product(z):
            return math.exp(-0.5 * z * z) * math.prod(ndtr((limit - common * z) / own))

        return integrate.quad(product, -9, 9, epsabs=1e-11)[0] / math.sqrt(2.0 * math.pi)

    if freedom is None:
        return 1.0 - inside(c)
    law = stats.chi(freedom, scale=freedom**-0.5)
    return 1.0 - integrate.quad(lambda s: law.pdf(s) * inside(c * s), 0.0, law.isf(1e-12), epsabs=1e-9)[0]


@pytest.mark.parametrize("freedom", DUNNETT)
def test_they_are_those_of_the_published_tables(freedom):
    for count, published in zip((1, 2, 3, 4, 5, 9), DUNNETT[freedom], strict=True):
        assert one_row([math.sqrt(0.5)] * count, 0.05, freedom) == pytest.approx(published, abs=0.006)


@pytest.mark.parametrize(
    ("delta", "freedom"), [(0.5, None), (0.05, None), (1e-5, None), (0.5, 40.0), (0.05, 3.0)]
)
def test_they_are_what_a_naive_integral_says(delta, freedom):
    common = [0.2, 0.5, 0.9, 0.7]
    found = one_row(common, delta, freedom)
    assert naive(common, found, freedom) == pytest.approx(delta, rel=1e-6)


def test_they_are_exact_for_simulated_errors_of_unequal_options():
    rng, variances = np.random.default_rng(1), np.array([1.0, 0.3, 5.0, 0.05])
    errors = rng.standard_normal((400_000, 4)) * np.sqrt(variances)
    for rival in range(4):
        others = np.arange(4) != rival
        common = np.sqrt(variances[rival] / (variances[rival] + variances[others]))
        apart = (errors[:, others] - errors[:, [rival]]) / np.sqrt(variances[rival] + variances[others])
        missed = (apart.max(axis=1) > one_row(common, 0.05)).mean()
        assert missed == pytest.approx(0.05, abs=0.0018)


def test_one_comparison_is_a_normal_or_student_quantile():
    for delta in (0.3, 0.05, 1e-6):
        for common in (0.0, 0.6, 1.0):
            assert one_row([common], delta) == pytest.approx(stats.norm.isf(delta), rel=1e-6)
            assert one_row([common], delta, 4.0) == pytest.approx(stats.t.isf(delta, 4.0), rel=1e-6)


def test_smaller_common_factors_never_make_them_smaller():
    rng = np.random.default_rng(2)
    for _ in range(20):
        common = rng.uniform(0.0, 1.0, 5)
        smaller = common * rng.uniform(0.0, 1.0, 5)
        assert one_row(smaller, 0.05) >= one_row(common, 0.05) - 1e-8
        assert one_row(common, 0.05) <= independent_at_most(5, 0.05) + 1e-8 <= at_most(5, 0.05) + 2e-8


def test_many_alike_count_as_often_as_they_are_there():
    once = all_within(np.array([[0.7, 0.7, 0.7, 0.2]]), np.ones((1, 4)), 0.05)
    counted = all_within(np.array([[0.7, 0.2, 0.9]]), np.array([[3.0, 1.0, 0.0]]), 0.05)
    assert counted == pytest.approx(once, abs=1e-8)


@pytest.mark.parametrize("freedom", [None, 4.0])
@pytest.mark.parametrize(("count", "dimensions"), [(3, 2), (40, 2), (40, 6), (500, 3), (9, 1)])
def test_directions_are_covered_and_better_than_two_simple_bounds(count, dimensions, freedom):
    rng, runs = np.random.default_rng(3), effort(20_000, 100_000)
    found = in_dimensions(count, dimensions, 0.05, freedom)
    assert found <= at_most(count, 0.05, freedom) + 1e-8
    if freedom is None:
        assert found <= whole_ellipsoid(dimensions, 0.05) + 1e-8
    directions = rng.standard_normal((count, dimensions))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    scale = 1.0 if freedom is None else np.sqrt(rng.chisquare(freedom, runs) / freedom)
    worst = (rng.standard_normal((runs, dimensions)) @ directions.T).max(axis=1) / scale
    assert (worst > found).mean() <= 0.05 + 5.0 * math.sqrt(0.05 * 0.95 / runs)


def test_one_direction_is_a_quantile_and_all_of_them_an_ellipsoid():
    assert in_dimensions(1, 5, 0.05) == pytest.approx(stats.norm.isf(0.05))
    assert in_dimensions(7, 1, 0.05) == pytest.approx(stats.norm.isf(0.025), rel=1e-7)
    assert in_dimensions(1e12, 3, 0.05) == pytest.approx(stats.chi.isf(0.05, 3), rel=1e-3)
    assert whole_ellipsoid(3, 0.05) == pytest.approx(stats.chi.isf(0.05, 3))


@pytest.mark.parametrize("delta", [0.5, 0.05])
@pytest.mark.parametrize("count", [1, 4, 50])
def test_two_evidences_are_exact_for_independent_ones(count, delta):
    rng, runs = np.random.default_rng(4), effort(50_000, 200_000)
    one = np.maximum(rng.standard_normal(runs), 0.0)
    others = np.maximum(rng.standard_normal((runs, count)).max(axis=1), 0.0)
    missed = (np.hypot(one, others) > two_evidences(count, delta)).mean()
    assert missed == pytest.approx(delta, abs=5.0 * math.sqrt(delta * (1.0 - delta) / runs))


def test_errors_no_heavier_than_normal_have_chernoffs_bound():
    rng = np.random.default_rng(5)
    signs = rng.choice([-1.0, 1.0], size=(50_000, 10)).sum(axis=1) / math.sqrt(10.0)
    assert (signs > no_heavier_than_normal(1, 0.05)).mean() < 0.05
    assert no_heavier_than_normal(7, 0.05) == pytest.approx(math.sqrt(2.0 * math.log(140.0)))
