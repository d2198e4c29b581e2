"""What VAGE believes about the noise of rounds and of actions."""

import math

import numpy as np
import pytest

import noisewise as nw
from noisewise.core.model import fold, new_model
from noisewise.core.native.verbs import numpy_verbs
from noisewise.rules.races import book, compare_actions, new_history, observe


def history_of(actions, variances, n=10):
    """A noise history of measurements with these variances."""
    history = new_history(n)
    for action, variance in zip(actions, variances, strict=True):
        observe(history, int(action), math.sqrt(variance))
    return history


@pytest.mark.parametrize(
    "schedule", ["fast-decaying", "moderate-spikes", "front-loaded", "log-uniform", "rare-quiet"]
)
def test_noise_that_belongs_to_rounds_is_not_blamed_on_actions(schedule):
    """Believed to differ in few of 40 histories, also under trends, jumps and rare quiet rounds."""
    wrong = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        sigmas = nw.schedules.named(schedule)(200, rng)
        relative = history_of(rng.integers(0, 10, 200), sigmas**2).relative
        wrong += bool(np.abs(np.log(relative)).max() > math.log(2.0))
    assert wrong <= 4


def test_the_analysis_of_variance_is_the_textbooks():
    rng = np.random.default_rng(3)
    actions, effects = rng.integers(0, 5, 60), np.array([0.0, 2.0, -2.0, 1.0, -1.0])
    history = new_history(5)
    residuals = effects[actions] + 0.1 * rng.standard_normal(60)
    for action, residual in zip(actions, residuals, strict=True):
        history.tally[0] = 0.0  # the level stays where it is
        observe(history, int(action), math.exp(residual / 2.0))
    compare_actions(history)
    residuals[0] = 0.0  # the first observation sets the level
    groups = [residuals[actions == k] for k in range(5)]
    within = sum(((g - g.mean()) ** 2).sum() for g in groups) / (60 - 5)
    spread = sum(len(g) * (g.mean() - residuals.mean()) ** 2 for g in groups) / (5 - 1)
    size = (60 - sum(len(g) ** 2 for g in groups) / 60) / (5 - 1)
    between = (spread - (1 + 8 * math.sqrt(2 / 4 + 2 / 55)) * within) / size
    for k, g in enumerate(groups):
        shrunk = len(g) / (len(g) + within / between) * (g.mean() - residuals.mean())
        assert math.log(history.relative[k]) == pytest.approx(shrunk, abs=1e-8)


@pytest.mark.parametrize("spread", [0.0, 2.0])
def test_compiled_books_are_those_of_numpy(spread):
    """Of noise that belongs to rounds, and of noise that belongs to actions and is recognised."""

    def books():
        rng = np.random.default_rng(1)
        own = np.exp(spread * rng.standard_normal(6))
        model, ledgers, noise = new_model(rng.standard_normal((3, 6)), 1.0), np.zeros(5), new_history(6)
        for _ in range(120):
            action, sigma = int(rng.integers(6)), float(rng.uniform(0.9, 1.1))
            book(model, ledgers, noise, action, sigma * float(own[action]))
            fold(model, action, 0.1, sigma)
        return ledgers, *noise

    compiled = books()
    with numpy_verbs():
        for one, other in zip(books(), compiled, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
    assert (compiled[-1][7] == 1.0) == (spread > 0.0)
