"""Races: what bounds leave over is what looking at everybody gives, with ties, copies and few candidates."""

import numba
import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.support.naive import first_largest

import noisewise as nw
from noisewise.core.choice.selection import TIE
from noisewise.core.compiler.kernels import register_kernels
from noisewise.core.model.covariances import CANCELLED, contrast_widths, squared_covariances
from noisewise.core.model.dense import new_model
from noisewise.core.support import blocks
from noisewise.policies.rules.ours.vage import races, settlement
from noisewise.policies.rules.ours.vage.races import closest_rivals, fold_in_races, follow, nothing_known
from noisewise.policies.rules.ours.vage.settlement import Foreseen, most_settling

SEEDS = range(40)


@pytest.fixture
def bounding(monkeypatch):
    """Bounds for few actions too, in blocks that end anywhere; at least some rows must be left out."""
    monkeypatch.setattr(races, "WORTH_BOUNDING", 1)
    monkeypatch.setattr(settlement, "WORTH_BOUNDING", 1)
    monkeypatch.setattr(races, "ONE_IN", 2)
    monkeypatch.setattr(settlement, "ONE_IN", 2)
    monkeypatch.setattr(races, "CHUNK", 4)
    monkeypatch.setattr(races, "FIRST_LOOKS", 5)
    monkeypatch.setattr(blocks, "ROWS_PER_BLOCK", 37)


