"""Weighted OFUL+, VarCB and LinNATS, held to their boxes; coverage of all rivals of Table 1."""

import math

import numpy as np
import pytest
from scipy import stats

import noisewise as nw
from noisewise.policies.rules.table_one.varcb import shares_by_gap

FALSE_ALARM = 1e-6
#: Misses of 200 runs at delta = 0.05 that a true certificate exceeds with probability below 1e-6.
MOST_MISSES = int(stats.binom.isf(FALSE_ALARM, 200, 0.05))


def random_problem(seed, horizon):
    """Vectors (full rank), theta of norm below 1, sigmas over two decades and noise of unit size."""
    rng = np.random.default_rng([29, seed])
    dim = int(rng.integers(1, 5))
    vectors = rng.standard_normal((int(rng.integers(dim + 1, 12)), dim)) / math.sqrt(dim)
    theta = rng.standard_normal(dim)
    theta *= 0.9 / np.linalg.norm(theta)
    return vectors, theta, 10 ** rng.uniform(-2, 0, horizon), rng.choice([-1.0, 1.0], horizon)


def options_of(seed, scale, horizon):
    """Nothing is 1, so that no factor can be forgotten."""
    return {
        "ridge": [0.3, 2.5][seed % 2],
        "norm_bound": [0.9, 1.7][seed // 2 % 2],
        "noise_bound": [0.2, 1.5][seed // 4 % 2],
        "delta": 0.1,
        "scale": scale,
        "horizon": horizon,
    }


class Textbook:
    """Weighted OFUL+ with every matrix inverted afresh."""

    def __init__(self, vectors, *, ridge, norm_bound, noise_bound, delta, scale, horizon):
        self.vectors, self.ridge, self.norm_bound, self.bound = vectors, ridge, norm_bound, noise_bound
        self.delta, self.scale, self.horizon = delta, scale, horizon
        self.dim = vectors.shape[1]
        self.longest = max(np.linalg.norm(vector) for vector in vectors)
        self.alpha, self.gamma = 1 / math.sqrt(horizon), math.sqrt(noise_bound) / self.dim**0.25
        self.precision, self.weighted, self.told = ridge * np.eye(self.dim), np.zeros(self.dim), 0

    def means(self):
        return self.vectors @ np.linalg.solve(self.precision, self.weighted)

    def widths(self):
        covariance = np.linalg.inv(self.precision)
        return np.array([math.sqrt(vector @ covariance @ vector) for vector in self.vectors])

    def radius(self):
        bias, k, d = math.sqrt(self.ridge) * self.norm_bound, self.told, self.dim
        if k == 0:
            return bias
        z = math.log(32 * (max(0, math.log(self.gamma**2 / self.alpha)) + 1) * k**2 / self.delta)
        spread = math.log(1 + k * self.longest**2 / (self.alpha**2 * d * self.ridge))
        return bias + self.scale * (12 * math.sqrt(d * spread * z) + 30 * z * self.bound / self.gamma**2)

    def learn(self, action, reward, sigma):
        variance = max(sigma**2, self.alpha**2, self.gamma**2 * self.widths()[action])
        self.precision += np.outer(self.vectors[action], self.vectors[action]) / variance
        self.weighted += reward * self.vectors[action] / variance
        self.told += 1


def first_largest(values, mask=None):
    """The lowest index within the house's tolerance of the largest."""
    rows = [k for k in range(len(values)) if mask is None or mask[k]]
    tolerance = 1e-9 * max(abs(values[k]) for k in rows)
    return next(k for k in rows if values[k] >= max(values[j] for j in rows) - tolerance)


@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_weighted_oful_plus_measures_what_the_textbook_measures(scale):
    for seed in range(16):
        vectors, theta, sigmas, noise = random_problem(seed, horizon=30)
        options = options_of(seed, scale, horizon=30)
        policy, textbook = nw.weighted_oful_plus(vectors, **options), Textbook(vectors, **options)
        for sigma, unit in zip(sigmas, noise, strict=True):
            action = policy.ask()
            assert action == first_largest(textbook.means() + textbook.radius() * textbook.widths()), seed
            reward = vectors[action] @ theta + sigma * unit
            policy.tell(action, reward, sigma)
            textbook.learn(action, reward, sigma)
        # Sigmas above the noise bound end the certificate, but not the rule's own radius.
        radius = policy.rule.radius(policy._params, policy._state)
        assert radius == pytest.approx(textbook.radius(), rel=1e-12)
        np.testing.assert_allclose(policy.estimate().widths, textbook.widths(), rtol=1e-9)


def test_without_noise_widths_fall_like_one_over_t():
    """d orthonormal actions in turn: ``‖a‖·t/(2γ²d)`` tends to 1; 1.5 % off at t = 1000 at most."""
    dim, rounds = 5, 1000
    policy = nw.weighted_oful_plus(np.eye(dim), horizon=10**7)
    for t in range(rounds):
        policy.tell(t % dim, 0.0, 1e-6)
    caution = 1.0 / math.sqrt(dim)  # γ²
    ratio = policy.estimate().widths * rounds / (2 * caution * dim)
    assert np.all(np.abs(ratio - 1.0) < 0.015)


def textbook_varcb(textbook, variance_left_to_chance, sigma, uniform):
    """The box of the module's first page: the action, and whether it was left to chance."""
    means, widths, radius = textbook.means(), textbook.widths(), textbook.radius()
    plausible = means + radius * widths >= max(means - radius * widths)
    s2, n, d = max(sigma**2, textbook.alpha**2), len(means), textbook.dim
    widest = first_largest(widths**2, plausible)
    if textbook.gamma**2 * widths[widest] > s2:
        return widest, False
    spread = textbook.horizon * textbook.longest**2 / (d * textbook.ridge * textbook.alpha**2)
    complexity = d * math.log(1 + spread) + math.log(1 / textbook.delta)
    eta = math.sqrt(8 * n * (variance_left_to_chance + s2) / complexity)
    best = first_largest(means, plausible)
    shares = [0.0] * n
    for k in range(n):
        if plausible[k] and k != best:
            shares[k] = 1 / (plausible.sum() + eta / s2 * max(0.0, means[best] - means[k]))
    shares[best] = 1 - sum(shares)
    return next(k for k in range(n) if sum(shares[: k + 1]) > uniform), True


@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_varcb_measures_what_its_box_says(scale):
    left_to_chance, alternatives = 0, 0
    for seed in range(16):
        vectors, theta, sigmas, noise = random_problem(seed, horizon=30)
        options = options_of(seed, scale, horizon=30)
        policy, textbook = nw.varcb(vectors, **options), Textbook(vectors, **options)
        variance = 0.0
        for sigma, unit in zip(sigmas, noise, strict=True):
            uniform = stats.norm.cdf(policy._draws(0)[0])
            action, by_chance = textbook_varcb(textbook, variance, sigma, uniform)
            assert policy.ask(sigma) == action, seed
            if by_chance:
                variance += max(sigma**2, textbook.alpha**2)
                left_to_chance += 1
                alternatives += action != first_largest(textbook.means())
            reward = vectors[action] @ theta + sigma * unit
            policy.tell(action, reward, sigma)
            textbook.learn(action, reward, sigma)
    # Both branches, and both outcomes of the second one, have been seen.
    assert 50 < left_to_chance < 430
    assert alternatives > 10


def test_shares_by_gap_are_probabilities_that_favour_the_best():
    rng = np.random.default_rng(3)
    for _ in range(200):
        n = int(rng.integers(1, 20))
        means, plausible = rng.standard_normal(n), rng.random(n) < 0.6
        plausible[rng.integers(n)] = True
        best = int(np.argmax(np.where(plausible, means, -np.inf)))
        shares = shares_by_gap(means, plausible, best, 10 ** rng.uniform(-3, 5))
        assert shares.sum() == pytest.approx(1.0, abs=1e-12)
        assert shares[best] >= 1.0 / plausible.sum() - 1e-12
        assert np.all((shares > 0.0) == plausible)
        even = shares_by_gap(means, plausible, best, 1e-12)
        np.testing.assert_allclose(even[plausible], 1.0 / plausible.sum(), rtol=1e-9)


def test_linnats_of_spread_0_measures_the_best_mean():
    for make in (nw.linnats, nw.linear_thompson):
        for seed in range(5):
            vectors, theta, sigmas, noise = random_problem(seed, horizon=25)
            own = {"spread": 0.0, "horizon": 25} if make is nw.linnats else {"scale": 0.0}
            policy = make(vectors, **own)
            for sigma, unit in zip(sigmas, noise, strict=True):
                action = policy.ask()
                assert action == first_largest(policy.estimate().means)
                policy.tell(action, vectors[action] @ theta + sigma * unit, sigma)


def test_linnats_draws_are_as_wide_as_its_confidence_set():
    """Two actions: the probability is that of a normal number; false-alarm probability 1e-6."""
    vectors = np.array([[1.0, 0.2], [0.3, 0.9], [0.5, -0.5]])
    policy = nw.linnats(vectors, horizon=100, scale=0.01, spread=1.5)
    for t in range(30):
        policy.tell(t % 3, [0.6, 0.1, 0.3][t % 3], 0.2)
    estimate = policy.estimate()
    textbook = Textbook(vectors, ridge=1, norm_bound=1, noise_bound=1, delta=0.05, scale=0.01, horizon=100)
    for t in range(30):
        textbook.learn(t % 3, [0.6, 0.1, 0.3][t % 3], 0.2)
    gap = vectors[0] - vectors[1]
    spread = 1.5 * textbook.radius() * math.sqrt(gap @ np.linalg.solve(textbook.precision, gap))
    probability = float(stats.norm.cdf((estimate.means[0] - estimate.means[1]) / spread))
    assert 0.1 < probability < 0.9
    chosen = 0
    for seed in range(2000):
        policy.seed = seed
        chosen += policy.ask(allowed=[0, 1]) == 0
    low, high = stats.binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], 2000, probability)
    assert low <= chosen <= high


