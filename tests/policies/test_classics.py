"""LinGapE, phased elimination and information-directed sampling, held to their textbooks."""

import math

import numpy as np
import pytest
from scipy import stats

import noisewise as nw
from noisewise.policies.rules.identification.information_directed import best_mixture
from noisewise.policies.rules.identification.phased_elimination import GAP, error

FALSE_ALARM = 1e-6
#: Misses of 200 runs at delta = 0.05 that a true certificate exceeds with probability below 1e-6.
MOST_MISSES = int(stats.binom.isf(FALSE_ALARM, 200, 0.05))


def random_problem(seed, horizon):
    rng = np.random.default_rng([23, seed])
    dim = int(rng.integers(2, 5))
    vectors = rng.standard_normal((int(rng.integers(dim + 1, 12)), dim)) / math.sqrt(dim)
    theta = rng.standard_normal(dim)
    theta *= 0.9 / np.linalg.norm(theta)
    return vectors, theta, 10 ** rng.uniform(-1.5, 0.3, horizon), rng.standard_normal(horizon)


def live_choices(policy, vectors, theta, sigmas, noise, announced=False):
    pulled = []
    for sigma, unit in zip(sigmas, noise, strict=True):
        action = policy.ask(sigma if announced else None)
        policy.tell(action, vectors[action] @ theta + sigma * unit, sigma)
        pulled.append(action)
    return pulled


def first_within(values):
    values = np.asarray(values)
    return int(np.argmax(values >= values.max() - 1e-9 * np.abs(values).max()))