def problem(seed):
    """A measured model and what is known of its leader: with ties, copies, few candidates, old bounds."""
    rng = np.random.default_rng(seed)
    n, dim = int(rng.integers(3, 200)), int(rng.integers(2, 8))
    vectors = rng.standard_normal((n, dim))
    if seed % 3 == 1:  # copies of everything, the leader too
        vectors = vectors[rng.integers(0, max(2, n // 3), n)]
    if seed % 3 == 2:  # many equal widths and leads
        vectors = np.round(vectors).clip(-1, 1)
        vectors[~vectors.any(axis=1), 0] = 1.0
    model = new_model(np.asarray(vectors, np.float32 if seed % 5 == 0 else float).T, 0.5)
    known, theta = nothing_known(model), rng.standard_normal(dim)
    for t in range(int(rng.integers(1, 40))):
        action, sigma = int(rng.integers(n)), float(10 ** rng.uniform(-3, 0))
        fold_in_races(model, known, action, float(vectors[action] @ theta + sigma * rng.normal()), sigma)
        if t % 7 == 0:
            follow(known, model, np.ones(n, bool))
    candidates = rng.random(n) < rng.choice([1.0, 0.7, 0.1])
    candidates[rng.integers(n)] = True
    leader = first_largest(model.means, np.flatnonzero(candidates))
    if seed % 4:
        follow(known, model, candidates)
    return model, known, candidates, leader, rng


def textbook_rivals(model, candidates, leader, reach, many):
    """Every width, every rival, the largest in turn."""
    widths, means = contrast_widths(model, leader), model.means
    terms = model.squared_widths + model.squared_widths[leader]
    left = [
        k for k in np.flatnonzero(candidates) if k != leader and widths[k] ** 2 > 2.0 * CANCELLED * terms[k]
    ]
    found = []
    if left:
        reach = max(reach, min((means[leader] - means[k]) / widths[k] for k in left))
        upper = reach * widths - (means[leader] - means)
        scale = max(max(upper[k] for k in left), means[leader] - means.min())
    while left and len(found) < many:
        found.append(first_largest(upper, left, scale))
        left.remove(found[-1])
    return found, reach * widths[found]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("reach", [3.0, 0.01])
def test_the_closest_rivals_are_the_textbooks(seed, reach, bounding):
    model, known, candidates, leader, _ = problem(seed)
    wanted, slacks = textbook_rivals(model, candidates, leader, reach, 4)
    for what in (known, nothing_known(model)):
        rivals, found = closest_rivals(model, what, candidates, leader, reach, 4)
        assert rivals.tolist() == wanted
        assert_allclose(found, slacks, rtol=1e-9)


def settling_problem(seed):
    """What `most_settling` is asked, and what it has to answer."""
    model, known, candidates, leader, rng = problem(seed)
    n = model.means.size
    rivals, _ = closest_rivals(model, known, candidates, leader, 2.0, int(rng.integers(1, 5)))
    if not rivals.size:
        rivals = np.array([(leader + 1) % n])
    weights = np.sort(rng.uniform(0.05, 1.0, rivals.size))[::-1].copy()
    allowed = rng.random(n) < rng.choice([1.0, 0.5])
    allowed[rng.integers(n)] = True
    relative = np.exp(rng.standard_normal(n)) if seed % 2 else np.empty(0)
    foreseen = Foreseen(float(10 ** rng.uniform(-4, 1)), relative)
    noise = foreseen.variance * (relative if relative.size else 1.0)
    gains = squared_covariances(model, rivals, leader, weights) / (noise + model.squared_widths)
    wanted = first_largest(gains, np.flatnonzero(allowed))
    longest = float(np.linalg.norm(model.columns, axis=0).max())
    answer = wanted if gains[wanted] > 0.0 else -1
    return (model, rivals, leader, weights, foreseen, allowed, longest), answer


@pytest.mark.parametrize("seed", SEEDS)
def test_the_most_settling_is_the_textbooks(seed, bounding):
    question, answer = settling_problem(seed)
    assert most_settling(*question) == answer


def test_loops_and_arrays_find_the_same(bounding):
    register_kernels()
    for seed in SEEDS:
        question, answer = settling_problem(seed)
        if question[0].columns.dtype == float:
            assert COMPILED["settling"](*question) == answer
            model, known, candidates, leader, _ = problem(seed)
            for reach in (3.0, 0.01):
                wanted = textbook_rivals(model, candidates, leader, reach, 4)
                found = COMPILED["rivals"](model, known, candidates, leader, reach, 4)
                assert found[0].tolist() == wanted[0]
                assert_allclose(found[1], wanted[1], rtol=1e-9)


def test_nobody_settles_what_nobody_touches(bounding):
    """Orthogonal options: measuring the third says nothing about the race of the first two."""
    model, allowed = new_model(np.eye(5), 1.0), np.array([False, False, True, False, False])
    race = np.array([1]), 0, np.ones(1), Foreseen(0.1, np.empty(0))
    assert most_settling(model, *race, allowed, 1.0) == -1
    assert most_settling(model, *race, ~allowed, 1.0) == 0


def test_known_widths_are_bounds_and_nearly_exact(bounding):
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((50, 4))
    model = new_model(vectors.T, 1.0)
    known = nothing_known(model)
    follow(known, model, np.arange(50) == 7)
    for _ in range(races.REFRESH_AFTER):
        fold_in_races(model, known, int(rng.integers(50)), 0.0, float(10 ** rng.uniform(-4, 0)))
        exact = contrast_widths(model, 7) ** 2
        assert (known.squared + known.about[races.HIDDEN] >= exact * (1 - TIE)).all()
        assert_allclose(known.squared, exact, atol=known.about[races.HIDDEN])
    follow(known, model, np.arange(50) == 7)
    assert known.about[races.AGE] == 0.0


@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_a_live_policy_chooses_the_same_with_and_without_bounds(spread, monkeypatch):
    """Two hundred rounds of each; and with bounds hardly anybody is looked at exactly."""
    rng = np.random.default_rng(3)
    vectors = rng.standard_normal((600, 12))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    sigmas, noise = 10 ** rng.uniform(-2, 0, 200), rng.standard_normal(200)
    own = np.exp(spread * rng.standard_normal(600))

    def pulls():
        policy, pulled = nw.vage(vectors), []
        for sigma, unit in zip(sigmas, noise, strict=True):
            action = policy.ask()
            told = float(own[action] * (1.0 if spread else sigma) * 0.1)
            policy.tell(action, float(vectors[action] @ vectors[5] + told * unit), told)
            pulled.append(action)
        return pulled

    without = pulls()
    monkeypatch.setattr(races, "WORTH_BOUNDING", 1)
    monkeypatch.setattr(settlement, "WORTH_BOUNDING", 1)
    everybody = []
    for module, name in ((races, "_rival_widths"), (settlement, "_most_settling_of_all")):
        real = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *a, real=real: everybody.append(1) or real(*a))
    assert pulls() == without
    assert len(everybody) < 0.6 * 2 * len(without)


# Wrapped in lambdas: the kernels themselves are plain functions that compiled code may call.
COMPILED = {
    "rivals": numba.njit(
        lambda model, known, candidates, leader, reach, many: closest_rivals(
            model, known, candidates, leader, reach, many
        )
    ),
    "settling": numba.njit(
        lambda model, rivals, leader, weights, foreseen, allowed, max_norm: most_settling(
            model, rivals, leader, weights, foreseen, allowed, max_norm
        )
    ),
}
