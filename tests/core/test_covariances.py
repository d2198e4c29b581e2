"""The covariance is that of the model."""

import numpy as np
from numpy.testing import assert_allclose

from noisewise.core.model import covariance, fold, new_model, place, theta


def measured(dim=5, rounds=20):
    rng = np.random.default_rng(0)
    model, precision, weighted = new_model(np.zeros((dim, 1)), 0.5), 0.5 * np.eye(dim), np.zeros(dim)
    for _ in range(rounds):
        vector, reward, sigma = rng.standard_normal(dim), rng.standard_normal(), rng.uniform(0.1, 2.0)
        place(model, vector)
        fold(model, 0, reward, sigma)
        precision += np.outer(vector, vector) / sigma**2
        weighted += reward * vector / sigma**2
    return model, np.linalg.inv(precision), weighted


def test_the_covariance_is_the_inverse_of_the_precision():
    model, inverse, weighted = measured()
    assert_allclose(covariance(model), inverse, rtol=1e-10)
    assert_allclose(theta(model), inverse @ weighted, rtol=1e-10)
    vector = np.arange(5.0)
    place(model, vector)
    assert_allclose(model.squared_widths[0], vector @ inverse @ vector, rtol=1e-10)
    assert_allclose(model.means[0], vector @ inverse @ weighted, rtol=1e-9)
