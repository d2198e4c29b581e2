"""Ties are broken on purpose; dropping follows the definition; compiled and plain code agree."""

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from noisewise.core.choice import selection
from noisewise.core.compiler.kernels import register_kernels
from noisewise.core.model.dense import SAFEST, fold, new_model, squared_norm, theta
from noisewise.core.support import blocks


def test_ties_go_to_the_lowest_index():
    every = np.ones(3, bool)
    assert selection.first_largest(np.array([1.0, 1.0 + 1e-12, 1.0]), every) == 0
    assert selection.first_largest(np.array([1.0, 1.0 + 1e-6, 1.0]), every) == 1
    assert selection.first_largest(np.array([-5.0, 1e-10, 1e-10 + 1e-20]), every) == 1


def test_a_huge_loser_makes_nobody_else_tie():
    every = np.ones(4, bool)
    assert selection.first_largest(np.array([-1e12, -3.0, -2.0, -1.0]), every) == 3
    assert selection.first_largest(np.array([-np.inf, -3.0, -2.0, -1.0]), every) == 3
    assert selection.first_largest(np.array([-np.inf, -np.inf, -np.inf, -np.inf]), np.arange(4) > 1) == 2
    assert selection.first_largest(np.array([np.inf, 1.0, np.inf, 1.0]), np.arange(4) > 0) == 2
    assert selection.first_best(np.array([-1e12, 1.0, 2.0, 3.0]), np.ones(4), every) == 3


def test_values_that_are_no_numbers_never_choose_what_is_not_allowed():
    values = np.array([1.0, np.nan, np.nan, 0.0])
    for choose in (
        selection.first_largest,
        selection.masked_argmax,
        lambda v, a: selection.first_best(v, np.ones(4), a),
    ):
        assert choose(values, np.array([False, True, True, False])) == 1


def test_means_tie_by_what_is_known_of_the_winner():
    every, offset = np.ones(3, bool), 1e6
    near = offset + np.array([0.0, 5e-4, 1e-4])
    assert selection.first_best(near, np.full(3, 1e-10), every) == 1  # 50 standard errors apart
    assert selection.first_best(near, np.full(3, 1e12), every) == 0  # 5e-10 standard errors apart
    cancelled = np.array([-1e-17, -3.0, 1e-17])
    assert selection.first_best(cancelled, np.ones(3), every) == 0


@given(st.integers(0, 2**31), st.floats(0.01, 10.0))
def test_dropping_does_not_depend_on_where_it_starts(seed, radius):
    rng = np.random.default_rng(seed)
    model = new_model(rng.standard_normal((3, 40)), 1.0)
    for _ in range(5):
        fold(model, int(rng.integers(40)), rng.standard_normal(), 10.0 ** rng.uniform(-3, 1))
    started = rng.random(40) < 0.8
    slack = radius * np.sqrt(model.squared_widths)
    floor = np.max(model.means - slack, where=started, initial=-np.inf)
    expected = started & (model.means + slack >= floor)
    for hint in (0, 17, 39):
        model.tally[SAFEST] = hint
        candidates = started.copy()
        selection.drop_ruled_out(model, candidates, radius)
        assert np.array_equal(candidates, expected)


def test_only_what_is_allowed_is_chosen():
    values = np.array([3.0, 2.0, 1.0])
    assert selection.first_largest(values, np.array([False, True, True])) == 1
    assert selection.first_largest(values, np.zeros(3, bool)) == 0
    allowed, candidates = np.array([False, True, True]), np.array([True, False, True])
    assert selection.first_largest_candidate(values, allowed, candidates) == 2
    assert selection.first_largest_candidate(values, allowed, np.array([True, False, False])) == 1


def some_model(seed, n=40, dim=4, rounds=30):
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((n, dim))
    model = new_model(np.ascontiguousarray(vectors.T), 0.5)
    for _ in range(rounds):
        fold(model, int(rng.integers(n)), float(rng.standard_normal()), float(rng.uniform(0.05, 1.0)))
    return model


