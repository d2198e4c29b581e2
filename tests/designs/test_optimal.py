"""What an optimal design is, how it is called, and what it costs."""

import numpy as np
import pytest
from tests.support import design_twins as twins

from noisewise.designs import optimal_design


@pytest.mark.parametrize("kind", twins.KINDS)
def test_the_design_matches_the_multiplicative_algorithm(kind):
    vectors = twins.instance(kind, 150, 4, seed=2)
    vectors = vectors / np.abs(vectors).max(axis=0)
    design = optimal_design(vectors, gap=1e-9)
    slow = twins.multiplicative(vectors, gap=1e-4)
    moment = vectors.T @ (design.dense()[:, None] * vectors)
    twin = vectors.T @ (slow[:, None] * vectors)
    # det V is largest at the optimum, and the twin is within 1e-4 of it.
    logdet, twin_logdet = np.linalg.slogdet(moment)[1], np.linalg.slogdet(twin)[1]
    assert twin_logdet - 1e-9 <= logdet <= twin_logdet + 4 * 1e-4


def test_a_quadratic_on_an_interval_uses_its_ends_and_its_middle():
    points = np.linspace(-1, 1, 201)
    design = optimal_design(np.vander(points, 3), gap=1e-9)
    assert points[design.indices] == pytest.approx([-1, 0, 1])
    assert np.allclose(design.weights, 1 / 3, atol=1e-6)


def test_the_design_does_not_change_under_a_linear_map():
    vectors = twins.instance("gaussian", 800, 6)
    mixing = np.random.default_rng(1).standard_normal((6, 6))
    plain, mixed = optimal_design(vectors, gap=1e-8), optimal_design(vectors @ mixing, gap=1e-8)
    assert np.allclose(plain.dense(), mixed.dense(), atol=1e-5)


def test_a_warm_start_saves_readings_and_gives_the_same_optimum():
    vectors = twins.instance("gaussian", 20_000, 10)
    cold = optimal_design(vectors, gap=1e-6)
    warm = optimal_design(vectors, gap=1e-6, warm_start=cold)
    pair = optimal_design(vectors, gap=1e-6, warm_start=(cold.indices, cold.weights))
    assert warm.reads < cold.reads
    assert np.allclose(warm.dense(), cold.dense(), atol=1e-4)
    assert np.array_equal(warm.weights, pair.weights)


def test_the_efficiency_bounds_the_determinant():
    vectors = twins.instance("sphere", 2000, 5)
    loose, tight = optimal_design(vectors, gap=0.3), optimal_design(vectors, gap=1e-8)
    determinants = [
        np.linalg.det(vectors.T @ (design.dense()[:, None] * vectors)) for design in (loose, tight)
    ]
    assert loose.efficiency <= (determinants[0] / determinants[1]) ** (1 / 5) <= 1.0 + 1e-7
    assert tight.efficiency > 1.0 - 1e-7


def test_a_design_draws_itself():
    design = optimal_design(np.eye(3))
    chart = design.chart(labels=["steel", "brass", "tin"]).to_dict()
    assert "steel" in str(chart["datasets"])
    with pytest.raises(ValueError, match="`labels` must name all 3 actions; got 1 labels"):
        design.chart(labels=["steel"])
