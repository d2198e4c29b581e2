"""Studies whose readings scatter by each option's own amount, and studies of readings between bounds."""

import json

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
    assert not study._now().own_scatter
    study = nw.create_study(options=list(OPTIONS), eps=0.5)
    study.tell(option="A", values=[5.0, 5.2])
    study.amend("m-1", "misread", value=5.0, se=0.1)  # as it was told at first decides
    assert study._now().own_scatter


@pytest.mark.parametrize("question", [{}, {"goal": "min"}, {"measure": nw.Ratings(-20.0, 30.0)}])
def test_the_order_of_telling_does_not_matter(question):
    rows = tellings()
    turned = [rows[0], *rows[:0:-1]]  # the first decides whose scatter it is
    one, other = (told(order, **question).certificate() for order in (rows, turned))
    assert (one.option, one.bound, one.data) == (other.option, other.bound, other.data)


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


@pytest.mark.parametrize("question", [{}, {"measure": nw.Ratings(-20.0, 30.0)}])
def test_units_and_goal_are_a_matter_of_words(question):
    rows = tellings(rounds=3)
    bound = told(rows, **question).certificate().bound
    low, high = -20.0, 30.0
    turned = [(option, [-100.0 * x for x in values]) for option, values in rows]
    other = {"measure": nw.Ratings(-100.0 * high, -100.0 * low)} if question else {}
    found = told(turned, goal="min", eps=50.0, **other).certificate()
    assert found.option == "A"
    assert found.bound / 100.0 == pytest.approx(bound, rel=1e-6)


@pytest.mark.parametrize("question", [{}, {"measure": nw.Ratings(-20.0, 30.0)}])
def test_what_is_voided_or_amended_is_as_if_it_had_been_told_right(question):
    rows = tellings()
    study = told(rows, **question)
    study.tell(option="B", values=[9.0, 9.5, 8.7, 9.9])
    assert study.certificate().bound != told(rows, **question).certificate().bound
    study.void("m-19", "wrong sample")
    assert study.certificate().bound == told(rows, **question).certificate().bound
    study.amend("m-2", "misread", values=[3.0, 2.0, 4.5, 1.9])
    changed = [*rows[:1], ("B", [3.0, 2.0, 4.5, 1.9]), *rows[2:]]
    assert study.certificate().bound == told(changed, **question).certificate().bound


def test_single_readings_between_bounds_are_kept_in_the_log():
    study = bounded_study([("A", [1.0, 2.5, 9.0])])
    study.tell(option="B", value=3.0)
    first, second = (event.body for event in study.events() if event.kind == "tell")
    assert (first["values"], first["kind"], first["readings"]) == ([1.0, 2.5, 9.0], "bounded", 3)
    assert first["sigma"] == pytest.approx(5.0 / 3.0**0.5)
    assert "values" not in second
    assert (second["value"], second["kind"]) == (3.0, "bounded")


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


def test_own_scatter_is_refused_for_options_that_share_features():
    with pytest.raises(ValueError, match="options that share nothing"):
        nw.create_study(
            options={"id": ["A", "B"], "x": [0.0, 1.0]},
            model="linear",
            eps=0.1,
            errors=nw.Errors(scatter="own"),
        )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"value": 10.5}, "10.5 lies outside of the bounds of this study, 0 to 10"),
        ({"values": [1.0, -0.1]}, "-0.1 lies outside of the bounds"),
        ({"values": []}, "at least one reading"),
    ],
)
def test_readings_outside_of_the_bounds_are_refused(given, said):
    study = bounded_study([])
    with pytest.raises(ValueError, match=said):
        study.tell(option="A", **given)
    assert len(study.events()) == 0


def test_values_with_an_error_bar_and_differences_are_not_bounded():
    study = bounded_study([])
    study.tell(option="A", value=10.5, se=1.0)
    study.tell(plus="A", minus="B", value=-3.0, se=1.0)
    study.tell(plus="A", minus="B", values=[-3.0, -2.0])
    assert [measurement["kind"] for measurement in study.frame("measurements").to_dicts()] == [
        "known", "known", "readings",
    ]  # fmt: skip


