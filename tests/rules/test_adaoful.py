"""AdaOFUL: the robust estimate with optimism."""

import numpy as np
from numpy.testing import assert_allclose

import noisewise as nw

VECTORS = np.random.default_rng(0).standard_normal((10, 4))


RNG = np.random.default_rng(0)


THETA = np.array([0.6, -0.3, 0.2, 0.1])


def test_adaoful_is_the_same_estimate_with_optimism():
    policy = nw.rules.adaoful(VECTORS, tau0=0.4, floor=False, radius=2.0, horizon=100)
    twin = nw.robust_vaee(VECTORS, tau0=0.4, radius=2.0, horizon=100)
    rng = np.random.default_rng(5)
    for _ in range(40):
        estimate = policy.estimate()
        action = policy.ask()
        assert action == np.argmax(estimate.means + 2.0 * estimate.widths)
        reward, sigma = float(VECTORS[action] @ THETA + 0.2 * rng.standard_t(2.1)), 0.2
        policy.tell(action, reward, sigma)
        twin.tell(action, reward, sigma)
    assert_allclose(policy.estimate().theta, twin.estimate().theta, rtol=1e-9)
    assert nw.rules.adaoful(VECTORS).estimate().certificate == "anytime"
