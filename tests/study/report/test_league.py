"""League tables: the best first, intervals of the certificate, as text, for programs and for notebooks."""

import copy
import pickle
import re

import pytest

import noisewise as nw


def told_study(**question):
    study = nw.create_study(options=["a", "b", "c"], **{"eps": 0.5, **question})
    for option, value in (("a", 1.0), ("b", 3.0), ("c", 2.8)):
        study.tell(option=option, value=value, se=0.1)
    return study


def test_rows_are_sorted_and_their_intervals_are_the_certificates():
    study = told_study()
    league, certificate = study.league(), study.certificate()
    assert [row.option for row in league.rows] == ["b", "c", "a"]
    assert [row.may_be_best for row in league.rows] == [True, True, False]
    second = league.rows[1]
    assert second.low < 2.8 < second.high
    assert second.high - 3.0 == pytest.approx(certificate.bound)
    assert league.rows[0].low is None
    assert study.league().to_dict()[0] == {
        "option": "b", "estimate": 3.0, "low": None, "high": None, "count": 1, "may_be_best": True,
        "good_enough": True,
    }  # fmt: skip
    lines = str(league).splitlines()
    assert lines[0].split() == ["option", "estimate", "within", "0.5"]
    assert lines[1].split()[0] == "b"
    assert lines[-1].startswith("Intervals: uncertainty of the difference to b, with 95 % confidence")


def test_smaller_values_are_best_where_the_goal_says_so():
    assert [row.option for row in told_study(goal="min").league().rows] == ["a", "c", "b"]


def test_against_one_option():
    study = told_study()
    league = study.league("a")
    assert league.heading == "minus a"
    ends = {row.option: (row.low, row.estimate, row.high) for row in league.rows}
    assert ends["a"] == (None, 0.0, None)
    assert ends["b"][0] < 2.0 < ends["b"][2]
    assert ends["b"][1] == pytest.approx(2.0)
    with pytest.raises(ValueError, match="There is no option 'aa' here"):
        study.league("aa")


def test_differences_where_nothing_else_is_known():
    study = nw.create_study(options=["a", "b"], eps=0.5)
    study.tell(plus="a", minus="b", value=1.0, se=0.1)
    league = study.league()
    assert league.heading == "minus a"
    assert [row.estimate for row in league.rows] == [0.0, -1.0]


def test_nothing_was_measured_or_the_certificate_is_withheld():
    empty = nw.create_study(options=["a", "b"], eps=0.5)
    assert empty.league().rows == ()
    assert str(empty.league()) == ""
    assert "<table" not in empty._repr_html_()
    study = nw.create_study(options=["a", "b"], eps=0.5)
    for value in (0.0, 5.0):
        for option in "ab":
            study.tell(option=option, value=value, se=0.1)
    assert study.certificate().withheld
    assert all(row.may_be_best is None for row in study.league().rows)
    assert "one standard error" in str(study.league())


def test_many_options_are_cut_and_names_are_escaped():
    study = nw.create_study(options=[f"<b>{k}" for k in range(40)], eps=0.5)
    study.tell_many([{"option": f"<b>{k}", "value": float(k), "se": 0.1} for k in range(40)])
    assert "... and 16 more" in str(study.league())
    drawn = study.league()._repr_html_()
    assert "<b>39" not in drawn.replace("<b>&lt;b&gt;39", "")
    assert drawn.count("<svg") == 24


def test_notebooks_show_the_league_table_with_its_chart():
    study = told_study()
    certificate = study.certificate()
    for shown in (study, certificate, study.check(), study.league()):
        assert shown._repr_html_().count("<svg") == 3
        assert "<script" not in shown._repr_html_()
    # Numbers of the drawing lie inside of it.
    at = [float(x) for x in re.findall(r"(?:cx|x1|x2)='([\d.]+)'", study._repr_html_())]
    assert min(at) >= 0.0
    assert max(at) <= 260.0
    assert "<svg" in nw.read_table({"a": [1, 2, 3], "b": [4, 5, 6]}).answer()._repr_html_()
    assert "Until the bound" in study.plan(eps=0.05, paths=3, on=1)._repr_html_()
    # A certificate that was kept shows no table of later measurements, and travels without its study.
    study.tell(option="a", value=1.1, se=0.1)
    assert "<svg" not in certificate._repr_html_()
    for twin in (pickle.loads(pickle.dumps(certificate)), copy.deepcopy(certificate)):
        assert twin.to_json() == certificate.to_json()