def coverage_misses(name, **options):
    """Of 200 runs of 100 rounds, how many left the confidence set at any time; noise is within ±0.5."""
    instance = nw.instances.sphere(12, 3)
    schedule = nw.schedules.named("log-uniform", low=0.02, high=0.5)
    env = instance.environment(schedule, noise="rademacher", announced=True)
    policy = nw.make_policy(name, instance.actions, horizon=100, noise_bound=0.5, **options)
    rounds = np.arange(1, 101)
    sim = nw.simulate(policy, env, horizon=100, replications=200, checkpoints=rounds)
    missed = (sim.distance > sim.radius).any(axis=1)
    assert sim.covered[~missed].all()
    return int(missed.sum())


RIVALS = ("weighted_oful_plus", "varcb", "linnats", "save", "linnats_unknown")


@pytest.mark.parametrize("name", RIVALS)
def test_the_confidence_sets_hold_theta_at_every_round(name):
    assert coverage_misses(name) <= MOST_MISSES


@pytest.mark.parametrize("name", ["weighted_oful_plus", "save"])
def test_a_confidence_set_that_is_too_small_is_caught(name):
    """The same judgement on a radius of almost nothing but the bias of the ridge: it must fail."""
    assert coverage_misses(name, scale=1e-6, norm_bound=0.1 if name == "save" else 0.9) > MOST_MISSES


