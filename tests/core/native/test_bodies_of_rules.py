"""The verbs of single rules and sets: C gives NumPy's answers, and refuses what does not belong together."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.support.layouts import LAYOUTS

import noisewise as nw
from noisewise.actions import vertices
from noisewise.core import model as core_model
from noisewise.core.native.verbs import extension, is_compiled, numpy_verbs
from noisewise.rules import _bayes_gap as bayes_gap
from noisewise.rules import _frank_wolfe_sampling as matrix_game
from noisewise.rules import _information_directed as information_directed
from noisewise.rules import _lingame as lingame
from noisewise.rules import alternatives, huber, median_of_means, one_pass

pytestmark = pytest.mark.skipif(extension is None, reason="the extension is not built")

#: Every layout, and every size.
CASES = [(layout, 12, 4) for layout in LAYOUTS]
CASES += [("by feature", 1, 1), ("by action", 3, 7), ("by feature", 130, 9), ("by action, single", 70, 6)]


def in_both_bodies(work):
    """The answers of C and of NumPy."""
    compiled = work()
    with numpy_verbs():
        return compiled, work()


def measurements(seed, n, length):
    """Rows, values and scales: sigmas over five decades, noise without a fourth moment."""
    rng = np.random.default_rng(seed)
    for _ in range(length):
        scale = 10.0 ** rng.uniform(-3, 2)
        yield int(rng.integers(n)), float(scale * rng.standard_t(1.5)), scale


def empty_model(layout, n, dim, seed=1):
    vectors = np.random.default_rng(seed).standard_normal((n, dim)).astype(np.float32).astype(np.float64)
    return core_model.new_dense(LAYOUTS[layout](vectors), 0.7)


def in_errors(model, one, other):
    """How far two estimates are apart, in standard errors."""
    upper = np.triu(model.factor[:, :-1], 1) + np.eye(one.size)
    return float(np.sqrt((model.pivots * (upper @ (one - other)) ** 2).sum()))


@pytest.mark.parametrize(("layout", "n", "dim"), CASES)
@pytest.mark.parametrize("bound", [0.05, 0.9, 50.0])
def test_the_huber_estimate_is_the_same(layout, n, dim, bound):
    def work():
        model, history = empty_model(layout, n, dim), huber.new_history(n, dim, 80)
        estimates = []
        for action, reward, scale in measurements(n, n, 80):
            tau = huber.threshold(0.4, model.squared_widths[action], scale)
            core_model.fold(model, action, reward, scale)
            huber.remember(history, model, action, reward, scale, tau)
            estimates.append(huber.fit_huber(history, model, 0.7, bound))
            core_model.set_theta(model, estimates[-1])
        return model, history, estimates

    (model, history, compiled), (_, plain_history, plain) = in_both_bodies(work)
    assert np.linalg.norm(compiled[-1]) <= bound * (1.0 + 1e-9)
    for one, other in zip(compiled, plain, strict=True):
        assert in_errors(model, one, other) < 1e-4 * (1.0 + in_errors(model, one, 0.0 * one))
    for field in ("rewards", "scales", "slots", "vectors", "slot_of", "filled"):
        assert_array_equal(getattr(history, field), getattr(plain_history, field))


@pytest.mark.parametrize(("layout", "n", "dim"), CASES)
@pytest.mark.parametrize("bound", [0.3, 50.0])
def test_the_estimate_in_one_pass_is_the_same(layout, n, dim, bound):
    def work():
        model, curvature = empty_model(layout, n, dim), one_pass.new_curvature(dim, 0.7)
        for action, reward, scale in measurements(n + 1, n, 80):
            one_pass.move(curvature, model, action, reward, scale, 0.5, bound)
        return curvature

    compiled, plain = in_both_bodies(work)
    assert_allclose(compiled.pivots, plain.pivots, rtol=1e-6)
    assert in_errors(compiled, compiled.theta, plain.theta) < 1e-5
    assert np.linalg.norm(compiled.theta) <= bound * (1.0 + 1e-9)


@pytest.mark.parametrize("bound", [1e-3, 0.2, 50.0])
def test_the_model_stays_in_the_ball_in_the_same_way(bound):
    def work():
        model, curvature = empty_model("by action", 20, 5), one_pass.new_curvature(5, 0.7)
        for action, reward, scale in measurements(4, 20, 60):
            core_model.fold(model, action, reward, scale)
            one_pass.stay_in_ball(curvature, model, bound)
        return model

    compiled, plain = in_both_bodies(work)
    assert_allclose(compiled.means, plain.means, rtol=1e-6, atol=1e-9)
    assert np.linalg.norm(core_model.theta(compiled)) <= bound * (1.0 + 1e-9)


@pytest.mark.parametrize(("layout", "n", "dim"), CASES)
@pytest.mark.parametrize("n_blocks", [1, 5, 31])
def test_medians_of_means_are_the_same(layout, n, dim, n_blocks):
    some = np.arange(n) % 3 != 1

    def work():
        model, blocks = empty_model(layout, n, dim), median_of_means.new_blocks(n_blocks, dim, 0.7)
        for action, reward, scale in measurements(n + 2, n, 100):
            core_model.fold(model, action, reward, scale)
            median_of_means.deal(blocks, model, action, reward, scale)
        return model, blocks

    (model, blocks), (_, plain) = in_both_bodies(work)
    assert_allclose(blocks.pivots, plain.pivots, rtol=1e-7)
    assert_allclose(blocks.thetas, plain.thetas, rtol=1e-6, atol=1e-6)
    one, other = in_both_bodies(lambda: median_of_means.centre_of(blocks, model))
    spread = max(in_errors(model, theta, one) for theta in blocks.thetas)
    assert in_errors(model, one, other) <= 1e-4 * spread + 1e-9
    one, other = in_both_bodies(lambda: median_of_means.certified_contrast(blocks, model, some, 0, 2.5))
    assert one == pytest.approx(other, rel=1e-8)
    one, other = in_both_bodies(lambda: median_of_means.covering_radius(blocks, model, 2.5))
    assert one == pytest.approx(other, rel=1e-6)


@pytest.mark.parametrize(("layout", "n", "dim"), CASES)
def test_alternatives_are_the_same(layout, n, dim):
    model, rng = empty_model(layout, n, dim), np.random.default_rng(n)
    for action, reward, scale in measurements(n, n, 50):
        core_model.fold(model, action, reward, scale)
    shares = rng.dirichlet(np.ones(n))
    one, other = in_both_bodies(lambda: alternatives.inverse_of_moment(model, shares))
    assert_allclose(one, other, rtol=1e-5, atol=1e-6 * np.abs(other).max())
    assert_allclose(one, one.T, rtol=1e-4)
    inverse, leader, rival = one, int(rng.integers(n)), 0
    costs = in_both_bodies(lambda: alternatives.costs_of_rivals(model, inverse, leader))
    # Three actions of seven features leave a moment that has next to no inverse.
    assert_allclose(*costs, rtol=1e-8 if n >= dim else 1e-5)
    if rival != leader:
        shifts = in_both_bodies(lambda: alternatives.shifts_towards(model, inverse, leader, rival))
        assert_allclose(*shifts, rtol=1e-5, atol=1e-5 * np.abs(shifts[1]).max())


@pytest.mark.parametrize("n", [1, 7, 40])
def test_rivals_are_found_in_the_same_way(n):
    rng = np.random.default_rng(n)
    model = empty_model("by action", n, 3)
    for costs in (
        rng.random(n),
        np.full(n, np.inf),
        np.where(rng.random(n) < 0.5, np.inf, 1.0 + 1e-12 * rng.random(n)),
        np.where(rng.random(n) < 0.5, np.inf, 0.0),
    ):
        assert_array_equal(*in_both_bodies(lambda costs=costs: alternatives.closest_rival(costs)))
        rows = np.zeros((2, n), np.int64)
        count = alternatives.rivals_within(costs, 0.3, rows[0])
        with numpy_verbs():
            assert alternatives.rivals_within(costs, 0.3, rows[1]) == count
        assert_array_equal(*rows)
        given, allowed = np.where(rng.random(n) < 0.3, 0.0, 1.0), rng.random(n) < 0.6
        assert_array_equal(*in_both_bodies(lambda g=given, a=allowed: alternatives.first_unseen(g, a)))
    inverse, costs, near = np.eye(3), rng.random(n), np.arange(1, n, 3)
    payoffs = in_both_bodies(lambda: alternatives.payoffs_of(model, inverse, costs, 0, near))
    assert payoffs[0].shape == (near.size, n)
    assert_allclose(*payoffs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "upper",
    [[1.0], [1.0, 3.0, 2.0], [3.0, 3.0, 1.0], [-np.inf, -np.inf], [1.0, np.inf, 2.0], [1.0, np.nan, 2.0]],
)
def test_the_best_of_others_is_the_same(upper):
    one, other = in_both_bodies(lambda: bayes_gap.best_of_others(np.array(upper)))
    assert_array_equal(one, other)
    if len(upper) > 1 and not np.isnan(upper).any():
        assert_array_equal(one, [max(upper[:k] + upper[k + 1 :]) for k in range(len(upper))])


@pytest.mark.parametrize("n", [1, 2, 40])
def test_the_hardness_is_the_same(n):
    model = empty_model("by action", n, 3)
    for action, reward, scale in measurements(n, n, 30):
        core_model.fold(model, action, reward, scale)
        one, other = in_both_bodies(lambda: bayes_gap.hardness(model, 0.01))
        assert one == pytest.approx(other, rel=1e-9)


def test_mixtures_are_the_same():
    rng = np.random.default_rng(1)
    for n in (1, 2, 3, 40):
        for _ in range(30):
            gap, gain = rng.random(n) * 10.0 ** rng.uniform(-3, 3), rng.random(n)
            gain[rng.random(n) < 0.2] = 0.0
            allowed = rng.random(n) < 0.8
            arguments = gap, gain, allowed
            one, other = in_both_bodies(lambda a=arguments: information_directed.best_mixture(*a))
            assert_array_equal(one[:2], other[:2])
            assert one[2] == pytest.approx(other[2], abs=1e-9)


def test_learners_are_the_same():
    rng = np.random.default_rng(0)
    for n in (1, 2, 30):
        for doubt in (1e-2, 3.0, 1e4):
            losses, gains = 10.0 * rng.standard_normal(n), rng.random(n)
            one, other = in_both_bodies(lambda o=losses, d=doubt: lingame.hedged(o, d))
            assert_allclose(one, other, rtol=1e-10, atol=1e-300)
            gap = in_both_bodies(lambda s=one, o=losses, g=gains, d=doubt: lingame.mixability_gap(s, o, g, d))
            assert_allclose(*gap, atol=1e-10)


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (2, 5), (4, 3), (7, 30), (12, 12)])
def test_games_are_solved_in_the_same_way(shape):
    rng = np.random.default_rng(shape)
    for scale in (1e-3, 1.0, 1e3):
        payoffs = scale * rng.standard_normal(shape)
        one, other = in_both_bodies(lambda payoffs=payoffs: matrix_game.solve_game(payoffs))
        assert_allclose(one, other, atol=1e-9)
    equal = np.full(shape, 2.5)
    assert_array_equal(*in_both_bodies(lambda: matrix_game.solve_game(equal)))


def test_vertices_have_the_same_values():
    rng = np.random.default_rng(0)
    for shape in (
        nw.sets.Hypercube(6).shape,
        vertices.one_table(rng.standard_normal((9, 3))),
        vertices.Vertices(rng.standard_normal((5, 2)), rng.standard_normal((4, 3)), False),
        vertices.two_tables(np.zeros(1), np.ones(1)),
        vertices.Vertices(rng.standard_normal((5, 2)), rng.standard_normal((3, 2)), True),  # no corners
    ):
        dim = shape.left.shape[1] + shape.right.shape[1]
        root, (theta, origin) = rng.standard_normal((dim, dim)), rng.standard_normal((2, dim))
        for radius in (0.0, 1.3):
            arguments = shape, theta, root @ root.T, radius, origin
            values = in_both_bodies(lambda arguments=arguments: vertices.contrast_values(*arguments))
            assert_allclose(*values, atol=1e-11)


def test_both_bodies_of_the_rules_know_the_same_constants():
    homes = {
        huber: ("ON_THE_BALL", "MOST_SHIFTS", "CLOSE", "MOST_STEPS", "MOST_CUTS", "OVERSHOT"),
        one_pass: ("MOST_STEPS",),
        median_of_means: ("MOST_MOVES", "SETTLED"),
        alternatives: ("LEAST", "COPY"),
        matrix_game: ("NOTHING",),
        bayes_gap: ("GUESS",),
        information_directed: ("MOST_EXCHANGES", "OPTIMAL"),
    }
    known = extension.constants()
    for home, names in homes.items():
        for name in names:
            assert known[name] == getattr(home, name), name


def told_history():
    model, history = empty_model("by feature", 6, 3), huber.new_history(6, 3, 20)
    for action, reward, scale in measurements(0, 6, 15):
        huber.remember(history, model, action, reward, scale, 1.0)
    return model, history


def test_a_history_that_counts_or_points_beyond_its_end_is_refused():
    model, history = told_history()
    for change in (
        lambda: history.filled.__setitem__(0, 21),
        lambda: history.filled.__setitem__(1, 7),
        lambda: history.filled.__setitem__(0, -1),
        lambda: history.slots.__setitem__(3, 6),
        lambda: history.slots.__setitem__(3, -1),
    ):
        kept = history.filled.copy(), history.slots.copy()
        change()
        with pytest.raises(ValueError, match="must have"):
            huber.fit_huber(history, model, 1.0, 1.0)
        history.filled[:], history.slots[:] = kept


def test_a_full_history_takes_no_more():
    model, history = told_history()
    for _ in range(5):
        huber.remember(history, model, 0, 1.0, 1.0, 1.0)
    with pytest.raises(IndexError):
        huber.remember(history, model, 0, 1.0, 1.0, 1.0)
    with pytest.raises(IndexError):
        huber.remember(history, model, 6, 1.0, 1.0, 1.0)
    assert history.filled[0] == 20


def call_with_a_shorter(kind, field):
    """Call the verb of a history, a curvature or blocks with one array that is too short."""

    def shorter(given):
        return given._replace(**{field: np.ascontiguousarray(getattr(given, field)[..., :-1])})

    model, history = told_history()
    if kind is huber.History:
        huber.fit_huber(shorter(history), model, 1.0, 1.0)
    elif kind is one_pass.Curvature:
        one_pass.move(shorter(one_pass.new_curvature(3, 1.0)), model, 0, 1.0, 1.0, 1.0, 1.0)
    else:
        median_of_means.deal(shorter(median_of_means.new_blocks(5, 3, 1.0)), model, 0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        (kind, field)
        for kind in (huber.History, one_pass.Curvature, median_of_means.Blocks)
        for field in kind._fields
    ],
)
def test_arrays_of_other_lengths_are_refused(kind, field):
    with pytest.raises(ValueError, match=r"^`\w+` must have \d+ entries to belong to the model; got \d+\.$"):
        call_with_a_shorter(kind, field)


def test_numbers_of_other_lengths_are_refused():
    model, eye = empty_model("by feature", 6, 3), np.eye(3)
    shape, blocks = nw.sets.Hypercube(3).shape, median_of_means.new_blocks(3, 3, 1.0)
    for function, arguments in (
        (alternatives.inverse_of_moment, (model, np.ones(5))),
        (alternatives.costs_of_rivals, (model, np.eye(4), 0)),
        (alternatives.shifts_towards, (model, np.eye(2), 0, 1)),
        (alternatives.payoffs_of, (model, eye, np.ones(5), 0, np.arange(2))),
        (alternatives.rivals_within, (np.ones(4), 0.1, np.zeros(3, np.int64))),
        (alternatives.first_unseen, (np.ones(4), np.ones(3, np.bool_))),
        (information_directed.best_mixture, (np.ones(4), np.ones(3), np.ones(4, np.bool_))),
        (lingame.mixability_gap, (np.ones(3), np.ones(4), np.ones(4), 1.0)),
        (vertices.contrast_values, (shape, np.zeros(2), eye, 1.0, np.zeros(3))),
        (vertices.contrast_values, (shape, np.zeros(3), np.eye(4), 1.0, np.zeros(3))),
        (median_of_means.certified_contrast, (blocks, model, np.ones(5, np.bool_), 0, 1.0)),
    ):
        assert is_compiled(function)
        with pytest.raises(ValueError, match=r"must have \d+ entries"):
            function(*arguments)
    for function, arguments in (
        (alternatives.costs_of_rivals, (model, eye, 6)),
        (alternatives.shifts_towards, (model, eye, 0, -1)),
        (alternatives.payoffs_of, (model, eye, np.ones(6), 0, np.array([0, 6]))),
        (median_of_means.deal, (blocks, model, 6, 1.0, 1.0)),
        (median_of_means.certified_contrast, (blocks, model, np.ones(6, np.bool_), 6, 1.0)),
    ):
        with pytest.raises(IndexError):
            function(*arguments)
