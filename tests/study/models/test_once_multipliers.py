"""Multipliers for one look: the numbers of the tables, naive integrals, and simulated errors."""

import math

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import ndtr
from tests.support.effort import effort

from noisewise.study.models.one_look import (
    ErrorKinds,
    dunnett,
    independent_at_most,
    studentized_range,
    two_evidences,
)

#: One-sided 5 % points of Dunnett's t for 1, 2, 3, 4, 5 and 9 comparisons (Dunnett 1955, table 1a).
DUNNETT = {
    5: (2.02, 2.44, 2.68, 2.85, 2.98, 3.30),
    10: (1.81, 2.15, 2.34, 2.47, 2.56, 2.81),
    20: (1.72, 2.03, 2.19, 2.30, 2.39, 2.60),
    None: (1.64, 1.92, 2.06, 2.16, 2.23, 2.42),
}


def one_row(common, delta, freedom=None):
    return dunnett(tuple(float(one) for one in common), (1,) * len(common), delta, freedom)


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
        assert (
            one_row(common, 0.05)
            <= independent_at_most(5, 0.05) + 1e-8
            <= ErrorKinds().one_by_one(5, 0.05) + 2e-8
        )


@pytest.mark.parametrize(("n", "delta", "freedom"), [(3, 0.05, 6.0), (8, 0.01, 16.0), (40, 0.5, 3.0)])
def test_the_studentized_range_is_that_of_scipy(n, delta, freedom):
    expected = stats.studentized_range.isf(delta, n, freedom)
    assert studentized_range(n, delta, freedom) == pytest.approx(expected, rel=1e-5)
    assert studentized_range(2, delta, freedom) == pytest.approx(
        math.sqrt(2.0) * stats.t.isf(0.5 * delta, freedom), rel=1e-7
    )


@pytest.mark.parametrize("delta", [0.5, 0.05])
@pytest.mark.parametrize("count", [1, 4, 50])
def test_two_evidences_are_exact_for_independent_ones(count, delta):
    rng, runs = np.random.default_rng(4), effort(50_000, 200_000)
    one = np.maximum(rng.standard_normal(runs), 0.0)
    others = np.maximum(rng.standard_normal((runs, count)).max(axis=1), 0.0)
    missed = (np.hypot(one, others) > two_evidences(count, delta)).mean()
    assert missed == pytest.approx(delta, abs=5.0 * math.sqrt(delta * (1.0 - delta) / runs))
