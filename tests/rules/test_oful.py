"""OFUL does not look at sigma."""

import numpy as np

import noisewise as nw


def test_oful_does_not_look_at_sigma():
    policies = [nw.rules.oful(np.eye(3)) for _ in range(2)]
    for policy, sigma in zip(policies, (0.01, 10.0), strict=True):
        policy.tell(0, 0.3, sigma)
    assert np.array_equal(policies[0].estimate().means, policies[1].estimate().means)
    assert np.array_equal(policies[0].estimate().widths, policies[1].estimate().widths)
