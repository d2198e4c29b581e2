"""Tails and quantiles are those of mpmath, to 1e-12, over their whole range."""

import math

import mpmath
import pytest
import scipy.special

from noisewise.core.distributions import (
    chi_square_quantile,
    chi_square_tails,
    f_quantile,
    f_tails,
    student_quantile,
)

#: Far out on both sides, and around the middle, where a symmetric law changes its sign.
PARTS = (
    *(1e-300, 1e-100, 1e-20, 1e-8, 0.001, 0.025, 0.1, 0.4, 0.499999),
    *(0.50001, 0.6, 0.9, 0.975, 0.999, 1.0 - 1e-8, 1.0 - 1e-15),
)
NEAR = 1e-12


@pytest.fixture(autouse=True)
def digits():
    with mpmath.workdps(40):
        yield


def agrees(tails, lower, upper):
    """Each tail to its own digits if it is the smaller one; the other is one minus it."""
    for found, right in ((tails.lower, lower), (tails.upper, upper)):
        if 1e-290 < right <= 0.5:
            assert abs(found - right) <= NEAR * right
        elif right > 0.5:
            assert abs(found - right) <= NEAR


def mp_chi_square(freedom, squares):
    a, x = mpmath.mpf(freedom) / 2, mpmath.mpf(squares) / 2
    return (
        mpmath.gammainc(a, 0, x, regularized=True),
        mpmath.gammainc(a, x, mpmath.inf, regularized=True),
    )


def mp_odds(a, b, odds):
    x = odds / (1 + odds)
    return (
        mpmath.betainc(a, b, 0, x, regularized=True),
        mpmath.betainc(b, a, 0, 1 / (1 + odds), regularized=True),
    )


@pytest.mark.parametrize("freedom", [1, 2, 3, 7, 30, 99, 1000, 12345, 100_000])
def test_tails_of_a_sum_of_squares(freedom):
    for deviations in (-8.0, -4.0, -1.0, -0.1, 0.0, 0.1, 1.0, 4.0, 8.0, 20.0):
        root = 1.0 - 2.0 / (9.0 * freedom) + deviations * math.sqrt(2.0 / (9.0 * freedom))
        squares = freedom * max(1e-3, root) ** 3
        agrees(chi_square_tails(freedom, squares), *mp_chi_square(freedom, squares))


@pytest.mark.parametrize("freedom", [1, 2, 3, 10, 99, 12345, 1_000_000])
def test_a_quantile_of_a_sum_of_squares_has_that_part_below_it(freedom):
    for part in PARTS:
        found = chi_square_quantile(freedom, part)
        right = (
            2.0 * scipy.special.gammaincinv(0.5 * freedom, part)
            if part < 0.5
            else scipy.special.chdtri(freedom, 1.0 - part)
        )
        assert found == pytest.approx(right, rel=NEAR, abs=1e-320)


@pytest.mark.parametrize("above", [1, 2, 5, 40, 1000])
@pytest.mark.parametrize("below", [1, 3, 8, 60, 3000])
def test_tails_of_a_ratio(above, below):
    for ratio in (1e-8, 1e-3, 0.3, 0.9, 1.0, 1.1, 2.0, 10.0):
        odds = mpmath.mpf(ratio) * above / below
        lower, upper = mp_odds(mpmath.mpf(above) / 2, mpmath.mpf(below) / 2, odds)
        agrees(f_tails(above, below, ratio), lower, upper)


@pytest.mark.parametrize("above", [1, 4, 500])
@pytest.mark.parametrize("below", [1, 7.5, 3000])
def test_a_quantile_of_a_ratio_has_that_part_below_it(above, below):
    for part in (1e-12, 0.001, 0.025, 0.5, 0.975, 0.999):
        tails = f_tails(above, below, f_quantile(above, below, part))
        assert tails.lower == pytest.approx(part, rel=1e-11)


@pytest.mark.parametrize("freedom", [1, 2, 3, 9, 99, 30_000, 1_000_000])
def test_a_quantile_of_students_law_has_that_part_below_it(freedom):
    for part in PARTS:
        if freedom > 10_000 and part < 1e-10:
            continue  # mpmath takes for ever
        found = student_quantile(freedom, part)
        if math.isinf(found):  # its square is beyond all numbers
            assert part ** (1.0 / freedom) < 1e-150
            continue
        df, t = mpmath.mpf(freedom), abs(mpmath.mpf(found))
        central, outside = mp_odds(mpmath.mpf(1) / 2, df / 2, t * t / df)
        smaller = min(mpmath.mpf(part), 1 - mpmath.mpf(part))
        miss = (central - (1 - 2 * smaller)) if smaller > 0.25 else (2 * smaller - outside)
        density = mpmath.exp(
            mpmath.loggamma((df + 1) / 2) - mpmath.loggamma(df / 2) - (df + 1) / 2 * mpmath.log1p(t * t / df)
        ) / mpmath.sqrt(df * mpmath.pi)
        assert abs(miss / (2 * density * t)) <= NEAR
        assert (found > 0.0) == (part > 0.5)


def test_the_ends():
    assert chi_square_tails(5, 0.0) == (0.0, 1.0)
    assert chi_square_tails(5, math.inf) == (1.0, 0.0)
    assert all(map(math.isnan, (*chi_square_tails(5, math.nan), *f_tails(2, 3, math.nan))))
    assert f_tails(2, 3, 0.0) == (0.0, 1.0)
    assert (chi_square_quantile(3, 0.0), chi_square_quantile(3, 1.0)) == (0.0, math.inf)
    assert student_quantile(4, 0.5) == 0.0
    assert math.isnan(chi_square_quantile(3, math.nan))
