"""The levels solve their equations, to the last digits, whatever the sigmas."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.effort import effort

from noisewise.theory import clipped_level, floored_level, harmonic_level, information_budget, water_level
from noisewise.theory.levels import precision_without_largest

mp.mp.dps = 60


def filled(sigma, x, slope=None, cap=1):
    """The left side in 60 digits, one round after the other."""
    total, x = mp.mpf(0), mp.mpf(x)
    for one in sigma:
        terms = [mp.mpf(cap) ** 2, (x / mp.mpf(float(one))) ** 2]
        total += min(terms if slope is None else [*terms, mp.mpf(slope) * x])
    return total


def exact_level(sigma, budget, slope=None, cap=1):
    """Bisection on the logarithm in 60 digits."""
    low, high = mp.mpf(-150), mp.mpf(150)
    for _ in range(190):
        middle = (low + high) / 2
        if filled(sigma, mp.power(10, middle), slope, cap) < budget:
            low = middle
        else:
            high = middle
    return mp.power(10, high)


#: Many digits take long.
IN_DIGITS = settings(max_examples=effort(15, 60))
exponents = st.lists(st.floats(-8, 8), min_size=2, max_size=12)


@IN_DIGITS
@given(exponents, st.floats(0.01, 0.99))
def test_the_level_solves_its_equation_over_32_decades_of_precision(powers, share):
    sigma = 10.0 ** np.array(powers)
    budget = share * len(sigma)
    assert abs(water_level(sigma, budget) / exact_level(sigma, budget) - 1) < 1e-13


@IN_DIGITS
@given(exponents, st.floats(0.01, 0.99), st.floats(-2, 2), st.floats(-1, 1))
def test_the_floored_level_solves_its_equation(powers, share, slope, cap):
    sigma, slope, cap = 10.0 ** (np.array(powers) / 2), 10.0**slope, 10.0**cap
    budget = share * len(sigma) * cap**2
    exact = exact_level(sigma, budget, slope, cap)
    assert abs(floored_level(sigma, budget, slope, cap) / exact - 1) < 1e-12


def levels_of_clips(sigma, dim, clips, **options):
    """The level for each clip, as `water_level` has it for clipped weights."""
    found = []
    for clip in clips:
        clipped = np.maximum(sigma, clip**-0.5)
        found.append(water_level(clipped, information_budget(clipped, dim, **options)))
    return np.array(found)


@IN_DIGITS
@given(
    st.lists(st.floats(-6, 3), min_size=3, max_size=60),
    st.integers(1, 4),
    st.floats(-2, 2),
    st.floats(-1, 1),
)
def test_the_clipped_level_is_the_least_over_all_clips(powers, dim, ridge, max_norm):
    sigma = 10.0 ** np.array(powers)
    options = {"ridge": 10.0**ridge, "max_norm": 10.0**max_norm}
    least = clipped_level(sigma, dim, **options)
    # Brute force: every breakpoint, a fine grid, and around the best of them a finer one.
    clips = np.unique(np.concatenate([sigma**-2.0, np.geomspace(1e-7, 1e13, 400)]))
    tried = levels_of_clips(sigma, dim, clips, **options)
    assert (tried >= least * (1 - 1e-12)).all()
    assert water_level(sigma, information_budget(sigma, dim, **options)) >= least * (1 - 1e-12)
    best = levels_of_clips(sigma, dim, [least**-2.0 * (1 - 1e-9)], **options)[0]
    if np.count_nonzero(sigma < least) < sigma.size:
        assert best == pytest.approx(least, rel=1e-7)
        near = clips[np.argmin(tried)] * np.geomspace(0.5, 2.0, 400)
        assert levels_of_clips(sigma, dim, near, **options).min() == pytest.approx(least, rel=0.02)


@given(exponents, st.integers(1, 3), st.floats(0.01, 30.0))
def test_the_clipped_level_solves_its_equation_in_60_digits(powers, dim, log_det):
    sigma = 10.0 ** np.array(powers)
    for known in (None, log_det):
        square = mp.mpf(clipped_level(sigma, dim, log_det=known)) ** 2
        excess = []
        for y in (square * (1 - mp.mpf(10) ** -12), square * (1 + mp.mpf(10) ** -12)):
            full = filled(sigma, mp.sqrt(y))
            budget = dim * mp.log(1 + full / y / dim) / mp.log(2)
            budget = budget if known is None else min(budget, mp.mpf(known) / mp.log(2))
            excess.append(full - budget)
        assert excess[0] < 0 < excess[1]


def test_no_root_gives_infinity():
    assert water_level(np.ones(5), 5.0) == np.inf
    assert harmonic_level(np.ones(5), 5.0) == np.inf
    assert floored_level(np.ones(5), 5.0, 1.0) == np.inf
    assert water_level(np.ones(5), 4.9999) < 1.0


@pytest.mark.long("statistics")
def test_ten_million_rounds_lose_no_digits():
    """Sums over 32 decades, where total minus prefix is off by 6e-5: the rest is a million rounds of 1."""
    sigma = np.random.default_rng(0).permutation(np.r_[np.full(10**7 - 10**6, 1e-8), np.full(10**6, 1e8)])
    budget = 9e6 + 0.5
    assert abs(water_level(sigma, budget) / (np.sqrt(0.5 / 1e6) * 1e8) - 1) < 1e-13
    assert precision_without_largest(sigma, 9 * 10**6) == pytest.approx(1e-10, rel=1e-13)


def test_what_subtracting_would_do():
    sigma = np.r_[np.full(100, 1e-8), np.ones(10**6)]
    weights = sigma**-2.0
    assert weights.sum() - weights[:100].sum() != 1e6
    assert precision_without_largest(sigma, 100) == 1e6


def test_rows_are_answered_one_by_one():
    rng = np.random.default_rng(3)
    sigma, budget = 10 ** rng.uniform(-6, 2, (4, 3, 30)), rng.uniform(1, 35, (4, 3))
    for function in (water_level, harmonic_level, lambda s, b: floored_level(s, b, 0.3, 0.8)):
        together = function(sigma, budget)
        assert together.shape == (4, 3)
        for place in np.ndindex(4, 3):
            alone = function(sigma[place], budget[place])
            assert alone == pytest.approx(together[place], rel=1e-14)
            assert isinstance(alone, float)


def test_the_level_by_the_printed_formula():
    """Theorem 1 lists x over k and keeps the one in its interval; sorted are the σ's, not the σ²'s."""
    rng = np.random.default_rng(5)
    for _ in range(50):
        sigma = np.sort(10 ** rng.uniform(-3, 1, 40))
        budget = rng.uniform(0.5, 39)
        edges = np.r_[0.0, sigma]
        found = []
        for k in range(1, 41):
            if budget >= k - 1:
                x = np.sqrt((budget - k + 1) / (sigma[k - 1 :] ** -2.0).sum())
                if edges[k - 1] * (1 - 1e-12) <= x <= edges[k] * (1 + 1e-12):
                    found.append(x)
        assert water_level(sigma, budget) == pytest.approx(min(found), rel=1e-11)


def test_the_budget_is_the_elliptical_potential():
    """Note 7: the logarithm is of (dλ + T·L²)/(dλ), and ι bounds Σ min(1, ‖a‖²/σ²) for any actions."""
    sigma = np.full(20, 0.5)
    printed = 2 * 3 * np.log((3 * 0.7 + 20 * 4 * 1.5**2) / (3 * 0.7))
    budget = information_budget(sigma, 3, ridge=0.7, max_norm=1.5, as_printed=True)
    assert budget == pytest.approx(printed, rel=1e-14)
    assert information_budget(sigma, 3) == pytest.approx(3 * np.log2(1 + 80 / 3), rel=1e-14)
    rng = np.random.default_rng(1)
    for _ in range(30):
        sigma = 10 ** rng.uniform(-2, 1, 60)
        gram, spent = np.eye(4), 0.0
        for one in sigma:
            a = rng.standard_normal(4)
            a /= np.linalg.norm(a)
            spent += min(1.0, a @ np.linalg.solve(gram, a) / one**2)
            gram += np.outer(a, a) / one**2
        assert spent <= information_budget(sigma, 4)
    # As the lemma is printed, with λ instead of dλ in the numerator, it can be exceeded.
    assert 2 * 3 * np.log((1 + 2) / 3) == 0.0  # d = 3, T = 2, L = λ = 1: would bound a sum of 2 by 0


@pytest.mark.parametrize(
    ("sigma", "budget", "message"),
    [
        ([], 1.0, "at least one round"),
        (1.0, 1.0, "at least one round"),
        ([1.0, -0.3], 1.0, "`sigma` must be finite numbers above 0, .* got -0.3"),
        ([1.0, np.nan], 1.0, "got nan"),
        ([1.0], 0.0, "`budget` must be above 0; got 0.0"),
        ([1.0], np.nan, "`budget` must be above 0"),
    ],
)
def test_bad_input_is_named(sigma, budget, message):
    with pytest.raises(ValueError, match=message):
        water_level(sigma, budget)
