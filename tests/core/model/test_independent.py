"""The model of independent options against plain matrices, and rules on it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import noisewise as nw
from noisewise.actions.independent import IndependentOptions
from noisewise.core.model import covariances
from noisewise.core.model import dense as verbs
from noisewise.core.model.independent import Separate, separate
from noisewise.study.models.exact.pooled_model import Border, fill_independent, fill_model

N, BLOCKS = 6, 2


def problem(rng, rows=40):
    """Measurements of six options, some in two blocks, some differences of options 2 and 5."""
    design = np.zeros((rows, N + BLOCKS))
    for i in range(rows):
        design[i, rng.integers(N)] = 1.0
        if i % 3 == 0:
            design[i, N + rng.integers(BLOCKS)] = 1.0
        if i % 5 == 0:
            design[i] = 0.0
            design[i, [2, 5]] = 1.0, -1.0
    return design, rng.uniform(0.1, 10.0, rows), rng.normal(size=rows)


def bordered(precision, right):
    """Blocks and options 2 and 5 in the border, the others by themselves; blocks with their sign turned."""
    turned = np.where(np.arange(N + BLOCKS) < N, 1.0, -1.0)
    precision, right = precision * np.outer(turned, turned), right * turned
    dense, alone = [N, N + 1, 2, 5], [0, 1, 3, 4]
    excess, values = np.zeros(N), np.zeros(N)
    excess[alone], values[alone] = precision.sum(axis=1)[alone], right[alone]
    couplings = np.zeros((N, 4))
    couplings[alone] = -precision[np.ix_(alone, dense)]
    links = -precision[np.ix_(dense, dense)]
    np.fill_diagonal(links, 0.0)
    seats = np.array([-1, -1, 2, -1, -1, 3])
    return Border(
        excess, values, np.arange(N), couplings, links, precision.sum(axis=1)[dense], right[dense], seats
    )


def compare(model, precision, right, ridge):
    covariance = np.linalg.inv(precision)
    assert_allclose(model.means, (covariance @ right)[:N], atol=1e-12)
    assert_allclose(model.squared_widths, np.diag(covariance)[:N], rtol=1e-9)
    for option in range(N):
        assert_allclose(covariances.covariance_with(model, option), covariance[option, :N], atol=1e-12)
    contrasts = np.eye(N)[:, :N] - np.eye(N)[1]
    squared = np.einsum("ij,jk,ik->i", contrasts, covariance[:N, :N], contrasts)
    assert_allclose(covariances.contrast_widths(model, 1), np.sqrt(np.maximum(squared, 0)), atol=1e-7)
    expected = np.linalg.slogdet(precision)[1] - (N + BLOCKS) * np.log(ridge)
    assert verbs.log_det(model) == pytest.approx(expected)


@given(seed=st.integers(0, 2**32), ridge=st.floats(0.05, 5.0))
def test_a_border_of_blocks_and_differences_is_the_same_as_plain_matrices(seed, ridge):
    rng = np.random.default_rng(seed)
    design, weights, values = problem(rng)
    precision = ridge * np.eye(N + BLOCKS) + (design * weights[:, None]).T @ design
    right = (design * weights[:, None]).T @ values
    model = verbs.new_model(Separate(N, np.arange(N), 4), ridge)
    fill_independent(model, bordered(precision, right), float(weights.sum()), 40)
    compare(model, precision, right, ridge)
    for option in rng.integers(N, size=8):
        sigma, reward = float(10.0 ** rng.uniform(-1.5, 1.0)), float(rng.normal())
        verbs.fold(model, int(option), reward, sigma)
        unit = np.eye(N + BLOCKS)[option]
        precision += np.outer(unit, unit) / sigma**2
        right += unit * reward / sigma**2
    compare(model, precision, right, ridge)
    assert model.tally[2] == 48


@pytest.mark.parametrize("sigma", [1e-6, 1e-9, 1e-12, 1e-30])
def test_what_very_quiet_measurements_leave_is_never_less_than_nothing(sigma):
    rng = np.random.default_rng(0)
    design, weights, values = problem(rng)
    precision = np.eye(N + BLOCKS) + (design * weights[:, None]).T @ design
    model = verbs.new_model(Separate(N, np.arange(N), 4), 1.0)
    fill_independent(model, bordered(precision, design.T @ values), float(weights.sum()), 40)
    for option in [*range(N), *range(N)]:
        verbs.fold(model, option, 1.0, sigma)
        assert (model.squared_widths >= model.own).all()
        assert (model.own >= 0.0).all()
        assert np.isfinite(covariances.contrast_widths(model, 1)).all()


@given(seed=st.integers(0, 2**32))
def test_filling_a_dense_model_at_once_is_folding_one_by_one(seed):
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(12, 3))
    actions, rewards = rng.integers(12, size=30), rng.normal(size=30)
    sigmas = 10.0 ** rng.uniform(-4.0, 1.0, 30)
    policy = nw.widest(vectors, ridge=0.3)
    policy.tell_many(actions.tolist(), rewards, sigmas)
    one_by_one, at_once = policy.rule.model.arrays, verbs.new_model(vectors.T, 0.3)
    fill_model(at_once, vectors[actions], rewards, sigmas**-2.0, 30)
    assert_allclose(at_once.squared_widths, one_by_one.squared_widths, rtol=1e-9)
    apart = np.abs(at_once.means - one_by_one.means) / np.sqrt(one_by_one.squared_widths)
    assert apart.max() < 1e-6
    assert_allclose(at_once.tally[:3], one_by_one.tally[:3], rtol=1e-9)


DENSE_ONLY = ("vagd", "static_design")
SERVED = ("vaee", "vaee_as_printed", "widest", "uniform", "round_robin", "greedy", "linear_thompson", "oful",
          "weighted_oful")  # fmt: skip
WITH_OPTIONS = {"vaee_as_printed": {"sigma_min": 0.1}}


@pytest.mark.parametrize("name", SERVED)
def test_rules_choose_on_independent_options_as_on_unit_vectors(name):
    """The same rule, once on the diagonal model and once on the dense one of unit vectors."""
    rng = np.random.default_rng(1)
    options = WITH_OPTIONS.get(name, {})
    diagonal = nw.make_policy(name, IndependentOptions(5), **options)
    dense = nw.make_policy(name, np.eye(5), **options)
    for _ in range(25):
        action = diagonal.ask(pending=[2])
        assert action == dense.ask(pending=[2])
        sigma, noise = float(10.0 ** rng.uniform(-1.0, 0.5)), rng.normal()
        for policy in (diagonal, dense):
            policy.tell(action, 0.2 * action + sigma * noise, sigma)
    assert diagonal.recommend() == dense.recommend()
    assert diagonal.estimate().regret_bound == pytest.approx(dense.estimate().regret_bound)


@pytest.mark.parametrize("name", DENSE_ONLY)
def test_a_rule_that_needs_vectors_is_refused(name):
    with pytest.raises(ValueError, match="looks at the options' feature vectors"):
        nw.make_policy(name, IndependentOptions(5))
    with pytest.raises(ValueError, match="looks at the options' feature vectors"):
        np.einsum("ij,ij->j", separate(3), separate(3))
