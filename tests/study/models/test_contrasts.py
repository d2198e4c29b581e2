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
@given(seed=st.integers(0, 2**32))
def test_the_order_of_the_options_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    rows = network(rng)
    first = certified(rows)
    other = certified([rows[k] for k in rng.permutation(len(rows))], rng.permutation(NAMES))
    same(outcome(first), outcome(other))


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


def test_equals_are_told_apart_by_name_not_by_place():
    rows = [dict(option=name, value=1.0, se=0.1) for name in NAMES]
    assert outcome(certified(rows)) == outcome(certified(rows, NAMES[::-1]))
    assert certified(rows).certificate().option == NAMES[0]
