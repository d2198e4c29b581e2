"""The parts of the solver, each against its definition."""

from dataclasses import replace

import numpy as np
import pytest
from tests.support import design_twins as twins

from noisewise.designs.algebra import weighted_moment
from noisewise.designs.columns import Pricing
from noisewise.designs.optimal import begin, reduce_support
from noisewise.designs.rows import ActionRows, whitener
from noisewise.designs.weights import block_pivoting, least_squares, minimise_large


def model_value(coordinates, weights):
    rank = coordinates.shape[1]
    moment = coordinates.T @ (weights[:, None] * coordinates)
    return 0.5 * np.sum((moment - 2 * np.eye(rank)) ** 2) + 0.5 * rank * weights.sum() ** 2


def test_three_ways_to_minimise_the_model_agree():
    vectors = twins.instance("gaussian", 150, 18)
    weights = np.full(150, 1 / 150)
    white = vectors @ whitener(vectors, weights)
    values = [
        model_value(white, found)
        for found in (
            least_squares(white),
            block_pivoting(white, weights),
            minimise_large(white, weights)[0],
        )
    ]
    assert values[1] == pytest.approx(values[0], rel=1e-5)
    assert values[2] <= values[0] + 0.05 * (model_value(white, weights) - values[0])


def test_the_reduction_keeps_the_moment_up_to_its_scale():
    vectors = twins.instance("sphere", 200, 6)
    weights = np.random.default_rng(0).dirichlet(np.ones(200))
    reduced = reduce_support(vectors, weights)
    before, after = weighted_moment(vectors, weights), weighted_moment(vectors, reduced)
    assert np.count_nonzero(reduced) <= 21
    assert after == pytest.approx(before * after[0, 0] / before[0, 0], abs=1e-12)
    assert after[0, 0] >= before[0, 0] * (1 - 1e-12)


def test_a_contradiction_is_never_returned():
    rows = ActionRows(twins.instance("gaussian", 300, 4))
    working = begin(rows, np.random.default_rng(0))
    broken = replace(working, weights=working.weights * 1.001)
    with pytest.raises(ArithmeticError, match="instead of the rank 4"):
        Pricing(rows).price(broken)
