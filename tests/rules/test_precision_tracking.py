"""Precision tracking: looks that no reward moves, claims against a naive twin, coverage, phases."""

import math

import numpy as np
import pytest
from scipy import stats

import noisewise as nw
from noisewise.core.model import fold, new_model
from noisewise.rules._precision_tracking import PULL
from noisewise.rules.looks import Looks, claims_of, comparison_quantiles, delta_at

DELTA = 0.05
#: Places of what is recorded of every round.
PHASE, LEVEL = 0, 1


def problem(seed, n=8, dim=3, rounds=60):
    rng = np.random.default_rng([12, seed])
    vectors = rng.standard_normal((n, dim))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    theta = rng.standard_normal(dim)
    theta *= 0.5 / np.linalg.norm(theta)
    return vectors, theta, 10 ** rng.uniform(-1.5, 0.0, rounds), rng


def run(policy, vectors, theta, sigmas, rng):
    """Measure what is asked; what was pulled, the ledger and the bound after every round."""
    pulled, ledgers, bounds = [], [], []
    for sigma in sigmas:
        action = policy.ask()
        policy.tell(action, vectors[action] @ theta + sigma * rng.standard_normal(), sigma)
        pulled.append(action)
        ledgers.append((policy.rule.number, policy.rule.level))
        bounds.append(policy.estimate().regret_bound)
    return pulled, np.array(ledgers), np.array(bounds)


@pytest.mark.parametrize("eps", [0.0, 0.1])
def test_the_shares_of_delta_add_up_to_at_most_delta(eps):
    looks = Looks(DELTA, PULL, eps, True)
    levels = sum(delta_at(looks, 1, level) for level in range(1, 3000))
    of_first = levels / DELTA
    phases = sum(delta_at(looks, phase, 1) for phase in range(1, 60)) / delta_at(looks, 1, 1)
    assert 0.45 * DELTA < levels * phases <= DELTA
    assert of_first <= 0.97 + 1e-12


@pytest.mark.parametrize("eps", [0.0, 0.3])
def test_rewards_of_a_phase_move_neither_what_is_measured_nor_when_it_is_looked_at(eps):
    vectors, theta, sigmas, _ = problem(0)
    runs = [
        run(
            nw.rules.precision_tracking(vectors, eps=eps),
            vectors,
            scale * theta,
            sigmas,
            np.random.default_rng(seed),
        )
        for seed, scale in ((1, 1.0), (2, -1.0), (3, 0.0))
    ]
    first = min(int((ledgers[:, PHASE] == 1).sum()) for _, ledgers, _ in runs)
    together = [(pulled[: first + 1], ledgers[:first, LEVEL].tolist()) for pulled, ledgers, _ in runs]
    assert first >= 10
    assert runs[0][1][first - 1, LEVEL] > 1.0
    assert together[0][1] == together[1][1] == together[2][1]
    assert together[0][0][:first] == together[1][0][:first] == together[2][0][:first]


@pytest.mark.parametrize("reach", [1e9, 2.5])
@pytest.mark.parametrize("gaussian", [True, False])
def test_claims_agree_with_the_formula_written_out(gaussian, reach):
    vectors, theta, sigmas, rng = problem(3, n=6)
    model = new_model(np.ascontiguousarray(vectors.T), 1e-6)
    for t, sigma in enumerate(sigmas):
        fold(model, t % 6, vectors[t % 6] @ theta + sigma * rng.standard_normal(), sigma)
    compared = np.array([True, True, False, True, True, True])
    candidates = compared & (np.arange(6) != 4)
    looks = Looks(DELTA, PULL, 0.0, gaussian)
    # A second model, with another ridge and one measurement more, and its radius.
    ridge = 0.5
    other = new_model(np.ascontiguousarray(vectors.T), ridge)
    for t, sigma in enumerate(sigmas):
        fold(other, t % 6, vectors[t % 6] @ theta, sigma)
    fold(other, 2, 0.3, 0.2)
    left, claims = claims_of(looks, model, (other, reach), compared, candidates, 0.01)
    precision = 1e-6 * np.eye(3)
    moment = np.zeros(3)
    rng = problem(3, n=6)[3]
    for t, sigma in enumerate(sigmas):
        row = vectors[t % 6]
        precision += np.outer(row, row) / sigma**2
        moment += row * (row @ theta + sigma * rng.standard_normal()) / sigma**2
    covariance, estimate = np.linalg.inv(precision), np.linalg.inv(precision) @ moment
    root = np.linalg.cholesky(covariance)
    told = [*((t % 6, vectors[t % 6] @ theta, sigma) for t, sigma in enumerate(sigmas)), (2, 0.3, 0.2)]
    spread = np.linalg.inv(
        ridge * np.eye(3) + sum(np.outer(vectors[a], vectors[a]) / sigma**2 for a, _, sigma in told)
    )
    elsewhere = spread @ sum(vectors[a] * reward / sigma**2 for a, reward, sigma in told)
    rows = np.flatnonzero(compared)
    upper = np.full((6, 6), -np.inf)
    for place, i in enumerate(rows):
        quantile = (
            comparison_quantiles(vectors[rows] @ root, np.array([place]), 0.01)[0]
            if gaussian
            else math.sqrt(2.0 * math.log(4 / 0.01))
        )
        for j in rows:
            y = vectors[i] - vectors[j]
            upper[i, j] = y @ estimate + (quantile + PULL) * math.sqrt(y @ covariance @ y)
            upper[i, j] = min(upper[i, j], y @ elsewhere + reach * math.sqrt(y @ spread @ y))
    possible = [i for i in np.flatnonzero(candidates) if upper[i, rows].min() >= 0.0]
    assert np.flatnonzero(left).tolist() == possible
    for j in rows:
        # The quantile is averaged over directions that another root turns.
        assert claims[j] == pytest.approx(max(0.0, *(upper[i, j] for i in possible)), rel=0.03, abs=1e-3)
    assert np.isinf(claims[2])


