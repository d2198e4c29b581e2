"""RAGE: phases by the transductive design, as long as published, and what ends them."""

import math

import numpy as np
import pytest
from tests.support.soare import SOARE, THETA

import noisewise as nw
from noisewise.rules.phases import phase_estimate


def run_until(policy, phase, most=100_000, noise=0.0):
    """Measure what a phased policy asks for until a phase begins."""
    rng = np.random.default_rng(0)
    for _ in range(most):
        action = policy.ask()
        policy.tell(action, float(SOARE[action] @ THETA + noise * rng.standard_normal()), 1.0)
        if policy.rule.phase >= phase:
            return
    raise AssertionError("the phase never began.")


def test_rage_measures_by_the_transductive_design_as_long_as_published():
    policy = nw.rules.rage(SOARE, delta=0.1)
    design = nw.transductive_design(SOARE, nw.designs.Pairs(SOARE), gap=1e-4)
    n = len(SOARE)
    published = 8 * design.value * 1.1 * math.log(2 * n**2 / 0.05)
    wanted = policy.rule.first
    assert wanted.sum() == pytest.approx(published, rel=0.02)
    run_until(policy, 2)
    assert policy.n_told == np.ceil(wanted - 1e-9).sum()
    assert policy.is_candidate(0)


def test_rage_keeps_measuring_what_is_out_and_phased_elimination_does_not():
    """e_2, the second unit vector, cannot be the best, but tells the two that can apart."""
    policy = nw.rules.rage(SOARE, scale=0.7)
    run_until(policy, 3)
    assert not policy.is_candidate(1)
    assert policy.is_candidate(0)
    assert policy.rule.wanted[1] > 0.5 * policy.rule.wanted.sum()


def test_rage_judges_by_the_phase_or_by_everything():
    """What was told before the last phase counts in one of them only."""
    for judge_by, survives in (("phase", True), ("all", False)):
        policy = nw.rules.rage(SOARE, scale=0.3, judge_by=judge_by)
        run_until(policy, 2)
        # More of a bad action than any phase wants, so it stays out of the phase.
        policy.tell_many([1] * 5, [-1.0] * 5, [1e-3] * 5)
        assert policy.is_candidate(4)
        policy.rule.survivors[:] = True
        policy.rule.given[:] = policy.rule.wanted
        policy.rule.sums[:] = 0.5 * policy.rule.wanted * SOARE.sum(axis=1)  # none far above another
        policy.rule.end_phase()
        assert policy.is_candidate(1) == survives
    with pytest.raises(ValueError, match="`judge_by` must be one of 'phase', 'all'"):
        nw.rules.rage(SOARE, judge_by="al")


def test_least_squares_of_one_phase():
    given, sums = np.array([2.0, 0.0, 3.0, 0.5, 0.0]), np.array([2.2, 0.0, 0.3, 0.1, 0.0])
    theta, root = phase_estimate(SOARE, given, sums)
    used = SOARE[[0, 2, 3]]
    assert used @ theta == pytest.approx([1.1, 0.1, 0.2])
    assert used @ root @ root.T @ used.T == pytest.approx(np.diag([1 / 2, 1 / 3, 2]))
    # A quiet round of one action leaves the others known as they were.
    theta, root = phase_estimate(SOARE, given * [1e20, 0, 1, 1, 0], sums * [1e20, 0, 1, 1, 0])
    assert used @ theta == pytest.approx([1.1, 0.1, 0.2])
    assert used[1:] @ root @ root.T @ used[1:].T == pytest.approx(np.diag([1 / 3, 2]))


@pytest.mark.parametrize("make", [nw.rules.rage, nw.rules.h_rage])
def test_half_of_delta_is_for_the_phases_whatever_the_radius(make):
    for radius in ("mixture", "paper", "self-normalised"):
        options = {"radius": radius, "sigma_min": 0.1}
        policy = make(np.eye(3), delta=0.1, **options)
        assert policy.estimate().radius == nw.vaee(np.eye(3), delta=0.05, **options).estimate().radius
    assert policy.estimate().delta == 0.1
    assert "nothing is proven" in make(np.eye(3), scale=0.5).estimate().certificate
