"""VOFUL2: what it does beyond VOFUL. What both share is in test_voful.py."""

import re

import numpy as np
import pytest

import noisewise as nw
from noisewise.policies.rules.table_one.voful import nets


def test_data_that_nothing_explains_leave_the_set_as_it_was():
    vectors = np.array([[1.0, 0.0], [0.0, 1.0]])
    tests = nets.make_tests(vectors, nets.half_sphere(2, 8), horizon=100)
    absurd = nets.ActionSums(np.full(2, 50.0), np.full(2, 9.0), np.zeros(2))
    left = nets.shrink(tests, absurd, nets.whole_ball(2), 0.1, 5.0, 0.01, most=64)
    assert left.side == 2.0
    policy = nw.voful2(vectors, horizon=100, scale=0.01)
    for t in range(60):
        policy.tell(t % 2, 9.0, 1.0)
    assert policy.ask() == 0  # both are measured equally often: the first of the widest
    assert policy.estimate().candidates.all()


def test_too_many_features_are_refused_in_one_sentence():
    sentence = (
        "`actions` must have at most 4 features for 'voful2', whose set is a net that grows exponentially "
        "with them; got 5. (nw.rules.save has a like guarantee.)"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        nw.voful2(np.eye(5), horizon=100)
