"""Every certificate is true: checked by 60-digit arithmetic or orthogonal factorisations."""

import numpy as np
import pytest
from tests.support import design_twins as twins
from tests.support.effort import effort

from noisewise.designs import optimal_design


def agrees(design, true_gap):
    return abs(design.gap - true_gap) <= 1e-8 + 1e-3 * design.gap


@pytest.mark.parametrize("name", twins.degenerate_sets())
@pytest.mark.parametrize("gap", effort([1e-4], [1e-2, 1e-6]))
def test_the_certificate_of_a_degenerate_set_is_true(name, gap):
    vectors, full_rank = twins.degenerate_sets()[name]
    design = optimal_design(vectors, gap=gap)
    true_gap = twins.exact_g(vectors, design)[1] if full_rank else twins.textbook_gap(vectors, design)
    assert design.gap <= gap
    assert agrees(design, true_gap)


@pytest.mark.parametrize("kind", twins.KINDS)
@pytest.mark.parametrize("seed", range(effort(10, 40)))
def test_the_certificate_of_a_random_set_is_true(kind, seed):
    rng = np.random.default_rng(seed)
    dim = int(rng.integers(1, 25))
    vectors = twins.instance(kind, int(rng.integers(dim + 5, 2500)), dim, seed)
    design = optimal_design(vectors, gap=10.0 ** rng.uniform(-7, -1), seed=seed)
    assert agrees(design, twins.textbook_gap(vectors, design))


@pytest.mark.parametrize("seed", range(effort(20, 60)))
def test_the_certificate_of_a_badly_scaled_or_deficient_set_is_true(seed):
    rng = np.random.default_rng(seed)
    rank, dim = int(rng.integers(1, 7)), int(rng.integers(7, 10))
    rank = dim if seed % 2 else rank
    mixing = rng.standard_normal((rank, dim)) * 10.0 ** rng.uniform(-5, 5, dim)
    lengths = 10.0 ** rng.uniform(-4, 4, (300, 1))
    vectors = lengths * rng.standard_normal((300, rank)) @ mixing
    vectors[:: 2 + seed % 7] = vectors[0]
    design = optimal_design(vectors, gap=1e-5)
    assert design.rank == rank
    if rank == dim:
        assert agrees(design, twins.exact_g(vectors, design, digits=40)[1])
    else:
        assert agrees(design, twins.textbook_gap(vectors, design))


def test_a_row_that_no_sample_sees_is_not_overlooked():
    vectors = np.zeros((50_000, 4))
    vectors[:, :3] = twins.instance("sphere", 50_000, 3)
    vectors[31_337] = [0.0, 0.0, 0.0, 1e-3]
    design = optimal_design(vectors, gap=1e-6)
    assert design.rank == 4
    assert design.dense()[31_337] == pytest.approx(0.25, abs=1e-6)
    assert agrees(design, twins.textbook_gap(vectors, design))
