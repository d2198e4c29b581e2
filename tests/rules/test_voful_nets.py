"""The nets of VOFUL and VOFUL2: sets of tests against sums over all measurements."""

import math

import numpy as np
import pytest

from noisewise.rules import _voful as nets


def random_data(seed, dim, n_actions, length):
    """Vectors of at most 1, a parameter in the unit ball, and measurements as (action, value) and sums."""
    rng = np.random.default_rng([53, seed])
    vectors = rng.standard_normal((n_actions, dim))
    vectors /= np.linalg.norm(vectors, axis=1).max()
    theta = rng.standard_normal(dim)
    theta *= 0.7 / np.linalg.norm(theta)
    actions = rng.integers(0, n_actions - 1, length)  # the last one is never measured
    values = vectors[actions] @ theta + 0.2 * rng.choice([-1.0, 1.0], length)
    counts = np.bincount(actions, minlength=n_actions).astype(float)
    means = np.bincount(actions, values, n_actions) / np.maximum(counts, 1.0)
    deviations = np.bincount(actions, (values - means[actions]) ** 2, n_actions)
    return vectors, theta, actions, values, nets.ActionSums(counts, means, deviations)


def passes(theta, vectors, actions, values, directions, horizon, noise_bound, q, scale):
    """Whether a parameter passes all tests, level by level and sample by sample."""
    residuals = values - vectors[actions] @ theta
    for direction in directions:
        for j in range(math.ceil(math.log2(horizon)) + 1):
            level = 2.0**-j
            test = np.clip(vectors[actions] @ direction, -level, level)
            tolerance = 8 * math.sqrt(q * sum(test**2 * residuals**2)) + 16 * noise_bound * level * q
            if abs(sum(test * residuals)) > scale * tolerance:
                return False
    return True


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_sums_by_action_say_the_same_as_sums_over_all_measurements(dim):
    """Points as cubes of side 0; levels that are left out change nothing."""
    outcomes = []
    for seed in range(6):
        vectors, theta, actions, values, measured = random_data(seed, dim, 5, 60)
        directions = nets.half_sphere(dim, 7)
        tests = nets.make_tests(vectors, directions, horizon=60)
        points = theta + 0.6 * np.random.default_rng(seed).standard_normal((25, dim))
        found = nets.survivors(tests, measured, nets.Cubes(points, 0.0), 0.2, 9.0, 0.08)
        expected = [
            passes(point, vectors, actions, values, directions, 60, 0.2, 9.0, 0.08) for point in points
        ]
        assert found.tolist() == expected
        outcomes += expected
    assert 10 < sum(outcomes) < len(outcomes) - 10


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_the_cubes_that_are_left_contain_all_that_passes(dim):
    """Ten thousand points of the ball: those that pass lie in a cube; and the cubes are not everything."""
    for seed in range(4):
        vectors, _, _, _, measured = random_data(seed, dim, 6, 200)
        tests = nets.make_tests(vectors, nets.half_sphere(dim, 9), horizon=200)
        scale = [0.05, 0.05, 0.1][dim - 1]
        left = nets.shrink(tests, measured, nets.whole_ball(dim), 0.2, 9.0, scale, most=512)
        points = np.random.default_rng(seed).uniform(-1.0, 1.0, (10_000, dim))
        points = points[np.linalg.norm(points, axis=1) <= 1.0]
        good = points[nets.survivors(tests, measured, nets.Cubes(points, 0.0), 0.2, 9.0, scale)]
        assert len(good) > 0
        apart = np.abs(good[:, None, :] - left.centres).max(axis=2).min(axis=1)
        assert np.all(apart <= left.side / 2 + 1e-12)
        assert len(left.centres) <= 512
        assert len(left.centres) * left.side**dim < 0.7 * 2.0**dim
