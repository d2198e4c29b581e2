"""Intervals in one cell, and levels in the names of columns."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.effort import effort

import noisewise as nw
from noisewise.study.tables.numbers import split_cell
from noisewise.study.tables.table import level_said


@pytest.mark.parametrize(
    ("cell", "ends"),
    [
        ("[11.5, 13.1]", (11.5, 13.1)),
        ("(11.5; 13.1)", (11.5, 13.1)),
        ("11.5 to 13.1", (11.5, 13.1)),
        ("-1.2--0.5", (-1.2, -0.5)),
        ("1e-3-2e-3", (1e-3, 2e-3)),
        ("1,200-1,300", (1200.0, 1300.0)),
        ("5.1% - 6.8%", (0.051, 0.068)),
        ("0.8", None),
        ("2026-10-01", None),
        ("1.5-3.5-4", None),
        ("", None),
    ],
)
def test_the_ends_of_an_interval_are_its_two_numbers(cell, ends):
    found = split_cell(cell, ".")
    assert (None if found.keys() != {"lo", "hi"} else tuple(found.values())) == ends


numbers = st.floats(-1e6, 1e6).map(lambda number: f"{number:.6g}")


@settings(max_examples=effort(12, 60))
@given(
    numbers, numbers, st.sampled_from([", ", " to ", "-", " – ", ";", "…"]), st.sampled_from(["", "[]", "()"])
)
def test_what_is_written_in_any_of_these_ways_is_read_again(low, high, between, brackets):
    found = split_cell(f"{brackets[:1]}{low}{between}{high}{brackets[1:]}", ".")
    assert (found["lo"], found["hi"]) == (float(low), float(high))


@pytest.mark.parametrize(
    ("low", "high", "level"),
    [
        ("90% lo", "90% hi", 0.9),
        ("lower (99%)", "upper (99%)", 0.99),
        ("95% CI", "95% CI", 0.95),
        ("ci90", "ci90", 0.9),
        ("q05", "q95", 0.9),
        ("2.5%", "97.5%", 0.95),
        ("ll80", "ul80", 0.8),
        ("lo", "hi", None),
        ("yield (%) lo", "yield (%) hi", None),
        ("80% purity lo", "80% purity hi", None),  # not beside a word for an end
        ("90% lo", "95% hi", None),
    ],
)
def test_names_of_columns_say_the_level(low, high, level):
    assert level_said([low, high]) == pytest.approx(level)


def bars(table, **reading):
    study = nw.create_study(results=table, eps=0.5, **reading)
    return study.frame("measurements")["se"].to_list()


def test_an_interval_in_a_cell_is_the_interval_in_two_columns(tmp_path):
    two = tmp_path / "two.csv"
    two.write_text("option,value,lo,hi\nA,12.3,11.5,13.1\nB,10,9.1,10.9\n")
    for cells in (("11.5-13.1", '"[9.1, 10.9]"'), ("11.5 to 13.1", "9.1 … 10.9")):
        one = tmp_path / "one.csv"
        one.write_text(f"option,value,ci\nA,12.3,{cells[0]}\nB,10,{cells[1]}\n")
        assert bars(one) == bars(two)
    one.write_text("option;value;KI\nA;12,3;11,5 – 13,1\nB;10;9,1 bis 10,9\n", encoding="utf-8")
    assert bars(one, roles={"option": "option", "value": "value", "ci": "KI"}) == bars(two)


def test_none_in_the_cell_of_an_interval_says_that_there_is_no_error_bar(tmp_path):
    (tmp_path / "t.csv").write_text("option,value,ci\nA,1,none\nB,1,0-2\n")
    assert bars(tmp_path / "t.csv")[0] is None


def test_the_level_in_a_name_counts_and_is_told(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("option,value,90% lo,90% hi\nA,12.3,11.5,13.1\nB,10,9.1,10.9\n")
    wanted = {"option": "option", "value": "value", "lo": "90% lo", "hi": "90% hi"}
    study = nw.create_study(results=table, eps=0.5, roles=wanted)
    told = nw.create_study(options=["A", "B"], eps=0.5)
    told.tell(option="A", value=12.3, ci=(11.5, 13.1), level=0.9)
    told.tell(option="B", value=10, ci=(9.1, 10.9), level=0.9)
    assert study.frame("measurements")["se"].to_list() == told.frame("measurements")["se"].to_list()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "option,value,ci\nA,12.3,0.8\n",
            r"row 1 \(line 2\): column 'ci' must hold intervals, such as .*; got '0.8'",
        ),
        ("option,value,ci,lo,hi\nA,12.3,1-20,1,20\n", "has the interval twice, as ci from 'ci' and as lo"),
    ],
)
def test_what_is_no_interval_is_refused(tmp_path, text, said):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(ValueError, match=said):
        nw.create_study(results=tmp_path / "t.csv", eps=0.5)
