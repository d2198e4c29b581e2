"""Reasons are true: what they say of the bound is what comes to pass, and what the certificate says."""

import re

import numpy as np
import pytest

import noisewise as nw
from noisewise.core.support.words import rounded_up


def study_in_days(days=3, **settings):
    """Four options, all on every day."""
    study = nw.create_study(options=list("abcd"), eps=0.5, **settings)
    for day in range(days):
        for place, option in enumerate(study.options):
            study.tell(option=option, value=0.1 * place, se=0.3, block=f"day {day}")
    return study


def test_a_fall_of_the_bound_that_never_comes_is_not_promised_where_blocks_are_paid_for():
    doubted = study_in_days()
    for k in range(6):
        doubted.tell(option="a", value=1.0, se=0.3, block=f"given up {k}")
    for study in (study_in_days(blocks="any"), doubted):
        for where in ({}, {"block": "day 0"}):
            (job,), (slot,) = study.ask(sigma=0.1, dry_run=True, **where), study.slot(0.1, **where)
            falls = rounded_up(slot.bound_after) < rounded_up(slot.bound_before)
            assert job.option == slot.option
            assert ("expected to fall" in job.why) == falls == ("the bound falls" in str(slot))
            assert ("hardly lower" in job.why) == (not falls) == ("hardly lower" in str(slot))
            if falls:
                _, said = re.findall(r"from ([\d.]+) to ([\d.]+)", job.why)[0]
                assert float(said) == pytest.approx(slot.bound_after, rel=0.1)


def test_a_bound_that_reckons_with_what_is_under_way_says_so():
    study = nw.create_study(options=list("abc"), eps=0.1)
    for option, value in {"a": 0.0, "b": 1.0, "c": 1.3}.items():
        study.tell(option=option, value=value, se=0.3)
    now = rounded_up(study.certificate().bound)
    first, second = study.ask(2, sigma=0.3)
    assert f"expected to fall from {now} to " in first.why
    assert f"from {now} " not in second.why
    assert "(when what is under way has come in) to " in second.why
    *_, last = study.ask(8, sigma=0.01)
    assert "which is expected to be 0 (when what is under way has come in)" in last.why
    assert study.certificate().bound > 0.0
    for job in study.pending:
        study.tell(job, {"a": 0.0, "b": 1.0, "c": 1.3}[job.option], se=0.01)
    assert "which is 0 already" in study.ask()[0].why


def test_nothing_holds_the_bound_up_but_the_noise_of_a_measurement_that_teaches_nothing():
    study = nw.create_study(options=["a", "b"], eps=0.1)
    for option in study.options:
        study.tell(option=option, value=1.0, se=1.0)
    (job,) = study.ask(sigma=1e3)
    assert "which one measurement alone hardly lowers" in job.why
    assert "other races" not in job.why


def test_an_option_that_was_only_compared_is_not_known_exactly():
    study = nw.create_study(options=list("abcd"), eps=0.5)
    study.tell(plus="a", minus="b", value=1.0, se=0.2)
    study.tell(plus="c", minus="d", value=1.0, se=0.2)
    for probe in ("option", "difference"):
        (job,) = study.ask(probe=probe, block="day 1", dry_run=True)
        assert "±0," not in job.why


def test_a_leader_that_opens_a_block_says_so_also_while_options_are_still_to_be_linked():
    study = nw.create_study(options=list("abcd"), eps=0.5)
    for option, value in {"a": 1.0, "b": 2.0}.items():
        study.tell(option=option, value=value, se=0.2, block="Mon")
    jobs = study.ask(3)
    assert [job.option for job in jobs] == ["b", "c", "d"]
    assert "the leader opens a new block, so that others are compared with it" in jobs[0].why
    assert "the leader opens block Tue" in study.ask(block="Tue", dry_run=True)[0].why
    assert "opens" not in jobs[1].why


def test_repeats_are_not_said_to_tell_how_far_options_deviate():
    table = {"id": list("abcdef"), "x": np.arange(6.0)}
    study = nw.create_study(options=table, id="id", model="linear+deviation", span=20.0, eps=0.3)
    assert "how far options deviate" in study.ask(dry_run=True)[0].why
    for place, option in enumerate(study.options):
        study.tell(option=option, value=float(place), se=0.3)
    assert study.certificate().withheld
    assert "how far options deviate" not in study.ask()[0].why


def test_no_block_is_opened_where_none_is_named():
    study = nw.create_study(options=list("abc"), eps=0.3)
    for plus, minus in (("a", "b"), ("b", "c")):
        study.tell(plus=plus, minus=minus, value=1.0, se=0.3)
    (job,) = study.ask(probe="option")
    assert job.block is None
    assert "the leader is measured first where nothing names a block" in job.why


@pytest.mark.parametrize("block", [["Mon"], ("Mon",), {"Mon": 1}, b"Mon", float("nan"), np.float64("nan")])
def test_a_block_is_named_by_one_text(block):
    study = nw.create_study(options=list("abc"), eps=0.3)
    for attempt in (
        lambda: study.ask(block=block),
        lambda: study.slot(0.1, block=block),
        lambda: study.tell(option="a", value=1.0, se=0.1, block=block),
    ):
        with pytest.raises((TypeError, ValueError), match="`block` must be "):
            attempt()
    assert not study.pending
    assert study.n_measurements == 0
