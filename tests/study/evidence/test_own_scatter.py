"""Evidence of readings with a scatter of their own, against its definition; suprema; weights."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import integrate, special
from tests.support.effort import effort
from tests.support.sampling_adversary import ever_wrong

from noisewise.study.evidence.half_widths import SeparateOptions
from noisewise.study.evidence.kind import DOWN, UP
from noisewise.study.evidence.known import KnownErrorBars
from noisewise.study.evidence.levels import CHOSEN, IDLE, Stacks, levels_for, of_suprema
from noisewise.study.evidence.limits import tabulate
from noisewise.study.evidence.own_scatter import SCALES, WEIGHTS, OwnScatter
from noisewise.study.evidence.search import reaches

STACKS = Stacks(0.95, 0.05)


def own(readings):
    """One option per list of readings."""
    count = np.array([len(some) for some in readings], dtype=float)
    squares = np.array([np.sum((np.asarray(some) - np.mean(some)) ** 2) for some in readings])
    return OwnScatter(count, np.zeros(count.size), squares, np.zeros(count.size))


def of_sums(count, squares=1.0):
    return OwnScatter(np.array([float(count)]), np.zeros(1), np.array([squares]), np.zeros(1))


def mixture(count, distance, squares):
    """log E by its definition, with Student's law itself, in 30 digits."""
    with mpmath.workdps(30):
        n, d = mpmath.mpf(count), mpmath.mpf(distance)
        total = mpmath.mpf(0)
        for c, weight in zip(SCALES, WEIGHTS, strict=True):
            q, c = n * d * d / mpmath.mpf(squares), mpmath.mpf(c)
            ratio = (n + c) * (1 + q) / (n + c + c * q)  # 1 + t²/n
            tail = mpmath.betainc(n / 2, mpmath.mpf(1) / 2, 0, 1 / ratio, regularized=True) / 2
            side = 1 - tail if d > 0 else tail
            total += weight * mpmath.sqrt(c / (c + n)) * ratio ** (n / 2) * 2 * side
        return float(mpmath.log(total))


@pytest.mark.parametrize("count", [2, 3, 7, 40, 3000])
@pytest.mark.parametrize("z", [-4.0, -0.3, 0.05, 0.4, 3.0])
def test_evidence_is_that_of_students_law_and_never_more(count, z):
    exact = mixture(count, z, count)
    for side, apart in ((UP, 0.25), (DOWN, -0.25)):
        kind = OwnScatter(np.array([float(count)]), np.array([apart]), np.array([float(count)]), np.zeros(1))
        found = kind.log_e(np.array([0]), np.array([[z + 0.25]]), side).value[0, 0]
        assert found <= exact + 1e-10 * abs(exact)
        # On the suspected side the normal law costs hardly anything.
        if z > 0.0:
            assert found >= exact - 0.01


def test_students_law_lies_above_its_normal_bounds():
    for n in (1.0, 2.0, 3.0, 5.0, 17.0, 400.0):
        t = np.geomspace(1e-4, 1e4, 300)
        w = np.sqrt(n * np.log1p(t * t / n))
        assert (special.stdtr(n, t) >= special.ndtr(math.sqrt(1.0 - 0.5 / n) * w) - 1e-15).all()
        assert (special.stdtr(n, -t) >= special.ndtr(-w) * (1.0 - 1e-9)).all()


@pytest.mark.long("statistics")
def test_the_mixture_is_an_average_of_likelihood_ratios():
    """Of the ratios of readings to each other: by integration over scatter and distance of the mean."""
    readings = np.array([0.4, 1.9, -0.2])
    mean = 1.4
    apart = mean - readings  # with the mean suspected above, they lie below it
    squares, total = float(np.sum(apart**2)), 0.0
    for c, weight in zip(SCALES, WEIGHTS, strict=True):
        delta = np.linspace(0.0, 12.0 / math.sqrt(c), 4001)[:, None]
        sigma = np.exp(np.linspace(-5.0, 9.0, 1501))
        ratio = sum((x / sigma - delta) ** 2 for x in apart)
        prior = 2.0 * math.sqrt(c / (2.0 * math.pi)) * np.exp(-0.5 * c * delta**2)
        inner = integrate.trapezoid(prior * sigma**-3.0 * np.exp(-0.5 * ratio), np.log(sigma), axis=1)
        above = integrate.trapezoid(inner, delta[:, 0])
        below = 2.0 ** (0.5) * special.gamma(1.5) / squares**1.5  # ∫ σ^-4 exp(-Q/(2σ²)) dσ
        total += weight * float(above) / below
    assert math.log(total) == pytest.approx(
        mixture(3, mean - readings.mean(), np.sum((readings - readings.mean()) ** 2)), abs=2e-3
    )


