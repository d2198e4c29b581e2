"""The covariance is that of the model, and no row is read more than twice in a round."""

import numpy as np
from numpy.testing import assert_allclose

from noisewise.core.model import dense as core_model
from noisewise.core.model.dense import fold, new_model, theta
from noisewise.core.model.vectors import covariance, place
from noisewise.core.native.verbs import numpy_verbs


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


def test_a_round_reads_every_row_at_most_twice(monkeypatch):
    """Tiny sigmas wear widths out and move the centre in one round: still learning and one pass more."""
    vectors = np.random.default_rng(1).standard_normal((3000, 6))
    model = new_model(np.ascontiguousarray(vectors.T), 1.0)
    reads = np.zeros(len(vectors))
    project, refresh = core_model.project, core_model.refresh

    def counted_project(model, direction, rows, out):
        reads[rows] += 1
        project(model, direction, rows, out)

    def counted_refresh(model, stale, *, means_too=False):
        reads[stale] += 1
        refresh(model, stale, means_too=means_too)

    monkeypatch.setattr(core_model, "project", counted_project)
    monkeypatch.setattr(core_model, "refresh", counted_refresh)
    rng, busiest = np.random.default_rng(2), 0.0
    parameter = rng.standard_normal(6)
    for _ in range(80):
        reads[:] = 0.0
        action, sigma = int(rng.integers(3000)), 10.0 ** rng.uniform(-6.0, 0.0)
        with numpy_verbs():
            fold(model, action, float(vectors[action] @ parameter), sigma)
        busiest = max(busiest, reads.max())
        exact = vectors @ theta(model)
        assert_allclose(model.means, exact, atol=1e-9 * np.abs(exact).max())
    assert busiest == 2
