"""What lags most, in exact arithmetic, for rules that track shares of the precision."""

from fractions import Fraction

import numpy as np


def twelve_decades(rng, rounds):
    """Sigmas from 1e-9 to 1e3, not in order; some of them equal, so that ties happen."""
    sigmas = 10.0 ** rng.uniform(-9.0, 3.0, rounds)
    sigmas[rng.random(rounds) < 0.3] = 1.0
    return sigmas


def followed(policy, rng, sigmas):
    """Follow a policy; before each measurement its rule, its choice, and the history so far."""
    history = []
    for sigma in sigmas:
        action = policy.ask()
        yield policy.rule, action, history
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


def since_the_phase_began(states):
    """The same, with the part of the history that belongs to the present phase."""
    phase, start = 1, 0
    for state, action, history in states:
        if state.phase != phase:
            phase, start = state.phase, len(history)
        yield state, action, history[start:]
