"""Transductive designs agree with a convex solver and with Elfving, and their certificate is true."""

import itertools

import cvxpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import noisewise as nw

KINDS = ("gauss", "sphere", "scaled", "clustered")


def actions(kind, n, dim, rng):
    vectors = rng.standard_normal((n, dim))
    if kind == "sphere":
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    if kind == "scaled":
        vectors *= np.logspace(-3, 3, dim)
    if kind == "clustered":
        vectors = vectors[rng.integers(0, min(n, 2 * dim), n)] + 1e-3 * vectors
    return vectors


def value(vectors, directions, shares, precisions=1.0):
    """The definition."""
    moment = (vectors * (shares * precisions)[:, None]).T @ vectors
    return float(np.einsum("ij,ji->i", directions, np.linalg.solve(moment, directions.T)).max())


def all_differences(vectors):
    left, right = np.triu_indices(len(vectors), 1)
    return vectors[left] - vectors[right]


def convex_value(vectors, directions, precisions):
    """The same task for an interior point solver: the least Σ w with yᵀV(w)⁻¹y <= 1."""
    weights = cvxpy.Variable(len(vectors), nonneg=True)
    moment = vectors.T @ cvxpy.diag(cvxpy.multiply(weights, precisions)) @ vectors
    limits = [cvxpy.matrix_frac(y, moment) <= 1 for y in directions]
    return cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(weights)), limits).solve(solver="CLARABEL")


@pytest.mark.parametrize("seed", range(20))
def test_agrees_with_a_convex_solver(seed):
    rng = np.random.default_rng(seed)
    dim = int(rng.integers(2, 5))
    vectors = actions(("gauss", "sphere")[seed % 2], int(rng.integers(dim + 2, 16)), dim, rng)
    directions = rng.standard_normal((int(rng.integers(1, 10)), dim))
    precisions = rng.uniform(0.2, 5.0, len(vectors)) if seed % 3 else np.ones(len(vectors))
    found = nw.transductive_design(vectors, directions, precisions, gap=1e-6)
    assert found.value == pytest.approx(convex_value(vectors, directions, precisions), rel=1e-4)
    assert found.value == pytest.approx(value(vectors, directions, found.dense(), precisions), rel=1e-7)


@pytest.mark.parametrize(("n", "dim"), [(30, 3), (200, 6), (2000, 10)])
def test_one_direction_is_the_linear_programme_of_elfving(n, dim):
    # The least Σ|p| with Σ p_a a = y is the root of the value.
    rng = np.random.default_rng(n)
    vectors, direction = rng.standard_normal((n, dim)), rng.standard_normal(dim)
    programme = linprog(np.ones(2 * n), A_eq=np.hstack([vectors.T, -vectors.T]), b_eq=direction)
    found = nw.transductive_design(vectors, direction[None], gap=1e-5)
    assert found.value == pytest.approx(programme.fun**2, rel=2e-5)


@given(st.integers(0, 2**31), st.sampled_from(KINDS))
@settings(max_examples=25)
def test_the_certificate_is_true(seed, kind):
    rng = np.random.default_rng(seed)
    dim = int(rng.integers(2, 6))
    vectors = actions(kind, int(rng.integers(dim + 1, 60)), dim, rng)
    found = nw.transductive_design(vectors, nw.designs.Pairs(vectors), gap=1e-2)
    pairs = all_differences(vectors)
    assert found.gap <= 1e-2
    assert found.value == pytest.approx(value(vectors, pairs, found.dense()), rel=1e-6)
    # No other weights are below the bound: not the uniform ones, not the G-optimal ones, not random ones.
    others = [np.full(len(vectors), 1.0 / len(vectors)), *rng.dirichlet(np.ones(len(vectors)), 5)]
    for shares in others:
        assert value(vectors, pairs, shares) >= found.lower_bound * (1.0 - 1e-9)


