"""VarCB, held to its box."""

import math

import numpy as np
import pytest
from scipy import stats
from tests.support.naive import WeightedOfulPlus, first_largest, options_of_weighted_oful_plus
from tests.support.playing import quiet_problem

import noisewise as nw
from noisewise.core.randomness import generator


def textbook_varcb(textbook, variance_left_to_chance, sigma, uniform):
    """The box of the module's first page: the action, and whether it was left to chance."""
    means, widths, radius = textbook.means(), textbook.widths(), textbook.radius()
    plausible = means + radius * widths >= max(means - radius * widths)
    s2, n, d = max(sigma**2, textbook.alpha**2), len(means), textbook.dim
    widest = first_largest(widths**2, np.flatnonzero(plausible))
    if textbook.gamma**2 * widths[widest] > s2:
        return widest, False
    spread = textbook.horizon * textbook.longest**2 / (d * textbook.ridge * textbook.alpha**2)
    complexity = d * math.log(1 + spread) + math.log(1 / textbook.delta)
    eta = math.sqrt(8 * n * (variance_left_to_chance + s2) / complexity)
    best = first_largest(means, np.flatnonzero(plausible))
    shares = [0.0] * n
    for k in range(n):
        if plausible[k] and k != best:
            shares[k] = 1 / (plausible.sum() + eta / s2 * max(0.0, means[best] - means[k]))
    shares[best] = 1 - sum(shares)
    return next(k for k in range(n) if sum(shares[: k + 1]) > uniform), True


@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_varcb_measures_what_its_box_says(scale):
    left_to_chance, alternatives = 0, 0
    for seed in range(16):
        vectors, theta, sigmas, noise = quiet_problem(seed, horizon=30)
        options = options_of_weighted_oful_plus(seed, scale, horizon=30)
        policy, textbook = nw.rules.varcb(vectors, **options), WeightedOfulPlus(vectors, **options)
        variance = 0.0
        for sigma, unit in zip(sigmas, noise, strict=True):
            uniform = stats.norm.cdf(generator(policy.seed, "live", policy.n_told).standard_normal(1)[0])
            action, by_chance = textbook_varcb(textbook, variance, sigma, uniform)
            assert policy.ask(sigma) == action, seed
            if by_chance:
                variance += max(sigma**2, textbook.alpha**2)
                left_to_chance += 1
                alternatives += action != first_largest(textbook.means())
            reward = vectors[action] @ theta + sigma * unit
            policy.tell(action, reward, sigma)
            textbook.learn(action, reward, sigma)
    # Both branches, and both outcomes of the second one, have been seen.
    assert 50 < left_to_chance < 430
    assert alternatives > 10
