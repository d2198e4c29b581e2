"""Designs on few actions keep their promises."""

import itertools
import math

import numpy as np
import pytest
from tests.support import design_twins as twins
from tests.support.effort import effort

from noisewise.designs import optimal_design
from noisewise.designs.optimal import core_budget


def paper_budget(dim):
    """4 d log log d + 16, the double logarithm taken as 0 for d <= 2 (note 11)."""
    double_log = math.log(math.log(dim)) if dim > 2 else 0.0
    return math.floor(4 * dim * double_log + 16)


def test_the_budget_is_never_above_the_papers():
    assert all(core_budget(dim) <= paper_budget(dim) for dim in range(1, 400))
    assert all(core_budget(dim) <= dim * (dim + 1) // 2 for dim in range(1, 9))


@pytest.mark.parametrize("block", range(effort(2, 10)))
def test_core_designs_keep_the_budget(block):
    for seed in range(50 * block, 50 * block + 50):
        rng = np.random.default_rng(seed)
        dim = 1 + seed % 60
        n_actions = dim + int(rng.integers(0, 10 * dim + 50))
        vectors = twins.instance(twins.KINDS[seed % 5], n_actions, dim, seed)
        design = optimal_design(vectors, support="core", seed=seed)
        assert len(design.indices) <= core_budget(design.rank) <= paper_budget(dim)
        assert design.g_value <= 2 * design.rank
        assert twins.textbook_gap(vectors, design) <= 1 + 1e-6


@pytest.mark.parametrize("dim", [2, 5, 10, 18])
def test_caratheodory_reduces_a_tied_set_at_no_loss(dim):
    vectors = twins.instance("sphere", 3000, dim)
    design = optimal_design(vectors, gap=1e-6, support="caratheodory")
    assert len(design.indices) <= dim * (dim + 1) // 2 + 1
    assert design.gap <= 1e-6
    assert abs(twins.textbook_gap(vectors, design) - design.gap) <= 1e-8


@pytest.mark.parametrize("kind", twins.KINDS)
def test_a_limited_support_is_kept_and_its_g_is_true(kind):
    vectors = twins.instance(kind, 3000, 12)
    design = optimal_design(vectors, max_support=20)
    assert len(design.indices) <= 20
    assert design.g_value <= 2 * 12
    assert abs(twins.textbook_gap(vectors, design) - design.gap) <= 1e-8 + 1e-3 * design.gap


def test_a_limited_support_is_close_to_the_best_of_all_subsets():
    vectors = twins.instance("gaussian", 14, 3)
    found = optimal_design(vectors, max_support=3).g_value
    best = min(
        np.sum((vectors @ np.linalg.inv(vectors[list(three)])) ** 2, axis=1).max() * 3
        for three in itertools.combinations(range(14), 3)
    )
    assert found <= 1.1 * best