def test_a_set_that_spans_less_than_its_columns():
    rng = np.random.default_rng(7)
    plane = rng.standard_normal((2, 4))
    vectors = rng.standard_normal((30, 2)) @ plane
    found = nw.transductive_design(vectors, nw.designs.Pairs(vectors), gap=1e-4)
    inside = vectors @ np.linalg.pinv(plane)
    assert found.value == pytest.approx(value(inside, all_differences(inside), found.dense()), rel=1e-6)
    with pytest.raises(ValueError, match="`directions` must lie in the span of `vectors`"):
        nw.transductive_design(vectors, np.eye(4))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda v: nw.transductive_design(v, v, gap=0.0), "`gap` must be a finite number of at least"),
        (lambda v: nw.transductive_design(v, v[:, :1]), "`directions` must have 2 columns"),
        (lambda v: nw.transductive_design(v, 0 * v), "`directions` must hold one that is not zero"),
        (lambda v: nw.transductive_design(v, v * np.nan), "`directions` must be finite"),
        (lambda v: nw.transductive_design(v, v, [1.0]), r"`weights` must be 3 finite numbers above 0"),
        (
            lambda v: nw.transductive_design(v, v, [1.0, 0.0, 1.0]),
            "`weights` must be 3 finite numbers above 0",
        ),
        (
            lambda v: nw.transductive_design(v, v, ["a", "b", "c"]),
            "`weights` must be 3 finite numbers above 0",
        ),
        (lambda v: nw.designs.Pairs(v[:1]), "`vectors` must hold at least two rows"),
    ],
)
def test_bad_input_gets_one_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))


def factorial_with_all_interactions():
    """The 2³ factorial coded 0/1: three factors, their products in pairs, and the product of all."""
    one, two, three = np.array(list(itertools.product((0.0, 1.0), repeat=3))).T
    return np.stack([one, two, three, one * two, one * three, two * three, one * two * three], axis=1)


@pytest.mark.parametrize("gap", [1e-4, 1e-5, 1e-6])
@pytest.mark.parametrize("seed", range(6))
def test_a_factorial_with_unequal_variances_is_solved_and_proved(seed, gap):
    # Small shares of rough rows are all that some directions are known by: dropping them is no option.
    vectors = factorial_with_all_interactions()
    precisions = 1.0 / 10.0 ** np.random.default_rng(seed).uniform(-2.0, 2.0, 8)
    for directions, listed in (
        (vectors[1:], vectors[1:]),
        (nw.designs.Pairs(vectors), all_differences(vectors)),
    ):
        found = nw.transductive_design(vectors, directions, weights=precisions, gap=gap)
        assert found.gap <= gap
        assert found.value == pytest.approx(value(vectors, listed, found.dense(), precisions), rel=1e-7)
        rng = np.random.default_rng(seed)
        for shares in rng.dirichlet(np.ones(8), 20):
            assert value(vectors, listed, shares, precisions) >= found.lower_bound * (1.0 - 1e-9)


def odd_vectors(kind, n, dim, rng):
    """Actions that are no pleasure to solve for: copies, zeros, nearly parallel ones, units of many sizes."""
    vectors = rng.standard_normal((n, dim))
    if kind == "coded":
        vectors = rng.integers(0, 2, (n, dim)).astype(float)
    if kind == "nearly parallel":
        vectors = vectors[:, :1] + 1e-5 * vectors
    if kind == "copies":
        vectors = np.concatenate([vectors, vectors[: n // 2]])
    if kind == "units":
        vectors = vectors * 10.0 ** rng.uniform(-6.0, 6.0, dim)
    if kind == "sparse":
        vectors = np.where(rng.random((n, dim)) < 0.6, 0.0, vectors)
    return vectors


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["coded", "nearly parallel", "copies", "units", "sparse"]),
    st.integers(0, 2**31),
    st.sampled_from([0.0, 2.0, 6.0]),
    st.sampled_from([1e-2, 1e-4, 1e-6]),
)
def test_odd_instances_reach_the_gap_or_say_what_they_reached(kind, seed, decades, gap):
    rng = np.random.default_rng(seed)
    vectors = odd_vectors(kind, int(rng.integers(2, 25)), int(rng.integers(1, 8)), rng)
    precisions = 10.0 ** rng.uniform(-decades, decades, len(vectors))
    directions = vectors if seed % 2 else rng.standard_normal((4, len(vectors))) @ vectors
    if not vectors.any():
        return
    found = nw.transductive_design(vectors, directions, weights=precisions, gap=gap)
    assert 0.0 <= found.gap <= max(gap, 1e-5)
    assert found.weights.sum() == pytest.approx(1.0)
    assert 0.0 < found.lower_bound <= found.value < np.inf
