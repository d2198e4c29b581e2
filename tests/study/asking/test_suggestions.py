"""What is asked for while error bars are missing, the reasons that are given, and which policy asks."""

import numpy as np
import pytest

import noisewise as nw
from noisewise.core.text import rounded_up


@pytest.mark.parametrize("told", [{"value": 1.0}, {"values": [1.0, 1.2]}])
@pytest.mark.parametrize("where", [{}, {"block": "Tue"}])
def test_several_are_asked_for_after_a_measurement_without_an_error_bar(told, where):
    study = nw.create_study(options=["A", "B", "C"], eps=0.5)
    study.tell(option="A", **told)
    study.tell(option="B", value=1.0)
    jobs = [*study.ask(2, **where), *study.ask(**where)]
    # The first result of C is waited for; the others go elsewhere.
    assert [job.option for job in jobs].count("C") == 1
    assert nw.load_study(study._log.storage).ask(dry_run=True)[0].option in "ABC"


def featured(count, rng, **question):
    rows = rng.normal(size=(count, 3))
    names = [f"o{k:02d}" for k in range(count)]
    table = {"id": names, **{f"x{j}": rows[:, j] for j in range(3)}}
    question = {"model": "linear+deviation", "eps": 0.8, **question}
    return nw.create_study(options=table, roles={"option": "id"}, **question), dict(
        zip(names, rows.sum(axis=1), strict=True)
    )


def follow(study, truth, rng):
    """Ask, and tell what was asked for."""
    (job,) = study.ask(sigma=0.5)
    study.tell(job, truth[job.option] + 0.5 * rng.normal(), se=0.5)
    return job


def test_a_size_that_waits_for_options_gets_options_until_there_is_a_bound():
    rng = np.random.default_rng(5)
    study, truth = featured(26, rng)
    for asked in range(24):
        job = follow(study, truth, rng)
        assert "shows how far options deviate from their features" in job.why
        assert len(set(study.frame("measurements")["option"])) == asked + 1
    assert study.certificate().bound < 8.0


def test_a_size_that_waits_for_repeats_gets_repeats():
    rng = np.random.default_rng(6)
    study, truth = featured(26, rng, model="linear+deviation:0.3", errors=nw.Errors(extra="estimate"))
    measured = [follow(study, truth, rng).option for _ in range(21)]
    assert len(measured) - len(set(measured)) >= 20
    assert not study.analysis().sigmas.waiting


def test_where_there_are_too_few_options_for_a_size_asking_goes_on():
    rng = np.random.default_rng(7)
    study, truth = featured(6, rng)
    for _ in range(15):
        follow(study, truth, rng)
    assert study.n_measurements == 15


def test_a_bound_that_reckons_with_what_is_under_way_says_so():
    study = nw.create_study(options=list("abc"), eps=0.1)
    for option, value in {"a": 0.0, "b": 1.0, "c": 1.3}.items():
        study.tell(option=option, value=value, se=0.3)
    now = rounded_up(study.certificate().bound)
    first, second = study.ask(2, sigma=0.3)
    assert f"may fall from {now} to " in first.why
    assert f"from {now} " not in second.why
    assert "may fall from an expected " in second.why
    *_, last = study.ask(8, sigma=0.01)
    assert "the bound is expected to be 0" in last.why
    assert study.certificate().bound > 0.0
    for job in study.pending:
        study.tell(job, {"a": 0.0, "b": 1.0, "c": 1.3}[job.option], se=0.01)
    assert "the bound is 0 if the measurements fit" in study.ask()[0].why


@pytest.mark.parametrize("block", [["Mon"], ("Mon",), {"Mon": 1}, b"Mon", float("nan"), np.float64("nan")])
def test_a_block_is_named_by_one_text(block):
    study = nw.create_study(options=list("abc"), eps=0.3)
    for attempt in (
        lambda: study.ask(block=block),
        lambda: study.tell(option="a", value=1.0, se=0.1, block=block),
    ):
        with pytest.raises((TypeError, ValueError), match="`block` must be "):
            attempt()
    assert not study.pending
    assert study.n_measurements == 0


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
        nw.create_study(options=["A", "B"], eps=0.1, policy=("race", {"share": 0.1}))
    with pytest.raises(ValueError, match="`sharpness` must be"):
        nw.create_study(options=["A", "B"], eps=0.1, policy=("race", {"sharpness": -1}))


@pytest.mark.parametrize(
    ("sigma", "said"),
    [(0.1, "worth 25 usual measurements, so it pays if it costs less than 25 of them, at a cost of "),
     (1.0, "worth 0.25 usual measurements, so it pays if it costs less than 0.25 of them"),
     (0.5, "worth 1 usual measurement, at a cost of ")],
)  # fmt: skip
def test_the_reason_says_up_to_which_cost_a_precise_measurement_pays(sigma, said):
    study = nw.create_study(options={"id": ["A", "B"], "cost": [3.0, 7.0]}, eps=0.1)
    for option in "AB":
        study.tell(option=option, value=1.0, se=0.5)
    (job,) = study.ask(sigma=sigma, dry_run=True)
    assert said in job.why
    assert f"at a cost of {3 if job.option == 'A' else 7} (race)" in job.why