def test_dropping_follows_the_definition():
    model = some_model(1)
    candidates = np.random.default_rng(2).random(40) < 0.8
    slack = 2.0 * np.sqrt(model.squared_widths)
    wanted = candidates & (model.means + slack >= (model.means - slack)[candidates].max())
    selection.drop_ruled_out(model, candidates, 2.0)
    assert np.array_equal(candidates, wanted)
    assert 0 < candidates.sum() < 40


def test_the_bound_is_the_largest_upper_contrast():
    model = some_model(3)
    vectors = model.columns.T
    upper = np.eye(4) + np.triu(model.factor[:, :4], 1)
    covariance = np.linalg.inv(upper.T @ np.diag(model.pivots) @ upper)
    candidates = np.arange(40) % 3 > 0
    wanted = max(
        model.means[k]
        - model.means[7]
        + 2.5 * np.sqrt(max(0.0, (vectors[k] - vectors[7]) @ covariance @ (vectors[k] - vectors[7])))
        for k in np.flatnonzero(candidates)
    )
    assert_allclose(selection.regret_bound(model, candidates, 7, 2.5), wanted, rtol=1e-8)


@given(
    st.lists(st.sampled_from([0.0, 1.0, -1.0, 1.0 + 1e-11, 0.3, -7.5]), min_size=1, max_size=30),
    st.integers(0, 99),
)
def test_compiled_and_plain_code_choose_the_same(values, seed):
    register_kernels()
    numbers = np.array(values)
    rng = np.random.default_rng(seed)
    allowed, candidates = rng.random(numbers.size) < 0.7, rng.random(numbers.size) < 0.5
    assert COMPILED["first"](numbers, allowed) == selection.first_largest(numbers, allowed)
    both = COMPILED["candidate"](numbers, allowed, candidates)
    assert both == selection.first_largest_candidate(numbers, allowed, candidates)


@given(
    st.lists(
        st.builds(
            lambda sign, size: sign * 10.0**size, st.sampled_from([-1.0, 0.0, 1.0]), st.integers(-9, 12)
        ),
        min_size=1,
        max_size=30,
    ),
    st.integers(0, 99),
)
def test_compiled_and_plain_code_choose_the_same_over_many_decades(values, seed):
    register_kernels()
    numbers, rng = np.array(values), np.random.default_rng(seed)
    numbers = np.where(rng.random(numbers.size) < 0.1, -np.inf, numbers)
    allowed, squares = rng.random(numbers.size) < 0.7, 10.0 ** rng.uniform(-9, 9, numbers.size)
    assert COMPILED["first"](numbers, allowed) == selection.first_largest(numbers, allowed)
    assert COMPILED["argmax"](numbers, allowed) == selection.masked_argmax(numbers, allowed)
    assert COMPILED["best"](numbers, squares, allowed) == selection.first_best(numbers, squares, allowed)
    winner = selection.masked_argmax(numbers, allowed)
    assert COMPILED["first near"](numbers, allowed, winner, 0.5) == selection.first_near(
        numbers, allowed, winner, 0.5
    )


def test_compiled_and_plain_code_find_the_same_optimists_and_rivals():
    register_kernels()
    for seed in range(20):
        model, allowed = some_model(seed), np.random.default_rng(seed).random(40) < 0.7
        assert COMPILED["optimist"](model, allowed, 1.5) == selection.most_optimistic(model, allowed, 1.5)
        assert COMPILED["rival"](model, 7, 1.5) == selection.strongest_rival(model, 7, 1.5)


def test_compiled_and_plain_code_drop_the_same():
    register_kernels()
    for seed in range(20):
        model = some_model(seed)
        plain = np.random.default_rng(seed).random(40) < 0.9
        fast = plain.copy()
        selection.drop_ruled_out(model, plain, 1.5)
        COMPILED["drop"](model, fast, 1.5)
        assert np.array_equal(plain, fast)
        want = selection.regret_bound(model, plain, 3, 1.5)
        assert_allclose(COMPILED["bound"](model, plain, 3, 1.5), want, rtol=1e-12)


