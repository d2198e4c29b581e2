"""The radii are the formulas of the notes on the paper."""

import math

import numpy as np
import pytest

from noisewise.core.model import fold, new_model
from noisewise.core.radius import SCALE_SHARES, SCALES, make_radius


def radius_of(kind, model, **options):
    defaults = {"delta": 0.05, "ridge": 1.0, "norm_bound": 1.0, "max_norm": 1.0, "sigma_min": None, "rank": 8}
    return make_radius(kind, **{**defaults, **options}).at(model)


def widest_run(rounds, sigma, dim=8, ridge=1.0):
    model = new_model(np.eye(dim), ridge)
    for t in range(rounds):
        fold(model, t % dim, 0.0, sigma)
    return model


def test_note_3_gives_the_size_of_the_three_radii():
    """At d = 8, t = 1000, sigma = 0.1: 595 as printed, at most 10.0 and 9.1 with the same guarantee."""
    model = widest_run(1000, 0.1)
    assert round(radius_of("paper", model, sigma_min=0.1)) == 595
    assert 9.9 < radius_of("self-normalised", model) < 10.05
    assert 9.0 < radius_of("mixture", model) < 9.15


def test_the_formulas_with_odd_parameters():
    model = widest_run(50, 0.3, dim=3, ridge=0.4)
    options = {"delta": 0.01, "ridge": 0.4, "norm_bound": 2.5, "max_norm": 1.7, "rank": 3, "sigma_min": 0.2}
    information = sum(math.log(1 + n / 0.3**2 / 0.4) for n in (17, 17, 16))
    bias = 2.5 * math.sqrt(0.4)
    tail = information + 2 * math.log(100)
    assert math.isclose(radius_of("mixture", model, **options), math.sqrt(tail + bias**2))
    assert math.isclose(radius_of("self-normalised", model, **options), bias + math.sqrt(tail))
    inside = math.log(4 * 50**2 / 0.01) * 3 * math.log(1 + 50 * 1.7**2 / (3 * 0.4 * 0.2**2))
    assert math.isclose(radius_of("paper", model, **options), 2 * bias + 16 * math.sqrt(inside))
    assert radius_of(2.25, model, **options) == 2.25


def test_mixture_is_never_above_self_normalised():
    for rounds in (0, 1, 10, 100):
        model = widest_run(rounds, 0.5)
        for norm_bound in (0.1, 1.0, 10.0):
            wide = radius_of("self-normalised", model, norm_bound=norm_bound)
            assert radius_of("mixture", model, norm_bound=norm_bound) <= wide


def random_run(rng, dim, rounds, ridge):
    columns = rng.normal(size=(dim, 9))
    model, pull, precision = new_model(columns, ridge), np.zeros(dim), ridge * np.eye(dim)
    for _ in range(rounds):
        action, sigma, reward = int(rng.integers(9)), 10.0 ** rng.uniform(-2, 0), rng.normal()
        fold(model, action, reward, sigma)
        pull += columns[:, action] * reward / sigma**2
        precision += np.outer(columns[:, action], columns[:, action]) / sigma**2
    return model, pull, precision


@pytest.mark.parametrize("rounds", [0, 2, 40])
@pytest.mark.parametrize("ridge", [0.1, 1.0, 30.0])
def test_the_averaged_radius_is_the_formula_in_plain_matrices(ridge, rounds):
    """Likelihood ratios at the estimate, averaged over the priors; then the ball around it."""
    dim, norm_bound, delta = 4, 1.5, 0.01
    model, pull, precision = random_run(np.random.default_rng(rounds), dim, rounds, ridge)
    data = precision - ridge * np.eye(dim)
    estimate = np.linalg.solve(precision, pull)
    fit = 0.5 * estimate @ data @ estimate - pull @ estimate
    ratios = 0.0
    for scale, share in zip(SCALES, SCALE_SHARES, strict=True):
        prior = scale * dim / norm_bound**2
        posterior = data + prior * np.eye(dim)
        evidence = 0.5 * pull @ np.linalg.solve(posterior, pull)
        evidence -= 0.5 * np.linalg.slogdet(posterior / prior)[1]
        ratios += share * math.exp(fit + evidence)
    squared = 2.0 * math.log(1.0 / (delta * ratios)) + ridge * (norm_bound**2 - estimate @ estimate)
    expected = math.sqrt(max(squared, 2.0 * math.log(1.0 / delta)))
    found = radius_of("averaged", model, delta=delta, ridge=ridge, norm_bound=norm_bound, rank=dim)
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"radius": "mixtur"}, "radius"),
        ({"radius": -1.0}, "radius"),
        ({"radius": math.nan}, "radius"),
        ({"radius": "mixture", "delta": 0.0}, "delta"),
        ({"radius": "mixture", "delta": 1.0}, "delta"),
        ({"radius": "mixture", "ridge": 0.0}, "ridge"),
        ({"radius": "mixture", "norm_bound": math.inf}, "norm_bound"),
        ({"radius": "paper"}, "sigma_min"),
        ({"radius": "paper", "sigma_min": -1.0}, "sigma_min"),
    ],
)
def test_bad_options_are_named(options, name):
    model = new_model(np.eye(2), 1.0)
    with pytest.raises(ValueError, match=f"^`{name}` must"):
        radius_of(options.pop("radius"), model, **options)