@pytest.mark.parametrize("noise", ["gaussian", "sub-gaussian"])
def test_the_bound_covers_the_regret_at_every_round(noise):
    runs, misses = 40, 0
    for seed in range(runs):
        vectors, theta, sigmas, rng = problem(seed, n=6, rounds=25)
        policy = nw.rules.precision_tracking(vectors, eps=0.2, noise=noise, delta=DELTA)
        means = vectors @ theta
        missed = False
        for sigma in sigmas:
            action = policy.ask()
            policy.tell(action, means[action] + sigma * rng.standard_normal(), sigma)
            estimate = policy.estimate()
            missed |= means.max() - means[estimate.recommended] > estimate.regret_bound + 1e-12
            missed |= not estimate.candidates[means.argmax()]
        misses += missed
    assert misses <= stats.binom.isf(1e-6, runs, DELTA)


def test_a_later_phase_measures_what_tells_the_finalists_apart():
    instance = nw.instances.soare(4, angle=0.1)
    vectors = np.asarray(instance.actions.vectors)
    policy = nw.rules.precision_tracking(instance.actions)
    rng = np.random.default_rng(0)
    theta = np.eye(4)[0]
    for _ in range(400):
        action = policy.ask()
        policy.tell(action, vectors[action] @ theta + 0.2 * rng.standard_normal(), 0.2)
    state = policy.rule
    assert state.number >= 2
    assert state.compared.sum() == 2
    # The finalists differ along the second axis: its share is the largest.
    assert abs(vectors[state.shares.argmax()][1]) == pytest.approx(1.0)
    assert "To tell 2 options apart" in policy.why(int(state.shares.argmax()))


def test_what_is_off_the_design_stays_out_of_the_phase():
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [0.1, 0.1]])
    policy = nw.rules.precision_tracking(vectors)
    off = int(np.flatnonzero(policy.rule.shares == 0.0)[0])
    policy.tell(off, 0.3, 0.01)
    assert policy.rule.phase.n_told == 0
    assert policy.rule.model.n_told == 1
    assert "not part of the design" in policy.why(off)


def test_rounding_between_copies_of_the_best_rules_out_neither():
    """The phase may see the one copy above the other by a last digit, and the mixture below."""
    rng = np.random.default_rng(5)
    vectors = rng.standard_normal((6, 3))
    vectors[5] = vectors[0]
    theta = vectors[0] / np.linalg.norm(vectors[0])
    here, always = (new_model(np.ascontiguousarray(vectors.T), ridge) for ridge in (1e-6, 1.0))
    for t in range(60):
        for model in (here, always):
            fold(model, t % 5, vectors[t % 5] @ theta, 0.1)
    looks, everybody = Looks(DELTA, PULL, 0.0, True), np.ones(6, dtype=bool)
    for shift in (1e-15, -1e-15):
        here.means[5] = here.means[0] + shift * abs(here.means[0])
        always.means[5] = always.means[0] - shift * abs(always.means[0])
        left, claims = claims_of(looks, here, (always, 3.0), everybody, everybody, 0.01)
        assert left[0]
        assert left[5]
        assert np.isfinite(claims).all()
