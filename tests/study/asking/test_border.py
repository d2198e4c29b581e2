"""The border of independent options, whichever side of the network it is made of."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests.support.effort import effort
from tests.support.measured import BLOCKS, plain_design, seven_options

from noisewise.core.model.independent import Separate, covariance_with, new_independent
from noisewise.study.models.exact.pooled_model import fill_independent
from noisewise.study.models.networks import border as module
from noisewise.study.models.sums import pool
from noisewise.study.models.sums import shared_unknowns as layout_of

N = 7


def posterior(told, ridge, options_as_border, flat=False):
    sums = pool(told, told.sigma, 1.0)
    layout = layout_of(sums)
    blocks = np.unique(sums.block[sums.minus < 0]) if flat else layout.blocks
    measured = np.unique(np.concatenate([sums.plus, sums.minus[sums.minus >= 0]]))
    if options_as_border:
        border = module._options_as_border(N, sums, measured, ridge, blocks, flat)
    else:
        border = module.assemble_border(N, sums, blocks, layout.compared, ridge, flat=flat)
    model = new_independent(Separate(N, border.touched, border.links.shape[0]), ridge)
    fill_independent(model, border, float(sums.weight.sum()), sums.n_measurements)
    return model, sums


@settings(max_examples=effort(6, 30))
@given(seed=st.integers(0, 2**32), blocks=st.booleans(), differences=st.booleans())
def test_both_borders_are_the_posterior_of_plain_matrices(seed, blocks, differences):
    told = seven_options(np.random.default_rng(seed), blocks=blocks, differences=differences)
    ridge = 0.7
    rows = np.delete(plain_design(told, N), N, axis=1)  # values without a block have no offset
    used = np.r_[np.ones(N, bool), (rows[:, N:] != 0.0).any(axis=0)]
    rows, weight = rows[:, used], told.sigma**-2.0
    precision = ridge * np.eye(rows.shape[1]) + (rows * weight[:, None]).T @ rows
    for way in (False, True):
        model, sums = posterior(told, ridge, way)
        centred = told.value - np.where(told.minus < 0, sums.centre, 0.0)
        covariance = np.linalg.inv(precision)
        assert_allclose(model.means, (covariance @ (rows * weight[:, None]).T @ centred)[:N], atol=1e-8)
        found = np.array([covariance_with(model, option) for option in range(N)])
        assert_allclose(found, covariance[:N, :N], atol=1e-9)
        expected = np.linalg.slogdet(precision)[1] - rows.shape[1] * np.log(ridge)
        assert_allclose(model.tally[0], expected, rtol=1e-9)
    assert len(BLOCKS) > 1


@settings(max_examples=effort(6, 30))
@given(seed=st.integers(0, 2**32), differences=st.booleans())
def test_offsets_without_a_prior_leave_contrasts_alone(seed, differences):
    told = seven_options(np.random.default_rng(seed), differences=differences)
    ridge, weight = 0.7, told.sigma**-2.0
    rows = plain_design(told, N)
    rows = rows[:, np.r_[np.ones(N, bool), (rows[:, N:] != 0.0).any(axis=0)]]
    precision = (rows * weight[:, None]).T @ rows
    blocks = precision[N:, N:]
    contrasts = precision[:N, :N] - precision[:N, N:] @ np.linalg.solve(blocks, precision[N:, :N])
    right = (rows * weight[:, None]).T @ told.value
    right = right[:N] - precision[:N, N:] @ np.linalg.solve(blocks, right[N:])
    covariance = np.linalg.inv(contrasts + ridge * np.eye(N))
    for way in (False, True):
        model, _ = posterior(told, ridge, way, flat=True)
        assert_allclose(model.means, covariance @ right, atol=1e-7)
        found = np.array([covariance_with(model, option) for option in range(N)])
        assert_allclose(found, covariance, atol=1e-9)
        expected = np.linalg.slogdet(contrasts + ridge * np.eye(N))[1] - N * np.log(ridge)
        assert_allclose(model.tally[0], expected, atol=1e-8)