def test_oful_has_a_scale_on_the_stochastic_part_of_its_radius():
    whole, half = (nw.oful(np.eye(3), noise_level=0.5, ridge=0.7, scale=scale) for scale in (1.0, 0.5))
    for policy in (whole, half):
        policy.tell(1, 0.4, 0.1)
    bias = math.sqrt(0.7) / 0.5
    assert half.estimate().radius - bias == pytest.approx((whole.estimate().radius - bias) / 2, rel=1e-12)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: nw.varcb(np.eye(2), horizon=10).ask(),
            ValueError,
            "`sigma` must be given: 'varcb' needs it before it chooses; got None.",
        ),
        (
            lambda: nw.rules.save(np.eye(2)),
            ValueError,
            "`horizon` must be given for 'save': it plans for a number of rounds; got None.",
        ),
        (
            lambda: nw.weighted_oful_plus(np.eye(2), horizon=0),
            ValueError,
            "`horizon` must be at least 1; got 0.",
        ),
        (
            lambda: nw.rules.save(np.eye(2), horizon=10, ridge=2.0),
            TypeError,
            "save() has no option 'ridge'.",
        ),
        (
            lambda: nw.linnats(np.eye(2), horizon=10, spread=-1.0),
            ValueError,
            "`spread` must be at least 0; got -1.0.",
        ),
        (
            lambda: nw.weighted_oful_plus(np.eye(2), horizon=10, noise_bond=2.0),
            TypeError,
            "weighted_oful_plus() has no option 'noise_bond'. Did you mean 'noise_bound'?",
        ),
        (
            lambda: nw.oful(np.eye(2), scale=0.0),
            ValueError,
            "`scale` must be a finite number above 0; got 0.0.",
        ),
    ],
)
def test_bad_input_gets_one_sentence(make, error, message):
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value) == message


def test_a_world_that_does_not_announce_sigma_refuses_varcb():
    instance = nw.instances.sphere(6, 2)
    env = instance.environment(nw.schedules.log_uniform)
    with pytest.raises(ValueError, match="`env` must announce sigma for 'varcb'"):
        nw.simulate(nw.varcb(instance.actions, horizon=5), env, horizon=5)


def test_options_that_mean_nothing_to_a_rule_are_not_offered():
    assert "sigma_min:" in nw.weighted_oful.__doc__
    for name in (*RIVALS, "voful", "voful2"):
        text = nw.POLICIES[name].__doc__
        assert "sigma_min:" not in text
        assert "radius:" not in text
        assert "norm_bound:" in text


@pytest.mark.parametrize("name", [*RIVALS, "voful", "voful2", "weighted_oful", "oful", "linear_thompson"])
def test_every_rule_of_table_1_says_what_it_is(name):
    rule = nw.policies.registry.rule_named(name)
    assert rule.reference
    assert 2011 <= rule.year <= 2024
    assert rule.guarantee
    assert "n" in rule.cost
    assert rule.reconstruction == (name in ("varcb", "linnats", "linnats_unknown", "voful", "voful2"))
    assert rule.reconstruction == ("reconstruction" in nw.POLICIES[name].__doc__) or "voful" in name
