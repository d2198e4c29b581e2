"""Soare's instance, and rules that are played on it beside a textbook version."""

import numpy as np

import noisewise as nw

SOARE = nw.instances.soare(4, angle=0.3).actions.vectors
THETA = np.array([1.0, 0.0, 0.0, 0.0])


def estimate(vectors, actions, values):
    """Ridge regression with an identity, written out."""
    precision = np.eye(vectors.shape[1])
    total = np.zeros(vectors.shape[1])
    for action, value in zip(actions, values, strict=True):
        precision += np.outer(vectors[action], vectors[action])
        total += value * vectors[action]
    return np.linalg.solve(precision, total), np.linalg.inv(precision)


def alternative(vectors, theta, shares):
    """The cheapest cost, the leader, and all rivals' alternatives, by their definition."""
    moment = (vectors * shares[:, None]).T @ vectors
    inverse = np.linalg.inv(moment + 1e-10 * np.trace(moment) / len(moment) * np.eye(len(moment)))
    leader = int(np.argmax(vectors @ theta))
    found = {}
    for k in range(len(vectors)):
        if k != leader:
            away = vectors[leader] - vectors[k]
            other = theta - (away @ theta) / (away @ inverse @ away) * inverse @ away
            found[k] = other, 0.5 * float(shares @ (vectors @ (theta - other)) ** 2)
    return leader, found


def play_along(policy, decide, rounds, seed):
    """Let a policy and a textbook version measure side by side; both must want the same."""
    actions, values, noise = [], [], np.random.default_rng(seed).standard_normal(rounds)
    for t in range(rounds):
        wanted = decide(actions, values)
        assert policy.ask() == wanted, t
        value = float(SOARE[wanted] @ THETA + noise[t])
        policy.tell(wanted, value, 1.0)
        actions.append(wanted)
        values.append(value)
