"""Every verb has two bodies, NumPy and C: they give the same answers, however the arrays lie in memory."""

import contextlib
import gc
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests.support.layouts import LAYOUTS

import noisewise as nw
from noisewise.core import independent, selection
from noisewise.core import model as core_model
from noisewise.core.native.verbs import extension, is_compiled, numpy_body, numpy_verbs
from noisewise.rules import races

pytestmark = pytest.mark.skipif(extension is None, reason="the extension is not built")

#: C works through lists in blocks: one more than two of them, and a few odd ones.
SIZES = [(1, 1), (3, 1), (1, 4), (7, 3), (40, 6), (64, 5), (130, 9), (1029, 12)]


def some_model(layout, n, dim, seed, rounds=60):
    rng = np.random.default_rng(seed)
    columns = LAYOUTS[layout](rng.standard_normal((n, dim)).astype(np.float32).astype(np.float64))
    model = core_model.new_dense(columns, 0.7)
    for _ in range(rounds):
        sigma = 10.0 ** rng.uniform(-3, 1)
        core_model.fold(model, int(rng.integers(n)), float(rng.standard_normal()), sigma)
    return model


def same(one, other):
    assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("n", "dim"), SIZES)
def test_learning_is_the_same_in_both_bodies(layout, n, dim):
    compiled = some_model(layout, n, dim, seed=n + dim)
    with numpy_verbs():
        plain = some_model(layout, n, dim, seed=n + dim)
    same(compiled.squared_widths, plain.squared_widths)
    same(compiled.means, plain.means)
    # In standard errors: what was never measured is known to 1, whatever its digits.
    assert core_model.distance_to(compiled, core_model.theta(plain)) < 1e-6
    same(compiled.pivots, plain.pivots)
    same(compiled.tally[:5], plain.tally[:5])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("n", "dim"), SIZES)
def test_every_verb_of_a_model_answers_the_same_in_both_bodies(layout, n, dim):
    model, rng = some_model(layout, n, dim, seed=7), np.random.default_rng(5)
    one, other = int(rng.integers(n)), int(rng.integers(n))
    mask, rivals = rng.random(n) < 0.7, rng.integers(0, n, 3)
    cases = {
        core_model.theta: (),
        core_model.squared_norm: (),
        core_model.distance_to: (rng.standard_normal(dim),),
        core_model.covariance_with: (one,),
        core_model.contrast_widths: (one,),
        core_model.squared_covariances: (rivals, one, rng.random(3)),
        core_model.perturbed_means: (rng.standard_normal(dim), 1.3),
        core_model.spread: (),
        core_model.covariance: (),
        selection.best_of_draw: (rng.standard_normal(dim), 1.3, mask | (np.arange(n) == one)),
        selection.first_other: (rng.standard_normal((4, dim)), np.ones(n, np.bool_), one),
        selection.most_optimistic: (mask, 1.7),
        selection.strongest_rival: (one, 1.7),
        selection.most_telling: (one, other, 0.3, mask),
        selection.regret_bound: (mask, one, 1.7),
        selection.smallest_bound: (mask, one, 1.7),
        selection.likelihood_ratio: (one, 0.1),
    }
    for function, arguments in cases.items():
        assert is_compiled(function)
        compiled = function(model, *arguments)
        with numpy_verbs():
            plain = function(model, *arguments)
        # Widths of differences between near-copies are rounding in both.
        assert_allclose(compiled, plain, rtol=1e-7, atol=1e-7 * np.sqrt(model.squared_widths.max()))


def test_what_changes_a_model_changes_it_the_same_way():
    for layout in LAYOUTS:
        models = [some_model(layout, 30, 4, seed=3) for _ in range(2)]
        kept = [np.ones(30, np.bool_) for _ in models]
        estimate = np.arange(4.0)
        selection.drop_ruled_out(models[0], kept[0], 0.8)
        core_model.recentre(models[0])
        core_model.set_theta(models[0], estimate)
        selection.keep_near_best(models[0].means, kept[0], 1.0)
        with numpy_verbs():
            selection.drop_ruled_out(models[1], kept[1], 0.8)
            core_model.recentre(models[1])
            core_model.set_theta(models[1], estimate)
            selection.keep_near_best(models[1].means, kept[1], 1.0)
        assert_array_equal(kept[0], kept[1])
        assert 0 < kept[0].sum() < 30
        same(models[0].means, models[1].means)
        assert_array_equal(models[0].centre, estimate)


values = st.lists(
    st.one_of(
        st.sampled_from([0.0, 1.0, -1.0, 1.0 + 1e-11, -7.5, np.nan, np.inf, -np.inf]),
        st.builds(lambda sign, size: sign * 10.0**size, st.sampled_from([-1.0, 1.0]), st.integers(-9, 12)),
    ),
    min_size=1,
    max_size=40,
)


