"""Studies with a fixed number of measurements: which policy asks, what is left, and what is said about it."""

import json

import pytest

import noisewise as nw
from noisewise.study.log.specification import DEFAULT_POLICY, Specification


def study_of(*names, **arguments):
    return nw.create_study(options=list(names), **{"eps": 0.1, **arguments})


def told(study, count):
    for k in range(count):
        study.tell(option=study.options[k % len(study.options)], value=0.1 * k, se=0.5)
    return study


def test_a_study_with_a_budget_is_asked_by_the_policy_for_it_unless_another_is_named():
    assert study_of("A", "B", budget=20).policy == "vage"
    assert study_of("A", "B").policy == DEFAULT_POLICY
    assert study_of("A", "B", budget=20, policy="widest").policy == "widest"


@pytest.mark.parametrize("count", [0, -3, 2.5, True, "many", 10**13])
def test_a_budget_is_a_count(count):
    with pytest.raises((ValueError, TypeError), match="`budget` must be "):
        study_of("A", "B", budget=count)


@pytest.mark.parametrize(
    ("count", "words", "left"),
    [
        (0, "for a budget of 3 measurements (3 left).", 3),
        (2, "for a budget of 3 measurements (1 left).", 1),
        (3, "for a budget of 3 measurements (spent).", 0),
        (5, "for a budget of 3 measurements (spent, and 2 more).", -2),
    ],
)
def test_what_is_left_is_said(count, words, left, tmp_path):
    study = told(study_of("A", "B", budget=3), count)
    assert f"policy vage, {words}" in repr(study)
    assert study.budget_left == left
    page = study.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"policy vage, {words}" in page
    assert f"<dt>Left of the budget</dt><dd>{max(0, left)}</dd>" in page


def test_a_voided_measurement_may_be_made_again():
    study = told(study_of("A", "B", budget=3), 3)
    study.void("m-1", "wrong sample")
    assert study.budget_left == 1


def test_asking_goes_on_beyond_the_budget_and_says_so():
    study = told(study_of("A", "B", budget=4), 1)
    study.ask()
    jobs = study.ask(4)
    beyond = "; beyond the budget of 4 measurements"
    assert [job.why.endswith(beyond) for job in jobs] == [False, False, True, True]
    assert study.ask(dry_run=True)[0].why.endswith(beyond)
    study.tell(jobs[-1], 1.0, se=0.1)
    assert nw.load_study(study._log.storage).pending == study.pending


def test_a_specification_mentions_a_budget_only_where_there_is_one():
    without, having = (study_of("A", "B", budget=budget).specification for budget in (None, 7))
    assert "budget" not in without.to_plain()
    assert having.to_plain() == without.to_plain() | {"budget": 7, "policy": having.to_plain()["policy"]}
    again = Specification.from_plain(json.loads(json.dumps(having.to_plain())))
    assert again.budget == 7
    assert Specification.from_plain(without.to_plain()).budget is None


def test_a_certificate_does_not_depend_on_the_budget(tmp_path):
    without, having = (told(study_of("A", "B", budget=b, policy="vage"), 6) for b in (None, 7))
    assert having.certificate().bound == without.certificate().bound
    having.export(tmp_path / "log.jsonl")
    nw.rebuild_study(tmp_path / "log.jsonl", tmp_path / "again.db")
    again = nw.load_study(tmp_path / "again.db")
    assert repr(again) == repr(having)
    nw.verify_certificate(having.certificate(), again)
