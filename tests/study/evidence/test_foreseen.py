"""Half-widths after a measurement that is not made yet are those of a study to which it was told."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import noisewise as nw
from noisewise.study.asking.pending import Coming, expected_manner, expected_noise
from noisewise.study.evidence.half_widths import Foreseen, expected_above
from noisewise.study.telling.error_bars import COUNTS, KNOWN, READINGS

NAMES = list("ABCDE")
#: Successes of eight trials each: as one more success and failure among ten, the shares are 0.2, 0.4 … 0.9.
SUCCESSES = (5, 7, 3, 8, 1)


def known_study(**question):
    """Options with error bars of several sizes."""
    study = nw.create_study(options=NAMES, eps=0.3, **question)
    for name, value, se in zip(NAMES, (0.5, 1.1, -0.2, 1.4, 0.9), (0.5, 0.2, 1.0, 0.7, 0.1), strict=True):
        study.tell(option=name, value=value, se=se)
    return study


def counted_study(**question):
    """Options with successes out of eight trials."""
    study = nw.create_study(options=NAMES, eps=0.1, **question)
    for name, successes in zip(NAMES, SUCCESSES, strict=True):
        study.tell(option=name, successes=successes, trials=8)
    return study


def coming_to(analysis, sigma=None):
    """A measurement as it is usual, or with an error bar that is announced."""
    manner = expected_manner(analysis, sigma)
    return Coming(expected_noise(analysis, sigma), analysis.state.allowed(), manner=manner)


def upper(analysis, leader, half=None):
    """By how much each option may be better than the leader."""
    half = analysis.boundary.half_widths(leader) if half is None else half
    return analysis.certified.differences(leader) + half


def compare(study, tell, sigma=None, leader=3):
    """What is foreseen of every option is what its measurement, told as expected, does."""
    before = study.analysis()
    coming = coming_to(before, sigma)
    foreseen = Foreseen(before.boundary, leader, coming.evidence(before.specification.resolution))
    races = np.array([k for k in range(5) if k != leader])
    options = np.arange(5)
    after, now = foreseen.after(options, races), before.boundary.half_widths(leader)[races]
    for option in options:
        twin = tell(NAMES[option])
        expected = upper(twin, leader)[races]
        assert_allclose(upper(before, leader)[races] - now + after[option], expected, rtol=1e-9, atol=1e-12)
    # More about a rival that is known well may widen its race by a hair: it is for the leader to narrow.
    assert (after <= before.boundary.half_widths(leader)[races] * 1.01).all()
    assert (after[leader] < 0.95 * before.boundary.half_widths(leader)[races]).all()
    return before


@pytest.mark.parametrize("goal", ["max", "min"])
def test_a_value_with_an_error_bar(goal):
    def tell(name):
        study = known_study(goal=goal)
        value = dict(zip(NAMES, (0.5, 1.1, -0.2, 1.4, 0.9), strict=True))[name]
        study.tell(option=name, value=value, se=0.4)
        return study.analysis()

    compare(known_study(goal=goal), tell, sigma=0.4)


@pytest.mark.parametrize("goal", ["max", "min"])
def test_trials_of_which_the_expected_share_are_successes(goal):
    """Ten more at the expected share: whole numbers, that can be told."""

    def tell(name):
        study = counted_study(goal=goal)
        successes = SUCCESSES[NAMES.index(name)] + 1
        study.tell(option=name, successes=successes, trials=10)
        return study.analysis()

    leader = 3 if goal == "max" else 4
    before = compare(counted_study(goal=goal), tell, sigma=0.5 / np.sqrt(10.0), leader=leader)
    coming = coming_to(before)
    more = coming.evidence(before.specification.resolution)
    sign = 1.0 if goal == "max" else -1.0
    shares, expected = np.array(SUCCESSES) / 8.0, (np.array(SUCCESSES) + 1.0) / 10.0
    assert_allclose(more.readings, 8.0)
    assert_allclose(expected_above(before.boundary, more), sign * (expected - shares), atol=1e-12)


def test_an_error_bar_among_counts_and_counts_after_the_list_changed():
    def changed(study):
        study.exclude("C", "sold out")
        study.add_options(["F"])
        study.tell(option="F", successes=4, trials=8)
        return study

    def tell(name):
        study = changed(counted_study())
        study.tell(option=name, successes=SUCCESSES[NAMES.index(name)] + 1, trials=10)
        return study.analysis()

    compare(changed(counted_study()), tell, sigma=0.5 / np.sqrt(10.0))

    def mixed():
        study = counted_study()
        study.tell(option="A", value=0.7, se=0.1)
        return study

    def tell_value(name):
        study = mixed()
        before = study.analysis()
        at = NAMES.index(name)
        study.tell(option=name, value=before.certified.means[at] + before.certified_sums.centre, se=0.05)
        return study.analysis()

    compare(mixed(), tell_value, sigma=0.05)


def test_how_a_measurement_will_be_told():
    assert expected_manner(known_study().analysis(), None).kind == KNOWN
    counted = counted_study()
    assert expected_manner(counted.analysis(), None).kind == COUNTS
    assert expected_manner(counted.analysis(), 0.1).kind == COUNTS
    assert_allclose(expected_manner(counted.analysis(), None).amount(np.array([0.05])), 100.0)
    counted.tell(option="A", value=0.7, se=0.1)
    assert expected_manner(counted.analysis(), None).kind == COUNTS
    assert expected_manner(counted.analysis(), 0.1).kind == KNOWN
    readings = nw.create_study(options=NAMES, eps=0.3)
    for name in NAMES:
        readings.tell(option=name, values=[1.0, 1.1, 0.8, 0.9])
        readings.tell(option=name, values=[1.0, 1.2, 0.7, 0.8], instrument="new")
    readings.tell(option="A", values=[1.0, 1.2], instrument="new")
    usual = expected_manner(readings.analysis(), None)
    assert usual.kind == READINGS
    assert (usual.readings, readings.analysis().columns.pools[usual.pool]) == (4.0, "instrument new")
    assert expected_manner(nw.create_study(options=NAMES, eps=0.3).analysis(), None).kind == KNOWN
