"""The policy of a study can be changed, which is an event."""

import pytest

import noisewise as nw


def test_a_new_study_asks_by_race_and_can_be_changed_back():
    study = nw.create_study(options=["A", "B"], eps=0.1)
    assert study.policy == "race"
    study.set_policy("vage")
    (job,) = study.ask()
    assert "(vage)" in job.why
    study.set_policy("race", sharpness=5)
    assert study.frame("events")["kind"].to_list() == ["policy", "ask", "policy"]


def test_race_takes_no_option_that_it_does_not_have():
    with pytest.raises(TypeError, match="race has the option sharpness, and no other; got share"):
        nw.create_study(options=["A", "B"], eps=0.1, policy_options={"share": 0.1})
    with pytest.raises(ValueError, match="`sharpness` must be"):
        nw.create_study(options=["A", "B"], eps=0.1, policy_options={"sharpness": -1})
