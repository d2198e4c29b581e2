"""Studies whose readings scatter by each option's own amount, and studies of readings between bounds."""

import numpy as np
import pytest
from tests.support.studies_in_time import study_at

import noisewise as nw
from noisewise.study.models.scatter import has_own_scatter

OPTIONS = ("A", "B", "C")
SDS = dict(zip(OPTIONS, (0.2, 1.0, 3.0), strict=True))
MEANS = dict(zip(OPTIONS, (5.0, 3.0, 1.0), strict=True))


def tellings(seed=0, rounds=6, size=4):
    """Options with their readings, whose scatter differs from option to option."""
    rng = np.random.default_rng(seed)
    return [
        (option, np.round(rng.normal(MEANS[option], SDS[option], size), 3).tolist())
        for _ in range(rounds)
        for option in OPTIONS
    ]


def told(rows=None, **question):
    study = nw.create_study(options=list(OPTIONS), **({"eps": 0.5} | question))
    for option, values in tellings() if rows is None else rows:
        study.tell(option=option, values=values)
    return study


def bounded_study(rows, **question):
    return told(rows, **({"measure": nw.Ratings(0.0, 10.0)} | question))


def test_readings_of_unequal_scatter_are_certified_without_waiting():
    certificate = told().certificate()
    assert (certificate.option, certificate.withheld) == ("A", ())
    assert certificate.reached
    assert any("of its own" in line for line in certificate.assumptions)


def test_pooled_scatter_of_such_readings_is_found_out_and_own_scatter_advised():
    study = told(errors=nw.Errors(scatter="pooled"))
    assert study.certificate().withheld
    assert "scatter=own" in str(study.check())


def test_the_first_measurement_decides_where_nothing_is_declared():
    for first in ({"instrument": "scale"}, {"block": "Monday"}):
        study = nw.create_study(options=list(OPTIONS), eps=0.5)
        study.tell(option="A", values=[5.0, 5.1, 4.9], **first)
        for option, values in tellings():
            study.tell(option=option, values=values)
        assert not any("of its own" in line for line in study.certificate().assumptions)
    study = nw.create_study(options=list(OPTIONS), eps=0.5)
    study.tell(option="A", value=5.0, se=0.1)
    assert not study.analysis().own_scatter
    study = nw.create_study(options=list(OPTIONS), eps=0.5)
    study.tell(option="A", values=[5.0, 5.2])
    study.amend("m-1", "misread", value=5.0, se=0.1)  # as it was told at first decides
    assert study.analysis().own_scatter


def test_it_does_not_matter_in_how_many_measurements_readings_are_told():
    rows = tellings()
    whole = [(option, [x for name, values in rows if name == option for x in values]) for option in OPTIONS]
    apart = told(rows).certificate()
    assert told(whole).certificate().bound == pytest.approx(apart.bound, rel=1e-9)
    bounds = (-20.0, 30.0)
    assert told(whole, measure=nw.Ratings(*bounds)).certificate().bound == pytest.approx(
        told(rows, measure=nw.Ratings(*bounds)).certificate().bound, rel=1e-7
    )
    with_sums = nw.create_study(options=list(OPTIONS), eps=0.5)
    for option, values in rows:
        with_sums.tell(
            option=option, value=float(np.mean(values)), sd=float(np.std(values, ddof=1)), n=len(values)
        )
    assert with_sums.certificate().bound == pytest.approx(apart.bound, rel=1e-9)


def test_single_values_without_an_error_bar_are_readings_of_their_option():
    rows = tellings()
    study = nw.create_study(options=list(OPTIONS), eps=0.5, errors=nw.Errors(scatter="own"))
    for option, values in rows:
        for value in values:
            study.tell(option=option, value=value)
    assert study.certificate().bound == pytest.approx(told(rows).certificate().bound, rel=1e-9)


