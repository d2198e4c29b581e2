"""Alternatives to the leader: copies of it are none."""

import numpy as np

import noisewise as nw
from noisewise.core.model import new_dense
from noisewise.rules import alternatives


def test_copies_of_the_leader_are_no_rivals():
    columns = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    model = new_dense(columns, 1.0)
    model.means[:] = [1.0, 1.0, 0.5]
    costs = alternatives.costs_of_rivals(model, np.eye(2), 0)
    assert costs.tolist() == [np.inf, np.inf, 0.25 / 4]
    for make in (nw.rules.lingame, nw.rules.frank_wolfe_sampling, nw.rules.rage, nw.rules.h_rage):
        policy = make([[1.0, 0.0], [1.0, 0.0]])
        for t in range(6):
            policy.tell(policy.ask(), 0.1 * t, 1.0)
