"""Corrected measurements: they pass the checks of new ones, and keep what is not corrected."""

import json

import pytest

import noisewise as nw

FEATURES = {"id": ["A", "B", "C", "D"], "x": [0.0, 1.0, 2.0, 3.0]}
NAMES = ["A", "B", "C"]

#: How each kind of study is made, and what is told first.
KINDS = {
    "counts": ({"options": NAMES}, {"option": "A", "successes": 28, "trials": 50}),
    "counts beside bounds": (
        {"options": NAMES, "measure": "ratings:1,5"},
        {"option": "A", "successes": 3, "trials": 7},
    ),
    "error bar": ({"options": NAMES}, {"option": "A", "value": 1.0, "se": 0.1}),
    "error bar beside bounds": (
        {"options": NAMES, "measure": "ratings:1,5"},
        {"option": "A", "value": 3.0, "se": 0.1},
    ),
    "raised error bar": ({"options": NAMES, "errors": "floor=0.2"}, {"option": "A", "value": 1.0, "se": 0.1}),
    "interval": ({"options": NAMES}, {"option": "A", "value": 1.0, "ci": (0.7, 1.4)}),
    "readings": ({"options": NAMES}, {"option": "A", "values": [1.0, 1.3, 0.8]}),
    "sd and n": ({"options": NAMES}, {"option": "A", "value": 1.1, "sd": 0.3, "n": 7}),
    "no error bar": ({"options": NAMES}, {"option": "A", "value": 1.0}),
    "one bounded": ({"options": NAMES, "measure": "ratings:1,5"}, {"option": "A", "value": 3.0}),
    "several bounded": (
        {"options": NAMES, "measure": "ratings:1,5"},
        {"option": "A", "values": [3.0, 4.0, 4.0]},
    ),
    "items": ({"options": NAMES}, {"option": "A", "items": {"p": 1, "q": 0}}),
    "ratings of items": (
        {"options": NAMES, "measure": "ratings:1,5"},
        {"option": "A", "items": {"p": 2.5, "q": 4, "r": 1}},
    ),
    "rounds": (
        {"options": NAMES, "measure": "rounds", "scale": "log"},
        {"option": "A", "items": {"1": 2.5, "2": 4.0}},
    ),
    "difference": ({"options": NAMES}, {"plus": "A", "minus": "B", "value": 0.3, "se": 0.1}),
    "plain difference": (
        {"options": NAMES, "measure": "ratings:1,5"},
        {"plus": "A", "minus": "B", "value": 0.3},
    ),
    "log scale": ({"options": NAMES, "scale": "log"}, {"option": "A", "value": 2.0, "se": 0.1}),
    "log readings": ({"options": NAMES, "scale": "log"}, {"option": "A", "values": [2.0, 2.2, 1.9]}),
    "log sd and n": ({"options": NAMES, "scale": "log"}, {"option": "A", "value": 2.0, "sd": 0.3, "n": 7}),
    "log noise floor": (
        {"options": NAMES, "scale": "log", "errors": nw.Errors(floor=0.1)},
        {"option": "A", "value": 2.0, "se": 0.1},
    ),
    "log bounded": (
        {"options": NAMES, "scale": "log", "measure": "ratings:1,5"},
        {"option": "A", "value": 3.0},
    ),
    "heavy": ({"options": NAMES, "errors": "tails=heavy"}, {"option": "A", "value": 1.0, "se": 0.1}),
    "heavy counts": (
        {"options": NAMES, "errors": "tails=heavy"},
        {"option": "A", "successes": 3, "trials": 7},
    ),
    "linear counts": (
        {"options": FEATURES, "model": "linear+deviation"},
        {"option": "A", "successes": 28, "trials": 50},
    ),
    "linear bounded": (
        {"options": FEATURES, "model": "linear+deviation", "measure": "ratings:1,5"},
        {"option": "A", "value": 3.0},
    ),
    "arm": ({"options": NAMES}, {"option": "A", "value": 1.0, "se": 0.1, "block": "t1", "arm": True}),
    "own scatter": ({"options": NAMES, "errors": "scatter=own"}, {"option": "A", "values": [1.0, 1.3, 0.8]}),
}  # fmt: skip
CORRECTIONS = [
    {"value": 45.0}, {"value": -1.4}, {"value": 0.5}, {"value": 2.5}, {"value": "2.5(3)"}, {"value": "much"},
    {"value": float("nan")}, {"se": 0.2}, {"se": -1.0}, {"var": 0.04}, {"sd": 0.2}, {"n": 9}, {"n": 1},
    {"sd": 0.2, "n": 9}, {"ci": (0.5, 4.5)}, {"ci": (8, 9)}, {"level": 0.9}, {"values": [2.0, 2.5]},
    {"values": [2.0, 99.0]}, {"values": [0.5]}, {"successes": 3}, {"successes": 99}, {"trials": 60},
    {"trials": 2}, {"trials": 0}, {"successes": 3, "trials": 4}, {"value": 2.5, "se": 0.2},
    {"value": 45.0, "se": 0.07}, {"items": {"p": 0}}, {"items": {"1": 3.0}}, {"items": {"z": 1}},
    {"items": {"p": 99}}, {"option": "B"}, {"option": "Z"}, {"plus": "B", "minus": "C"}, {"minus": "C"},
    {"plus": "A", "minus": "A"}, {"block": "x"}, {"instrument": "scale 2"}, {"note": "typo"}, {"by": "ann"},
    {"key": "k"}, {"key": "k2"}, {"at": 5.0}, {"cost": 2.0}, {"cost": -2.0}, {"arm": True},
]  # fmt: skip
REFUSED = (ValueError, KeyError, TypeError)
ABOUT = ("note", "by", "key", "at", "cost", "block", "instrument", "option")
MEASURED = ("value", "kind", "sigma", "shown", "readings", "scatter", "values", "places", "items")


