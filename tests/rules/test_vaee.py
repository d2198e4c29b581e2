"""VAEE, held to its textbook, and the version with the printed choices."""

import math

import numpy as np
import pytest
from tests.support import naive

import noisewise as nw


@pytest.mark.parametrize("explore", ["all", "candidates"])
def test_vaee_measures_what_the_textbook_measures(explore):
    """200 random problems (100 for each way to explore), sigmas from 1e-3 to 1e3, ridge not 1."""
    eliminated = 0
    for seed in range(100):
        rng = np.random.default_rng([7, seed])
        n, dim, ridge = int(rng.integers(2, 25)), int(rng.integers(1, 6)), float(rng.choice([0.3, 2.0, 7.0]))
        vectors = rng.standard_normal((n, dim)) / math.sqrt(dim)
        theta = rng.standard_normal(dim)
        theta /= np.linalg.norm(theta)
        sigmas, noise = 10 ** rng.uniform(-3, 3, 25), rng.standard_normal(25)
        options = {"ridge": ridge, "delta": 0.1, "norm_bound": 1.5}
        pulled, candidates, advice = naive.vaee(vectors, theta, sigmas, noise, explore=explore, **options)
        policy = nw.vaee(vectors, explore=explore, **options)
        for t, action in enumerate(pulled):
            assert policy.ask() == action, (seed, t)
            policy.tell(action, vectors[action] @ theta + sigmas[t] * noise[t], sigmas[t])
        assert set(np.flatnonzero(policy.estimate().candidates)) == candidates
        assert policy.recommend() == advice
        eliminated += n - len(candidates)
    assert eliminated > 100


def test_the_printed_version_uses_the_printed_choices():
    policy = nw.rules.vaee_as_printed(np.eye(2), sigma_min=0.1)
    assert policy.options["radius"] == "paper"
    assert policy.rule.explore == "candidates"
    policy.tell(1, -1.0, 0.2)
    assert policy.recommend() == 1
    with pytest.raises(ValueError, match=r"at least the sigma_min=0\.1"):
        policy.tell(0, 1.0, 0.05)
    with pytest.raises(ValueError, match="`sigma_min` must be given"):
        nw.rules.vaee_as_printed(np.eye(2))
