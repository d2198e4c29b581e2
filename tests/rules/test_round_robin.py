"""Round robin measures the actions in turn."""

import numpy as np

import noisewise as nw


def test_actions_take_turns_whatever_is_measured():
    policy = nw.rules.round_robin(np.eye(3))
    pulled = []
    for t in range(9):
        pulled.append(policy.ask())
        policy.tell(pulled[-1], 10.0**t, 10.0 ** (3 - t))
    assert pulled == [0, 1, 2] * 3
