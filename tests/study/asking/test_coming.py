"""The noise that a coming measurement is expected to have."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests.support.effort import effort

import noisewise as nw
from noisewise.study.asking.pending import DIFFERENCE, expected_noise

NAMES = list("ABCDE")


def study_with(rows):
    """``rows`` are options, or pairs of them, and error bars."""
    study = nw.create_study(options=NAMES, eps=0.1)
    for option, se in rows:
        which = {"option": option} if len(option) == 1 else {"plus": option[0], "minus": option[1]}
        study.tell(**which, value=1.0, se=float(se))
    return study.analysis()


def harmonic(errors):
    """The root of the harmonic mean of variances."""
    return float(np.mean(np.asarray(errors) ** -2.0) ** -0.5)


@settings(max_examples=effort(5, 25))
@given(seed=st.integers(0, 2**32))
def test_expected_noise_does_not_depend_on_the_order_and_lies_within_what_was_seen(seed):
    rng = np.random.default_rng(seed)
    rows = [(str(rng.choice(NAMES)), 10.0 ** rng.uniform(-6, 6)) for _ in range(int(rng.integers(1, 15)))]
    found = expected_noise(study_with(rows), None)
    assert found.shape == (5,)
    assert np.isfinite(found).all()
    assert (found > 0.0).all()
    again = expected_noise(study_with([rows[at] for at in rng.permutation(len(rows))]), None)
    assert (again == found).all()
    errors = [se for _, se in rows]
    never = [at for at, name in enumerate(NAMES) if name not in {option for option, _ in rows}]
    assert_allclose(found[never], harmonic(errors))


def test_noise_that_does_not_belong_to_options_is_the_harmonic_mean():
    """Every option has the same error bars: nothing is between them."""
    rows = [(name, se) for name in NAMES for se in (0.2, 1.0, 3.0)]
    assert_allclose(expected_noise(study_with(rows), None), harmonic([0.2, 1.0, 3.0]))
    once = [(name, se) for name, se in zip(NAMES, (0.1, 0.2, 1.0, 2.0, 5.0), strict=True)]
    assert_allclose(expected_noise(study_with(once), None), harmonic([0.1, 0.2, 1.0, 2.0, 5.0]))
    assert_allclose(expected_noise(study_with([("A", 0.1), ("A", 2.0)]), None), harmonic([0.1, 2.0]))


def test_noise_that_belongs_to_options_is_expected_of_them():
    own = dict(zip(NAMES, (0.1, 0.3, 1.0, 3.0, 10.0), strict=True))
    rng = np.random.default_rng(0)
    rows = [(name, se * np.exp(0.05 * rng.standard_normal())) for name, se in own.items() for _ in range(20)]
    found = expected_noise(study_with(rows), None)
    ratio = found / found[0]
    assert_allclose(ratio, np.array(list(own.values())) / own["A"], rtol=0.1)
    # Seen once it is believed less than seen often.
    few = [("A", 0.1), ("A", 0.3), ("B", 1.0), ("B", 3.0), ("C", 3.0)]
    many = few + [("C", 3.0)] * 5
    low, high = (expected_noise(study_with(rows), None) for rows in (few, many))
    assert low[2] / low[0] < high[2] / high[0]


def test_announced_noise_has_the_extra_scatter_of_the_study_and_nothing_else():
    study = nw.create_study(options=NAMES, eps=0.1, errors=nw.Errors(extra=0.4))
    study.tell(option="A", value=1.0, se=5.0)
    assert_allclose(expected_noise(study.analysis(), 0.3), 0.5)
    assert_allclose(expected_noise(study.analysis(), None), np.hypot(5.0, 0.4))


def test_before_anything_is_measured_it_is_the_difference_that_matters():
    assert_allclose(expected_noise(study_with([]), None), 0.1)


def test_differences_are_as_noisy_as_differences_were():
    rows = [("A", 0.1), ("B", 0.1), ("AB", 2.0), ("BC", 2.0)]
    assert_allclose(expected_noise(study_with(rows), None, DIFFERENCE), 2.0)
    assert_allclose(expected_noise(study_with(rows), None), 0.1)
    assert_allclose(expected_noise(study_with(rows[:2]), None, DIFFERENCE), 0.1)
    assert_allclose(expected_noise(study_with(rows[2:]), None), 2.0)
