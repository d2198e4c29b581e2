"""Measurements of several kinds in one study: everything that can be asked of it answers."""

import math

import pytest

import noisewise as nw

FEATURES = {"id": ["A", "B", "C", "D"], "x": [0.0, 1.0, 2.0, 3.0]}
BAR = {"option": "A", "value": 187.9, "se": 0.001}
BOUNDED = {"option": "B", "values": [150.0, 160.0, 155.0]}
ONE = {"option": "B", "value": 150.0}
SHARE = {"option": "B", "successes": 1, "trials": 1}
NONE_OF_10 = {"option": "A", "successes": 0, "trials": 10}


@pytest.mark.parametrize("goal", ["max", "min"])
@pytest.mark.parametrize(
    "told",
    [
        [BAR, BOUNDED, ONE],
        [BOUNDED, ONE, BAR],
        [BAR, BOUNDED, ONE, {"option": "C", "value": 120.0, "se": 30.0}],
        [BAR, ONE, SHARE],
        [BAR, SHARE, NONE_OF_10],
        [BAR, BOUNDED, SHARE, NONE_OF_10, {"option": "C", "value": 199.0}],
    ],
)
def test_a_study_of_bounded_readings_error_bars_and_counts_goes_on(goal, told):
    study = nw.create_study(options=["A", "B"], measure=nw.Ratings(100, 200), eps=0.1, goal=goal)
    study.add_options(["C"] if any(one["option"] == "C" for one in told) else ["D"])
    for one in told:
        study.tell(**one)
        assert study.ask(3, dry_run=True)
    study.worth()
    assert not math.isnan(study.certificate().bound)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_the_next_trials_of_an_option_with_an_error_bar_are_expected_at_its_estimate(share):
    study = nw.create_study(options=["A", "B", "C"], eps=0.01)
    study.tell(option="A", value=share, se=0.001)
    for option in ("B", "C"):
        study.tell(option=option, successes=500, trials=1000)
        study.tell(option=option, successes=510, trials=1000)
    assert len(study.ask(8, dry_run=True)) == 8


@pytest.mark.parametrize("model", ["linear", "linear+deviation"])
def test_bounded_readings_in_a_linear_model_have_a_certificate(model):
    study = nw.create_study(options=FEATURES, model=model, eps=0.1, measure=nw.Ratings(1, 5))
    for option in "ABCD":
        study.tell(option=option, value=3.0)
        study.tell(option=option, values=[2.0, 4.0])
    certificate = study.certificate()
    named = [words for words in certificate.approximate if "readings between bounds" in words]
    assert len(named) == (model == "linear+deviation")
    assert study.check() is not None
    assert repr(study)
    assert study.frame("options").height == 4
