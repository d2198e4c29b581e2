"""Races: both bodies find what the textbook finds, with ties, copies and few candidates."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.support.naive import first_largest

import noisewise as nw
from noisewise.core.independent import Separate
from noisewise.core.model import CANCELLED, contrast_widths, fold, new_model, squared_covariances
from noisewise.core.native.verbs import extension, numpy_verbs
from noisewise.rules.races import (
    BEHIND,
    DIFFER,
    NEGLIGIBLE,
    RACES,
    closest_races,
    foreseen_variances,
    most_settling,
    new_history,
)

SEEDS = range(28)
compiled_only = pytest.mark.skipif(extension is None, reason="the extension is not built")


def vectors_of(seed, rng):
    """Isotropic, copies, near-copies, clusters, equal widths, one long feature, all along one line nearly."""
    n, dim = int(rng.integers(3, 200 if seed % 2 else 6000)), int(rng.integers(2, 8))
    vectors = rng.standard_normal((n, dim))
    kind = seed % 7
    if kind in (1, 2):  # copies of everything, the leader too; or nearly
        vectors = vectors[rng.integers(0, max(2, n // 3), n)]
        vectors += (kind - 1) * 1e-7 * rng.standard_normal((n, dim))
    elif kind == 3:  # clusters far from the origin
        vectors = 5.0 + vectors[rng.integers(0, 4, n) % n] + 0.02 * rng.standard_normal((n, dim))
    elif kind == 4:  # many equal widths and leads
        vectors = np.round(vectors).clip(-1, 1)
        vectors[~vectors.any(axis=1), 0] = 1.0
    elif kind == 5:  # features of very different size, and a constant one
        vectors *= 10.0 ** -np.arange(dim)
        vectors[:, -1] = 1.0
    elif kind == 6:  # sorted by what they are worth
        vectors = vectors[vectors[:, 0].argsort()]
    return np.asarray(vectors, np.float32 if seed % 5 == 0 else float, order="F" if seed % 4 == 0 else "C")


def problem(seed):
    """A measured model: with ties, copies, few candidates, sigmas over four decades."""
    rng = np.random.default_rng(seed)
    vectors = vectors_of(seed, rng)
    n, dim = vectors.shape
    model = new_model(vectors.T, 0.5)
    theta = rng.standard_normal(dim)
    for _ in range(int(rng.integers(1, 40))):
        action, sigma = int(rng.integers(n)), float(10 ** rng.uniform(-3, 1))
        fold(model, action, float(vectors[action] @ theta + sigma * rng.normal()), sigma)
    candidates = rng.random(n) < rng.choice([1.0, 0.7, 0.1])
    candidates[rng.integers(n)] = True
    leader = first_largest(model.means, np.flatnonzero(candidates))
    return model, candidates, leader, rng


def races_of(model, candidates, leader, reach):
    """The rivals and what their races count."""
    rivals, weights = np.full(RACES, -7), np.full(RACES, -7.0)
    closest_races(model, candidates, leader, reach, rivals, weights)
    count = int((weights > 0.0).sum())
    assert (weights[count:] == 0.0).all()
    return rivals[:count].tolist(), weights[:count]


def textbook_races(model, candidates, leader, reach):
    """Every width, every rival, the largest in turn."""
    widths, means = contrast_widths(model, leader), model.means
    terms = model.squared_widths + model.squared_widths[leader]
    left = np.flatnonzero(candidates & (widths**2 > 2.0 * CANCELLED * terms))
    left = left[left != leader]
    found, weights = [], []
    if left.size:
        reach = max(reach, ((means[leader] - means[left]) / widths[left]).min())
        upper = reach * widths - (means[leader] - means)
        scale = reach * widths[left[upper[left].argmax()]]
    while left.size and len(found) < RACES:
        rival = first_largest(upper, left, scale)
        first = found[0] if found else rival
        weight = math.exp((upper[rival] - upper[first]) / (BEHIND * reach * widths[first]))
        if weight < NEGLIGIBLE:
            break
        found.append(rival)
        weights.append(weight)
        left = left[left != rival]
    return found, weights


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("reach", [3.0, 0.01])
def test_the_closest_races_are_the_textbooks(seed, reach):
    question = problem(seed)[:3]
    rivals, weights = textbook_races(*question, reach)
    assert races_of(*question, reach)[0] == rivals
    assert_allclose(races_of(*question, reach)[1], weights, rtol=1e-6)
    with numpy_verbs():
        assert races_of(*question, reach)[0] == rivals


def settling_problem(seed):
    """What `most_settling` is asked, and what it has to answer."""
    model, candidates, leader, rng = problem(seed)
    n = model.means.size
    rivals, weights = np.full(RACES, leader), np.zeros(RACES)
    closest_races(model, candidates, leader, 2.0, rivals, weights)
    if weights[0] == 0.0:
        rivals[0], weights[0] = (leader + 1) % n, 1.0
    weights[int(rng.integers(1, 5)) :] = 0.0
    allowed = rng.random(n) < rng.choice([1.0, 0.5])
    allowed[rng.integers(n)] = True
    noise, sigma = new_history(n), math.nan
    noise.precisions[:], noise.tally[1] = rng.uniform(0.1, 10.0, n), n
    if seed % 3 == 1:
        noise.relative[:], noise.tally[DIFFER] = np.exp(rng.standard_normal(n)), 1.0
    elif seed % 3 == 2:
        sigma = float(10 ** rng.uniform(-4, 3))
    races = rivals[weights > 0.0], leader, weights[weights > 0.0]
    gains = squared_covariances(model, *races) / (foreseen_variances(noise, sigma) + model.squared_widths)
    wanted = first_largest(gains, np.flatnonzero(allowed))
    answer = wanted if gains[wanted] > 0.0 else -1
    return (model, rivals, leader, weights, noise, sigma, allowed), answer


@pytest.mark.parametrize("seed", SEEDS)
def test_the_most_settling_is_the_textbooks(seed):
    question, answer = settling_problem(seed)
    assert most_settling(*question) == answer
    with numpy_verbs():
        assert most_settling(*question) == answer


@compiled_only
def test_what_belongs_to_another_model_is_refused():
    """Rivals that are no rows, a history of fewer actions: never read."""
    model = new_model(np.eye(70), 1.0)
    everybody, noise, race = np.ones(70, bool), new_history(70), np.eye(4)[0]
    rivals = np.array([1, 0, 0, 0])
    with pytest.raises(ValueError, match="weights"):
        closest_races(model, everybody, 0, 1.0, rivals, np.empty(3))
    with pytest.raises(IndexError, match="rivals"):
        most_settling(model, np.array([70, 0, 0, 0]), 0, race, noise, 1.0, everybody)
    with pytest.raises(ValueError, match="counts"):
        most_settling(model, np.array([1, 0, 0, 0]), 0, race, new_history(69), 1.0, everybody)


def test_options_without_features_race_too():
    """The model with one unknown per option: compiled and NumPy verbs find the same."""
    rng = np.random.default_rng(0)
    options = Separate(30)
    model = new_model(options, 1.0)
    for _ in range(60):
        fold(model, int(rng.integers(30)), float(rng.normal()), float(10 ** rng.uniform(-2, 0)))
    leader, everybody, noise = int(model.means.argmax()), np.ones(30, bool), new_history(30)

    def found():
        rivals, weights = np.empty(RACES, np.int64), np.empty(RACES)
        closest_races(model, everybody, leader, 1.0, rivals, weights)
        action = most_settling(model, rivals, leader, weights, noise, math.nan, everybody)
        return [*rivals.tolist(), *weights.round(12).tolist(), action]

    compiled = found()
    with numpy_verbs():
        assert found() == compiled


def test_bounds_that_are_no_numbers_end_the_search_for_races():
    """Every argument is accepted, and squares of widths times precisions are beyond all numbers."""
    vectors = 1e142 * np.random.default_rng(0).standard_normal((6, 3))
    policy = nw.rules.vage(vectors, norm_bound=1e135)
    with np.errstate(all="ignore"):
        for _ in range(5):
            policy.tell(policy.ask(), 1e80, 1e-60)
    assert policy.ask() in range(6)
