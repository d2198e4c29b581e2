"""Schedules as the paper writes them, laws of unit variance, instances as described."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

import noisewise as nw
from noisewise.simulation.noise import LAWS


def test_the_four_schedules_are_those_of_table_2():
    horizon = 1000
    t = np.arange(1, horizon + 1)
    assert_allclose(nw.schedules.fast_decaying(horizon) ** 2, 1 / t**2)
    assert_allclose(nw.schedules.flat(horizon, 7) ** 2, 1 / 7)
    spikes = nw.schedules.moderate_spikes(horizon, share=0.3) ** 2
    assert_allclose(spikes, np.where(t <= 300, horizon ** (-1 / 3), 1.0))
    front = nw.schedules.front_loaded(horizon) ** 2
    assert_allclose(front, np.where(t <= horizon**0.8, np.minimum(0.5, 1.0 / t**2), 0.5))


def test_random_schedules_follow_their_law_and_their_generator():
    draw = nw.schedules.log_uniform(20_000, np.random.default_rng(1), low=1e-3, high=10.0)
    assert draw.min() >= 1e-3
    assert draw.max() <= 10.0
    assert abs(np.log10(draw).mean() - (-1.0)) < 0.03
    rare = nw.schedules.rare_quiet(20_000, np.random.default_rng(1))
    assert 300 < (rare == 1e-2).sum() < 500
    assert np.array_equal(rare, nw.schedules.rare_quiet(20_000, np.random.default_rng(1)))
    inside = nw.schedules.window(10, start=2, length=3, inside=0.1)
    assert inside.tolist() == [1.0, 1.0, 0.1, 0.1, 0.1, 1.0, 1.0, 1.0, 1.0, 1.0]


#: Laws without a fourth moment: their sample variance does not settle, so their quantiles are compared.
HEAVY = {
    "student-t": lambda x, df=2.1: stats.t.cdf(x * math.sqrt(df / (df - 2)), df),
    "pareto": lambda x, alpha=2.2: (
        0.5 + np.sign(x) * 0.5 * _pareto(np.abs(x) * math.sqrt(alpha / (alpha - 2)))
    ),
}


def _pareto(x):
    return np.where(x < 1, 0.0, 1 - np.maximum(x, 1) ** -2.2)


@pytest.mark.parametrize("name", [name for name in LAWS if name not in HEAVY])
def test_every_law_has_mean_0_and_variance_1(name):
    """10^6 draws: a false alarm at five standard errors has probability below 1e-6."""
    draws = LAWS[name](np.random.default_rng(0), 1_000_000)
    assert abs(draws.mean()) < 5e-3
    assert abs(draws.var() - 1.0) < 5 * math.sqrt(max((draws**4).mean() - 1.0, 0.0) / 1e6) + 2.5e-5


@pytest.mark.parametrize("name", HEAVY)
def test_heavy_tails_are_those_of_their_law_at_variance_1(name):
    """Kolmogorov's distance of 10^5 draws exceeds 2.7/sqrt(n) with probability below 1e-6."""
    draws = LAWS[name](np.random.default_rng(0), 100_000)
    ordered = np.sort(draws)
    away = np.abs(HEAVY[name](ordered) - (np.arange(draws.size) + 0.5) / draws.size).max()
    assert away < 2.7 / math.sqrt(draws.size) + 1e-5


def test_a_law_with_options_is_remembered_by_its_world():
    law = nw.noise.named("student_t", df=3)
    env = nw.instances.soare(3).environment(nw.schedules.fast_decaying, noise=law)
    assert env.describe()["noise"] == "student-t:df=3"
    assert nw.Environment(np.eye(2), [1, 0], [1.0], noise="student_t").noise == "student-t"


def test_replications_are_shuffled_but_reported_in_the_known_order():
    instance = nw.instances.soare(4, angle=0.2)
    env = instance.environment(nw.schedules.fast_decaying)
    worlds = [env.world(10, seed=0, replication=r) for r in range(20)]
    assert len({tuple(world.order) for world in worlds}) > 10
    for world in worlds:
        assert_allclose(world.actions.vectors, instance.actions.vectors[world.order])
    sim = nw.simulate(nw.rules.round_robin(instance.actions), env, horizon=5, replications=20)
    assert len({tuple(row) for row in sim.pulled}) > 10
    best = nw.simulate(nw.rules.widest(instance.actions), env, horizon=200, replications=5)
    assert (best.advised[:, -1] == 0).all()


