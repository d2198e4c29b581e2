"""The solvers' steps: products in float32 against float64, and starts from a solution for other rows."""

import numpy as np
import pytest
from tests.support import design_twins as twins

import noisewise as nw
from noisewise.designs.optimal import gradients
from noisewise.designs.optimal.gradients import LargeModel, minimise_large
from noisewise.designs.optimal.quadratic import block_pivoting
from noisewise.designs.shared.frame import whitener
from noisewise.designs.transductive.barrier import solve_restricted


def whitened(kind, n, dim):
    vectors = twins.instance(kind, n, dim)
    weights = np.full(n, 1 / n)
    return vectors @ whitener(vectors, weights), weights


@pytest.mark.parametrize("held", [0, 10_000])
def test_the_matrix_of_the_model_is_its_definition(monkeypatch, held):
    monkeypatch.setattr(gradients, "HELD", held)
    white, weights = whitened("gaussian", 400, 20)
    vector = 1e-30 * np.random.default_rng(0).standard_normal(400)  # float32 alone would lose this
    exact = ((white @ white.T) ** 2 + 20) @ vector
    model = LargeModel(white, weights)
    assert model.times(vector) == pytest.approx(exact, rel=0, abs=1e-5 * np.abs(exact).max())
    assert not model.times(np.zeros(400)).any()


def test_gradients_in_float32_reach_the_minimum_of_the_pivots():
    white, weights = whitened("gaussian", 300, 60)
    found, led_far = minimise_large(white, weights)
    assert led_far
    # They stop at a thousandth of the first slope.
    assert found == pytest.approx(block_pivoting(white, weights), abs=5e-3 * weights[0])


@pytest.mark.parametrize("kind", twins.KINDS)
@pytest.mark.parametrize("gap", [1e-2, 1e-6])
def test_a_warm_barrier_ends_where_a_cold_one_does(kind, gap):
    vectors = twins.instance(kind, 80, 6, seed=1)
    vectors = vectors / np.sqrt((vectors**2).mean(axis=0))
    directions, even = vectors[:40] - vectors[40], np.full(80, 1 / 80)
    cold = solve_restricted(vectors, directions, even, None, gap)
    # Half of the rows first; then the others join, with little weight and no multipliers.
    half = solve_restricted(vectors[:40], directions[:20], even[:40], None, gap)
    joined = np.concatenate([half.weights, np.full(40, 0.3 * half.weights.mean())])
    multipliers = np.concatenate([half.multipliers, np.zeros(20)])
    warm = solve_restricted(vectors, directions, joined, multipliers, gap)
    values = [found.weights.sum() * found.q_values.max() for found in (cold, warm)]
    assert max(cold.gap, warm.gap) <= gap
    assert values[1] == pytest.approx(values[0], rel=gap)


@pytest.mark.parametrize("kind", ["clustered", "sphere"])
def test_many_rows_reach_their_gap_in_few_readings(kind):
    # Clustered rows of many dimensions once entered one at a time, and the rounds ran out.
    vectors = twins.instance(kind, 20_000, 30, seed=1)
    vectors = vectors / np.sqrt((vectors**2).mean(axis=0))
    directions = vectors[1:] - vectors[0]
    found = nw.transductive_design(vectors, directions, gap=1e-2)
    moment = (vectors * found.dense()[:, None]).T @ vectors
    exact = np.einsum("ij,ji->i", directions, np.linalg.solve(moment, directions.T)).max()
    assert found.gap <= 1e-2
    assert found.value == pytest.approx(exact, rel=1e-8)
    assert found.reads <= 30
