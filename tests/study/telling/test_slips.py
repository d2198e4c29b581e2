"""Warnings when a measurement is told: they name the slip, and change nothing."""

import warnings

import numpy as np
import pytest
from tests.support.effort import effort

import noisewise as nw
from noisewise.study.log.told import MeasurementWarning
from noisewise.study.telling.slips import slips_in


def make(**question):
    return nw.create_study(options=["A", "B", "C"], eps=1.0, **question)


def heard(study, **told):
    """What is said when this is told."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        study.tell(**told)
    return [str(one.message) for one in caught if one.category is MeasurementWarning]


def begun(**question):
    study = make(**question)
    for value in (12.1, 12.25, 12.16):
        assert not heard(study, option="A", value=value, se=0.1)
    assert not heard(study, option="B", value=14.2, se=0.1)
    return study


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"option": "A", "value": 20.4, "se": 0.1}, "71 standard errors"),
        ({"option": "A", "value": 1217.0, "se": 10.0}, r"12\.17 would fit: are the unit"),
        ({"option": "A", "value": 0.01217, "se": 0.0001}, r"12\.17 would fit: are the unit"),
        ({"option": "A", "value": 12.25, "se": 0.1}, "was told before, with the same value"),
        ({"option": "B", "value": 14.3}, "has no error bar, and others have one"),
        ({"option": "C", "value": 9000.0, "se": 100.0}, "of another size than all 4 values"),
    ],
)
def test_a_slip_is_named_when_it_is_told_and_counts_all_the_same(told, said):
    study, number = begun(), 5
    with pytest.warns(MeasurementWarning, match=rf"^m-{number}: .*{said}"):
        assert study.tell(**told).number == number
    assert study.n_measurements == number
    assert slips_in(study.analysis().state, number)


@pytest.mark.parametrize("error", [{"se": 0.1}, {"var": 0.01}, {"ci": (44.8, 45.2)}, {"sd": 0.1, "n": 4}, {}])
def test_values_outside_of_the_bounds_are_refused(error):
    study = make(measure="ratings:1,5")
    with pytest.raises(ValueError, match="45 lies outside of the bounds of this study, 1 to 5"):
        study.tell(option="A", value=45, **error)
    assert study.n_measurements == 0
    study.tell(option="A", value=5.1, se=0.1)  # an estimate may be
    study.tell(plus="A", minus="B", value=-30.0, se=0.1)


def test_the_first_plus_minus_says_how_it_was_read():
    study = make()
    assert "amend it with `sd=0.2` and `n=" in heard(study, option="A", value="9.9 ± 0.2")[0]
    assert not heard(study, option="B", value="9.5 ± 0.2")


def test_readings_in_another_unit_are_named_without_error_bars():
    study = make()
    for value in (3.1, 3.2, 2.9):
        assert not heard(study, option="A", value=value)
    assert "about 1,000 times its earlier values" in heard(study, option="A", value=3100)[0]


def test_corrections_and_other_writers_are_taken_into_account(tmp_path):
    study = nw.create_study(tmp_path / "s.db", options=["A", "B"], eps=1.0)
    study.tell(option="A", value=500.0, se=0.1)
    study.void("m-1", "wrong sample")
    assert not heard(study, option="A", value=5.0, se=0.1)
    other = nw.load_study(tmp_path / "s.db")
    other.tell(option="B", value=9.0, se=0.1)
    assert heard(study, option="B", value=90.0, se=0.1)


def test_honest_measurements_are_hardly_ever_warned_of():
    # Six standard errors of a normal law, with the scatter of a few values: under 1e-7 for each of them.
    rng, study = np.random.default_rng(6), make()
    said = []
    for _ in range(effort(2000, 20000)):
        se = float(rng.uniform(0.1, 3.0))
        said += heard(study, option="ABC"[rng.integers(3)], value=float(rng.normal(10.0, se)), se=se)
    assert not said


def test_no_factor_fits_values_around_zero():
    study = nw.create_study(options=["a", "b"], eps=0.5)
    study.tell(option="a", value=-0.743, se=0.2)
    with pytest.warns(nw.study.MeasurementWarning) as caught:
        study.tell(option="a", value=1.024, se=0.2)
    assert "would fit" not in str(caught[0].message)
    assert "amend it if it is a slip" in str(caught[0].message)