def test_ratings_of_few_readings_are_bounded_whatever_their_law():
    rng = np.random.default_rng(1)
    rows = [
        (option, rng.choice([0.0, 10.0], 60, p=[1.0 - share, share]).tolist())
        for option, share in (("A", 0.95), ("B", 0.3), ("C", 0.2))
    ]
    certificate = bounded_study(rows).certificate()
    assert (certificate.option, certificate.bound) == ("A", 0.0)
    assert any("between 0 and 10" in line for line in certificate.assumptions)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({"measure": "ratings:3"}, "`measure` must be"),
        ({"measure": nw.Ratings(1.0, 1.0)}, "with low below high"),
        ({"measure": nw.Ratings(5.0, 1.0)}, "with low below high"),
        ({"measure": nw.Ratings(0.0, float("inf"))}, "`measure` must lie between"),
        ({"errors": nw.Errors(scatter="mine")}, "`scatter` must be one of 'own', 'pooled'"),
        ({"errors": nw.Errors(scatter="own", extra=0.1)}, "is a contradiction"),
    ],
)
def test_what_cannot_be_declared_is_refused(made, said):
    with pytest.raises(ValueError, match=said):
        nw.create_study(options=list(OPTIONS), eps=0.5, **made)


def test_readings_that_agree_to_the_last_digit_wait_for_a_noise_floor():
    rows = [*tellings(), *[("C", [1.0, 1.0, 1.0])] * 2]
    same = [(option, values) for option, values in rows if option != "C"] + [("C", [1.0, 1.0, 1.0])] * 2
    assert "noise_floor" in told(same).certificate().withheld[0]
    with_floor = told(same, errors=nw.Errors(floor=0.05)).certificate()
    assert not with_floor.withheld
    assert np.isfinite(with_floor.bound)


def test_measurements_of_one_option_that_drift_apart_are_found_out():
    rng = np.random.default_rng(3)
    rows = [
        (option, (MEANS[option] + 0.1 * rng.normal(size=4)).tolist()) for option in OPTIONS for _ in range(3)
    ]
    assert told(rows).check().ok
    rows.append(("B", (MEANS["B"] + 2.0 + 0.1 * rng.normal(size=4)).tolist()))
    check = told(rows).check()
    assert not check.ok
    assert "measurements of B differ" in check.problems[0]


def test_few_readings_are_asked_for_before_bounds_are_finite():
    study = told(tellings(rounds=1, size=2))
    assert np.isinf(study.certificate().bound)
    rng = np.random.default_rng(5)
    for _ in range(60):
        if study.certificate().reached:
            break
        for job in study.ask(2):
            study.tell(job, values=rng.normal(MEANS[job.option], SDS[job.option], 3).tolist())
    assert study.certificate().option == "A"
    assert study.certificate().reached


@pytest.mark.parametrize("count", [3, 6, 7, 20])
@pytest.mark.parametrize(
    ("question", "told"),
    [
        ({}, {}),
        ({}, {"instrument": "scale"}),
        ({}, {"block": "Monday"}),
        ({"errors": nw.Errors(scatter="pooled")}, {}),
        ({"scale": "log", "eps": "1%"}, {}),
    ],
)
def test_equal_readings_say_nothing_of_their_scatter_however_their_mean_is_rounded(count, question, told):
    study = nw.create_study(options=["A", "B"], **({"eps": 0.01} | question))
    for _ in range(3):
        study.tell(option="A", values=[0.4] * count, **told)
        study.tell(option="B", values=[0.7] * count, **told)
    assert study.certificate().withheld
    assert not study.certificate().reached


def test_what_is_told_later_does_not_change_how_scatter_is_treated():
    readings, error_bars = (
        {"option": "A", "value": 1.0, "sd": 0.3, "n": 5},
        {"option": "B", "value": 0.0, "se": 0.1},
    )
    clock = lambda: 0.0  # noqa: E731 - moments are told apart by what is told together, not by their times
    first, second = (study_at(clock, options=["A", "B"], eps=0.5) for _ in range(2))
    for row in (readings, error_bars):
        first.tell(**row)
    for row in (error_bars, readings):
        second.tell(**row)
    assert has_own_scatter(first._log.state)
    assert not has_own_scatter(second._log.state)
    for study in (first, second):
        assert has_own_scatter(nw.load_study(study._log.storage)._log.state) == has_own_scatter(
            study._log.state
        )
        study.void("m-1", "wrong")
        assert has_own_scatter(study._log.state) == (study is first)
