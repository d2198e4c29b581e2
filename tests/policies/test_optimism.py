"""Weighted OFUL, OFUL and Thompson sampling, held to their textbooks and to one another."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import noisewise as nw
from noisewise.core.model.covariances import perturbed_means

FALSE_ALARM = 1e-6


def random_problem(seed, horizon):
    """Vectors (full rank), theta of norm below 1, sigmas over two decades and noise."""
    rng = np.random.default_rng([11, seed])
    dim = int(rng.integers(1, 6))
    vectors = rng.standard_normal((int(rng.integers(dim + 1, 20)), dim)) / math.sqrt(dim)
    theta = rng.standard_normal(dim)
    theta *= 0.9 / np.linalg.norm(theta)
    sigmas = 10 ** rng.uniform(-1.5, 0.5, horizon)
    return vectors, theta, sigmas, rng.choice([-1.0, 1.0], horizon)


def textbook_choices(vectors, theta, sigmas, noise, *, ridge, norm_bound, noise_bound, scale, delta, bounded):
    """The box of Zhou, Gu and Szepesvári (or its sub-Gaussian variant), every matrix inverted afresh."""
    n, d = vectors.shape
    longest = max(np.linalg.norm(vector) for vector in vectors)
    precision, weighted = ridge * np.eye(d), np.zeros(d)
    beta, least, pulled = 0.0, math.inf, []
    if not bounded:
        beta = math.sqrt(2 * math.log(1 / delta))
    for t, (sigma, unit) in enumerate(zip(sigmas, noise, strict=True), start=1):
        covariance = np.linalg.inv(precision)
        mu = covariance @ weighted
        radius = scale * beta + math.sqrt(ridge) * norm_bound
        upper = [a @ mu + radius * math.sqrt(a @ covariance @ a) for a in vectors]
        top = max(upper)
        tolerance = 1e-9 * max(abs(value) for value in upper)
        action = next(k for k in range(n) if upper[k] >= top - tolerance)
        pulled.append(action)
        reward = vectors[action] @ theta + sigma * unit
        floored = max(noise_bound / math.sqrt(d), sigma) if bounded else sigma
        precision += np.outer(vectors[action], vectors[action]) / floored**2
        weighted += reward * vectors[action] / floored**2
        least = min(least, floored)
        if bounded:
            doubt = math.log(4 * t**2 / delta)
            spread = math.log(1 + t * longest**2 / (least**2 * d * ridge))
            beta = 8 * math.sqrt(d * spread * doubt) + 4 * noise_bound / least * doubt
        else:
            information = np.linalg.slogdet(precision)[1] - d * math.log(ridge)
            beta = math.sqrt(2 * math.log(1 / delta) + information)
    return pulled


def live_choices(policy, vectors, theta, sigmas, noise):
    pulled = []
    for sigma, unit in zip(sigmas, noise, strict=True):
        action = policy.ask()
        policy.tell(action, vectors[action] @ theta + sigma * unit, sigma)
        pulled.append(action)
    return pulled


@pytest.mark.parametrize("noise", ["bounded", "sub-gaussian"])
@pytest.mark.parametrize("scale", [1.0, 0.02])
def test_weighted_oful_measures_what_the_textbook_measures(noise, scale):
    """30 random problems each; ridge, norm bound and noise bound are not 1."""
    different = set()
    for seed in range(30):
        problem = random_problem(seed, horizon=40)
        options = {
            "ridge": [0.3, 2.5][seed % 2],
            "norm_bound": [0.9, 1.7][seed // 2 % 2],
            "noise_bound": [0.2, 3.0][seed // 4 % 2],
            "delta": 0.1,
            "scale": scale,
        }
        radius = {} if noise == "bounded" else {"radius": "self-normalised"}
        policy = nw.weighted_oful(problem[0], noise=noise, **options, **radius)
        choices = live_choices(policy, *problem)
        assert choices == textbook_choices(*problem, **options, bounded=noise == "bounded"), seed
        different.add(len(set(choices)))
    assert len(different) > 3


def test_a_constant_floored_sigma_is_plain_ridge_with_a_larger_penalty():
    """Sigmas below the floor s = noise_bound/√dim all enter as s: ridge regression with ridge·s²."""
    ridge, noise_bound = 0.7, 1.3
    for seed in range(10):
        vectors, theta, sigmas, noise = random_problem(seed, horizon=60)
        dim = vectors.shape[1]
        floor = noise_bound / math.sqrt(dim)
        sigmas = np.minimum(sigmas, floor)
        policy = nw.weighted_oful(vectors, noise_bound=noise_bound, ridge=ridge)
        pulled = live_choices(policy, vectors, theta, sigmas, noise)
        rows, rewards = vectors[pulled], vectors[pulled] @ theta + sigmas * noise
        penalised = rows.T @ rows + ridge * floor**2 * np.eye(dim)
        estimate = policy.estimate()
        expected = np.linalg.solve(penalised, rows.T @ rewards)
        np.testing.assert_allclose(estimate.theta, expected, rtol=1e-11, atol=1e-13)
        widths = floor * np.sqrt(np.einsum("ij,ij->i", vectors, np.linalg.solve(penalised, vectors.T).T))
        np.testing.assert_allclose(estimate.widths, widths, rtol=1e-11)


@pytest.mark.parametrize("level", [0.05, 0.4, 3.0])
def test_with_equal_sigmas_weighted_oful_is_oful(level):
    """The same actions as OFUL with this noise level and ridge·level²: the bounds are equal term by term."""
    ridge = 0.6
    for seed in range(10):
        vectors, theta, _, noise = random_problem(seed, horizon=60)
        sigmas = np.full(60, level)
        weighted = nw.weighted_oful(vectors, noise="sub-gaussian", radius="self-normalised", ridge=ridge)
        plain = nw.oful(vectors, noise_level=level, ridge=ridge * level**2)
        problem = vectors, theta, sigmas, noise
        assert live_choices(weighted, *problem) == live_choices(plain, *problem)
        assert weighted.estimate().radius == pytest.approx(plain.estimate().radius, rel=1e-12)


def test_compiled_weighted_oful_and_oful_agree_on_equal_sigmas():
    instance = nw.instances.sphere(30, 4)
    env = instance.environment(np.full(200, 0.4))
    policies = [
        nw.weighted_oful(instance.actions, noise="sub-gaussian", radius="self-normalised", ridge=0.6),
        nw.oful(instance.actions, noise_level=0.4, ridge=0.6 * 0.4**2),
    ]
    sims = [nw.simulate(policy, env, horizon=200, replications=20) for policy in policies]
    assert np.array_equal(sims[0].pulled, sims[1].pulled)
    np.testing.assert_allclose(sims[0].bound, sims[1].bound, rtol=1e-9)


def test_oful_does_not_look_at_sigma():
    policies = [nw.oful(np.eye(3)) for _ in range(2)]
    for policy, sigma in zip(policies, (0.01, 10.0), strict=True):
        policy.tell(0, 0.3, sigma)
    assert np.array_equal(policies[0].estimate().means, policies[1].estimate().means)
    assert np.array_equal(policies[0].estimate().widths, policies[1].estimate().widths)


def coverage_misses(policy, instance, noise):
    schedule = nw.schedules.named("log-uniform", low=0.02, high=0.5)
    env = instance.environment(schedule, noise=noise)
    rounds = np.arange(1, 201)
    sim = nw.simulate(policy, env, horizon=200, replications=200, checkpoints=rounds)
    return int((sim.distance > sim.radius).any(axis=1).sum())


#: Misses of 200 runs at delta = 0.05 that a true certificate exceeds with probability below 1e-6.
MOST_MISSES = int(stats.binom.isf(FALSE_ALARM, 200, 0.05))


@pytest.mark.parametrize(
    ("options", "noise"),
    [
        ({"noise": "bounded", "noise_bound": 0.5}, "rademacher"),
        ({"noise": "sub-gaussian"}, "gaussian"),
        ({"noise": "sub-gaussian", "radius": "self-normalised"}, "gaussian"),
        ({"noise": "sub-gaussian"}, "rademacher"),
    ],
)
def test_the_confidence_set_of_weighted_oful_holds_theta_at_every_round(options, noise):
    """200 runs of 200 rounds at delta 0.05; the noise bound is the largest sigma, the scale is 1."""
    instance = nw.instances.sphere(20, 4)
    assert coverage_misses(nw.weighted_oful(instance.actions, **options), instance, noise) <= MOST_MISSES


def test_a_confidence_set_that_is_too_small_is_caught():
    """The same judgement on a tenth of the radius: it must fail."""
    instance = nw.instances.sphere(20, 4)
    policy = nw.weighted_oful(instance.actions, noise="sub-gaussian", radius="self-normalised", scale=0.1)
    assert coverage_misses(policy, instance, "gaussian") > MOST_MISSES


def test_thompson_sampling_of_scale_0_is_greedy_action_by_action():
    instance = nw.instances.sphere(25, 4)
    env = instance.environment(nw.schedules.log_uniform)
    policies = nw.linear_thompson(instance.actions, scale=0.0), nw.greedy(instance.actions)
    sims = [nw.simulate(policy, env, horizon=150, replications=40) for policy in policies]
    assert np.array_equal(sims[0].pulled, sims[1].pulled)
    assert np.array_equal(sims[0].advised, sims[1].advised)
    for seed in range(5):
        problem = random_problem(seed, horizon=40)
        thompson, greedy = nw.linear_thompson(problem[0], scale=0), nw.greedy(problem[0])
        assert live_choices(thompson, *problem) == live_choices(greedy, *problem)


def told_thompson(**options):
    """Thompson sampling in three features after eight measurements, with V and the estimate in full."""
    rng = np.random.default_rng(5)
    vectors = np.vstack([np.eye(3), rng.standard_normal((5, 3))])
    policy = nw.linear_thompson(vectors, **options)
    actions, rewards = np.arange(8), rng.standard_normal(8)
    sigmas = 10 ** rng.uniform(-1, 0.3, 8)
    policy.tell_many(actions, rewards, sigmas)
    weighted = vectors / sigmas[:, None] ** 2
    precision = policy.options["ridge"] * np.eye(3) + weighted.T @ vectors
    return policy, vectors, precision, np.linalg.solve(precision, weighted.T @ rewards)


def test_a_posterior_draw_is_a_root_of_the_covariance():
    """A draw is linear in its normal numbers; the matrix of that map is a root of scale²·V⁻¹."""
    policy, vectors, precision, theta = told_thompson(ridge=0.4)
    model = policy._state.model
    drawn = [perturbed_means(model, np.eye(3)[k], 1.7) - model.means for k in range(3)]
    expected = 1.7**2 * vectors @ np.linalg.inv(precision) @ vectors.T
    np.testing.assert_allclose(np.transpose(drawn) @ drawn, expected, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(model.means, vectors @ theta, rtol=1e-10)


def test_posterior_draws_have_the_posterior_covariance():
    """The spread along any direction is chi-squared; false-alarm probability 1e-6 over all directions."""
    policy, _, precision, theta = told_thompson(ridge=0.4)
    model, n_draws = policy._state.model, 4000
    normals = np.random.default_rng(8).standard_normal((n_draws, policy.rule.n_draws(policy._params)))
    thetas = np.array([perturbed_means(model, row, 1.0)[:3] for row in normals])  # the first are the basis
    directions = [*np.eye(3), *(np.eye(3)[i] + s * np.eye(3)[j] for i, j, s in PAIRS)]
    share = FALSE_ALARM / len(directions)
    low, high = stats.chi2.ppf([share / 2, 1 - share / 2], n_draws)
    for direction in directions:
        variance = direction @ np.linalg.solve(precision, direction)
        assert low < (((thetas - theta) @ direction) ** 2).sum() / variance < high


ONE, OTHER = 2, 5  # neither is clearly better than the other
PAIRS = [(i, j, sign) for i, j in itertools.combinations(range(3), 2) for sign in (1.0, -1.0)]


def test_an_action_is_chosen_as_often_as_it_is_the_best_under_the_posterior():
    """Two actions: the probability is that of a normal number; false-alarm probability 1e-6."""
    policy, vectors, precision, theta = told_thompson(scale=1.5)
    gap = vectors[ONE] - vectors[OTHER]
    lead = gap @ theta / (1.5 * math.sqrt(gap @ np.linalg.solve(precision, gap)))
    probability = float(stats.norm.cdf(lead))
    assert 0.1 < probability < 0.9
    n_asked, chosen = 3000, 0
    for seed in range(n_asked):
        policy.seed = seed
        chosen += policy.ask(allowed=[ONE, OTHER]) == ONE
    low, high = stats.binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], n_asked, probability)
    assert low <= chosen <= high


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: nw.weighted_oful(np.eye(2), noise="gaussian"),
            ValueError,
            "`noise` must be one of 'bounded', 'sub-gaussian'; got 'gaussian'. Did you mean 'sub-gaussian'?",
        ),
        (
            lambda: nw.weighted_oful(np.eye(2), noise_bound=0.0),
            ValueError,
            "`noise_bound` must be a finite number above 0; got 0.0.",
        ),
        (
            lambda: nw.weighted_oful(np.eye(2), scale=-1.0),
            ValueError,
            "`scale` must be a finite number above 0; got -1.0.",
        ),
        (
            lambda: nw.weighted_oful(np.eye(2), radius="mixture"),
            ValueError,
            "`radius` must be left out with noise='bounded', which has its own; got 'mixture'. "
            "(noise='sub-gaussian' takes it.)",
        ),
        (
            lambda: nw.weighted_oful(np.eye(2), noise_bond=1.0),
            TypeError,
            "weighted_oful() has no option 'noise_bond'. Did you mean 'noise_bound'?",
        ),
        (
            lambda: nw.oful(np.eye(2), noise_level=0),
            ValueError,
            "`noise_level` must be a finite number above 0; got 0.",
        ),
        (
            lambda: nw.oful(np.eye(2), ridge=-1.0),
            ValueError,
            "`ridge` must be a finite number above 0; got -1.0.",
        ),
        (
            lambda: nw.linear_thompson(np.eye(2), scale=-0.5),
            ValueError,
            "`scale` must be at least 0; got -0.5.",
        ),
        (
            lambda: nw.linear_thompson(np.eye(2), scale="wide"),
            TypeError,
            "`scale` must be a number; got 'wide'.",
        ),
        (
            lambda: nw.linear_thompson(np.eye(2), scale=math.inf),
            ValueError,
            "`scale` must be a finite number; got inf.",
        ),
    ],
)
def test_bad_options_get_one_sentence(make, error, message):
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value) == message


@pytest.mark.parametrize("name", ["weighted_oful", "oful", "linear_thompson"])
def test_the_constructor_explains_its_own_and_the_shared_options(name):
    text = nw.POLICIES[name].__doc__
    own = {"weighted_oful": "noise_bound:", "oful": "noise_level:", "linear_thompson": "scale:"}[name]
    assert own in text
    assert "norm_bound:" in text
