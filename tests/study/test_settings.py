"""Which settings of a study go together: as the table in docs/studies.md says, and nothing else."""

import inspect
from pathlib import Path

import pytest

import noisewise as nw
from noisewise.operations.table import Opt, load_table
from noisewise.study.creation import create_study
from noisewise.study.measure import read_errors, read_measure, read_model, read_policy

PAGE = Path(__file__).parents[2] / "docs" / "studies.md"
TABLE = {"id": ["A", "B", "C"], "x": [0.0, 1.0, 2.0]}
MEASURES = {
    "`None`": None, '`"error bars"`': "error bars", '`"counts"`': "counts", '`"readings"`': "readings",
    "`nw.Ratings(1, 5)`": nw.Ratings(1, 5), "`nw.Items(9, 1, 5)`": nw.Items(9, 1, 5),
    "`nw.Rounds(1, 5)`": nw.Rounds(1, 5),
}  # fmt: skip
SETTINGS = {
    "linear models": {"model": "linear"},
    '`tails="heavy"`': {"errors": {"tails": "heavy"}},
    '`extra="estimate"`': {"errors": {"extra": "estimate"}},
    '`scatter="own"`': {"errors": {"scatter": "own"}},
    '`scale="log"`': {"scale": "log", "eps": "2%"},
    "`final=True`": {"final": True},
}


def pairs():
    """The cells of the table: two settings, and whether they go together."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    (head,) = (k for k, row in enumerate(rows) if row[1:2] == ["linear models"])
    for row in rows[head + 2 : head + 2 + len(MEASURES) + len(SETTINGS) - 1]:
        for other, cell in zip(rows[head][1:], row[1:], strict=True):
            if cell:
                yield row[0], other, cell == "yes"


def asked_by(name):
    return {"measure": MEASURES[name]} if name in MEASURES else SETTINGS[name]


def test_the_table_has_every_pair():
    names = [*MEASURES, *SETTINGS]
    expected = {(one, other) for k, one in enumerate(names) for other in names[k + 1 :] if other in SETTINGS}
    assert {(one, other) for one, other, _ in pairs()} == expected


@pytest.mark.parametrize(("one", "other", "together"), list(pairs()))
def test_settings_go_together_as_the_page_says(one, other, together):
    asked, more = asked_by(one), asked_by(other)
    if "errors" in asked and "errors" in more:
        more = {"errors": asked["errors"] | more["errors"]}
    question = {"options": TABLE, "eps": 0.1} | asked | more
    if together:
        assert nw.create_study(**question).ask()
        return
    with pytest.raises(ValueError, match=r"."):
        nw.create_study(**question)


def test_there_are_few_settings():
    parameters = inspect.signature(create_study).parameters.values()
    assert sum(one.kind is not one.VAR_KEYWORD for one in parameters) <= 18
    assert sum(isinstance(one.form, Opt) for one in load_table()["init"].params.values()) <= 22


@pytest.mark.parametrize(
    ("text", "record"),
    [
        ("ratings:1,5", nw.Ratings(1, 5)), ("items:9", nw.Items(9)), ("items:9:1,5", nw.Items(9, 1.0, 5.0)),
        ("rounds", nw.Rounds()), ("rounds:0,1", nw.Rounds(0.0, 1.0)), ({"ratings": [1, 5]}, nw.Ratings(1, 5)),
        ({"items": ["q1", "q2"]}, nw.Items(["q1", "q2"])), ({"items": [["q1", "q2"], [0, 1]]},
        nw.Items(["q1", "q2"], 0, 1)),
    ],
)  # fmt: skip
def test_texts_and_mappings_say_the_same_as_records(text, record):
    assert read_measure(text, nw.Errors()) == read_measure(record, nw.Errors())


def test_errors_models_and_policies_as_texts():
    assert read_errors("tails=heavy,floor=0.1") == nw.Errors(tails="heavy", floor=0.1)
    assert read_errors({"extra": "estimate"}) == nw.Errors(extra="estimate")
    assert read_model("linear+deviation:0.3") == ("linear+deviation", "0.3")
    assert (
        read_policy("varcb:horizon=50")
        == read_policy(("varcb", {"horizon": 50}))
        == ("varcb", {"horizon": 50})
    )


@pytest.mark.parametrize(
    ("measure", "told", "message"),
    [
        ("counts", {"value": 1.0, "se": 0.1}, "measures counts: give `successes=` and `trials=`"),
        ("error bars", {"value": 1.0}, "measures error bars: give `se="),
        ("readings", {"value": 1.0, "se": 0.1}, r"measures readings: give `value=`, `values="),
    ],
)
def test_what_was_declared_is_all_that_is_taken(measure, told, message):
    study = nw.create_study(options=["A", "B"], eps=0.1, measure=measure)
    with pytest.raises(ValueError, match=message):
        study.tell(option="A", **told)
    rows = {"option": ["A"], **{name: [value] for name, value in told.items()}}
    with pytest.raises(ValueError, match=message):
        study.tell_many(rows)
    assert not study.events()
