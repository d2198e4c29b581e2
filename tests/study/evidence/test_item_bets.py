"""Bets on items: the fast limits against a plain reading of the formulas, and what the promise rests on."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.effort import effort
from tests.support.plain_bets import BETS, plain_limit

from noisewise.study.evidence.items import (
    PLAIN_EDGES,
    SCORE_EDGES,
    Tally,
    add_soft_counts,
    complete,
    cut_of_places,
    cuts,
    log_evidence,
    lower_limits,
)


def tally_of(values, pool, edges=PLAIN_EDGES):
    """What was seen of one sequence."""
    values = np.asarray(values, dtype=float)
    end = complete(pool, values.size)
    n_cuts = max(1, cuts(pool).size - 1)
    weights = np.zeros((n_cuts, edges.size))
    add_soft_counts(weights, values[:end], cut_of_places(pool, end)[:end])
    return Tally(weights[None], np.array([values.sum()]), np.array([float(values.size)]), edges, pool)


def limit_of(values, pool, level, edges=PLAIN_EDGES):
    return float(lower_limits(tally_of(values, pool, edges), np.array([level]), BETS)[0])


@settings(max_examples=effort(12, 60), deadline=None)
@given(
    st.lists(st.sampled_from([0.0, 0.5, 1.0]), max_size=90),
    st.sampled_from([None, 90, 400]),
    st.floats(0.5, 9.0),
)
def test_limits_are_those_of_a_plain_reading_of_the_formula(values, pool, level):
    assert limit_of(values, pool, level) == pytest.approx(
        plain_limit(values, pool, level), rel=1e-5, abs=1e-9
    )


@settings(max_examples=effort(12, 60), deadline=None)
@given(
    st.lists(st.floats(0.0, 1.0), min_size=1, max_size=60), st.sampled_from([None, 60]), st.floats(0.5, 6.0)
)
def test_limits_of_scores_are_never_above_the_exact_ones_and_hardly_below(values, pool, level):
    found, exact = limit_of(values, pool, level, SCORE_EDGES), plain_limit(values, pool, level)
    assert found <= exact + 1e-9
    assert found >= exact - 0.02


@settings(max_examples=effort(12, 60), deadline=None)
@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=80), st.sampled_from([None, 80, 1000]))
def test_every_step_stays_on_the_side_where_the_limit_holds(values, pool):
    level = 3.0
    limit = limit_of(values, pool, level)
    least = 0.0 if pool is None else sum(values) / pool
    if least + 1e-9 < limit < 1.0 - 1e-9:
        log_e, slope = log_evidence(tally_of(values, pool), np.array([limit]), BETS)
        assert log_e[0] >= level - 1e-6
        assert slope[0] < 0.0


@pytest.mark.parametrize("pool", [1, 2, 7, 64, 1000])
def test_a_pool_that_was_seen_to_its_end_leaves_one_number(pool):
    values = np.random.default_rng(pool).choice([0.0, 0.5, 1.0], pool)
    # Whatever the level: even where the bets went wrong, what was seen is known.
    for level in (0.01, 1.0, 10.0):
        assert limit_of(values, pool, level) == pytest.approx(values.mean(), abs=1e-12)


@pytest.mark.parametrize("pool", [[0.0, 1.0, 1.0, 0.5, 0.0], [1.0, 1.0, 0.0, 0.0, 0.0, 0.5, 1.0]])
def test_a_pool_in_random_order_is_a_fair_game_at_the_ends_of_cuts(pool, monkeypatch):
    """By enumeration: given what was drawn before, no cut is expected to win anything."""
    import noisewise.study.evidence.items as item_bets

    places = np.array([0, 1, 3, len(pool)])
    monkeypatch.setattr(item_bets, "cuts", lambda size: places)
    mean, size = sum(pool) / len(pool), len(pool)
    for start, end in itertools.pairwise(places.tolist()):
        for before in set(itertools.permutations(range(size), start)):
            rest = [pool[k] for k in range(size) if k not in before]
            left = (size * mean - sum(pool[k] for k in before)) / len(rest)
            if left <= 0.0:
                continue
            for stake in BETS:
                expected = np.mean(
                    [
                        np.prod([1.0 + stake * (x - left) / left for x in drawn])
                        for drawn in itertools.combinations(rest, end - start)
                    ]
                )
                assert expected <= 1.0 + 1e-12


def test_cuts_are_fine_at_both_ends_and_reach_the_end():
    places = cuts(100_000)
    widths = np.diff(places)
    assert places[0] == 0
    assert places[-1] == 100_000
    assert (widths >= 1).all()
    assert (widths <= np.maximum(1, np.minimum(places[:-1], 100_000 - places[:-1]) / 32 + 1e-9)).all()
    assert widths.size < 700


def test_soft_counts_keep_the_sum_and_the_number():
    values = np.random.default_rng(0).random(500)
    counts = np.zeros((5, SCORE_EDGES.size))
    add_soft_counts(counts, values, np.arange(500) // 100)
    assert counts.sum() == pytest.approx(500)
    assert (counts @ SCORE_EDGES).sum() == pytest.approx(values.sum())
    assert counts.sum(axis=1) == pytest.approx([100] * 5)
    assert (counts >= 0.0).all()
