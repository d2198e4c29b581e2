"""VAGD tracks its design in precision; its matrix dominates the paper's bound; its certificates hold."""

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.support.tracking import assert_lags_most, exact_sums, followed, twelve_decades

import noisewise as nw


def textbook(design, sigmas):
    """Algorithm 2 with sums computed afresh each round: the actions it measures."""
    weights = dict(zip(design.indices.tolist(), design.weights.tolist(), strict=True))
    rounds = {action: [] for action in weights}
    pulled = []
    for t, _ in enumerate(sigmas):
        lag = {a: sum(1 / sigmas[s] ** 2 for s in rounds[a]) / weights[a] for a in weights}
        top = max(lag.values())
        # The least one, ties within the house's tolerance to the lowest index.
        action = min(a for a in weights if lag[a] <= min(lag.values()) + 1e-9 * top)
        rounds[action].append(t)
        pulled.append(action)
    return pulled


@pytest.mark.parametrize("seed", range(20))
def test_the_pulls_are_the_textbooks(seed):
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((int(rng.integers(5, 60)), int(rng.integers(1, 6))))
    sigmas = 10 ** rng.uniform(-2, 1, 80)
    design = nw.optimal_design(vectors, support="core")
    policy = nw.vagd(vectors)
    for t, action in enumerate(textbook(design, sigmas)):
        assert policy.ask() == action, t
        policy.tell(action, float(rng.standard_normal()), sigmas[t])


def test_the_matrix_dominates_the_papers_lower_bound():
    """V_T >= I + (S - the |supp|-1 largest precisions)·V(π), in each of 100 random schedules."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        dim, rounds = int(rng.integers(1, 6)), int(rng.integers(1, 120))
        vectors = rng.standard_normal((30, dim))
        sigmas = 10 ** rng.uniform(-2, 2, rounds) if seed % 2 else 1.0 / np.arange(1, rounds + 1)
        policy = nw.vagd(vectors)
        design = nw.optimal_design(vectors, support="core")
        moment = (vectors[design.indices].T * design.weights) @ vectors[design.indices]
        matrix = np.eye(dim)
        for sigma in sigmas:
            action = policy.ask()
            policy.tell(action, 0.0, sigma)
            matrix += np.outer(vectors[action], vectors[action]) / sigma**2
        weights = np.sort(sigmas**-2.0)
        kept = weights[: max(0, rounds - len(design.indices) + 1)].sum()
        scale = np.abs(matrix).max()
        assert np.linalg.eigvalsh(matrix - np.eye(dim) - kept * moment).min() >= -1e-9 * scale, seed


def test_the_design_can_be_brought_along_and_must_fit(tmp_path):
    vectors = np.random.default_rng(0).standard_normal((40, 3))
    design = nw.optimal_design(vectors, gap=1e-6)
    policy = nw.vagd(vectors, design=design)
    seen = set()
    for _ in range(60):
        action = policy.ask()
        seen.add(action)
        policy.tell(action, 0.0, 1.0)
    assert seen == set(design.indices.tolist())
    policy.save(tmp_path / "p.npz")
    assert nw.load_policy(tmp_path / "p.npz").ask() == policy.ask()
    for other in (np.random.default_rng(1).standard_normal((40, 3)), vectors[:5]):
        with pytest.raises(ValueError, match=r"^`design` must be made for these actions"):
            nw.vagd(other, design=design)
    # Equal weights have g = 5 on both of these sets.
    with pytest.raises(ValueError, match=r"^`design` must be made for these actions"):
        nw.vagd(nw.instances.soare(4).actions, design=nw.optimal_design(np.eye(5)))
    with pytest.raises(TypeError, match=r"^`design` must be what nw.optimal_design returns; got 'core'\.$"):
        nw.vagd(vectors, design="core")


@pytest.mark.parametrize(("stop", "eps"), [("glr", None), ("gap", 0.1)])
def test_stopping_by_its_certificate_is_refused(stop, eps):
    """The fixed-design bound does not hold at a moment that the values decide (note 10)."""
    instance = nw.instances.sphere(20, 3)
    env = instance.environment(nw.schedules.rare_quiet)
    with pytest.raises(ValueError, match=r"^`stop` must not be"):
        nw.simulate(nw.vagd(instance.actions), env, horizon=5, stop=stop, eps=eps)


def test_it_works_in_the_span_of_collinear_vectors():
    vectors = np.random.default_rng(0).standard_normal((30, 2)) @ np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    policy = nw.vagd(vectors, design=nw.optimal_design(vectors))
    for _ in range(30):
        policy.tell(policy.ask(), 0.3, 0.1)
    assert policy.estimate().regret_bound < 0.05  # before any measurement it is 8.4


def test_the_certificate_says_which_bound_it_is():
    policy = nw.vagd(np.eye(3))
    policy.tell(policy.ask(), 1.0, 0.1)
    fixed = policy.estimate()
    assert fixed.radius == pytest.approx(math.sqrt(2 * math.log(6 / 0.05)) + 1.0)
    assert "fixed design" in repr(fixed)
    far = np.vstack([np.eye(3), 0.1 * np.eye(3)])
    strayed = nw.vagd(far)
    strayed.tell(5, 0.0, 1.0)
    assert strayed.estimate().certificate == "anytime"


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rule", ["vagd", "static_design"])
def test_a_design_is_tracked_as_in_exact_arithmetic(rule, seed):
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((12, int(rng.integers(2, 6)))) if seed else np.eye(5)
    policy = nw.make_policy(rule, vectors)
    shares = nw.optimal_design(vectors, support="core").dense()
    for _, action, history in followed(policy, rng, twelve_decades(rng, 80)):
        counted = history if rule == "vagd" else [(k, Fraction(1)) for k, _ in history]
        assert_lags_most(action, exact_sums(counted, len(vectors)), shares)
