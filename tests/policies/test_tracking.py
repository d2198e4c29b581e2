"""Rules that track shares of the precision measure what lags most, as in exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

import noisewise as nw
from noisewise.policies.rules.identification.lingame import choose as lingame_choice
from noisewise.policies.rules.identification.top_two_thompson import cheapest_rival


def twelve_decades(rng, rounds):
    """Sigmas from 1e-9 to 1e3, not in order; some of them equal, so that ties happen."""
    sigmas = 10.0 ** rng.uniform(-9.0, 3.0, rounds)
    sigmas[rng.random(rounds) < 0.3] = 1.0
    return sigmas


def told(policy, rng, sigmas):
    """Follow a policy; before each measurement its state, its choice, and the history so far."""
    history = []
    for sigma in sigmas:
        policy.ask()  # a phase that has ended is planned before anything is chosen
        action = policy.ask()
        yield policy._state, action, history
        policy.tell(action, float(rng.standard_normal()), sigma)
        history.append((action, Fraction(1) / Fraction(sigma) ** 2))


def exact_sums(history, n):
    sums = [Fraction(0)] * n
    for action, precision in history:
        sums[action] += precision
    return sums


def assert_lags_most(action, given, shares):
    """The action has the least given/share; who has the same and comes before it would have been chosen."""
    lag = {k: given[k] / Fraction(shares[k]) for k in np.flatnonzero(shares).tolist()}
    least = min(lag.values())
    assert lag[action] <= least * (1 + Fraction(1, 10**8))
    assert all(lag[k] > least for k in lag if k < action)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rule", ["vagd", "static_design"])
def test_a_design_is_tracked_as_in_exact_arithmetic(rule, seed):
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((12, int(rng.integers(2, 6)))) if seed else np.eye(5)
    policy = nw.make_policy(rule, vectors)
    shares = nw.optimal_design(vectors, support="core").dense()
    for _, action, history in told(policy, rng, twelve_decades(rng, 80)):
        counted = history if rule == "vagd" else [(k, Fraction(1)) for k, _ in history]
        assert_lags_most(action, exact_sums(counted, len(vectors)), shares)


def since_the_phase_began(states):
    """The same, with the part of the history that belongs to the present phase."""
    phase, start = 1.0, 0
    for state, action, history in states:
        if state.phase[0] != phase:
            phase, start = float(state.phase[0]), len(history)
        yield state, action, history[start:]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rule", ["peace", "od_linbai"])
def test_a_budget_is_tracked_as_in_exact_arithmetic(rule, seed):
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((10, 3))
    policy = nw.make_policy(rule, vectors, horizon=90)
    for state, action, history in since_the_phase_began(told(policy, rng, twelve_decades(rng, 90))):
        assert_lags_most(action, exact_sums(history, 10), state.shares)


@pytest.mark.parametrize("seed", range(3))
def test_phased_elimination_is_tracked_as_in_exact_arithmetic(seed):
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((8, 3))
    policy = nw.phased_elimination(vectors)
    checked = 0
    for state, action, history in since_the_phase_began(told(policy, rng, twelve_decades(rng, 120))):
        given = exact_sums(history, 8)
        lacking = np.array([given[k] < Fraction(state.wanted[k]) for k in range(8)])
        if lacking.any():
            assert_lags_most(action, given, np.where(lacking, state.wanted, 0.0))
            checked += len(history) > 0
    assert checked > 20


def test_phased_elimination_measures_what_lacks_most_of_a_long_phase():
    """Phases of 1e12 measurements at sigma = 1: what was given differs by twelve decades."""
    rng = np.random.default_rng(0)
    policy = nw.phased_elimination(np.eye(4), scale=1e6)
    for state, action, history in told(policy, rng, 10.0 ** rng.uniform(-6.0, 2.0, 60)):
        given = exact_sums(history, 4)
        lacking = np.array([given[k] < Fraction(state.wanted[k]) for k in range(4)])
        assert_lags_most(action, given, np.where(lacking, state.wanted, 0.0))


@pytest.mark.parametrize("seed", range(3))
def test_lingame_measures_what_is_furthest_behind(seed):
    rng = np.random.default_rng(seed)
    policy = nw.lingame(rng.standard_normal((6, 3)))
    for state, action, history in told(policy, rng, twelve_decades(rng, 80)):
        if len(history) < 6:
            continue
        given = exact_sums(history, 6)
        behind = [Fraction(state.wanted[k]) - given[k] for k in range(6)]
        # What is booked is a sum of up to 80 numbers, each rounded to the last digit of the largest.
        rounding = Fraction(1, 10**13) * max(given)
        assert behind[action] >= max(behind) * (1 - Fraction(1, 10**8)) - rounding


def test_lingame_is_not_confused_by_an_action_far_ahead():
    """Quiet measurements that nobody asked for put one action 1e12 ahead; the others still differ."""
    state = nw.lingame(np.eye(4))._state
    state.given[:] = 1e12, 5.0, 7.0, 6.0
    state.wanted[:] = 1.0, 6.0, 8.5, 6.0
    assert lingame_choice(None, state, np.ones(4, np.bool_), 1.0, np.empty(0)) == 2


def test_the_closest_rival_is_found_beside_one_that_is_hopeless():
    """In widths, the leads are 0, 1e6, 2 and 1: the last is the one most easily taken for the leader."""
    policy = nw.top_two_thompson(np.eye(4), ridge=1e-12)
    for action, reward in enumerate((0.0, -1e6 * 2**0.5, -2.0 * 2**0.5, -(2**0.5))):
        policy.tell(action, reward, 1.0)
    assert cheapest_rival(policy._state.model, 0, np.ones(4, np.bool_)) == 3


def test_one_very_quiet_round_does_not_stop_vagd_from_tracking():
    """The paper's lemma: V_T >= I + (S - the |supp| - 1 largest precisions)·V(π)."""
    policy, sigmas, pulls = nw.vagd(np.eye(5)), [1e-6] + [1.0] * 100, np.zeros(5)
    precision = np.zeros(5)
    for sigma in sigmas:
        action = policy.ask()
        policy.tell(action, 0.0, sigma)
        pulls[action] += 1
        precision[action] += sigma**-2.0
    assert pulls.tolist() == [1, 25, 25, 25, 25]
    kept = np.sort(np.array(sigmas) ** -2.0)[: len(sigmas) - 4].sum()
    assert (precision >= kept / 5).all()


@pytest.mark.parametrize("rule", ["vagd", "lingame", "vage", "lingape"])
def test_a_very_quiet_round_means_the_same_to_compiled_code(rule):
    sigma = np.ones(40)
    sigma[::13] = 1e-6
    environment = nw.Environment(np.eye(4), np.array([0.4, 0.3, 0.2, 0.1]), sigma)
    policy = nw.make_policy(rule, np.eye(4))
    simulated = nw.simulate(policy, environment, horizon=40, replications=2, seed=3, threads=1)
    plain = nw.simulate(policy, environment, horizon=40, replications=2, seed=3, threads=1, compiled=False)
    assert np.array_equal(simulated.pulled, plain.pulled)