@given(values, st.integers(0, 2**32), st.sampled_from([0.0, 0.3, 1.0]))
def test_choices_are_the_same_whatever_the_values(numbers, seed, share):
    row, rng = np.array(numbers), np.random.default_rng(seed)
    allowed, candidates = rng.random(row.size) < share, rng.random(row.size) < 0.5
    squares, winner = 10.0 ** rng.uniform(-9, 9, row.size), int(rng.integers(row.size))
    for function, arguments in (
        (selection.first_largest, (row, allowed)),
        (selection.first_largest_candidate, (row, allowed, candidates)),
        (selection.masked_argmax, (row, allowed)),
        (selection.first_best, (row, squares, allowed)),
        (selection.first_near, (row, allowed, winner, 0.5)),
    ):
        compiled = function(*arguments)
        with numpy_verbs():
            assert compiled == function(*arguments), function


@pytest.mark.parametrize("strange", [None, np.nan, np.inf, -np.inf])
def test_choices_are_the_same_at_every_length_and_in_every_place(strange):
    rng = np.random.default_rng(0)
    for n in range(1, 70):
        row, allowed, squares = rng.standard_normal(n), rng.random(n) < 0.7, rng.random(n)
        if strange is not None:
            row[rng.integers(n)] = strange
        kept = [allowed.copy(), allowed.copy()]
        model = some_model("by feature", n, 2, n)
        model.means[:] = row
        for function, arguments in (
            (selection.first_largest, (row, allowed)),
            (selection.masked_argmax, (row, allowed)),
            (selection.first_best, (row, squares, allowed)),
        ):
            compiled = function(*arguments)
            with numpy_verbs():
                assert compiled == function(*arguments), (function, n)
        if strange is None and allowed.any():
            selection.drop_ruled_out(model, kept[0], 0.3)
            with numpy_verbs():
                selection.drop_ruled_out(model, kept[1], 0.3)
            assert_array_equal(*kept)


def test_the_independent_model_is_the_same_in_both_bodies():
    rng = np.random.default_rng(0)
    models = []
    history = [(int(rng.integers(12)), rng.standard_normal(), 10.0 ** rng.uniform(-3, 1)) for _ in range(80)]
    for use in (numpy_verbs, None):
        model = independent.new_independent(independent.Separate(12), 0.5)
        for measurement in history:
            if use:
                with use():
                    core_model.fold(model, *measurement)
            else:
                core_model.fold(model, *measurement)
        models.append(model)
    plain, compiled = models
    for field in ("squared_widths", "means", "tally"):
        same(getattr(compiled, field), getattr(plain, field))
    rivals, weights, mask = np.array([1, 5, 1]), rng.random(3), rng.random(12) < 0.8
    for function, arguments in (
        (core_model.covariance_with, (2,)),
        (core_model.contrast_widths, (2,)),
        (core_model.squared_covariances, (rivals, 2, weights)),
        (core_model.perturbed_means, (rng.standard_normal(12), 0.4)),
        (selection.most_optimistic, (mask, 1.1)),
        (selection.regret_bound, (mask, 3, 1.1)),
        (selection.strongest_rival, (3, 1.1)),
        (selection.smallest_bound, (mask, 3, 1.1)),
        (selection.likelihood_ratio, (3, 0.2)),
    ):
        answer = function(compiled, *arguments)
        with numpy_verbs():
            same(answer, function(compiled, *arguments))


def test_both_bodies_know_the_same_constants():
    homes = {
        core_model: ("WORN", "REFRESH_AFTER", "FAR", "RECENTRE_AFTER", "BATCH", "CANCELLED"),
        selection: ("TIE", "ROUNDING"),
        races: ("MEMORY", "CAUTION", "FEWEST_REPEATS", "BEHIND", "NEGLIGIBLE", "RACES"),
    }
    known = extension.constants()
    for home, names in homes.items():
        for name in names:
            assert known[name] == getattr(home, name), name
    assert known["TALLIES"] == core_model.new_dense(np.eye(2), 1.0).tally.size
    assert core_model.RESIDUAL == 4


def test_every_verb_in_c_stands_on_a_numpy_body():
    assert all(nw.rules.POLICIES[name] for name in nw.rules.POLICIES)  # loads all rules
    compiled = {name for name in dir(extension) if callable(getattr(extension, name)) and name[0] != "_"}
    compiled -= {"set_body", "set_models", "use_numpy", "constants"}
    bodies = {
        name for name in compiled if numpy_body(getattr(extension, name)) is not getattr(extension, name)
    }
    assert bodies == compiled


def test_calls_leak_nothing():
    model = some_model("by feature", 50, 4, seed=0)
    mask = np.ones(50, np.bool_)

    def everything():
        core_model.fold(model, 3, 0.5, 1.0)
        selection.regret_bound(model, mask, 3, 1.0)
        core_model.contrast_widths(model, 3)
        selection.first_largest(model.means, mask)
        with contextlib.suppress(IndexError):
            core_model.fold(model, 50, 0.5, 1.0)

    everything()
    gc.collect()
    before = [sys.getrefcount(item) for item in (*model, mask, model, None)]
    blocks_before = sys.getallocatedblocks()
    for _ in range(200):
        everything()
    gc.collect()
    after = [sys.getrefcount(item) for item in (*model, mask, model)]
    assert after == before[:-1]
    assert sys.getallocatedblocks() - blocks_before < 100
