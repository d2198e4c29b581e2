"""VAGE: its textbook twin, its two ledgers, what it may measure, and what it says."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import naive
from tests.support.playing import live_choices

import noisewise as nw


def race(policy, theta, sigmas, noise, announce=False):
    """Ask and tell for as many rounds as there are sigmas; the actions measured."""
    return live_choices(policy, policy.actions.vectors, theta, sigmas, noise, announce)


@pytest.mark.parametrize("announce", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_the_pulls_are_the_textbooks(seed, announce):
    rng = np.random.default_rng(seed)
    dim = int(rng.integers(2, 6))
    vectors = rng.standard_normal((int(rng.integers(4, 30)), dim))
    theta = rng.standard_normal(dim)
    theta /= np.linalg.norm(theta)
    # Equal sigmas unless they are announced: what is predicted has its own twin below.
    sigmas = 10 ** rng.uniform(-1.5, 0.5, 60) if announce else np.full(60, 0.3)
    noise = rng.standard_normal(60)
    policy = nw.vage(vectors, share=0.19, challenge=0.7, ridge=0.5, norm_bound=2.0)
    expected = naive.vage(
        vectors,
        lambda action, t: (vectors[action] @ theta + sigmas[t] * noise[t], sigmas[t]),
        60,
        ridge=0.5,
        delta=0.05,
        norm_bound=2.0,
        share=0.19,
        challenge=0.7,
        announced=sigmas if announce else None,
    )
    assert race(policy, theta, sigmas, noise, announce) == expected


def credit_and_budget(policy, sigmas, share):
    """Both sides of the two-ledger bound: Σ min(1, W²/σ²) with the last W, and ι/share + 1."""
    model = policy.rule.model
    dim, widest = policy.actions.dim, model.squared_widths.max()
    credit = np.minimum(1.0, widest / sigmas**2).sum()
    scale = policy.actions.max_norm**2 / (dim * policy.rule.ridge)
    iota = 2.0 * dim * math.log1p((sigmas**-2.0).sum() * scale)
    # The determinant gives a smaller ι (note 6 on the paper), and so do weights clipped at 1/W² (note 27).
    assert model.log_det / math.log(2.0) <= iota
    clipped = dim * math.log2(1.0 + np.minimum(sigmas**-2.0, 1.0 / widest).sum() * scale)
    return credit, min(model.log_det / math.log(2.0), clipped) / share + 1.0


def breaking_schedules(rounds, rng):
    """Schedules that break a share of the precision alone."""
    ones = np.ones(rounds)
    yield np.concatenate([[1e-4], ones[1:]])
    yield np.concatenate([np.full(5, 1e-4), ones[5:]])
    yield np.where(np.arange(rounds) % 25 == 7, 1e-3, 1.0)
    yield 1e3 / np.arange(1, rounds + 1)
    yield 10 ** rng.uniform(-5, 2, rounds)


@given(st.integers(0, 10_000), st.sampled_from([0.05, 0.1, 0.3]))
def test_the_two_ledgers_keep_the_widest_width_small(seed, share):
    """Σ min(1, W_T²/σ_t²) <= ι/share + 1, whatever the schedule and the rewards."""
    rng = np.random.default_rng(seed)
    dim, n = int(rng.integers(1, 5)), int(rng.integers(2, 8))
    vectors = rng.standard_normal((n, dim))
    schedules = list(breaking_schedules(60, rng))
    sigmas = schedules[seed % len(schedules)]
    policy = nw.vage(vectors, share=share)
    race(policy, rng.standard_normal(dim), sigmas, rng.standard_normal(sigmas.size))
    credit, budget = credit_and_budget(policy, sigmas, share)
    assert credit <= budget * (1 + 1e-9)


def test_elimination_removes_candidates_and_never_probes():
    """On Soare's instance the informative action is soon no candidate, and measured all the same."""
    vectors = nw.instances.soare(5).actions.vectors
    theta, rng = np.eye(5)[0], np.random.default_rng(0)
    policy = nw.vage(vectors)
    race(policy, theta, np.full(200, 0.1), rng.standard_normal(200))
    assert not policy.estimate().candidates[1]
    assert race(policy, theta, np.full(50, 0.1), rng.standard_normal(50)).count(1) > 30


def test_pending_measurements_are_booked_and_spread():
    rng = np.random.default_rng(1)
    vectors = rng.standard_normal((20, 4))
    policy = nw.vage(vectors)
    race(policy, rng.standard_normal(4), np.full(30, 0.3), rng.standard_normal(30))
    pending = []
    for _ in range(8):
        pending.append(policy.ask(pending=pending))
    assert len(set(pending)) > 2
    # As if they had been told one by one, at their expected values.
    twin = policy.copy()
    for action in pending[:-1]:
        twin.tell(action, float(twin.rule.model.means[action]), 0.3)
    assert twin.ask() == pending[-1]


def test_it_says_why_in_words_and_with_labels():
    actions = nw.ActionSet(nw.instances.soare(4).actions.vectors, labels=["A", "B", "C", "D", "E"])
    policy = nw.vage(actions)
    assert (
        policy.why("A")
        == "A is known to ±1, the least of all, and 3% of all precision is kept for such checks."
    )
    race(policy, np.eye(4)[0], np.full(20, 0.1), np.zeros(20))
    said = {policy.why(action) for action in ("B", 1)}
    assert len(said) == 1
    assert said.pop().startswith(
        "To tell A, the best so far, from E, its strongest challenger: measuring B is"
    )
    assert policy.why(1, pending=["B"] * 5) != policy.why(1)
    assert (
        nw.vaee(actions).why("C")
        == "The rule 'vaee' chose it; its value is known to ±1 (one standard error)."
    )
