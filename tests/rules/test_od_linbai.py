"""OD-LinBAI: halves within its budget."""

import numpy as np

import noisewise as nw


def test_od_linbai_halves_down_to_one_within_its_budget():
    rng = np.random.default_rng(2)
    vectors = rng.standard_normal((30, 5))
    theta = rng.standard_normal(5)
    policy = nw.rules.od_linbai(vectors, horizon=200)
    kept = []
    for _ in range(200):
        action = policy.ask()
        assert policy.rule.survivors[action], "only survivors are measured"
        policy.tell(action, float(vectors[action] @ theta + 0.1 * rng.standard_normal()), 0.1)
        kept.append(int(policy.rule.survivors.sum()))
    assert sorted(set(kept), reverse=True) == [30, 3, 2, 1]
    assert policy.recommend() == int(np.argmax(vectors @ theta))
