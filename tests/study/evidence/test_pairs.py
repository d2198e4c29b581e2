"""Half-widths from paired items against a plain twin, and what changes them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.effort import effort
from tests.support.plain_bets import plain_limit

import noisewise as nw
from noisewise.study.evidence.items import PairedItems

LEVEL = math.log(2 / 0.05)


def study_of(answers, goal="max", pool=None):
    """A study with these answers, one list for each option."""
    names = "ABCDEFGH"[: len(answers)]
    study = nw.create_study(options=list(names), eps=0.05, goal=goal, measure=nw.Items(pool), seed=0)
    for name, values in zip(names, answers, strict=True):
        tell(study, name, values)
    return study


def tell(study, option, values):
    """Tell an option its next items."""
    row = study._log.state.index[option]
    start, known = study._log.state.items.of(row).prefix, study._log.state.items.names
    names = [known[k] if k < len(known) else f"q{k}" for k in range(start, start + len(values))]
    return study.tell(option=option, items=dict(zip(names, values, strict=True))) if values else None


def paired(study):
    state, fit = study._log.state, study.analysis().certified
    return PairedItems(
        state.items, len(state.ids), study.specification.sign, differences=fit.differences,
        doubt=lambda option: np.full(len(state.ids), LEVEL), resolution=0.05,
    )  # fmt: skip


def plain_upper(one, other, pool=None):
    """How much better the second option may be than the first, which is called the leader."""
    apart = [(1.0 + x - y) / 2.0 for x, y in zip(one, other, strict=False)]
    return 1.0 - 2.0 * plain_limit(apart, pool, LEVEL)


answers = st.lists(st.sampled_from([0, 1]), min_size=1, max_size=40)


@settings(max_examples=effort(5, 25), deadline=None)
@given(answers, answers, answers, st.sampled_from(["max", "min"]), st.sampled_from([None, 40]))
def test_half_widths_are_those_of_a_plain_twin(a, b, c, goal, pool):
    study = study_of([a, b, c], goal, pool)
    found, means = paired(study), [np.mean(a), np.mean(b), np.mean(c)]
    good = [[x if goal == "max" else 1 - x for x in values] for values in (a, b, c)]
    sign = 1.0 if goal == "max" else -1.0
    for leader in range(3):
        half = found.half_widths(leader)
        assert half[leader] == 0.0
        for rival in {0, 1, 2} - {leader}:
            expected = plain_upper(good[leader], good[rival], pool) - sign * (means[rival] - means[leader])
            assert half[rival] == pytest.approx(expected, abs=1e-6)
            assert found.lead_widths(rival)[leader] == pytest.approx(expected, abs=1e-6)


def test_looks_in_between_change_nothing():
    rng = np.random.default_rng(0)
    all_answers = rng.integers(0, 2, (3, 200)).tolist()
    for pool in (None, 200):
        whole = study_of(all_answers, pool=pool)
        step_by_step = study_of([[], [], []], pool=pool)
        for start in range(0, 200, 37):
            for name, values in zip("ABC", all_answers, strict=True):
                tell(step_by_step, name, values[start : start + 37])
                step_by_step.certificate()
        for option in range(3):
            assert paired(step_by_step).half_widths(option) == pytest.approx(
                paired(whole).half_widths(option)
            )
        assert step_by_step.certificate().bound == pytest.approx(whole.certificate().bound)


def test_scores_that_appear_later_replace_what_was_counted_as_right_or_wrong():
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 2, 60).tolist(), rng.integers(0, 2, 60).tolist()
    study = study_of([a[:30], b[:30]])
    study.certificate()
    later = [0.25, 0.75] * 15
    tell(study, "A", later)
    tell(study, "B", b[30:])
    found = paired(study).half_widths(0)[1] + study.analysis().certified.differences(0)[1]
    assert found == pytest.approx(plain_upper(a[:30] + later, b), abs=0.02)
    assert found >= plain_upper(a[:30] + later, b) - 1e-9


def test_voided_items_are_a_gap_and_what_comes_after_waits():
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 2, 90).tolist(), rng.integers(0, 2, 90).tolist()
    study = study_of([a, []])
    for start in (0, 30, 60):
        tell(study, "B", b[start : start + 30])
    whole = paired(study).half_widths(0)[1] + study.analysis().certified.differences(0)[1]
    names = study._log.state.items.names[30:60]
    study.void("m-3", "the wrong version was measured")
    assert study.next_items("B", 30) == names
    gap = paired(study).half_widths(0)[1] + study.analysis().certified.differences(0)[1]
    assert gap == pytest.approx(plain_upper(a[:30], b[:30]), abs=1e-6)
    study.tell(option="B", items=dict(zip(names, b[30:60], strict=True)))
    again = paired(study).half_widths(0)[1] + study.analysis().certified.differences(0)[1]
    assert again == pytest.approx(whole)


def test_a_gap_at_the_first_item_is_the_reason_why_nothing_is_bounded():
    study = study_of([[1, 0, 1, 1], [0, 0, 1]])
    first = study._log.state.items.names[0]
    study.void("m-2", "the wrong version was measured")
    tell_later = dict.fromkeys(study._log.state.items.names[1:3], 1)
    job = study.ask(items=3)[0]
    assert job.option == "B"
    study.tell(job, items=tell_later)
    assert f"the items of B wait for the first in the order that all options share, {first!r}" in str(
        study.certificate()
    )


def test_a_pool_told_to_its_end_leaves_a_bound_of_zero():
    rng = np.random.default_rng(3)
    all_answers = rng.integers(0, 2, (4, 150)).tolist()
    study = study_of(all_answers, pool=150)
    certificate = study.certificate()
    assert certificate.bound == 0.0
    assert certificate.option == "ABCD"[int(np.argmax([np.mean(values) for values in all_answers]))]


def test_the_scatter_of_differences_is_that_of_paired_items():
    rng = np.random.default_rng(4)
    hard = rng.random(2000) < 0.5
    a = np.where(rng.random(2000) < 0.05, ~hard, hard).astype(int).tolist()
    b = np.where(rng.random(2000) < 0.05, ~hard, hard).astype(int).tolist()
    study = study_of([a, b])
    assert paired(study).scatter(0)[1] == pytest.approx(np.var(np.subtract(a, b)), rel=0.02)
    assert paired(study).common(0).tolist() == [2000.0, 2000.0]
