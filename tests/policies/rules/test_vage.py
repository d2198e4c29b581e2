"""VAGE: its textbook twin, its two ledgers, what it may measure, and what it says."""

import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import naive
from tests.support.playing import live_choices

import noisewise as nw
from noisewise.core.model.dense import log_det
from noisewise.policies.registry import rule_named

is_due = sys.modules[rule_named("vage").choose.__module__].is_due


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
    model, setting = policy._state.model, policy._params.setting
    dim, widest = policy.actions.dim, model.squared_widths.max()
    credit = np.minimum(1.0, widest / sigmas**2).sum()
    scale = policy.actions.max_norm**2 / (dim * setting.ridge)
    iota = 2.0 * dim * math.log1p((sigmas**-2.0).sum() * scale)
    # The determinant gives a smaller ι (note 6 on the paper), and so do weights clipped at 1/W² (note 27).
    assert log_det(model) / math.log(2.0) <= iota
    clipped = dim * math.log2(1.0 + np.minimum(sigmas**-2.0, 1.0 / widest).sum() * scale)
    return credit, min(log_det(model) / math.log(2.0), clipped) / share + 1.0


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


def test_without_the_ledgers_the_bound_fails():
    """The same judgement on a share of almost 0: what the test above would catch."""
    rng = np.random.default_rng(0)
    sigmas = np.concatenate([[1e-3], np.ones(999)])
    theta = np.array([0.6, 0.55, -0.5, -0.6])
    noise = rng.standard_normal(sigmas.size)
    kept, careless = nw.vage(np.eye(4), share=0.3), nw.vage(np.eye(4), share=1e-9)
    for policy in (kept, careless):
        race(policy, theta, sigmas, noise)
    credit, budget = credit_and_budget(kept, sigmas, 0.3)
    assert credit <= budget
    credit, budget = credit_and_budget(careless, sigmas, 0.3)
    assert credit > 1.2 * budget


def test_elimination_removes_candidates_and_never_probes():
    """On Soare's instance the informative action is soon no candidate, and measured all the same."""
    vectors = nw.instances.soare(5).actions.vectors
    theta, rng = np.eye(5)[0], np.random.default_rng(0)
    policy = nw.vage(vectors)
    race(policy, theta, np.full(200, 0.1), rng.standard_normal(200))
    assert not policy.estimate().candidates[1]
    assert race(policy, theta, np.full(50, 0.1), rng.standard_normal(50)).count(1) > 30


def test_one_candidate_left_means_the_widest_action():
    policy = nw.vage(np.eye(2), radius=0.1)
    for action, value in ((0, 1.0), (1, -1.0), (0, 1.0)):
        policy.tell(action, value, 1e-3)
    assert policy.estimate().candidates.tolist() == [True, False]
    assert policy.ask() == 1
    assert "Nothing can still beat 0" in policy.why(1)


def test_copies_of_the_leader_are_no_challengers():
    """Soare's instance with the best action twice: the race is with the competitor, as without the copy."""
    soare = nw.instances.soare(4).actions.vectors
    theta, noise = np.eye(4)[0], np.random.default_rng(2).standard_normal(300)
    single, double = nw.vage(soare), nw.vage(np.vstack([soare, soare[0]]))
    alone = race(single, theta, np.full(300, 0.05), noise)
    assert race(double, theta, np.full(300, 0.05), noise) == alone


def test_an_action_that_says_nothing_is_not_chosen_for_it():
    """If no allowed action says anything about the race, the widest of them is measured."""
    policy = nw.vage(np.eye(4))
    for action in (0, 1, 2, 3, 2):
        policy.tell(action, 1.0 - action, 0.1)
    assert policy.ask(allowed=[2, 3]) == 3


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
        twin.tell(action, float(twin._state.model.means[action]), 0.3)
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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"share": 0.0}, "`share` must lie strictly between 0 and 1; got 0.0."),
        ({"challenge": -1}, "`challenge` must be a finite number above 0; got -1."),
    ],
)
def test_bad_options_get_one_sentence(options, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - compared below
        nw.vage(np.eye(2), **options)
    assert str(caught.value) == message


def test_of_two_equal_probes_the_quiet_one_is_measured():
    """Arm-driven noise: the same vector twice, once measured ten times better."""
    vectors = np.vstack([np.eye(3), np.eye(3)])
    own = np.array([1.0, 1.0, 1.0, 0.1, 0.1, 0.1])
    policy, rng, theta = nw.vage(vectors), np.random.default_rng(0), np.array([0.5, 0.45, 0.4])
    pulled = []
    for _ in range(150):
        action = policy.ask()
        policy.tell(action, float(vectors[action] @ theta + own[action] * rng.standard_normal()), own[action])
        pulled.append(action)
    # Before its first measurement nobody knows that a copy is quieter; ties go to the lowest row.
    for twin in (3, 4, 5):
        policy.tell(twin, float(vectors[twin] @ theta), 0.1)
    later = []
    for _ in range(100):
        action = policy.ask()
        policy.tell(action, float(vectors[action] @ theta + own[action] * rng.standard_normal()), own[action])
        later.append(action)
    assert np.mean([action >= 3 for action in later]) > 0.75


def test_sigmas_of_any_size_are_booked():
    """Squares of precisions would overflow; shares of them do not."""
    policy = nw.vage(np.eye(3))
    for action, sigma, widest in ((0, 1e-90, 1), (1, 1e-80, 2), (2, 1e80, 2)):
        policy.tell(action, 0.0, sigma)
        assert np.isfinite(policy._state.ledgers).all()
        assert policy.ask() == widest
    sigmas = 10 ** np.random.default_rng(0).uniform(-2, 1, 40)
    policy = nw.vage(np.eye(3))
    race(policy, np.ones(3), sigmas, np.zeros(40))
    weights = sigmas**-2.0
    assert policy._state.ledgers[4] == pytest.approx((weights**2).sum() / weights.sum() ** 2)


@pytest.mark.parametrize(("told", "share"), [(range(20, 60), 0.2), (range(2000, 2066), 0.03)])
def test_who_learns_all_at_once_keeps_the_rhythm_of_checks(told, share):
    """Ten dimensions: while few rounds carry the precision a fifth is due, later the share asked for."""
    policy = nw.vage(np.eye(10))
    turns = []
    for n in told:
        params, state = policy._params, policy.rule.init(policy._params)
        policy.rule.catch_up(params, state, np.arange(n) % 10, np.full(n, 0.3))
        turns.append(is_due(params, state))
    assert share * 0.8 <= np.mean(turns) <= share + 0.06