def test_a_value_alone_does_not_take_the_place_of_kept_readings():
    study = bounded_study([("A", [1.0, 2.5, 9.0])])
    with pytest.raises(ValueError, match="3 readings, which are kept"):
        study.amend("m-1", "misread", value=4.0)
    study.amend("m-1", "sure", note="checked")
    assert study.events()[-1].body["content"]["values"] == [1.0, 2.5, 9.0]


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


def test_other_evidence_about_the_same_option_counts_as_well():
    rows = [(option, values) for option, values in tellings(rounds=3) if option != "A"]
    study = told(rows)
    study.tell(option="A", value=5.0, se=0.05)
    before = study.certificate()
    assert (before.option, before.withheld) == ("A", ())
    for option in ("B", "C"):
        study.tell(option=option, value=MEANS[option], se=0.05)
    assert study.certificate().bound == 0.0 <= before.bound


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


def test_equal_single_values_of_an_options_own_scatter_say_nothing_of_it():
    study = nw.create_study(options=["A", "B"], eps=0.01, errors=nw.Errors(scatter="own"))
    for _ in range(7):
        study.tell(option="A", value=0.4)
        study.tell(option="B", value=0.7)
    assert study.certificate().withheld


def some(count, *, options="ABC", sign=1, blocks="", **error_bar):
    """Measurements of several options with one kind of error bar; every second one in another block."""
    values = [i % len(options) + sign * 0.02 * i for i in range(count)]
    where = [{"block": blocks[i % 2]} if blocks else {} for i in range(count)]
    return [
        {"option": options[i % len(options)], "value": values[i], **error_bar, **where[i]}
        for i in range(count)
    ]


#: Tables whose rows have different kinds of error bars.
MIXED = {
    "readings and error bars": [*some(4, options="AB", sd=0.3, n=7), *some(6, sign=-1, se=0.3)],
    "mostly readings": [*some(6, sd=0.3, n=7), *some(2, options="AB", sign=-1, se=0.3)],
    "readings with and without an instrument": [
        *some(6, sd=0.3, n=9, instrument="i"), *some(6, sign=-1, sd=0.3, n=8)
    ],
    "readings, counts and error bars": [
        *({"option": "ABC"[i], "successes": 6 * i + 1, "trials": 20} for i in range(3)),
        *({"option": "ABC"[i], "value": 0.3 * i, "sd": 0.1, "n": 9} for i in range(3)),
        {"option": "A", "value": 0.1, "se": 0.1},
    ],
    "readings in blocks and without": [*some(6, sd=0.3, n=12, blocks="yx"), *some(3, sign=-1, sd=0.3, n=9)],
}  # fmt: skip


def facts_of_table(rows, **question):
    study = nw.create_study(options=["A", "B", "C"], eps=0.5, **question)
    study.tell_many(rows)
    plain = json.loads(study.certificate().to_json())
    del plain["head"]
    return plain


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize("question", [{}, {"errors": nw.Errors(scatter="pooled")}], ids=["", "pooled"])
def test_the_order_of_a_tables_rows_does_not_decide_the_certificate(name, question):
    rows = MIXED[name]
    right = facts_of_table(rows, **question)
    rng = np.random.default_rng(7)
    for order in (range(len(rows))[::-1], *(rng.permutation(len(rows)) for _ in range(3))):
        found = facts_of_table([rows[place] for place in order], **question)
        assert found == right | {
            field: pytest.approx(right[field], rel=1e-9) for field in right if type(right[field]) is float
        }


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
    assert has_own_scatter(first._state)
    assert not has_own_scatter(second._state)
    for study in (first, second):
        assert has_own_scatter(nw.load_study(study._storage)._state) == has_own_scatter(study._state)
        study.void("m-1", "wrong")
        assert has_own_scatter(study._state) == (study is first)
