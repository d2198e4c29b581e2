"""Ties are broken on purpose; dropping follows the definition."""

import contextlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from noisewise.core import selection
from noisewise.core.any_model import SAFEST
from noisewise.core.model import fold, new_model
from noisewise.core.native.verbs import numpy_verbs


def test_ties_go_to_the_lowest_index():
    every = np.ones(3, bool)
    assert selection.first_largest(np.array([1.0, 1.0 + 1e-12, 1.0]), every) == 0
    assert selection.first_largest(np.array([1.0, 1.0 + 1e-6, 1.0]), every) == 1
    assert selection.first_largest(np.array([-5.0, 1e-10, 1e-10 + 1e-20]), every) == 1


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


def test_copies_of_an_action_are_no_rivals_and_unknown_widths_prove_nothing():
    columns = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    for verbs in (contextlib.nullcontext, numpy_verbs):
        with verbs():
            model = new_model(columns, 1.0)
            fold(model, 0, 2.0, 0.5)
            assert_allclose(selection.likelihood_ratio(model, 0, 0.1), 1.7**2 / (2.0 * 1.2))
            assert selection.likelihood_ratio(new_model(columns[:, :2], 1.0), 0, 0.1) == np.inf
            model.means[2] = np.nan
            assert selection.likelihood_ratio(model, 0, 0.1) == 0.0


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


def test_keeping_near_the_best_follows_the_definition():
    rng = np.random.default_rng(9)
    for slack in (0.0, 0.3, 5.0):
        values, kept = rng.standard_normal(40), rng.random(40) < 0.6
        wanted = kept & (values >= values[kept].max() - slack)
        selection.keep_near_best(values, kept, slack)
        assert np.array_equal(kept, wanted)
