"""Readers of tables: sums, and effects with their variances."""

import numpy as np
import pytest

import noisewise as nw
from noisewise.readers import ResultFile


def read_text(text, reader, **choices):
    return nw.readers.read(ResultFile(None, text.encode(), "table.csv"), reader, **choices)


def test_sums_say_what_the_readings_say():
    rng = np.random.default_rng(3)
    readings = {name: rng.gamma(2.0, 30.0, 500) for name in ("control", "new")}
    lines = [f"{name},{x.size},{x.sum()!r},{(x**2).sum()!r}" for name, x in readings.items()]
    text = "variant,n,sum,sum_squares\n" + "\n".join(lines).replace("np.float64(", "").replace(")", "")
    for row in read_text(text, "sums").rows:
        x = readings[row.fields["option"]]
        assert row.fields["value"] == pytest.approx(x.mean(), rel=1e-12)
        assert row.fields["sd"] == pytest.approx(x.std(ddof=1), rel=1e-9)
        assert row.fields["n"] == 500


def test_columns_may_be_called_anything():
    text = "who;how many;s1;s2\na;3;6;14\nb;2;3,0;4,6\n"
    readout = read_text(text, "sums", option="who", n="how many", sum="s1", sum_squares="s2")
    assert [dict(row.fields) for row in readout.rows] == [
        {"option": "a", "value": 2.0, "sd": 1.0, "n": 3},
        {"option": "b", "value": 1.5, "sd": pytest.approx(0.1**0.5), "n": 2},
    ]


def test_columns_that_are_not_used_are_said_and_nights_are_asked_for():
    text = "night,variant,n,sum,ss\n1,a,3,6,14\n1,b,3,7,19\n2,a,3,7,19\n2,b,3,6,14\n"
    readout = read_text(text, "sums")
    assert readout.notes[0] == "Columns not used: night."
    assert readout.notes[1].startswith("Options have several rows; if these are days or sites, choose")
    said = read_text(text, "sums", blocks="night")
    assert said.notes == ()
    assert [row.fields["block"] for row in said.rows] == ["1", "1", "2", "2"]


def test_two_columns_that_could_be_n_are_refused():
    text = "variation,users,count,main_sum,main_sum_squares\na,10,7,5,30\n"
    with pytest.raises(ValueError, match="'count' and 'users' could both be n; name it by choosing `n="):
        read_text(text, "sums")
    assert read_text(text, "sums", n="users").rows[0].fields["n"] == 10


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        ("10,100,900", r"line 2 \(a\): no 10 numbers have the sum 100 and the sum of squares 900"),
        ("10,1.1e9,1.21e17", "rounding has eaten the scatter"),
        ("10,5,-1", "a sum of squares cannot be negative"),
        ("0,5,30", "n must be a whole number above 0; got 0"),
        ("2.5,5,30", "n must be a whole number above 0; got 2.5"),
        ("10,,30", r"line 2 \(a\): sum is missing"),
        ("10,five,30", "`sum` must be a number; got 'five'"),
        ("ten,5,30", "`n` must be a number; got 'ten'"),
    ],
)
def test_sums_that_no_readings_have_are_refused(cells, why):
    with pytest.raises(ValueError, match=why):
        read_text(f"option,n,sum,sum_squares\na,{cells}\nb,3,6.5,15.5\n", "sums")
