"""Robust estimates against an independent solver."""

import math

import numpy as np
from numpy.testing import assert_allclose
from scipy import stats
from scipy.optimize import minimize

import noisewise as nw
from noisewise.core.model import fold, new_model, set_theta, theta
from noisewise.rules import huber, median_of_means, one_pass


def problem(seed, dim=None, length=25):
    """Random actions measured with sigmas from 1e-3 to 1e2 and noise of infinite fourth moment."""
    rng = np.random.default_rng(seed)
    dim = dim or 2 + seed % 5
    vectors = rng.standard_normal((12, dim))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    truth = rng.standard_normal(dim)
    truth /= np.linalg.norm(truth)
    actions = rng.integers(0, 12, length)
    sigmas = 10.0 ** rng.uniform(-3, 2, length)
    rewards = vectors[actions] @ truth + sigmas * rng.standard_t(1.5, length)
    return vectors, actions, rewards, sigmas


def naive_thresholds(vectors, actions, sigmas, tau0, ridge):
    """``τ_i = τ0·√(1 + u²)/u`` with every matrix inverted afresh, and the last V."""
    moment, taus = ridge * np.eye(vectors.shape[1]), []
    for action, sigma in zip(actions, sigmas, strict=True):
        vector = vectors[action]
        u = math.sqrt(vector @ np.linalg.solve(moment, vector)) / sigma
        taus.append(tau0 * math.sqrt(1 + u * u) / u)
        moment += np.outer(vector, vector) / sigma**2
    return np.array(taus), moment


def solved_by_scipy(vectors, actions, rewards, sigmas, tau0, ridge, bound):
    """The estimate by sequential quadratic programming, in coordinates where V is the identity."""
    taus, moment = naive_thresholds(vectors, actions, sigmas, tau0, ridge)
    root = np.linalg.inv(np.linalg.cholesky(moment))
    rows = vectors[actions] @ root.T / sigmas[:, None]
    targets = rewards / sigmas

    def loss(y):
        z, point = targets - rows @ y, root.T @ y
        size = np.sqrt(taus**2 + z**2)
        value = ridge / 2 * point @ point + (taus * z**2 / (size + taus)).sum()
        return value, ridge * root @ point - rows.T @ (taus * z / size)

    def room(y):
        return bound**2 - (root.T @ y) @ (root.T @ y)

    constraint = {"type": "ineq", "fun": room, "jac": lambda y: -2 * root @ (root.T @ y)}
    y = np.zeros(len(moment))
    for _ in range(2):  # started again, it takes the last digits
        options = {"ftol": 1e-16, "maxiter": 500}
        y = minimize(loss, y, jac=True, method="SLSQP", constraints=[constraint], options=options).x
    return root.T @ y


def test_the_exact_estimate_is_that_of_an_independent_solver():
    """40 problems, inside and on the boundary of the ball, tau0 from 0.03 to 3."""
    on_the_boundary = 0
    for seed in range(40):
        vectors, actions, rewards, sigmas = problem(seed)
        tau0, bound = (0.03, 0.4, 3.0)[seed % 3], (0.6, 20.0)[seed % 2]
        policy = nw.robust_vaee(vectors, tau0=tau0, norm_bound=bound, horizon=40)
        policy.tell_many(actions, rewards, sigmas)
        ours = policy.estimate().theta
        theirs = solved_by_scipy(vectors, actions, rewards, sigmas, tau0, 1.0, bound)
        assert_allclose(ours, theirs, rtol=0, atol=1e-6, err_msg=f"problem {seed}")
        on_the_boundary += math.isclose(np.linalg.norm(ours), bound, rel_tol=1e-9)
    assert 12 <= on_the_boundary <= 28


def test_a_warm_start_and_a_cold_one_meet():
    """The estimate does not remember the way to it: the same history solved from far away."""
    vectors, actions, rewards, sigmas = problem(3, dim=4)
    policy = nw.robust_vaee(vectors, norm_bound=5.0, horizon=40)
    policy.tell_many(actions, rewards, sigmas)
    model = policy.rule.model.arrays
    warm = theta(model).copy()
    set_theta(model, 3.0 * np.array([1.0, -1.0, 0.5, 0.2]))
    cold = huber.fit_huber(policy.rule.estimate.history, model, 1.0, 5.0)
    assert_allclose(cold, warm, rtol=0, atol=1e-8)


def test_one_huge_outlier_moves_least_squares_and_not_the_robust_estimates():
    rng = np.random.default_rng(1)
    vectors = np.vstack([np.eye(3), -np.eye(3)])
    truth = np.array([0.5, -0.2, 0.1])
    options = [{"estimator": name} for name in ("huber", "one-pass", "median-of-means")]
    robust = [nw.robust_vaee(vectors, **option) for option in options]
    plain = nw.vaee(vectors)
    for t in range(400):
        reward = float(vectors[t % 6] @ truth + 0.1 * rng.standard_normal()) + 1e6 * (t == 200)
        for policy in [*robust, plain]:
            policy.tell(t % 6, reward, 0.1)
    assert np.abs(plain.estimate().theta - truth).max() > 1e3
    for policy in robust:
        assert np.abs(policy.estimate().theta - truth).max() < 0.1


def test_the_remaining_surprise_solves_its_equation():
    for surprise in (0.0, 1e-9, 0.3, -7.0, 1e8):
        for leverage in (1e-9, 0.1, 30.0, 1e12):
            for tau in (1e-3, 0.4, 50.0):
                z = one_pass.remaining(surprise, leverage, tau)
                total = z + leverage * huber.clipped(z, tau)
                assert math.isclose(total, surprise, rel_tol=1e-9, abs_tol=1e-12 * (1 + abs(surprise)))


def test_blocks_are_planned_so_that_the_median_is_as_rare_wrong_as_asked():
    for miss in (0.05, 1e-5):
        n_blocks, reach = median_of_means.plan_blocks(miss)
        wrong = stats.binom.sf(n_blocks // 2, n_blocks, 1 / (1 + reach**2))
        assert_allclose(wrong, miss, rtol=1e-6)
        # Better than the usual 8·log blocks with two standard errors each.
        assert math.sqrt(n_blocks) * reach < 2 * math.sqrt(8 * math.log(1 / miss))
    assert median_of_means.plan_blocks(1e-3, 7)[0] == 7


def test_the_centre_of_blocks_has_the_least_sum_of_distances():
    rng = np.random.default_rng(3)
    columns = rng.standard_normal((3, 6))
    blocks, model = median_of_means.new_blocks(7, 3, 1.0), new_model(columns, 1.0)
    for t in range(200):
        median_of_means.deal(blocks, model, t % 6, float(rng.standard_t(1.2)), 0.5)
        fold(model, t % 6, 0.0, 0.5)
    moment = np.eye(3) + sum(np.outer(columns[:, t % 6], columns[:, t % 6]) for t in range(200)) / 0.25

    def total(point):
        apart = blocks.thetas - point
        return np.sqrt(np.einsum("ij,jk,ik->i", apart, moment, apart)).sum()

    centre = median_of_means.centre_of(blocks, model)
    best = minimize(total, centre, method="Nelder-Mead", options={"xatol": 1e-12, "fatol": 1e-14}).fun
    assert total(centre) <= best * (1 + 1e-9)
