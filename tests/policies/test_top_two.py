"""The further rivals: top-two Thompson sampling and BayesGap against textbook versions."""

import math

import numpy as np
import pytest
from tests.support import naive

import noisewise as nw


def history_of(seed, rounds=25):
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((9, 3))
    sigmas = 10 ** rng.uniform(-1, 0.5, rounds)
    actions = rng.integers(0, 9, rounds)
    rewards = vectors[actions] @ rng.standard_normal(3) + sigmas * rng.standard_normal(rounds)
    return vectors, list(zip(actions.tolist(), rewards.tolist(), sigmas.tolist(), strict=True))


def told(policy, history):
    for action, reward, sigma in history:
        policy.tell(action, reward, sigma)
    return policy


@pytest.mark.parametrize("challenger", ["draw", "transport"])
def test_the_leader_is_drawn_as_often_as_the_posterior_says(challenger):
    """Over 400 seeds; each frequency within five standard errors of a direct simulation."""
    vectors, history = history_of(1)
    means, _, _ = naive.posterior(vectors, history, 1.0)
    policy = told(nw.top_two_thompson(vectors, leader_share=1 - 1e-9, challenger=challenger), history)
    seen = []
    for seed in range(400):
        policy.seed = seed
        seen.append(policy.ask())
    precision = np.eye(3) + sum(np.outer(vectors[a], vectors[a]) / s**2 for a, _, s in history)
    rng = np.random.default_rng(0)
    theta = np.linalg.lstsq(vectors, means, rcond=None)[0]
    draws = theta + rng.standard_normal((20_000, 3)) @ np.linalg.cholesky(np.linalg.inv(precision)).T
    share = np.bincount((draws @ vectors.T).argmax(axis=1), minlength=9) / 20_000
    error = np.sqrt(share * (1 - share) / 400) + 1e-3
    assert np.all(np.abs(np.bincount(seen, minlength=9) / 400 - share) < 5 * error)


def test_the_challenger_by_transport_is_the_rival_most_easily_mistaken():
    vectors, history = history_of(2)
    precision = np.eye(3) + sum(np.outer(vectors[a], vectors[a]) / s**2 for a, _, s in history)
    inverse = np.linalg.inv(precision)
    means, _, _ = naive.posterior(vectors, history, 1.0)
    leader_of = told(nw.top_two_thompson(vectors, leader_share=1 - 1e-9, challenger="transport"), history)
    rival_of = told(nw.top_two_thompson(vectors, leader_share=1e-9, challenger="transport"), history)
    for seed in range(20):
        leader_of.seed = rival_of.seed = seed
        leader = leader_of.ask()
        apart = vectors - vectors[leader]
        cost = np.maximum(means[leader] - means, 0) ** 2 / np.maximum(
            np.einsum("ij,jk,ik->i", apart, inverse, apart), 1e-30
        )
        cost[leader] = np.inf
        assert rival_of.ask() == cost.argmin()


def test_a_certain_leader_still_gets_a_challenger():
    """When no draw disagrees, the rival by transport cost stands in."""
    policy = nw.top_two_thompson(np.eye(3), leader_share=1e-9)
    for action, value in ((0, 5.0), (1, 0.0), (2, -1.0)):
        policy.tell(action, value, 1e-3)
    assert policy.ask() == 1


@pytest.mark.parametrize("horizon", [None, 60])
@pytest.mark.parametrize("seed", range(5))
def test_bayes_gap_is_the_textbooks(seed, horizon):
    vectors, history = history_of(seed)
    policy = nw.bayes_gap(vectors, eps=0.05, horizon=horizon)
    smallest, safest = math.inf, None
    for t, item in enumerate(history):
        policy.tell(*item)
        means, squared_widths, information = naive.posterior(vectors, history[: t + 1], 1.0)
        widths = np.sqrt(squared_widths)

        def gap(slack, means=means):
            others = [max((means + slack)[j] for j in range(9) if j != k) for k in range(9)]
            return np.array(others) - (means - slack)

        hardness = (np.maximum((gap(3 * widths) + 0.05) / 2, 0.05) ** -2.0).sum()
        weight = np.mean([sigma**-2.0 for _, _, sigma in history[: t + 1]])
        kappa = (1 / (vectors**2).sum(axis=1)).sum()
        rounds = 2 * (t + 1) if horizon is None else horizon
        beta = math.sqrt((max(0, rounds - 9) * weight + kappa) / (4 * hardness))
        worst = gap(beta * widths)
        best = int(worst.argmin())
        rival = max((k for k in range(9) if k != best), key=lambda k: means[k] + beta * widths[k])
        assert policy.ask() == (best if widths[best] >= widths[rival] else rival)
        if worst[best] <= smallest:
            smallest, safest = worst[best], best
        radius = math.sqrt(information + 2 * math.log(20) + 1)
        possible = means + radius * widths >= (means - radius * widths).max()
        expected = safest if possible[safest] else int(np.where(possible, means, -np.inf).argmax())
        assert policy.recommend() == expected


def test_bayes_gap_measures_what_is_allowed():
    vectors, history = history_of(3)
    policy = told(nw.bayes_gap(vectors), history)
    for action in range(9):
        assert policy.ask(allowed=[action]) == action
    assert nw.bayes_gap([[1.0]]).ask() == 0
