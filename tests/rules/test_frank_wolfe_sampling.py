"""Frank-Wolfe sampling, held to its textbook; its matrix game against the linear programme."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog
from tests.support.soare import SOARE, alternative, estimate, play_along

import noisewise as nw
from noisewise.rules import _frank_wolfe_sampling as matrix_game


def test_frank_wolfe_sampling_is_the_textbooks():
    n = len(SOARE)
    shares = np.full(n, 1.0 / n)
    seen = {"one": 0, "several": 0}

    def decide(actions, values):
        t = len(actions)
        if t < n:
            return t
        theta, _ = estimate(SOARE, actions, values)
        step = np.full(n, 1.0 / n)
        if math.isqrt(t // n) ** 2 != t // n:
            _, rivals = alternative(SOARE, theta, shares)
            closest = min(cost for _, cost in rivals.values())
            near = [pair for pair in rivals.values() if pair[1] < closest + t**-0.9 / n]
            slopes = np.array([0.5 * (SOARE @ (theta - other)) ** 2 - cost for other, cost in near])
            # Maximise v subject to <step, slopes_j> >= v.
            solved = linprog(
                np.append(np.zeros(n), -1.0),
                A_ub=np.column_stack([-slopes, np.ones(len(near))]),
                b_ub=np.zeros(len(near)),
                A_eq=[[1.0] * n + [0.0]],
                b_eq=[1.0],
                bounds=[(0, None)] * n + [(None, None)],
            )
            step = solved.x[:n]
            seen["one" if len(near) == 1 else "several"] += 1
        shares[:] += (step - shares) / t
        return int(np.argmax(shares / np.bincount(actions, minlength=n)))

    play_along(nw.rules.frank_wolfe_sampling(SOARE), decide, 90, seed=1)
    assert min(seen.values()) > 5, "both kinds of steps must occur"


@pytest.mark.parametrize("shape", [(2, 5), (4, 3), (7, 30), (1, 4), (12, 12)])
def test_the_mixture_of_a_game_has_the_value_of_the_linear_programme(shape):
    rng = np.random.default_rng(shape)
    for _ in range(20):
        payoffs = rng.standard_normal(shape) * 10 ** rng.uniform(-4, 4)
        mixture = matrix_game.solve_game(payoffs)
        assert mixture.min() >= 0
        assert mixture.sum() == pytest.approx(1.0)
        rows, n = shape
        solved = linprog(
            np.append(np.zeros(n), -1.0),
            A_ub=np.column_stack([-payoffs, np.ones(rows)]),
            b_ub=np.zeros(rows),
            A_eq=[[1.0] * n + [0.0]],
            b_eq=[1.0],
            bounds=[(0, None)] * n + [(None, None)],
        )
        assert (payoffs @ mixture).min() == pytest.approx(-solved.fun, abs=1e-9 * np.abs(payoffs).max())
