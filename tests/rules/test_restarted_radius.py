"""The restarted radius in policies: bounds, files, refusals."""

import numpy as np
import pytest

import noisewise as nw
from noisewise.actions.finite import IndependentOptions


def told(policy, seed=0, rounds=120, sigma=0.4):
    """A policy after it was told so many measurements of actions in turn."""
    rng = np.random.default_rng(seed)
    vectors = policy.actions.vectors
    theta = rng.normal(size=vectors.shape[1])
    theta *= 0.9 / np.linalg.norm(theta)
    for t in range(rounds):
        row = t % len(vectors)
        policy.tell(row, float(vectors[row] @ theta + sigma * rng.standard_normal()), sigma)
    return policy


def sphere(n=20, dim=4, seed=1):
    vectors = np.random.default_rng(seed).normal(size=(n, dim))
    return vectors / np.linalg.norm(vectors, axis=1)[:, None]


def test_bounds_and_candidates_are_within_those_of_the_radius():
    """What the martingale from the start allows by itself, at its share of delta, allows no less."""
    vectors = sphere()
    alone = told(nw.rules.widest(vectors, radius="averaged", delta=0.05 * 2.0 / 3.0)).estimate()
    found = told(nw.rules.widest(vectors, radius="restarted", delta=0.05)).estimate()
    assert found.radius == pytest.approx(alone.radius)
    assert found.regret_bound < alone.regret_bound
    assert not (found.candidates & ~alone.candidates).any()
    assert found.candidates.sum() < alone.candidates.sum()
    assert found.candidates[found.recommended]
    assert found.certificate == "anytime"


def test_one_action_needs_no_bound_and_actions_in_a_plane_have_one():
    single = told(nw.rules.widest(np.array([[1.0, 0.0]]), radius="restarted"), rounds=20)
    assert single.estimate().regret_bound == 0.0
    flat = np.column_stack([sphere(8, 2), np.zeros((8, 3))])
    found = told(nw.rules.widest(flat, radius="restarted"), rounds=400).estimate()
    alone = told(nw.rules.widest(flat, radius="averaged", delta=0.05 * 2.0 / 3.0), rounds=400).estimate()
    assert 0.0 < found.regret_bound < alone.regret_bound


def test_copies_of_the_best_action_do_not_keep_a_simulation_from_stopping():
    vectors = np.vstack([np.eye(3), np.eye(3)[:1]])
    policy = nw.rules.widest(vectors, radius="restarted", norm_bound=2.0)
    for t in range(300):
        policy.tell(t % 3, 1.0 if t % 3 == 0 else -1.0, 0.5)
    assert policy.rule.certain(0, 0.0)
    assert not policy.rule.certain(1, 0.0)


def test_half_of_delta_may_belong_to_something_else():
    """The other half is for looks of fixed designs: restarts have their share of one half."""
    vectors = sphere()
    found = told(nw.rules.precision_tracking(vectors, radius="restarted", delta=0.1))
    widest = told(nw.rules.widest(vectors, radius="restarted", delta=0.05))
    assert found.estimate().radius == pytest.approx(widest.estimate().radius)
    assert found.estimate().regret_bound <= widest.estimate().regret_bound * (1.0 + 1e-9)


@pytest.mark.parametrize("name", ["vagd", "robust_vaee", "static_design", "adaoful"])
def test_rules_with_other_bounds_are_refused(name):
    horizon = {"horizon": 50} if name in ("robust_vaee", "adaoful") else {}
    with pytest.raises(ValueError, match=f"`radius` must not be 'restarted' for '{name}'"):
        getattr(nw.rules, name)(np.eye(3), radius="restarted", **horizon)


@pytest.mark.parametrize("radius", ["averaged", "restarted"])
def test_options_without_features_and_theory_refuse_radii_that_look_at_the_estimate(radius):
    with pytest.raises(ValueError, match=f"`radius` must not be '{radius}' for options without features"):
        nw.vage(IndependentOptions(5), radius=radius)
    with pytest.raises(ValueError, match=f"`radius` must not be '{radius}' here"):
        nw.theory.vaee_bound(np.ones(10), 3, radius=radius)


def test_infinite_sets_are_refused():
    with pytest.raises(ValueError, match="`radius` must not be 'restarted' on an infinite set"):
        nw.vaee(nw.sets.Ball(3), radius="restarted")
