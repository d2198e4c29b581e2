"""Several results told at once, by whom a change is made, and on which version."""

import pytest

import noisewise as nw
from noisewise.study.stores.protocol import LogMovedOnError, NameTakenError
from noisewise.study.telling.rows import ToldOtherwiseError


@pytest.fixture
def study():
    return nw.create_study(":memory:", options=["A", "B"], eps=0.1)


def row(**more):
    return {"option": "A", "value": 1.0, "se": 0.1} | more


def test_all_are_told_in_one_append_or_none(study):
    with pytest.raises(KeyError, match="row 2"):
        study.tell_all([row(), row(option="C")])
    assert study.n_events == 0
    told = study.tell_all([row(), row(option="B", value=2.0)])
    assert [(one.id, one.option, one.value) for one in told] == [("m-1", "A", 1.0), ("m-2", "B", 2.0)]
    one, other = study.events()
    assert one.append == other.append


def test_what_was_told_before_counts_once(study):
    study.tell(**row(key="k"))
    job = study.ask()[0]
    answer = row(job=job.id, option=job.option)
    told = study.tell_all([row(key="k"), answer, answer, row(key="l"), row(key="l")])
    assert [one.number for one in told] == [1, 2, 2, 3, 3]
    assert study.n_measurements == 3


def test_a_key_with_another_content_is_refused(study):
    with pytest.raises(ToldOtherwiseError, match="row 2"):
        study.tell_all([row(key="k"), row(key="k", value=2.0)])
    study.tell(**row(key="k"))
    with pytest.raises(ToldOtherwiseError, match="already told"):
        study.tell_all([row(key="k", value=2.0)])
    assert study.n_measurements == 1


def test_who_made_a_change_is_in_the_log(study):
    study.tell(**row(by="Bob"))
    with study.acting("Ann"):
        study.void("m-1", "spilled")
        study.tell(**row(by="Bob"))
    study.void("m-2", "spilled")
    assert [event.body.get("by") for event in study.events()] == ["Bob", "Ann", "Bob", None]


def test_a_change_for_one_version_happens_to_no_other(study):
    twin = nw.Study(study._log.storage, study.name)
    study.tell(**row())
    with twin.acting(only_at=0), pytest.raises(LogMovedOnError, match="1 events, not 0"):
        twin.tell(**row(value=2.0))
    with twin.acting(only_at=1):
        twin.tell(**row(value=2.0))
    assert study.n_measurements == 2


def test_a_change_says_how_long_the_log_was_right_after_it(study):
    twin = nw.Study(study._log.storage, study.name)
    with study.acting("Ann") as acted:
        study.tell(**row(key="k"))
        twin.tell(**row(value=2.0))
    assert acted.n_events == 1
    with study.acting("Ann") as acted:
        study.tell(**row(key="k"))  # told before: nothing is appended
    assert acted.n_events is None
    with study.acting("Ann") as acted:
        study.void("m-2", "spilled")
    assert acted.n_events == study.n_events == 3


def test_a_name_that_is_taken_is_a_refusal_of_its_own_kind(study):
    with pytest.raises(NameTakenError, match="already"):
        nw.create_study(study._log.storage, options=["A", "B"], eps=0.1)
