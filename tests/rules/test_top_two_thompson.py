"""Top-two Thompson sampling: its leader, its challenger, and what is measured to compare them."""

import numpy as np
import pytest
from tests.support import naive
from tests.support.playing import random_history, told

import noisewise as nw


@pytest.mark.parametrize("challenger", ["draw", "transport"])
def test_the_leader_is_drawn_as_often_as_the_posterior_says(challenger):
    """Over 400 seeds; each frequency within five standard errors of a direct simulation."""
    vectors, history = random_history(1)
    means, _, _ = naive.posterior(vectors, history, 1.0)
    options = {"probe": "pair", "leader_share": 1 - 1e-9, "challenger": challenger}
    policy = told(nw.rules.top_two_thompson(vectors, **options), history)
    seen = []
    for seed in range(400):
        policy.rule.seed = seed
        seen.append(policy.ask())
    precision = np.eye(3) + sum(np.outer(vectors[a], vectors[a]) / s**2 for a, _, s in history)
    rng = np.random.default_rng(0)
    theta = np.linalg.lstsq(vectors, means, rcond=None)[0]
    draws = theta + rng.standard_normal((20_000, 3)) @ np.linalg.cholesky(np.linalg.inv(precision)).T
    share = np.bincount((draws @ vectors.T).argmax(axis=1), minlength=9) / 20_000
    error = np.sqrt(share * (1 - share) / 400) + 1e-3
    assert np.all(np.abs(np.bincount(seen, minlength=9) / 400 - share) < 5 * error)


def test_the_challenger_by_transport_is_the_rival_most_easily_mistaken():
    vectors, history = random_history(2)
    precision = np.eye(3) + sum(np.outer(vectors[a], vectors[a]) / s**2 for a, _, s in history)
    inverse = np.linalg.inv(precision)
    means, _, _ = naive.posterior(vectors, history, 1.0)
    leader_of, rival_of = (
        told(
            nw.rules.top_two_thompson(vectors, probe="pair", leader_share=share, challenger="transport"),
            history,
        )
        for share in (1 - 1e-9, 1e-9)
    )
    for seed in range(20):
        leader_of.rule.seed = rival_of.rule.seed = seed
        leader = leader_of.ask()
        apart = vectors - vectors[leader]
        cost = np.maximum(means[leader] - means, 0) ** 2 / np.maximum(
            np.einsum("ij,jk,ik->i", apart, inverse, apart), 1e-30
        )
        cost[leader] = np.inf
        assert rival_of.ask() == cost.argmin()


@pytest.mark.parametrize("challenger", ["draw", "transport"])
def test_the_linear_probe_is_the_action_that_teaches_most_about_the_two(challenger):
    thirds = 0
    for number in range(3, 9):
        vectors, history = random_history(number)
        precision = np.eye(3) + sum(np.outer(vectors[a], vectors[a]) / s**2 for a, _, s in history)
        inverse = np.linalg.inv(precision)
        usual = len(history) / sum(s**-2 for _, _, s in history)
        leader_of, rival_of, policy = (
            told(nw.rules.top_two_thompson(vectors, challenger=challenger, **options), history)
            for options in (
                {"probe": "pair", "leader_share": 1 - 1e-9},
                {"probe": "pair", "leader_share": 1e-9},
                {},
            )
        )
        for seed in range(10):
            leader_of.rule.seed = rival_of.rule.seed = policy.rule.seed = seed
            leader, rival, action = leader_of.ask(), rival_of.ask(), policy.ask()
            covariances = vectors @ inverse @ (vectors[leader] - vectors[rival])
            gains = covariances**2 / (usual + np.einsum("ij,jk,ik->i", vectors, inverse, vectors))
            assert gains[action] >= gains.max() * (1 - 1e-9)
            thirds += action not in (leader, rival)
    assert thirds > 5


def test_who_is_compared_need_not_be_allowed():
    """Leader and challenger are 0 and 1, the first two actions; of the others, one tells them apart."""
    vectors = np.array([[1.0, 0.0, 0.0], [1.0, 0.2, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    policy = nw.rules.top_two_thompson(vectors)
    for action, value in ((0, 1.0), (2, 0.0), (3, 0.0)):
        policy.tell(action, value, 0.02)
    for seed in range(10):
        policy.rule.seed = seed
        assert policy.ask(allowed=[2, 3]) == 2
        assert policy.ask(allowed=[3]) == 3
