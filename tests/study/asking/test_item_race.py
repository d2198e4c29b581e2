"""Asking for items: who is measured next, on which items, and that it ends."""

import numpy as np
import pytest
from tests.support.effort import effort
from tests.support.item_worlds import answers_of, study_of, told

import noisewise as nw


def ask_and_tell(study, answers, most=400):
    """Follow what the study asks for until it may stop; answers by place in the order."""
    for step in range(most):
        if study.certificate().reached:
            return step
        (job,) = study.ask(items=25)
        names = study._log.state.items.names
        fresh = [f"q{len(names) + k}" for k in range(job.fresh)]
        places = {name: place for place, name in enumerate([*names, *fresh])}
        row = study._log.state.index[job.option]
        study.tell(job, items={name: int(answers[row, places[name]]) for name in [*job.items, *fresh]})
    raise AssertionError("it does not end")


@pytest.mark.parametrize("pool", [None, 3000])
@pytest.mark.parametrize("seed", range(effort(1, 3)))
def test_asking_ends_with_an_option_that_is_good_enough(pool, seed):
    answers = answers_of(np.random.default_rng(seed), 5, 3000)
    study = nw.create_study(options=list("ABCDE"), eps=0.08, measure=nw.Items(pool), seed=0)
    ask_and_tell(study, answers)
    means = answers.mean(axis=1)
    assert means["ABCDE".index(study.certificate().option)] >= means.max() - 0.08


def test_asking_ends_although_the_first_leader_is_certainly_worse():
    answers = np.zeros((3, 2000), dtype=int)
    rng = np.random.default_rng(0)
    for row, share in enumerate((0.5, 0.62, 0.45)):
        answers[row] = rng.random(2000) < share
    answers[0, :8], answers[1, :8] = 1, 0  # the first batch misleads
    study = nw.create_study(options=list("ABC"), eps=0.06)
    ask_and_tell(study, answers)
    assert study.certificate().option == "B"


def test_every_option_is_measured_once_before_any_is_measured_again():
    study = nw.create_study(options=list("CAB"), eps=0.05, measure=nw.Items(100), seed=0)
    jobs = study.ask(3, items=10)
    assert [job.option for job in jobs] == ["A", "B", "C"]
    assert jobs[0].items == jobs[1].items == jobs[2].items == tuple(study._log.state.items.names[:10])
    assert "not measured yet" in jobs[0].why


def test_suggestions_for_one_option_never_share_an_item():
    study = study_of([[1] * 10, [0, 1] * 5], pool=60)
    jobs = study.ask(8, items=10)
    for option in "AB":
        asked = [name for job in jobs if job.option == option for name in job.items]
        assert len(set(asked)) == len(asked)
        assert study.next_items(option, 100) == [
            name for name in study._log.state.items.names[10:] if name not in asked
        ]


def test_the_option_that_is_behind_in_the_closest_race_comes_next():
    study = study_of([[1, 1, 1, 0] * 25, [1, 1, 0, 1] * 15, [0] * 60])
    assert study.ask(dry_run=True)[0].option == "B"
    told(study, "B", [1, 1, 0, 1] * 10)
    assert study.ask(dry_run=True)[0].option in "AB"


def test_a_pool_that_is_used_up_is_said_to_be():
    study = study_of([[1, 0, 1], [0, 0, 1]], pool=3)
    with pytest.raises(ValueError, match="every option was measured on all items of the pool"):
        study.ask()


def test_answers_may_come_in_any_order_and_count_when_the_gap_is_filled():
    study = study_of([[1, 0] * 20, [1, 1] * 5], pool=40)
    jobs = study.ask(6, items=10)
    assert [job.option for job in jobs] == ["B", "B", "B"]  # no more is left
    first, second = jobs[:2]
    study.release(jobs[2])
    study.tell(second, items=dict.fromkeys(second.items, 1))
    assert study._log.state.items.of(1).prefix == 10
    assert study._log.state.items.of(1).count == 20
    study.fail(first, "the machine was down")
    assert study.next_items("B", 10) == list(first.items)
    study.tell(option="B", items=dict.fromkeys(first.items, 0))
    assert study._log.state.items.of(1).prefix == 30


def test_without_a_pool_new_items_are_drawn_by_whoever_comes_first():
    study = study_of([[1] * 10, [1, 0] * 5])
    jobs = study.ask(2, items=5)
    assert {job.option for job in jobs} == {"A", "B"}
    assert all(job.fresh == 5 and not job.items for job in jobs)
    assert "on 5 items newly drawn at random, the same for every option" in repr(jobs[0])
    study.tell(jobs[1], items={f"new{k}": 1 for k in range(5)})
    assert study.next_items(jobs[0].option) == []  # they are being measured
    study.tell(jobs[0], items={f"new{k}": 0 for k in range(5)})
    assert study._log.state.items.of(0).prefix == study._log.state.items.of(1).prefix == 15


def test_what_items_have_none_of_is_refused():
    study = study_of([[1] * 10, [1, 0] * 5])
    for said in ({"sigma": 0.1}, {"block": "Mon"}, {"probe": "option"}):
        with pytest.raises(ValueError, match="must be left out"):
            study.ask(**said)


def test_other_policies_choose_the_option_and_items_follow():
    study = nw.create_study(options=list("AB"), eps=0.05, measure=nw.Items(50), policy="round_robin", seed=0)
    jobs = study.ask(2, items=5)
    assert {job.option for job in jobs} == {"A", "B"}
    assert all(job.items == tuple(study._log.state.items.names[:5]) for job in jobs)
