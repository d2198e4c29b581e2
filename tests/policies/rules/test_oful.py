"""OFUL: blind to sigma, with a scale on the stochastic part of its radius."""

import math

import numpy as np
import pytest

import noisewise as nw


def test_oful_does_not_look_at_sigma():
    policies = [nw.oful(np.eye(3)) for _ in range(2)]
    for policy, sigma in zip(policies, (0.01, 10.0), strict=True):
        policy.tell(0, 0.3, sigma)
    assert np.array_equal(policies[0].estimate().means, policies[1].estimate().means)
    assert np.array_equal(policies[0].estimate().widths, policies[1].estimate().widths)


def test_oful_has_a_scale_on_the_stochastic_part_of_its_radius():
    whole, half = (nw.oful(np.eye(3), noise_level=0.5, ridge=0.7, scale=scale) for scale in (1.0, 0.5))
    for policy in (whole, half):
        policy.tell(1, 0.4, 0.1)
    bias = math.sqrt(0.7) / 0.5
    assert half.estimate().radius - bias == pytest.approx((whole.estimate().radius - bias) / 2, rel=1e-12)