@settings(max_examples=effort(8, 40), deadline=None)
@given(st.integers(2, 400), st.floats(-6.0, 25.0))
def test_a_reach_is_where_the_evidence_reaches_the_level(count, level):
    kind = of_sums(count, 3.0)
    reach = kind.reaches(np.array([0]), np.array([level]), UP)[0, 0]
    ends = kind.log_e(np.array([0]), np.array([[-1e12, 1e12]]), UP).value[0]
    if reach == np.inf:
        assert ends[1] < level + 1e-9
    elif reach == -np.inf:
        assert ends[0] >= level - 1e-9
    else:
        value = kind.log_e(np.array([0]), np.array([[reach]]), UP).value[0, 0]
        assert level - 1e-9 <= value <= level + 1e-6


def test_evidence_never_falls_with_the_distance_and_slopes_are_right():
    z = np.concatenate([-np.geomspace(1e3, 1e-6, 200), np.geomspace(1e-6, 1e3, 200)])
    for count in (2, 5, 60, 10_000):
        found = of_sums(count, float(count)).log_e(np.array([0]), z[None], UP)
        assert (np.diff(found.value[0]) >= -1e-12).all()
        step = 1e-5 * np.abs(z)
        ahead, behind = (
            of_sums(count, float(count)).log_e(np.array([0]), (z + h)[None], UP).value for h in (step, -step)
        )
        middle = np.abs(z) > 1e-3
        assert_allclose(
            found.slope[0][middle], ((ahead - behind) / (2.0 * step))[0][middle], rtol=1e-3, atol=1e-8
        )


def test_few_readings_exclude_nothing_and_many_say_what_a_known_scatter_says():
    few = SeparateOptions([own([[1.0, 2.0], [5.0, 6.0]])], levels_for(2, 0.04, 12.0, STACKS))
    assert few.half_widths(0)[1] == np.inf
    rng = np.random.default_rng(2)
    lists = [rng.normal(size=2000) for _ in range(2)]
    many = SeparateOptions([own(lists)], levels_for(2, 0.04, 12.0, STACKS)).half_widths(0)[1]
    known = KnownErrorBars(np.full(2, 2000.0), np.zeros(2), 0.1)
    assert 1.0 < many / SeparateOptions([known], levels_for(2, 0.04, 12.0)).half_widths(0)[1] < 1.3


def test_readings_that_agree_to_the_last_digit_say_nothing():
    kind = own([[1.0, 1.0, 1.0, 1.0], [2.0, 3.0]])
    assert kind.holds().tolist() == [False, True]
    raised = OwnScatter(np.array([4.0]), np.zeros(1), np.zeros(1), np.array([0.12]))
    reach = raised.reaches(np.array([0]), np.array([-0.7, 1.0]), UP)[0]
    assert reach[0] <= 0.0 < reach[1]


def test_levels_of_suprema_are_where_their_bound_is_alpha():
    for alpha in (0.5, 0.04, 1e-6):
        for chosen in (CHOSEN, 0.5, 0.01):
            x = math.exp(float(of_suprema(np.array(math.log(1.0 / alpha)), chosen)))
            bound = (1.0 + chosen * math.log((x - 1.0 + chosen) / chosen)) / x
            assert bound == pytest.approx(alpha, rel=1e-6)
            assert bound <= alpha


