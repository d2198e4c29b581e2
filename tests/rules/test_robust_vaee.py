"""Rules for heavy tails: radii, floors, bounds, histories and refusals."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import noisewise as nw

RNG = np.random.default_rng(0)
VECTORS = RNG.standard_normal((10, 4))
VECTORS /= np.linalg.norm(VECTORS, axis=1, keepdims=True)
THETA = np.array([0.6, -0.3, 0.2, 0.1])


def told(policy, length=60, seed=1):
    rng = np.random.default_rng(seed)
    for _ in range(length):
        action, sigma = policy.ask(), math.exp(rng.uniform(-3, 0))
        policy.tell(action, float(VECTORS[action] @ THETA + sigma * rng.standard_t(2.1) / 4.6), sigma)
    return policy


def test_the_radius_is_that_of_the_lemma():
    """At delta/4, because the lemma holds with probability 1 - 4·delta."""
    policy = told(nw.robust_vaee(VECTORS, sigma_min=0.01, horizon=100, tau0=1.5, delta=0.2, ridge=2.0))
    kappa, doubt = 4 * math.log(1 + 100 / (4 * 2.0 * 0.01**2)), math.log(2 * 60**2 / 0.05)
    wanted = 32 * (kappa / 1.5 + math.sqrt(kappa * doubt) + 1.5 * doubt) + 5 * math.sqrt(2.0)
    assert_allclose(policy.estimate().radius, wanted, rtol=1e-12)


def test_the_lemmas_tau0_and_its_own_certificate():
    """Note 15: at d = 8, T = 1000, sigma_min = 0.1 the radius is about 3600; with delta/4, a little more."""
    vectors = np.eye(8)
    policy = nw.robust_vaee(vectors, tau0="lemma", floor=True, sigma_min=0.1, horizon=1000, delta=0.2)
    doubt = math.log(2 * 1000**2 / 0.05)
    growth = math.sqrt(8 / (42 * doubt))
    kappa = min(8 * math.log(1 + 1000 / (8 * 0.01)), 16 * math.log(1 + growth * 1000 / 2))
    assert_allclose(policy.rule.numbers.tau0, max(math.sqrt(2 * kappa), 2 * math.sqrt(8)) / math.sqrt(doubt))
    assert policy.estimate().certificate == "anytime"
    printed = nw.robust_vaee(vectors, tau0="lemma", sigma_min=0.1, horizon=1000, delta=0.2)
    for t in range(1000):
        printed.rule.model.arrays.tally[2] = t + 1  # the radius looks at the number of measurements alone
    assert 3300 < printed.estimate().radius < 3900
    assert printed.estimate().certificate.startswith("the published radius, proven only with floor=True")


def test_floors_are_those_of_the_source():
    policy = nw.robust_vaee(VECTORS, floor=True, horizon=100, delta=0.2, norm_bound=2.0, sigma_min=1e-3)
    width = math.sqrt(policy.rule.model.arrays.squared_widths[3])
    m1 = 1 / (42 * math.log(2 * 100**2 / 0.05))
    steep = math.sqrt(2.0 * policy.actions.max_norm * width) / (m1 * 4) ** 0.25
    policy.tell(3, 0.2, 1e-3)
    assert_allclose(policy.rule.estimate.history.scales[0], max(width, steep))
    loud = nw.robust_vaee(VECTORS, floor=True, horizon=100)
    loud.tell(3, 0.2, 1e3)
    assert loud.rule.estimate.history.scales[0] == 1e3
    plain = nw.robust_vaee(VECTORS, horizon=100)
    plain.tell(3, 0.2, 1e-3)
    assert plain.rule.estimate.history.scales[0] == 1e-3


def test_one_pass_as_published_is_the_clipped_gradient_step():
    """``V += aaᵀ/(4s²)``, ``θ += V⁻¹a·clip(z)/s``, written out."""
    policy = nw.robust_vaee(VECTORS, estimator="one-pass", floor=True, tau0=0.7, radius=3.0, norm_bound=50.0)
    moment, theta = np.eye(4), np.zeros(4)
    rng = np.random.default_rng(3)
    for t in range(20):
        vector, sigma, reward = VECTORS[t % 10], 0.1 + 0.1 * (t % 4), float(3 * rng.standard_normal())
        width = math.sqrt(vector @ np.linalg.solve(moment, vector))
        scale = max(sigma, math.sqrt(2 * 3.0 / (0.7 * 2)) * width)
        u = width / (2 * scale)
        tau = 0.7 * math.sqrt(1 + u * u) / u
        z = (reward - vector @ theta) / scale
        moment += np.outer(vector, vector) / (4 * scale**2)
        theta = theta + np.linalg.solve(moment, vector) * np.clip(z, -tau, tau) / scale
        policy.tell(t % 10, reward, sigma)
    assert_allclose(policy.estimate().theta, theta, rtol=1e-9)


def test_the_median_bound_is_the_median_of_blockwise_bounds():
    policy = told(nw.robust_vaee(VECTORS, estimator="median-of-means", blocks=5), length=200)
    blocks, reach, estimate = policy.rule.estimate.blocks, policy.rule.estimate.reach, policy.estimate()
    bounds = []
    for k in np.flatnonzero(estimate.candidates):
        contrast = VECTORS[k] - VECTORS[estimate.recommended]
        upper = []
        for factor, pivots, point in zip(blocks.factor, blocks.pivots, blocks.thetas, strict=True):
            u = np.triu(factor[:, :4], 1) + np.eye(4)
            width = math.sqrt(contrast @ np.linalg.solve(u.T @ np.diag(pivots) @ u, contrast))
            upper.append(point @ contrast + reach * width)
        bounds.append(np.median(upper))
    assert_allclose(estimate.regret_bound, min(max(*bounds, 0.0), 2.0), rtol=1e-9)
    assert "neither what was measured nor when to stop" in estimate.certificate


@pytest.mark.parametrize(
    ("rule", "kind"), [(nw.robust_vaee, "list"), (nw.robust_vaee, "ball"), (nw.rules.adaoful, "list")]
)
def test_a_history_without_a_horizon_grows(rule, kind, monkeypatch, tmp_path):
    actions = VECTORS if kind == "list" else nw.sets.Ball(4)
    roomy = rule(actions, radius=3.0)
    monkeypatch.setattr("noisewise.rules.robust.ROOM", 3)
    policy = rule(actions, radius=3.0)
    for k, value in enumerate(np.random.default_rng(2).standard_normal(14)):
        for one in (policy, roomy):
            one.tell(k % 10 if kind == "list" else VECTORS[k % 10], float(value), 0.5)
        # The floors of adaoful are those of its horizon.
        assert rule is nw.rules.adaoful or np.array_equal(policy.estimate().theta, roomy.estimate().theta)
    if kind == "list":
        policy.tell_many([0] * 20, [0.1] * 20, [1.0] * 20)
    policy.save(tmp_path / "policy.npz")
    again = nw.load_policy(tmp_path / "policy.npz")
    assert again.n_told == policy.n_told
    assert np.array_equal(again.estimate().theta, policy.estimate().theta)


def test_what_is_proven_holds_up_to_the_horizon_and_more_can_be_told():
    policy = nw.rules.adaoful(VECTORS, horizon=3)
    policy.tell_many([0, 1, 0], [0.1, 0.2, 0.1], [1.0, 1.0, 1.0])
    assert policy.estimate().certificate == "anytime"
    policy.tell(0, 0.1, 1.0)
    assert policy.estimate().certificate.endswith("proven for the first 3 measurements, the horizon")


def test_only_a_proven_certificate_may_stop_a_simulation():
    env = nw.Environment(VECTORS, THETA, np.full(5, 0.5))
    proven = nw.robust_vaee(VECTORS, floor=True, tau0="lemma")
    nw.simulate(proven, env, horizon=5, replications=1, stop="gap", eps=3.0)
    with pytest.raises(ValueError, match="`stop` must not be 'gap' with 'robust_vaee'"):
        nw.simulate(nw.robust_vaee(VECTORS), env, horizon=5, replications=1, stop="gap", eps=0.1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nw.robust_vaee(VECTORS, tau0=0.0), "`tau0` must be a finite number above 0; got 0.0."),
        (lambda: nw.robust_vaee(VECTORS, tau0=-1), "`tau0` must be a finite number above 0; got -1."),
        (lambda: nw.robust_vaee(VECTORS, tau0="x"), "`tau0` must be a number above 0 or 'lemma'; got 'x'."),
        (lambda: nw.robust_vaee(VECTORS, tau0="lemma"), "`sigma_min` must be given with tau0='lemma'"),
        (lambda: nw.robust_vaee(VECTORS, estimator="hubr"), "Did you mean 'huber'?"),
        (
            lambda: nw.robust_vaee(VECTORS, radius="mixture"),
            "`radius` must be one of 'paper'; got 'mixture'.",
        ),
        (
            lambda: nw.robust_vaee(VECTORS, estimator="median-of-means", explore="candidates"),
            "`explore` must be 'all' with estimator='median-of-means'",
        ),
        (
            lambda: nw.robust_vaee(VECTORS, estimator="median-of-means", floor=True),
            "`floor` must be False with estimator='median-of-means'",
        ),
        (
            lambda: nw.robust_vaee(VECTORS, estimator="median-of-means", blocks=4),
            "`blocks` must be odd, so that there is a median; got 4.",
        ),
        (lambda: nw.robust_vaee(VECTORS, horizon=0), "`horizon` must be at least 1; got 0."),
        (
            lambda: nw.robust_vaee(VECTORS).tell(0, math.inf, 1.0),
            "`reward` must be a finite number; got inf.",
        ),
    ],
)
def test_bad_input_gets_one_sentence(make, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the sentence is compared below
        make()
    assert message in str(caught.value)
