"""Bets on readings between bounds, against their definition."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests.support.effort import effort
from tests.support.sampling_adversary import ever_wrong

from noisewise.study.evidence.bounded import SAFETY, STAKES, BoundedReadings
from noisewise.study.evidence.half_widths import SeparateOptions
from noisewise.study.evidence.kind import DOWN, UP
from noisewise.study.evidence.levels import levels_for
from noisewise.study.evidence.search import reaches

BOUNDS = (1.0, 5.0)
READINGS = st.lists(st.floats(*BOUNDS), min_size=1, max_size=30)


def bounded(readings, bounds=BOUNDS, sign=1.0):
    """One option per list of readings."""
    options = np.repeat(np.arange(len(readings)), [len(some) for some in readings])
    estimate = np.array([np.mean(some) for some in readings])
    return BoundedReadings(options, np.concatenate(readings), bounds, estimate, sign)


def product_of_bets(readings, mean, bounds=BOUNDS, upwards=True):
    """The logarithm of the average over stakes of the product over readings, one by one."""
    low, high = bounds
    readings = np.asarray(readings, dtype=float)
    if not upwards:
        mean, readings, low, high = -mean, -readings, -high, -low
    logs = [sum(math.log(1.0 + stake * (mean - x) / (high - mean)) for x in readings) for stake in STAKES]
    return float(np.logaddexp.reduce(logs)) - math.log(len(logs))


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("side", [UP, DOWN])
def test_the_evidence_is_the_product_of_bets_and_never_more(side, sign):
    rng = np.random.default_rng(3)
    for size in (1, 2, 40, 700):
        readings = 1.0 + 4.0 * rng.beta(2.0, 5.0, size)
        kind, upwards = bounded([readings], sign=sign), side * sign > 0.0
        for share in (0.01, 0.2, 0.4, 0.9, 0.999):
            mean = 1.0 + 4.0 * share
            z = side * sign * (mean - readings.mean())
            found = kind.log_e(np.array([0]), np.array([[z]]), side).value[0, 0]
            expected = product_of_bets(readings, mean, upwards=upwards)
            assert expected - 2.0 * SAFETY * size - 1e-11 * abs(expected) <= found <= expected


@pytest.mark.parametrize("side", [UP, DOWN])
def test_bets_are_fair_whatever_the_law(side):
    """All sequences of four readings from a law of three points: evidence against its mean averages 1."""
    points, chances = np.array([1.0, 2.5, 5.0]), np.array([0.5, 0.3, 0.2])
    mean = float(points @ chances)
    total = 0.0
    for places in itertools.product(range(3), repeat=4):
        readings = points[list(places)]
        z = side * (mean - readings.mean())
        found = bounded([readings]).log_e(np.array([0]), np.array([[z]]), side).value[0, 0]
        total += math.prod(chances[list(places)]) * math.exp(found)
    assert total == pytest.approx(1.0, abs=1e-6)
    assert total <= 1.0


@settings(max_examples=effort(10, 50), deadline=None)
@given(READINGS, st.sampled_from([UP, DOWN]), st.sampled_from([1.0, -1.0]))
def test_evidence_never_falls_and_is_convex(readings, side, sign):
    kind = bounded([readings], sign=sign)
    low, high = (end[0] for end in kind.ends(np.array([0]), side))
    z = np.linspace(low, high - 0.02 * (high - low), 300)
    found = kind.log_e(np.array([0]), z[None], side)
    assert (np.diff(found.value[0]) >= -1e-9).all()
    # The error of interpolation is 3e-9 a reading.
    assert (np.diff(found.value[0], 2) >= -4e-8 * len(readings)).all()
    assert (found.slope >= -1e-9).all()


@settings(max_examples=effort(6, 30), deadline=None)
@given(READINGS, st.sampled_from([UP, DOWN]))
def test_a_reach_is_where_the_product_of_bets_reaches_the_level(readings, side):
    levels = np.array([-0.5, 0.5, 3.0, 8.0])
    mean = float(np.mean(readings))
    for level, reach in zip(
        levels, reaches([bounded([readings])], np.array([0]), levels, side)[0], strict=True
    ):
        at = mean + side * reach
        bound = 5.0 if side == UP else 1.0
        if reach == -np.inf:  # nothing is possible: not even the other bound
            other = BOUNDS[0] + BOUNDS[1] - bound
            assert product_of_bets(readings, other, upwards=side == UP) >= level - 1e-6
        elif abs(at - bound) > 1e-6:
            assert product_of_bets(readings, at, upwards=side == UP) == pytest.approx(level, abs=1e-5)


def test_goal_units_and_mirror_images_change_nothing():
    rng = np.random.default_rng(7)
    lists = [1.0 + 4.0 * rng.beta(2.0, 5.0, size) for size in (5, 30, 12)]
    levels = levels_for(3, 0.04, 12.0)
    half = [SeparateOptions([bounded(lists)], levels).half_widths(k) for k in range(3)]
    mirrored = [6.0 - values for values in lists]
    least = [SeparateOptions([bounded(mirrored, sign=-1.0)], levels).half_widths(k) for k in range(3)]
    assert_allclose(half, least, rtol=1e-7)
    scaled = [-7.0 + 100.0 * values for values in lists]
    large = SeparateOptions([bounded(scaled, (93.0, 493.0))], levels)
    assert_allclose(half, [large.half_widths(k) / 100.0 for k in range(3)], rtol=1e-7)


def test_readings_at_a_bound_and_all_equal_ones_are_taken():
    levels = np.array([1.0, 5.0])
    for value in (*BOUNDS, 2.0):
        kind = bounded([[value] * 50])
        for side in (UP, DOWN):
            reach = reaches([kind], np.array([0]), levels, side)[0]
            at_end = value == (5.0 if side == UP else 1.0)
            assert np.isfinite(reach).all()
            assert (reach == 0.0).all() if at_end else (np.diff(reach) > 0.0).all()


def test_an_adversary_who_sees_every_reading_does_not_break_the_bound():
    """δ = 0.5: half of all studies may be wrong.

    36 of 40 or more would be chance in 1e-7 of cases, 12 of 12 in 2.5e-4.
    """
    studies, too_many = effort((12, 12), (40, 36))
    means, wrong = np.array([0.3, 0.25, 0.22]), 0
    levels = levels_for(3, 0.5, 12.0)
    for seed in range(studies):
        rng = np.random.default_rng([11, seed])

        def half_widths(told):
            return SeparateOptions([bounded(told, (0.0, 1.0))], levels).half_widths

        wrong += ever_wrong(
            means, lambda k, count, rng=rng: rng.beta(2.0 * means[k], 2.0 * (1.0 - means[k]), count),
            half_widths, looks=15, batch=4, rng=rng,
        )  # fmt: skip
    assert wrong < too_many
