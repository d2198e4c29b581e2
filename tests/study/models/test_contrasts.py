"""Contrasts without a reference: nothing depends on the list's order, on shifts, or on what says nothing."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.effort import effort

import noisewise as nw

NAMES = [f"drug {k}" for k in range(6)]


def network(rng, *, blocks=True, differences=True, arms=3):
    """Measurements of six options in small blocks and as differences, every option linked."""
    rows = []
    values = rng.normal(size=6)
    for k in range(8 if blocks else 0):
        offset = 3.0 * rng.normal()
        for option in rng.choice(6, arms, replace=False):
            se = float(10.0 ** rng.uniform(-1, 0.3))
            rows.append(dict(option=NAMES[option], value=float(values[option] + offset + se * rng.normal()),
                             se=se, block=f"day {k}"))  # fmt: skip
    pairs = [(k, (k + 1) % 6) for k in range(6)] if differences else []
    for one, other in pairs:
        se = float(10.0 ** rng.uniform(-1, 0.3))
        value = float(values[one] - values[other] + se * rng.normal())
        rows.append(dict(plus=NAMES[one], minus=NAMES[other], value=value, se=se))
    return rows


def certified(rows, order=NAMES, **question):
    study = nw.create_study(options=list(order), **{"eps": 0.3, **question})
    for row in rows:
        study.tell(**row)
    return study


def outcome(study):
    certificate = study.certificate()
    return certificate.option, certificate.bound, set(certificate.candidates)


def same(one, other):
    assert one[0] == other[0]
    assert one[1] == pytest.approx(other[1], rel=1e-9)
    assert one[2] == other[2]


@settings(max_examples=effort(4, 15), deadline=None)
@given(seed=st.integers(0, 2**32), blocks=st.sampled_from(["contrasts", "any"]))
def test_the_order_of_the_options_changes_nothing(seed, blocks):
    rng = np.random.default_rng(seed)
    rows = network(rng)
    first = certified(rows, blocks=blocks)
    other = certified([rows[k] for k in rng.permutation(len(rows))], rng.permutation(NAMES), blocks=blocks)
    same(outcome(first), outcome(other))
    if blocks == "contrasts":
        assert (
            first.frame("options")["option"].sort().to_list()
            == other.frame("options")["option"].sort().to_list()
        )


@settings(max_examples=effort(4, 15), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_shifted_and_renamed_blocks_change_nothing_nor_what_is_asked_for(seed):
    rng = np.random.default_rng(seed)
    rows = network(rng)
    shifts = {f"day {k}": 1000.0 * rng.normal() for k in range(8)}
    moved = [
        {**row, "value": row["value"] + shifts[row["block"]], "block": f"x{row['block']}"}
        if "block" in row
        else row
        for row in rows
    ]
    first, other = certified(rows), certified(moved)
    same(outcome(first), outcome(other))
    assert [job.option for job in first.ask(3)] == [job.option for job in other.ask(3)]


@settings(max_examples=effort(4, 15), deadline=None)
@given(seed=st.integers(0, 2**32), level=st.floats(-1e6, 1e6), where=st.sampled_from([None, "a day alone"]))
def test_a_reading_that_says_nothing_about_differences_changes_nothing(seed, level, where):
    rng = np.random.default_rng(seed)
    rows = network(rng, blocks=bool(seed % 2))
    anchor = dict(option=NAMES[int(rng.integers(6))], value=level, se=0.01, block=where)
    same(outcome(certified(rows)), outcome(certified([*rows, anchor])))


@settings(max_examples=effort(4, 15), deadline=None)
@given(seed=st.integers(0, 2**32), model=st.sampled_from(["independent"]))
def test_blocks_of_two_are_differences(seed, model):
    rng = np.random.default_rng(seed)
    pairs, apart = [], []
    for k, (one, other) in enumerate(itertools.combinations(range(6), 2)):
        se = 10.0 ** rng.uniform(-1, 0.3, 2)
        values = rng.normal(size=2)
        offset = 5.0 * rng.normal()
        pairs += [
            dict(option=NAMES[at], value=float(v + offset), se=float(s), block=f"b{k}")
            for at, v, s in zip((one, other), values, se, strict=True)
        ]
        difference = (values[0] + offset) - (values[1] + offset)
        apart.append(
            dict(plus=NAMES[one], minus=NAMES[other], value=float(difference), se=float(np.hypot(*se)))
        )
    same(outcome(certified(pairs)), outcome(certified(apart)))


def test_goals_are_mirror_images():
    rows = network(np.random.default_rng(4))
    turned = [{**row, "value": -row["value"]} for row in rows]
    same(outcome(certified(rows)), outcome(certified(turned, goal="min")))


def test_equals_are_told_apart_by_name_not_by_place():
    rows = [dict(option=name, value=1.0, se=0.1) for name in NAMES]
    assert outcome(certified(rows)) == outcome(certified(rows, NAMES[::-1]))
    assert certified(rows).certificate().option == NAMES[0]


def abandoning(seed, blocks, rounds=150, honest=False):
    """Somebody who knows that offsets are 0 and leaves a block after a low first reading of the worse one."""
    rng = np.random.default_rng(seed)
    study = nw.create_study(options=["best", "worse"], eps=0.3, blocks=blocks)
    rows = []
    for k in range(rounds):
        low = rng.normal() - 0.5
        rows.append(dict(option="worse", value=low, se=1.0, block=f"b{k}"))
        if honest or low > 0.0:
            rows.append(dict(option="best", value=rng.normal(), se=1.0, block=f"b{k}"))
    study.tell_many({name: [row[name] for row in rows] for name in rows[0]})
    return study


def test_blocks_that_were_left_by_looking_are_noticed():
    study = abandoning(0, "contrasts")
    certificate = study.certificate()
    assert any("left after one measurement" in line for line in certificate.assumptions)
    assert "best" in certificate.candidates
    strict = abandoning(0, "any").certificate()
    assert "best" in strict.candidates
    # The fall-back has a twentieth of the error probability, so it is a little wider.
    assert strict.bound < certificate.bound < 1.5 * strict.bound


def doubted(study):
    """Whether the certificate falls back to the bound that holds whoever chose what to measure."""
    return any("whoever chose what to measure is used" in line for line in study.certificate().assumptions)


def doubts(seeds, n_blocks, options_of):
    """In how many studies of honest blocks the certificate doubts them."""
    found = 0
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        study, rows = nw.create_study(options=["a", "b"], eps=0.3), []
        for k in range(n_blocks):
            offset = 2.0 * rng.normal()
            rows += [
                dict(option=option, value=offset + rng.normal(), se=1.0, block=f"b{k}")
                for option in options_of(k, rng)
            ]
        study.tell_many({name: [row[name] for row in rows] for name in rows[0]})
        found += doubted(study)
    return found


def test_first_values_of_honest_blocks_rarely_raise_doubt():
    """At most one in a hundred by design: more than 6 of 150, or 3 of 25, in less than 0.1 % of cases."""
    studies, most = effort((25, 3), (150, 6))
    # Some are left after their first value, whatever came out.
    assert doubts(studies, 80, lambda k, rng: "a" if k % 12 == 0 else "ab") <= most
