"""The worlds in which asking is compared, and the arithmetic of the comparison."""

import math

import numpy as np
import pytest
from tests.support.asking_worlds import NAMED, OTHERS, WORLDS, Drawn
from tests.support.geometric import geometric_ratio

import noisewise as nw


def test_the_ratio_is_the_geometric_mean_of_pairs():
    assert geometric_ratio([1.0, 8.0], [2.0, 4.0]).mean == pytest.approx(1.0)
    assert geometric_ratio([10.0, 10.0, 10.0], [20.0, 40.0, 80.0]).mean == pytest.approx(0.25)


def test_the_interval_of_a_ratio_is_students_of_its_logarithm():
    logs = np.log([0.5, 0.7, 0.4, 0.9])
    found = geometric_ratio(np.exp(logs).tolist(), [1.0] * 4)
    reach = 3.182446 * logs.std(ddof=1) / 2.0  # the 97.5 % quantile with 3 degrees of freedom
    assert found.low == pytest.approx(math.exp(logs.mean() - reach), rel=1e-6)
    assert found.high == pytest.approx(math.exp(logs.mean() + reach), rel=1e-6)


def test_the_interval_covers_as_often_as_it_says():
    rng = np.random.default_rng(1)
    true = 0.8
    hits = 0
    for _ in range(1000):
        old = rng.uniform(50.0, 200.0, size=12)
        found = geometric_ratio(old * true * np.exp(0.3 * rng.standard_normal(12)), old)
        hits += found.low <= true <= found.high
    assert 925 <= hits <= 972  # 950 expected, three standard deviations are 21


def test_one_pair_says_nothing_about_the_spread():
    assert geometric_ratio([1.0], [2.0]) == (0.5, 0.0, math.inf)


def test_a_ratio_of_nothing_or_of_unequal_numbers_is_refused():
    with pytest.raises(ValueError, match="must be pairs; got 0 and 0"):
        geometric_ratio([], [])
    with pytest.raises(ValueError, match="must be pairs; got 2 and 1"):
        geometric_ratio([1.0, 2.0], [1.0])


def test_every_world_has_a_name_of_its_own():
    assert len(WORLDS) == len(NAMED) + len(OTHERS)


@pytest.mark.parametrize("world", WORLDS.values(), ids=lambda world: world.name)
def test_a_world_is_the_same_for_the_same_seed_and_another_for_another(world):
    assert Drawn(world, 7).content() == Drawn(world, 7).content()
    assert Drawn(world, 7).content() != Drawn(world, 8).content()


@pytest.mark.parametrize("world", WORLDS.values(), ids=lambda world: world.name)
def test_a_study_of_every_world_can_be_begun_and_takes_its_measurements(world):
    drawn = Drawn(world, 3)
    study = nw.create_study(**drawn.question())
    for number in range(6):
        option = number % world.options
        told = {"se": drawn.sigma(number, option), "block": drawn.block(number)}
        if world.differences:
            minus = (option + 1) % world.options
            plus = {"plus": drawn.names[option], "minus": drawn.names[minus]}
            study.tell(**plus, value=drawn.value(number, option, minus), se=told["se"])
        else:
            study.tell(option=drawn.names[option], value=drawn.value(number, option), **told)
    assert study.n_measurements == 6


def test_noise_and_error_bars_belong_to_the_number_of_the_measurement_whatever_is_measured():
    drawn = Drawn(WORLDS["two instruments, announced"], 5)
    errors = [drawn.value(11, option) - drawn.truth[option] for option in (0, 4, 13)]
    assert errors == pytest.approx([errors[0]] * 3)
    assert {drawn.sigma(number) for number in range(50)} == {0.3, 1.0}


def test_noise_of_options_belongs_to_the_option():
    drawn = Drawn(WORLDS["loud and quiet options"], 5)
    assert drawn.sigma(0, 3) == drawn.sigma(17, 3)
    assert {drawn.sigma(0, option) for option in range(20)} == {0.25, 1.0}


def test_a_day_has_an_offset_that_leaves_differences_alone():
    drawn = Drawn(WORLDS["days, eight options"], 2)
    assert [drawn.block(number) for number in (0, 4, 5)] == ["day 001", "day 001", "day 002"]
    level = {day: drawn.value(5 * day, 0) - drawn.truth[0] - 0.5 * drawn._noise[5 * day] for day in (0, 1)}
    assert level[0] != pytest.approx(level[1])
    assert drawn.value(3, 1, minus=1) == pytest.approx(0.5 * drawn._noise[3])


def test_where_the_smallest_is_wanted_the_best_has_the_smallest_value():
    drawn = Drawn(WORLDS["fifty options, smallest wanted"], 2)
    best, worst = int(np.argmax(drawn.truth)), int(np.argmin(drawn.truth))
    noise = drawn.world.se * drawn._noise[0]
    assert drawn.value(0, best) - noise == pytest.approx(-drawn.truth.max())
    assert drawn.value(0, best) < drawn.value(0, worst)
