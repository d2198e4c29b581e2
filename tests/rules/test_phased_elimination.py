"""Phased elimination: the textbook's counts, what a phase drops, and shares tracked exactly."""

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.support.playing import MOST_MISSES, live_choices, random_problem
from tests.support.tracking import (
    assert_lags_most,
    exact_sums,
    followed,
    since_the_phase_began,
    twelve_decades,
)

import noisewise as nw
from noisewise.rules._phased_elimination import GAP


def textbook_counts(vectors, sigma, delta):
    """How often the first phase measures each action if every sigma is the same."""
    n = len(vectors)
    design = nw.optimal_design(vectors, gap=GAP)
    eps = np.linalg.norm(vectors, axis=1).max() / 2
    wanted = 2 * design.g_value * design.dense() * math.log(2 * n * 1 * 2 / delta) / eps**2
    return np.ceil(wanted * sigma**2 - 1e-9).astype(int)


def test_phases_give_the_textbooks_counts_when_sigmas_are_equal():
    sigma = 0.5
    for seed in range(4):
        vectors, theta, _, noise = random_problem(seed, horizon=600)
        policy = nw.rules.phased_elimination(vectors)
        counts = textbook_counts(vectors, sigma, delta=0.05)
        length = int(counts.sum())
        pulled = live_choices(
            policy, vectors, theta, np.full(length - 1, sigma), np.resize(noise, length - 1)
        )
        assert policy.rule.phase == 1.0
        last = policy.ask()
        assert np.array_equal(np.bincount([*pulled, last], minlength=len(vectors)), counts)
        policy.tell(last, 0.0, sigma)
        assert policy.rule.phase == 2.0


def test_a_phase_drops_by_its_own_least_squares():
    sigma = 0.05
    for seed in range(3):
        vectors, theta, _, noise = random_problem(seed, horizon=1000)
        policy = nw.rules.phased_elimination(vectors)
        rows, rewards, alive = [], [], np.ones(len(vectors), dtype=bool)
        for t in range(1000):
            action, before = policy.ask(), policy.rule.phase
            reward = vectors[action] @ theta + sigma * noise[t]
            policy.tell(action, reward, sigma)
            rows.append(action)
            rewards.append(reward)
            phase = policy.rule.phase
            if phase > before:
                estimate = np.linalg.pinv(vectors[rows]) @ rewards
                means = vectors @ estimate
                alive &= means[alive].max() - means <= 2 * policy.rule.error(before)
                rows, rewards = [], []
            assert np.array_equal(policy.rule.survivors, alive)
        assert policy.rule.phase >= 3
        assert alive[np.argmax(vectors @ theta)]


def test_the_best_survives_the_phases():
    """200 runs; each phase's mistakes together have probability delta at most."""
    instance = nw.instances.sphere(8, 2)
    env = instance.environment(nw.schedules.named("log-uniform", low=0.01, high=0.1))
    gone, phases = 0, []
    for r in range(200):
        world = env.world(15, 3, r)
        policy = nw.rules.phased_elimination(world.actions)
        for sigma, unit in zip(world.sigma, world.noise, strict=True):
            action = policy.ask()
            policy.tell(action, world.means[action] + sigma * unit, sigma)
        phases.append(policy.rule.phase)
        gone += not policy.rule.survivors[np.argmax(world.means)]
    assert gone <= MOST_MISSES
    assert np.median(phases) >= 3


@pytest.mark.parametrize("seed", range(3))
def test_phased_elimination_is_tracked_as_in_exact_arithmetic(seed):
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((8, 3))
    policy = nw.rules.phased_elimination(vectors)
    checked = 0
    for state, action, history in since_the_phase_began(followed(policy, rng, twelve_decades(rng, 120))):
        given = exact_sums(history, 8)
        lacking = np.array([given[k] < Fraction(state.wanted[k]) for k in range(8)])
        if lacking.any():
            assert_lags_most(action, given, np.where(lacking, state.wanted, 0.0))
            checked += len(history) > 0
    assert checked > 20
