"""The lower-bound instance of He and Gu: its blocks, its numbers, and actions that take turns."""

import math
import re

import numpy as np
import pytest
from tests.support.effort import effort

import noisewise as nw

LEVELS = [0.02, 0.2, 1.0]


def schedule(horizon, rng):
    return rng.choice([0.02, 0.15, 0.8], horizon, p=[0.2, 0.3, 0.5])


ENV = nw.instances.he_gu(LEVELS).environment(schedule)


def test_blocks_are_orthogonal_and_a_round_allows_its_own():
    for replication in range(5):
        world = ENV.world(200, 1, replication)
        vectors = world.actions.vectors
        assert vectors.shape == (24, 12)
        blocks = [np.flatnonzero(mask) for mask in world.masks]
        assert sorted(np.concatenate(blocks)) == list(range(24))
        for one in range(3):
            for other in range(one):
                assert not (vectors[blocks[one]] @ vectors[blocks[other]].T).any()
        levels = np.array(LEVELS)[world.opening]
        assert (world.sigma <= levels).all()
        assert (world.sigma > levels / 2).all()


def test_the_means_are_those_of_the_theorem():
    """Bernoulli parameters in [1/4, 5/12], Δ = 1/√(96 K), and theta no longer than 1."""
    for replication in range(20):
        world = ENV.world(200, 2, replication)
        assert np.linalg.norm(world.theta) <= 1.0
        for block, mask in enumerate(world.masks):
            chances = np.unique(world.means[mask].round(12)) / (LEVELS[block] / 2)
            assert chances.min() >= 1 / 4 - 1e-9
            assert chances.max() <= 5 / 12 + 1e-9
            rounds = (world.opening == block).sum()
            gap = min(1 / math.sqrt(96 * rounds), 1 / 36)
            np.testing.assert_allclose(chances, 1 / 3 + gap * np.array([-3, -1, 1, 3]), rtol=1e-9)


def test_guessing_has_the_regret_of_the_theorem():
    """Uniform play loses K·s·Δ·m in each block; the mean is within five standard errors."""
    instance, runs = nw.instances.he_gu(), effort(100, 400)
    env = instance.environment(nw.schedules.rare_quiet)
    sim = nw.simulate(
        nw.rules.uniform(instance.actions), env, horizon=300, replications=runs, checkpoints=[300]
    )
    wanted = []
    for r in range(runs):
        counts = np.bincount(env.world(300, 0, r).opening, minlength=2)
        gaps = np.minimum(1 / np.sqrt(96 * np.maximum(counts, 1)), 1 / 36)
        wanted.append((counts * np.array([0.005, 0.5]) * gaps * 3).sum())
    off = sim.cumulative_regret[:, 0] - wanted
    assert abs(off.mean()) < 5 * off.std() / math.sqrt(runs)


@pytest.mark.parametrize("name", ["vaee", "weighted_oful", "uniform", "lingape"])
def test_runs_measure_what_is_allowed(name):
    policy = nw.make_policy(name, ENV.actions)
    sim = nw.simulate(policy, ENV, horizon=80, replications=2)
    for r in range(2):
        world = ENV.world(80, 0, r)
        place = np.argsort(world.order)[sim.pulled[r]]  # from the instance's order to the world's
        assert world.masks[world.opening, place].all()
        tops = np.array([world.means[mask].max() for mask in world.masks])
        lost = (tops[world.opening] - world.means[place]).cumsum()
        np.testing.assert_allclose(sim.cumulative_regret[r], lost[sim.checkpoints - 1], atol=1e-12)
        best = world.means.max()
        np.testing.assert_allclose(
            sim.simple_regret[r], best - world.means[np.argsort(world.order)[sim.advised[r]]]
        )


@pytest.mark.parametrize("name", ["vagd", "static_design", "phased_elimination", "precision_tracking"])
def test_a_rule_that_plans_for_a_fixed_set_is_refused(name):
    policy = nw.make_policy(name, ENV.actions)
    with pytest.raises(ValueError, match=f"must allow the same actions in every round for '{name}'"):
        nw.simulate(policy, ENV, horizon=10)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"levels": []}, "`levels` must grow"),
        ({"levels": [0.1, 0.15]}, "`levels` must grow, each at least twice the one before; got [0.1, 0.15]."),
        ({"levels": [0.1, -1.0]}, "`levels` must be a finite number above 0; got -1.0."),
        ({"coordinates": 13}, "`coordinates` must be at most 12"),
        ({"scale": 0.0}, "`scale` must be a finite number above 0; got 0.0."),
    ],
)
def test_bad_options_get_one_sentence(options, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        nw.instances.he_gu(**options)


def test_a_schedule_between_the_blocks_is_refused():
    env = nw.instances.he_gu([0.1, 1.0]).environment(np.full(20, 0.3))
    with pytest.raises(ValueError, match=r"`schedule` must keep to sigmas in \(level/2, level\] .*; got 0.3"):
        env.world(20, 0, 0)