def test_a_world_is_a_function_of_seed_and_replication():
    env = nw.instances.sphere(10, 3).environment(nw.schedules.rare_quiet)
    one, same, other = (env.world(50, 3, r) for r in (1, 1, 2))
    assert np.array_equal(one.noise, same.noise)
    assert np.array_equal(one.actions.vectors, same.actions.vectors)
    assert not np.array_equal(one.noise, other.noise)


def test_the_case_study_has_its_window():
    instance = nw.instances.case_study(4096, exponent=0.5)
    sigma = instance.schedule(4096, None)
    assert instance.actions.n_actions == 3
    assert_allclose(instance.actions.vectors[2], [1 - 1 / 8, 1 / 8])
    assert_allclose(sigma.min(), 4096**-0.25)
    assert (sigma < 1).sum() == int(4096**-0.5 * math.log(4096) * 64)
    assert instance.environment().sigmas(4096, 0, 0).shape == (4096,)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nw.Environment(np.eye(2), [1.0], np.ones(3)), "`theta` must be 2 finite numbers"),
        (lambda: nw.Environment(np.eye(2), [1.0, 1.0], [1.0, 0.0]), "`schedule` must be .* at position 1"),
        (lambda: nw.Environment(np.eye(2), [1.0, 1.0], []), "`schedule` must be one-dimensional"),
        (lambda: nw.Environment(np.eye(2), [1.0, 1.0], [1.0], noise="normal"), "`noise` must be one of"),
        (
            lambda: nw.Environment(np.eye(2), [1, 1], [1.0], noise=lambda rng, size: [1.0, 2.0]).world(
                1, 0, 0
            ),
            "`noise` must return 1 finite numbers",
        ),
        (lambda: nw.Environment(np.eye(2), [1.0, 1.0], [1.0], action_sigma=[1.0]), "`action_sigma` must"),
        (
            lambda: nw.noise.named("student-t", df=2),
            "`df` must be above 2, or the noise has no variance; got 2",
        ),
        (
            lambda: nw.noise.named("pareto", alpha=1.5),
            "`alpha` must be above 2, or the noise has no variance",
        ),
        (lambda: nw.noise.named("contaminated", share=1.0), "`share` must lie strictly between 0 and 1"),
        (lambda: nw.noise.named("lognormal", spread=-1), "`spread` must be a finite number above 0; got -1"),
        (lambda: nw.noise.named("student-t", dof=3), "`noise` 'student-t' has no option 'dof'; it has df"),
        (lambda: nw.noise.named("paretto"), "Did you mean 'pareto'"),
        (lambda: nw.schedules.log_uniform(5, low=2.0, high=1.0), "`low` must not exceed"),
        (lambda: nw.schedules.rare_quiet(5, share=1.5), "`share` must lie between"),
        (lambda: nw.schedules.flat(0, 1), "`horizon` must be at least 1; got 0"),
        (lambda: nw.schedules.named("flatt"), "Did you mean 'flat'"),
        (lambda: nw.instances.named("spere"), "Did you mean 'sphere'"),
        (lambda: nw.instances.soare(1), "`dim` must be at least 2"),
        (lambda: nw.instances.hypercube(20), "`dim` must be at most 16"),
        (lambda: nw.instances.soare(3).environment(), "`schedule` must be given"),
    ],
)
def test_bad_worlds_are_refused_in_one_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_schedule_may_be_named():
    env, same = (nw.instances.soare(4).environment(s) for s in ("rare-quiet", nw.schedules.rare_quiet))
    np.testing.assert_array_equal(env.world(50, 0, 0).sigma, same.world(50, 0, 0).sigma)
    with pytest.raises(ValueError, match=r"`schedule` must be one of .*; got 'loud'"):
        nw.instances.soare(4).environment("loud")


def test_noise_may_be_a_function_of_ones_own():
    def coins(rng, size):
        return rng.choice([-1.0, 1.0], size)

    env = nw.Environment(np.eye(2), [1.0, 0.5], np.ones(30), noise=coins)
    assert set(env.world(30, 0, 0).noise) == {-1.0, 1.0}
    assert env.describe()["noise"].endswith("coins")
    assert np.array_equal(env.world(30, 0, 1).noise, env.world(30, 0, 1).noise)