def test_other_evidence_about_an_option_is_weighed_not_multiplied():
    """Where neither of both reaches its level."""
    readings = own([[1.0, 2.0, 2.5, 0.3, 1.1, 0.7, 1.9]])
    known = KnownErrorBars(np.array([9.0]), np.array([0.2]), 0.5)
    levels = levels_for(4, 0.04, 12.0, STACKS)
    found = tabulate([known, readings], levels, None)
    for at in (0, 40, 90):
        level = levels.left[at]
        alone = readings.reaches(np.array([0]), np.array([level - math.log(0.95)]), UP)[0, 0]
        rest = math.exp(level) / 0.05  # 0.05·((1 - idle)·E + idle) < e^level
        other = math.log((rest - IDLE) / (1.0 - IDLE)) if rest > IDLE else -math.inf
        least = (
            reaches([known], np.array([0]), np.array([other]), UP)[0, 0] if other > -math.inf else -math.inf
        )
        assert found.up[0, at] == pytest.approx(min(alone, least), rel=1e-8)


def test_half_widths_are_never_below_a_brute_search():
    rng = np.random.default_rng(4)
    kind = own([rng.normal(size=9), 3.0 * rng.normal(size=14)])
    levels = levels_for(2, 0.04, 12.0, STACKS)
    found = SeparateOptions([kind], levels).half_widths(0)[1]
    whole = float(of_suprema(np.array(math.log(1.0 / 0.04)), CHOSEN))
    spent = np.linspace(-9.0, 14.0, 4000)
    left = whole - np.logaddexp(math.log(1.0 - CHOSEN), spent + math.log(CHOSEN))
    up = kind.reaches(np.array([1]), left - math.log(0.95), UP)[0]
    down = kind.reaches(np.array([0]), spent - math.log(0.95), DOWN)[0]
    with np.errstate(invalid="ignore"):
        best = np.nanmax(np.where((up == -np.inf) | (down == -np.inf), -np.inf, up + down))
    assert best * (1.0 - 1e-9) <= found <= 1.02 * best


def test_an_adversary_who_sees_every_reading_does_not_break_the_bound():
    """δ = 0.5, eight options, scatters from 1 to 40 that nobody knows; 12 or 40 studies.

    Products of t-mixtures at the ordinary level are what such sampling breaks. Half of all studies may be
    wrong; 36 of 40 or more would be chance in 1e-7 of cases, 12 of 12 in 2.5e-4.
    """
    studies, too_many = effort((12, 12), (40, 36))
    means, sds, wrong = -0.3 * np.arange(8.0), np.geomspace(1.0, 40.0, 8), 0
    levels = levels_for(8, 0.5, 12.0, STACKS)
    for seed in range(studies):
        rng = np.random.default_rng([12, seed])

        def half_widths(told):
            return SeparateOptions([own(told)], levels).half_widths

        wrong += ever_wrong(
            means, lambda k, count, rng=rng: means[k] + sds[k] * rng.standard_normal(count),
            half_widths, looks=25, batch=2, rng=rng,
        )  # fmt: skip
    assert wrong < too_many


def bisected(kind, level, far):
    """Where the evidence reaches a level, by halving, 80 times."""
    low, high = -far, far
    for _ in range(80):
        middle = 0.5 * (low + high)
        over = kind.log_e(np.array([0]), np.array([[middle]]), UP).value[0, 0] >= level
        low, high = (low, middle) if over else (middle, high)
    return high


@pytest.mark.parametrize("count", [2.0, 3.0, 4.5, 17.0, 400.0, 1e5])
def test_reaches_are_never_too_small_and_hardly_too_large(count):
    rng = np.random.default_rng(int(count))
    kind = of_sums(count, squares=count)  # one reading scatters by about 1
    levels = np.sort(rng.uniform(-8.0, 45.0, 20))
    reaches_ = kind.reaches(np.array([0]), levels, UP)[0]
    error = count**-0.5
    for level, reach in zip(levels, reaches_, strict=True):
        if 1e-9 * error < abs(reach) < 1e6:
            exactly = bisected(kind, level, 2.0 * abs(reach) + error)
            assert exactly - 1e-12 * (error + abs(exactly)) <= reach
            assert reach <= exactly + 2e-10 * (error + abs(exactly))