def test_compiled_and_plain_code_keep_the_same_near_the_best():
    register_kernels()
    rng = np.random.default_rng(9)
    for slack in (0.0, 0.3, 5.0):
        values, plain = rng.standard_normal(40), rng.random(40) < 0.6
        wanted = plain & (values >= values[plain].max() - slack)
        fast = plain.copy()
        selection.keep_near_best(values, plain, slack)
        COMPILED["near"](values, fast, slack)
        assert np.array_equal(plain, wanted)
        assert np.array_equal(fast, wanted)


def test_compiled_and_plain_code_find_the_same_norm():
    register_kernels()
    for seed in range(5):
        model = some_model(seed)
        want = float(theta(model) @ theta(model))
        assert_allclose([squared_norm(model), COMPILED["norm"](model)], want, rtol=1e-12)


# Wrapped in lambdas: the kernels themselves are plain functions that compiled code may call.
COMPILED = {
    "first": numba.njit(lambda values, allowed: selection.first_largest(values, allowed)),
    "best": numba.njit(lambda values, squares, allowed: selection.first_best(values, squares, allowed)),
    "argmax": numba.njit(lambda values, allowed: selection.masked_argmax(values, allowed)),
    "first near": numba.njit(
        lambda values, allowed, winner, slack: selection.first_near(values, allowed, winner, slack)
    ),
    "optimist": numba.njit(lambda model, allowed, radius: selection.most_optimistic(model, allowed, radius)),
    "rival": numba.njit(lambda model, leader, radius: selection.strongest_rival(model, leader, radius)),
    "candidate": numba.njit(
        lambda values, allowed, candidates: selection.first_largest_candidate(values, allowed, candidates)
    ),
    "drop": numba.njit(lambda model, candidates, radius: selection.drop_ruled_out(model, candidates, radius)),
    "near": numba.njit(lambda values, candidates, slack: selection.keep_near_best(values, candidates, slack)),
    "norm": numba.njit(lambda model: squared_norm(model)),
    "bound": numba.njit(
        lambda model, candidates, action, radius: selection.regret_bound(model, candidates, action, radius)
    ),
}


@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_and_threads_do_not_change_the_result(threads, monkeypatch):
    whole = some_model(4, n=300)
    candidates = np.ones(300, bool)
    selection.drop_ruled_out(whole, candidates, 2.0)
    monkeypatch.setattr(blocks, "ROWS_PER_BLOCK", 7)
    monkeypatch.setattr(blocks, "MANY", 10)
    monkeypatch.setattr(blocks._Blas, "threads", lambda self: threads)
    blocked = some_model(4, n=300)
    assert_allclose(blocked.squared_widths, whole.squared_widths, rtol=1e-12)
    assert_allclose(blocked.means, whole.means, rtol=1e-10)
    in_blocks = np.ones(300, bool)
    selection.drop_ruled_out(blocked, in_blocks, 2.0)
    assert np.array_equal(candidates, in_blocks)
    every = np.ones(300, bool)
    assert selection.first_largest(blocked.means, every) == int(np.argmax(whole.means))
    some = np.arange(300) % 3 == 1
    assert selection.first_largest(blocked.means, some) == int(
        np.argmax(np.where(some, whole.means, -np.inf))
    )
    nobody = np.zeros(300, bool)
    assert selection.first_largest(blocked.means, nobody) == 0
    monkeypatch.undo()
    assert selection.first_largest(whole.means, some) == int(np.argmax(np.where(some, whole.means, -np.inf)))
    assert selection.first_largest(whole.means, nobody) == 0
    widths = whole.squared_widths
    assert selection.first_largest(widths, some) == int(np.argmax(np.where(some, widths, -np.inf)))
