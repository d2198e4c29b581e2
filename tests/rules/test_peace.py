"""Peace: every epoch halves the Gaussian width."""

from itertools import pairwise

import numpy as np

import noisewise as nw
from noisewise.designs import gaussian_width


def test_peace_halves_the_width_in_every_epoch():
    rng = np.random.default_rng(3)
    vectors = rng.standard_normal((25, 4))
    theta = rng.standard_normal(4)
    policy = nw.rules.peace(vectors, horizon=300)
    widths, sizes = [], []
    for _ in range(300):
        action = policy.ask()
        policy.tell(action, float(vectors[action] @ theta + 0.3 * rng.standard_normal()), 0.3)
        survivors = policy.rule.survivors
        if not sizes or survivors.sum() != sizes[-1]:
            sizes.append(int(survivors.sum()))
            widths.append(gaussian_width.width_design(vectors, vectors[survivors]).width)
    assert len(sizes) >= 3
    assert all(later <= 0.52 * before for before, later in pairwise(widths))
    assert policy.recommend() == int(np.argmax(vectors @ theta))
