"""Studies keep the policy that they were begun with; changing over to RACE is an event like any other."""

import shutil
from pathlib import Path

import pytest

import noisewise as nw

OLD = Path(__file__).parents[2] / "samples" / "data" / "studies-0.1.0" / "store.db"


@pytest.fixture
def old_store(tmp_path):
    store = shutil.copy(OLD, tmp_path / "old.db")
    nw.migrate_store(store)
    return store


def test_studies_of_earlier_versions_keep_their_policy_until_they_are_changed_over(old_store):
    for name in nw.open_store(old_store).names():
        study = nw.load_study(old_store, name)
        before, (job,) = study.policy, study.ask(dry_run=True)
        assert before != "race"
        assert f"({before})" in job.why
        count = len(study.events())
        study.set_policy("race")
        event = study.events()[-1]
        assert len(study.events()) == count + 1
        assert event.kind == "policy"
        assert event.body["policy"]["name"] == "race"
        again = nw.load_study(old_store, name)
        (first,) = again.ask(dry_run=True)
        assert again.policy == "race"
        assert "(race)" in first.why


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
