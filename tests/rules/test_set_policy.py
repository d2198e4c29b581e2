"""Policies on infinite sets: vectors in, vectors out, and certificates that hold."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import noisewise as nw


def played(policy, theta, sigmas, seed=0):
    """A policy after measurements of what it asked for."""
    rng = np.random.default_rng(seed)
    for sigma in sigmas:
        vector = policy.ask()
        policy.tell(vector, float(vector @ theta + sigma * rng.standard_normal()), sigma)
    return policy


THETA = np.array([0.6, 0.0, -0.8])


def widths_of(estimate, vectors):
    return np.sqrt(np.einsum("ij,jk,ik->i", vectors, estimate.covariance, vectors))


def test_beliefs_are_those_of_a_list_of_the_same_vectors():
    """The same measurements told as rows of a list give the same estimate, widths and radius."""
    rng = np.random.default_rng(1)
    vectors = rng.standard_normal((30, 3))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    listed, free = nw.vaee(vectors), nw.vaee(nw.sets.Ball(3))
    for k, sigma in enumerate(np.geomspace(1e-4, 1.0, 30)):
        reward = float(rng.standard_normal())
        listed.tell(k, reward, sigma)
        free.tell(vectors[k], reward, sigma)
    one, two = listed.estimate(), free.estimate()
    assert_allclose(two.theta, one.theta, rtol=1e-9)
    assert_allclose(widths_of(two, vectors), one.widths, rtol=1e-6)
    assert two.radius == pytest.approx(one.radius, rel=1e-12)
    assert two.total_precision == one.total_precision


def test_what_was_ruled_out_once_stays_so():
    """A certificate per doubling of the precision is kept; the newest alone would let actions return."""
    policy = played(nw.vaee(nw.sets.Ball(2), radius=1.0), np.array([1.0, 0.0]), np.full(64, 0.05))
    assert len(policy.rule.survivors.kept) == 7  # at 1, 2, 4, …, 64 measurements of one precision
    behind = np.array([-1.0, 0.0])
    assert not policy.is_candidate(behind)
    # Contrary news, worth more than all before: the estimate turns round, but the memory stays.
    for _ in range(3):
        policy.tell([1.0, 0.0], -5.0, 0.001)
    assert policy.estimate().theta[0] < 0.0
    assert not policy.is_candidate(behind)
    assert policy.is_candidate(policy.recommend())
    forgetful = nw.rules.widest(nw.sets.Ball(2), radius=1.0)
    for _ in range(3):
        forgetful.tell([1.0, 0.0], -5.0, 0.001)
    assert forgetful.is_candidate(behind)


def test_measuring_among_candidates_measures_candidates():
    for actions in (nw.sets.Ball(3), nw.sets.Hypercube(5), nw.sets.Box([-1.0, -1.0], [1.0, 2.0])):
        policy = nw.vaee(actions, explore="candidates", radius=1.0)
        theta = np.ones(actions.dim) / math.sqrt(actions.dim)
        rng = np.random.default_rng(0)
        narrowed = 0
        for _ in range(25):
            vector = policy.ask()
            assert actions.contains(vector)
            assert policy.is_candidate(vector)
            narrowed += not np.allclose(vector, policy.rule.model.widest())
            policy.tell(vector, float(vector @ theta + 0.1 * rng.standard_normal()), 0.1)
        assert narrowed > 5


def test_the_widest_candidate_of_a_hypercube_is_found_exactly():
    actions = nw.sets.Hypercube(5)
    policy = played(nw.vaee(actions, explore="candidates", radius=1.0), np.ones(5) / 3, np.full(30, 0.2))
    corners = np.array(np.meshgrid(*[[-1, 1]] * 5)).reshape(5, -1).T / math.sqrt(5)
    widths = widths_of(policy.estimate(), corners)
    alive = np.array([policy.is_candidate(corner) for corner in corners])
    assert 0 < alive.sum() < 32
    found = widths_of(policy.estimate(), policy.ask()[None, :])
    assert found == pytest.approx(widths[alive].max(), rel=1e-9)


def test_many_measurements_are_told_whole_or_not_at_all():
    policy = nw.vaee(nw.sets.Ball(2))
    with pytest.raises(
        ValueError, match=r"`action` must be in Ball\(2, radius=1\); got \[2.0, 0.0\], which is outside"
    ):
        policy.tell_many([[1.0, 0.0], [2.0, 0.0]], [1.0, 1.0], [0.1, 0.1])
    assert policy.n_told == 0
    policy.tell_many([[1.0, 0.0], [2.0, 0.0]], [1.0, 1.0], [0.1, 0.1], strict=False)
    assert policy.n_told == 2


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda p: p.ask(allowed=[0]), "`allowed` must be left out on an infinite set"),
        (lambda p: p.tell([3.0, 0.0, 0.0], 1.0, 0.1), "strict=False accepts it"),
        (lambda p: p.tell(0, 1.0, 0.1), "`action` must be a vector of 3 finite numbers; got 0"),
        (lambda p: p.ask(pending="ab"), "`pending` must be a list of actions"),
        (lambda p: p.ask(sigma=-1.0), "`sigma` must be a finite number above 0"),
        (lambda p: p.is_candidate([9.0, 0.0, 0.0]), "which is outside"),
        (lambda p: nw.vagd(p.actions), "`actions` must be a list of vectors for 'vagd'"),
        (
            lambda p: nw.vaee(p.actions, recommendation="last"),
            "`recommendation` must be 'best' with explore='all'",
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, sentence):
    policy = nw.vaee(nw.sets.Ball(3))
    with pytest.raises((ValueError, TypeError), match=sentence):
        call(policy)
    assert policy.n_told == 0


def test_it_says_why_on_an_infinite_set():
    policy = nw.vaee(nw.sets.Ball(2), seed=1)
    policy.tell([1.0, 0.0], 0.3, 0.5)
    vector = policy.ask()
    # θ has precision 1 (ridge) in the direction that was not measured.
    assert policy.why(vector) == "The rule 'vaee' chose it; its value is known to ±1 (one standard error)."
    assert "±0.71" in policy.why(vector, pending=[(vector, 1.0)])
    with pytest.raises(ValueError, match="action"):
        policy.why([3.0, 0.0])