def begun(kind):
    question, told = KINDS[kind]
    study = nw.create_study(eps=0.1, seed=1, **question)
    study.tell(key="k", **told)
    return study, told


def told_anew(kind, told):
    """What a new study holds of a measurement; None if it refuses it."""
    question, _ = KINDS[kind]
    study = nw.create_study(eps=0.1, seed=1, **question)
    try:
        study.tell(key="k", **told)
    except REFUSED:
        return None
    return content_of(study)


def content_of(study):
    return {name: part for name, part in study._log.state.told[0].items() if name != "notes"}


@pytest.mark.parametrize("kind", KINDS)
def test_every_correction_is_refused_or_what_a_new_measurement_would_be(kind):
    for correction in CORRECTIONS:
        study, told = begun(kind)
        if correction == {"key": "k2"}:
            other = (
                {"items": {name: 1.0 for name in told["items"]}} if "items" in told else {"value": 2, "se": 1}
            )
            study.tell(option="C", key="k2", **other)
        before, events = content_of(study), study.events()
        try:
            study.amend("m-1", "typo", **correction)
        except REFUSED as problem:
            message = str(problem.args[0])
            assert message, correction
            assert "\n" not in message, correction
            assert study.events() == events, correction
            assert content_of(study) == before, correction
            assert correction not in ({"note": "typo"}, {"by": "ann"}, {"at": 5.0}, {"cost": 2.0})
            continue
        after = content_of(study)
        if next(iter(correction)) in ABOUT:
            assert {k: after.get(k) for k in MEASURED} == {k: before.get(k) for k in MEASURED}, correction
        elif "items" not in correction:
            anew = expected(kind, told, correction)
            assert after.keys() == anew.keys(), correction
            for name, part in anew.items():
                exact = isinstance(part, str | bool | None)
                assert after[name] == (part if exact else pytest.approx(part)), correction
        if after["kind"] == "counts":
            assert 0.0 <= after["value"] <= 1.0, correction
            assert after["value"] * after["readings"] == pytest.approx(
                round(after["value"] * after["readings"])
            )
        assert json.loads(study.certificate().to_json())
        again = nw.load_study(study._log.storage, study.name)
        assert again.certificate().to_json() == study.certificate().to_json()


def expected(kind, told, correction):
    """What a new measurement with the corrected arguments holds."""
    errors = {"se", "var", "sd", "n", "ci", "level", "values", "successes", "trials"}
    kept = {name: part for name, part in told.items() if name != "option" or "plus" not in correction}
    own = str(correction.get("value", "")).endswith(")")
    before = told_anew(kind, told)
    if set(correction) <= {"successes", "trials"} <= set(told):
        pass
    elif set(correction) <= {"sd", "n"} and before["kind"] == "readings":
        n = before["readings"]
        kept = {"option": "A", "value": before["value"], "sd": (before["scatter"] / (n - 1)) ** 0.5, "n": n}
    elif own or errors & set(correction):
        kept = {name: part for name, part in told.items() if name not in errors}
        if {"values", "successes"} & set(correction):
            kept.pop("value", None)
        elif "value" not in kept and "value" not in correction:
            kept["value"] = before["value"]
    elif "value" in correction and "values" in told:
        n = before["readings"]
        kept = {"option": told["option"], "sd": (before["scatter"] / (n - 1)) ** 0.5, "n": n}
    elif "ci" in told and "value" in correction:
        kept = {"option": told["option"], "se": before["shown"]}
    content = told_anew(kind, kept | correction)
    assert content is not None, correction
    return content


def test_one_part_of_a_share_can_be_corrected():
    study, _ = begun("counts")
    assert study.amend("m-1", "typo", successes=30).value == 0.6
    assert study.amend("m-1", "typo", trials=60).value == 0.5
    with pytest.raises(ValueError, match="`successes=30` cannot exceed `trials=20`"):
        study.amend("m-1", "typo", trials=20)


def test_the_key_of_another_measurement_is_refused():
    study, _ = begun("error bar")
    study.tell(option="B", value=2.0, se=0.1, key="other")
    with pytest.raises(ValueError, match="`key` must be one that no other measurement has; got other"):
        study.amend("m-1", "typo", key="other")


def test_rows_of_tables_that_correct_are_checked_like_new_ones():
    study = nw.create_study(options=NAMES, eps=0.1, errors="tails=heavy")
    study.tell_many({"option": ["A"], "value": [1.0], "se": [0.1], "key": ["k"]})
    with pytest.raises(ValueError, match="every measurement needs an error bar"):
        study.tell_many({"option": ["A"], "value": [1.0], "key": ["k"]}, amend="typo")
    assert study.frame("measurements")["se"].to_list() == [0.1]


def test_an_amended_row_of_a_table_stays_known():
    table = {"option": ["A", "B"], "value": [1.014, 2.103], "se": [0.1, 0.1]}
    study = nw.create_study(options=NAMES, eps=0.1)
    study.tell_many(table)
    study.amend("m-1", "typo", 1.5)
    assert study.tell_many(table).known == 2
