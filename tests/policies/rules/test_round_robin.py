"""Round robin: the actions in turn."""

import numpy as np
import pytest

import noisewise as nw


def test_actions_take_turns_whatever_is_measured():
    policy = nw.round_robin(np.eye(3))
    pulled = []
    for t in range(9):
        pulled.append(policy.ask())
        policy.tell(pulled[-1], 10.0**t, 10.0 ** (3 - t))
    assert pulled == [0, 1, 2] * 3


def test_only_those_that_are_allowed_take_turns():
    policy = nw.round_robin(np.eye(4))
    pulled = []
    for _ in range(6):
        pulled.append(policy.ask(allowed=[1, 3]))
        policy.tell(pulled[-1], 0.0, 1.0)
    assert pulled == [1, 3] * 3


def test_a_set_without_a_list_has_no_turns():
    with pytest.raises(ValueError, match="must be a list of vectors for 'round_robin'"):
        nw.rules.round_robin(nw.Ball(2))