def textbook_lingape(vectors, theta, sigmas, noise, *, ridge, delta, norm_bound, level, scale, weighted):
    """Algorithm 1 with greedy selection, every matrix inverted afresh; and B(t), what it stops by."""
    n, d = vectors.shape
    matrix, weighted_sum = ridge * np.eye(d), np.zeros(d)
    pulled, weights, stops = [], [], []
    for t, (sigma, unit) in enumerate(zip(sigmas, noise, strict=True)):
        inverse = np.linalg.inv(matrix)
        estimate = inverse @ weighted_sum
        means = vectors @ estimate
        information = np.linalg.slogdet(matrix)[1] - d * math.log(ridge)
        if weighted:
            bias = math.sqrt(ridge) * norm_bound
            radius = math.sqrt(information + 2 * math.log(1 / delta) + bias**2)
            radius = bias + scale * (radius - bias)
        else:
            # In the paper's units: A without weights, noise of size R outside the root.
            radius = level * scale * math.sqrt(2 * math.log(n**2 / delta) + information)
            radius += math.sqrt(ridge) * norm_bound
        i = first_within(means)
        gaps = [
            means[j]
            - means[i]
            + radius * math.sqrt((vectors[j] - vectors[i]) @ inverse @ (vectors[j] - vectors[i]))
            for j in range(n)
        ]
        gaps[i] = -math.inf
        j = first_within([gap if math.isfinite(gap) else -1e3 for gap in gaps])
        stops.append(max(0.0, gaps[j]))
        if not weighted and t < n:
            action = t
        else:
            typical = len(weights) / sum(weights) if weighted and weights else level**2 if weighted else 1.0
            y = vectors[i] - vectors[j]
            after = [
                y @ np.linalg.inv(matrix + np.outer(a, a) / typical) @ y - y @ inverse @ y for a in vectors
            ]
            action = first_within([-value for value in after])
        pulled.append(action)
        weight = 1 / sigma**2 if weighted else 1.0
        weights.append(weight)
        reward = vectors[action] @ theta + sigma * unit
        matrix += weight * np.outer(vectors[action], vectors[action])
        weighted_sum += weight * reward * vectors[action]
    return pulled, stops


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [1.0, 0.1])
def test_lingape_measures_what_the_textbook_measures(weighted, scale):
    """20 random problems each; ridge, norm bound and noise level are not 1."""
    for seed in range(20):
        problem = random_problem(seed, horizon=40)
        ridge, norm_bound, level = [0.3, 2.5][seed % 2], [0.9, 1.7][seed // 2 % 2], [0.4, 1.3][seed // 4 % 2]
        make = nw.weighted_lingape if weighted else nw.lingape
        policy = make(
            problem[0], ridge=ridge, norm_bound=norm_bound, noise_level=level, scale=scale, delta=0.1
        )
        twin = {"ridge": ridge, "norm_bound": norm_bound, "level": level, "scale": scale, "delta": 0.1}
        pulled, _ = textbook_lingape(*problem, **twin, weighted=weighted)
        assert live_choices(policy, *problem) == pulled, seed


def test_with_equal_sigmas_the_two_lingapes_agree():
    """After each action was measured once: the same ridge in the same units, and the same radius."""
    for seed in range(10):
        vectors, theta, _, noise = random_problem(seed, horizon=60)
        n, level = len(vectors), 0.4
        options = {"noise_level": level, "radius": "printed"}
        plain = nw.lingape(vectors, ridge=0.5 * level**2, **options)
        weighted = nw.weighted_lingape(vectors, ridge=0.5, **options)
        for k in range(n):
            for policy in (plain, weighted):
                policy.tell(k, vectors[k] @ theta + level * noise[k], level)
        problem = vectors, theta, np.full(60 - n, level), noise[n:]
        assert live_choices(plain, *problem) == live_choices(weighted, *problem)
        assert plain.estimate().radius == pytest.approx(weighted.estimate().radius, rel=1e-12)


def test_the_radius_of_the_rerun_grows_with_the_rounds_and_is_no_certificate():
    policy = nw.lingape(np.eye(3), radius="logarithmic", delta=0.01)
    # Of the round that comes: the first, then the eighth.
    assert policy.estimate().radius == pytest.approx(np.sqrt(2 * (np.log(100) + 2 * np.log(2))))
    for _ in range(7):
        policy.tell(policy.ask(), 0.0, 1.0)
    assert policy.estimate().radius == pytest.approx(np.sqrt(2 * (np.log(100) + 2 * np.log(9))))
    assert policy.estimate().certificate == "a heuristic radius, not proven"
    assert nw.lingape(np.eye(3)).estimate().certificate != policy.estimate().certificate


def test_stopping_by_the_gap_is_lingapes_own_stopping_rule():
    vectors, theta, _, _ = random_problem(2, horizon=2000)
    level, eps = 0.2, 0.3
    env = nw.Environment(vectors, theta, np.full(2000, level))
    policy = nw.lingape(env.actions, noise_level=level, ridge=0.2)
    sim = nw.simulate(policy, env, horizon=2000, replications=3, stop="gap", eps=eps, compiled=False)
    assert sim.fired.all()
    for r in range(3):
        used = int(sim.stopped[r])
        world = env.world(2000, 0, r)
        twin = {"ridge": 0.2, "norm_bound": 1.0, "level": level, "scale": 1.0, "delta": 0.05}
        pulled, stops = textbook_lingape(
            vectors, theta, world.sigma[: used + 1], world.noise[: used + 1], **twin, weighted=False
        )
        assert pulled[:used] == sim.pulled[r, :used].tolist()
        assert stops[used] <= eps
        assert min(stops[1:used]) > eps


def textbook_counts(vectors, sigma, delta):
    """How often the first phase measures each action if every sigma is the same."""
    n = len(vectors)
    design = nw.optimal_design(vectors, gap=GAP)
    eps = np.linalg.norm(vectors, axis=1).max() / 2
    wanted = 2 * design.g_value * design.dense() * math.log(2 * n * 1 * 2 / delta) / eps**2
    return np.ceil(wanted * sigma**2 - 1e-9).astype(int)


def test_phases_give_the_textbooks_counts_when_sigmas_are_equal():
    sigma = 0.5
    for seed in range(4):
        vectors, theta, _, noise = random_problem(seed, horizon=600)
        policy = nw.phased_elimination(vectors)
        counts = textbook_counts(vectors, sigma, delta=0.05)
        length = int(counts.sum())
        pulled = live_choices(
            policy, vectors, theta, np.full(length - 1, sigma), np.resize(noise, length - 1)
        )
        assert policy._state.phase[0] == 1.0
        last = policy.ask()
        assert np.array_equal(np.bincount([*pulled, last], minlength=len(vectors)), counts)
        policy.tell(last, 0.0, sigma)
        assert policy._state.phase[0] == 2.0


def test_a_phase_drops_by_its_own_least_squares():
    sigma = 0.05
    for seed in range(3):
        vectors, theta, _, noise = random_problem(seed, horizon=1000)
        policy = nw.phased_elimination(vectors)
        rows, rewards, alive = [], [], np.ones(len(vectors), dtype=bool)
        for t in range(1000):
            action, before = policy.ask(), policy._state.phase[0]
            reward = vectors[action] @ theta + sigma * noise[t]
            policy.tell(action, reward, sigma)
            rows.append(action)
            rewards.append(reward)
            phase = policy._state.phase[0]
            if phase > before:
                estimate = np.linalg.pinv(vectors[rows]) @ rewards
                means = vectors @ estimate
                alive &= means[alive].max() - means <= 2 * error(policy._params.setting, before)
                rows, rewards = [], []
            assert np.array_equal(policy._state.survivors, alive)
        assert policy._state.phase[0] >= 3
        assert alive[np.argmax(vectors @ theta)]


def test_the_best_survives_the_phases():
    """200 runs; each phase's mistakes together have probability delta at most."""
    instance = nw.instances.sphere(8, 2)
    env = instance.environment(nw.schedules.named("log-uniform", low=0.01, high=0.1))
    gone, phases = 0, []
    for r in range(200):
        world = env.world(15, 3, r)
        policy = nw.phased_elimination(world.actions)
        for sigma, unit in zip(world.sigma, world.noise, strict=True):
            action = policy.ask()
            policy.tell(action, world.means[action] + sigma * unit, sigma)
        phases.append(policy._state.phase[0])
        gone += not policy._state.survivors[np.argmax(world.means)]
    assert gone <= MOST_MISSES
    assert np.median(phases) >= 3


def test_no_mixture_of_two_is_better():
    """Against all pairs on a fine grid, with actions that are not allowed."""
    rng = np.random.default_rng(0)
    shares = np.linspace(0, 1, 401)[:, None, None]
    mixed = 0
    for _ in range(200):
        n = int(rng.integers(1, 20))
        gap, gain = rng.uniform(0.05, 2, n), rng.exponential(size=n) * 10 ** rng.uniform(-3, 1, n)
        allowed = rng.random(n) < 0.8
        allowed[rng.integers(n)] = True
        one, other, share = best_mixture(gap, gain, allowed)
        assert allowed[one]
        assert allowed[other]
        ratio = ((1 - share) * gap[one] + share * gap[other]) ** 2
        ratio /= (1 - share) * gain[one] + share * gain[other]
        g, i = gap[allowed], gain[allowed]
        grid = (1 - shares) * g[:, None] + shares * g, (1 - shares) * i[:, None] + shares * i
        assert ratio <= (grid[0] ** 2 / grid[1]).min() * (1 + 1e-9)
        mixed += 0 < share < 1
    assert mixed > 20


@pytest.mark.parametrize("information", ["full", "optimistic"])
def test_deterministic_information_directed_sampling_is_the_textbooks(information):
    """gap²/information, with the shrinkage of the optimistic action's width computed by inversion."""
    for seed in range(15):
        vectors, theta, sigmas, noise = random_problem(seed, horizon=30)
        factors = np.random.default_rng(seed).uniform(0.5, 2.0, len(vectors))
        policy = nw.information_directed(
            vectors, information=information, randomised=False, action_sigma=factors, ridge=0.7, delta=0.1
        )
        matrix, total = 0.7 * np.eye(vectors.shape[1]), np.zeros(vectors.shape[1])
        for sigma, unit in zip(sigmas, noise, strict=True):
            inverse = np.linalg.inv(matrix)
            means = vectors @ inverse @ total
            widths = np.sqrt(np.einsum("ij,jk,ik->i", vectors, inverse, vectors))
            log_det = np.linalg.slogdet(matrix)[1] - len(theta) * math.log(0.7)
            radius = math.sqrt(0.7) + math.sqrt(2 * math.log(10) + log_det)
            u = vectors[first_within(means + radius * widths)]
            gaps = (means + radius * widths).max() - means + radius * widths
            gains = []
            for k, a in enumerate(vectors):
                after = matrix + np.outer(a, a) / (sigma * factors[k]) ** 2
                if information == "full":
                    gains.append((np.linalg.slogdet(after)[1] - np.linalg.slogdet(matrix)[1]) / 2)
                else:
                    gains.append(math.log(u @ inverse @ u / (u @ np.linalg.solve(after, u))) / 2)
            action = policy.ask(sigma)
            ratio = np.array(gains) / gaps**2
            assert ratio[action] >= ratio.max() * (1 - 1e-7)
            own = sigma * factors[action]
            reward = vectors[action] @ theta + own * unit
            policy.tell(action, reward, own)
            matrix += np.outer(vectors[action], vectors[action]) / own**2
            total += vectors[action] * reward / own**2


def test_a_world_says_how_noisy_each_action_is():
    """Two equal actions, one ten times as noisy: information-directed sampling leaves it alone."""
    vectors = np.array([[1.0, 0.0], [1.0, 1e-3], [0.0, 1.0]])
    env = nw.Environment(
        vectors, [0.5, 0.45], np.full(60, 0.3), announced=True, action_sigma=[10.0, 1.0, 1.0]
    )
    sim = nw.simulate(nw.information_directed(env.actions), env, horizon=60, replications=3, compiled=False)
    counts = np.bincount(sim.pulled.ravel(), minlength=3)
    assert counts[0] < counts[1] / 5


@pytest.mark.parametrize(
    ("name", "rounds"),
    # The last one is not compiled.
    [("lingape", 100), ("weighted_lingape", 100), ("phased_elimination", 60), ("information_directed", 30)],
)
def test_the_confidence_set_holds_theta_at_every_round(name, rounds):
    """200 runs at delta 0.05."""
    instance = nw.instances.sphere(15, 3)
    schedule = nw.schedules.named("log-uniform", low=0.05, high=0.5)
    env = instance.environment(schedule, announced=True)
    options = {"noise_level": 0.5} if name == "lingape" else {}
    policy = nw.make_policy(name, instance.actions, **options)
    sim = nw.simulate(policy, env, horizon=rounds, replications=200, checkpoints=np.arange(1, rounds + 1))
    assert (sim.distance > sim.radius).any(axis=1).sum() <= MOST_MISSES
    assert (~sim.covered).sum() <= MOST_MISSES


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: nw.lingape(np.eye(2), noise_level=0),
            "`noise_level` must be a finite number above 0; got 0.",
        ),
        (lambda: nw.lingape(np.eye(2), scale=-1.0), "`scale` must be a finite number above 0; got -1.0."),
        (lambda: nw.lingape(np.eye(2), radius="paper"), "`sigma_min` must be given with radius='paper'"),
        (
            lambda: nw.phased_elimination(np.eye(2), scale=0),
            "`scale` must be a finite number above 0; got 0.",
        ),
        (
            lambda: nw.information_directed(np.eye(2), information="some"),
            "`information` must be one of 'full', 'optimistic'; got 'some'.",
        ),
        (
            lambda: nw.information_directed(np.eye(2), action_sigma=[1.0]),
            "`action_sigma` must be 2 finite numbers above 0, one per action; got [1.0].",
        ),
        (
            lambda: nw.information_directed(np.eye(2)).ask(),
            "`sigma` must be given: 'information_directed' needs it before it chooses; got None.",
        ),
        (
            lambda: nw.simulate(
                nw.information_directed(np.eye(2)), nw.Environment(np.eye(2), [1, 0], [1.0]), horizon=1
            ),
            "`env` must announce sigma for 'information_directed', which needs it before the choice: "
            "make it with announced=True.",
        ),
    ],
)
def test_bad_input_gets_one_sentence(make, sentence):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole sentence is compared
        make()
    assert str(caught.value).startswith(sentence)
