"""Weighted OFUL+, held to its box."""

import numpy as np
import pytest
from tests.support.naive import WeightedOfulPlus, first_largest, options_of_weighted_oful_plus
from tests.support.playing import quiet_problem

import noisewise as nw


@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_weighted_oful_plus_measures_what_the_textbook_measures(scale):
    for seed in range(16):
        vectors, theta, sigmas, noise = quiet_problem(seed, horizon=30)
        options = options_of_weighted_oful_plus(seed, scale, horizon=30)
        policy, textbook = (
            nw.rules.weighted_oful_plus(vectors, **options),
            WeightedOfulPlus(vectors, **options),
        )
        for sigma, unit in zip(sigmas, noise, strict=True):
            action = policy.ask()
            assert action == first_largest(textbook.means() + textbook.radius() * textbook.widths()), seed
            reward = vectors[action] @ theta + sigma * unit
            policy.tell(action, reward, sigma)
            textbook.learn(action, reward, sigma)
        # Sigmas above the noise bound end the certificate, but not the rule's own radius.
        radius = policy.rule.beta()
        assert radius == pytest.approx(textbook.radius(), rel=1e-12)
        np.testing.assert_allclose(policy.estimate().widths, textbook.widths(), rtol=1e-9)
