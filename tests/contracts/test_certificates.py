"""No rule claims more than holds: options that shrink a bound are named, and broken assumptions end it."""

import inspect
import math

import numpy as np
import pytest

import noisewise as nw
from noisewise.core.selection import regret_bound, smallest_bound

VECTORS = np.array([[1.0, 0.0, 0.1], [0.8, 0.5, 0.0], [0.0, 1.0, 0.3], [0.3, 0.3, 0.8], [0.6, 0.0, 0.7]])

#: Options that are levels of confidence or prior knowledge, stated with every bound; or choose what to
#: measure or recommend only.
STATED = {"delta", "norm_bound", "ridge", "sigma_min", "seed", "recommendation", "horizon"}
#: The others' values to try; numbers are tried at a tenth, too.
OTHERS = {
    "radius": [0.5, "mixture", "self-normalised", "paper", "averaged", "restarted", "printed", "logarithmic"],
    "judge_by": ["all"],
    "noise": ["sub-gaussian"],
    "floor": [True, False],
    "estimator": ["huber", "one-pass", "median-of-means"],
    "explore": ["candidates", "all"],
    "weighted": [True],
    "tau0": [0.1, 5.0],
}


def options_of(name):
    """Every option of a rule with values to try in place of the default."""
    for option, parameter in inspect.signature(nw.rules.POLICIES[name]).parameters.items():
        if option == "actions" or option in STATED:
            continue
        values = list(OTHERS.get(option, []))
        if isinstance(parameter.default, float):
            values += [0.1 * parameter.default, 0.01 * parameter.default]
        elif isinstance(parameter.default, bool):
            values.append(not parameter.default)
        for value in values:
            if value != parameter.default:
                yield option, value


def told(name, sigma=0.3, **options):
    horizon = {"horizon": 40} if "horizon" in inspect.signature(nw.rules.POLICIES[name]).parameters else {}
    printed = {"sigma_min": 0.1} if name == "vaee_as_printed" else {}
    policy = nw.make_policy(name, VECTORS, **horizon, **printed, **options)
    rng = np.random.default_rng(0)
    for k in range(30):
        policy.tell(k % 5, float(0.5 * VECTORS[k % 5, 0] + 0.1 * rng.standard_normal()), sigma)
    return policy


PROVEN_RADII = ("mixture", "self-normalised", "paper", "averaged", "restarted", "printed")


@pytest.mark.parametrize("name", sorted(nw.rules.POLICIES))
def test_an_option_that_makes_a_bound_smaller_is_named_in_the_certificate(name):
    usual = told(name).estimate()
    for option, value in options_of(name):
        try:
            other = told(name, **{option: value}).estimate()
        except (ValueError, TypeError):
            continue  # refused
        smaller = other.radius < usual.radius * (1.0 - 1e-9) or (
            other.regret_bound < usual.regret_bound * (1.0 - 1e-9)
        )
        proven = option == "radius" and value in PROVEN_RADII
        # Neither is an easier assumption: sub-Gaussian noise is what every other rule has.
        proven |= (option, value) == ("noise", "sub-gaussian") or option in ("explore", "weighted")
        proven |= option == "estimator"  # another algorithm, with a certificate in its own words
        if smaller and not proven:
            assert other.certificate != usual.certificate, (option, value)
            assert option in other.certificate or "radius" in other.certificate, (option, value)


RESTS_ON_SIGMA = {
    "oful": "noise_level",
    "lingape": "noise_level",
    "weighted_oful": "noise_bound",
    "weighted_oful_plus": "noise_bound",
    "varcb": "noise_bound",
    "linnats": "noise_bound",
    "linnats_unknown": "noise_bound",
    "save": "noise_bound",
    "voful": "noise_bound",
    "voful2": "noise_bound",
}


@pytest.mark.parametrize("name", sorted(nw.rules.POLICIES))
def test_every_rule_with_a_declared_noise_says_so(name):
    options = inspect.signature(nw.rules.POLICIES[name]).parameters
    declared = {"noise_level", "noise_bound"} & set(options)
    limit = told(name).rule.most_sigma()
    if name in RESTS_ON_SIGMA:
        assert declared == {RESTS_ON_SIGMA[name]}
        assert limit == pytest.approx(1.0)
        assert f"{RESTS_ON_SIGMA[name]}=1" in told(name).estimate().certificate
    else:
        assert limit == math.inf  # as for weighted_lingape, which expects a level and rests on none


@pytest.mark.parametrize("name", sorted(RESTS_ON_SIGMA))
def test_a_sigma_above_the_declared_noise_ends_the_certificate(name, tmp_path):
    policy = told(name, sigma=1.0)
    assert policy.estimate().certificate.startswith("anytime")
    policy.tell(0, 0.4, 3.0)
    policy.save(tmp_path / "policy.npz")
    for kept in (policy, policy.copy(), nw.load_policy(tmp_path / "policy.npz")):
        estimate = kept.estimate()
        assert estimate.certificate.startswith("none: a sigma of 3 was told")
        assert estimate.radius == math.inf
        assert estimate.candidates.all()
        assert all(kept.is_candidate(k) for k in range(5))
        # All that is left is what the bound on theta says before any measurement.
        assert estimate.regret_bound == pytest.approx(2.0 * np.linalg.norm(VECTORS, axis=1).max())
        # What was told is kept, and measuring goes on.
        assert kept.ask(sigma=0.5) == policy.ask(sigma=0.5)
        assert kept.n_told == policy.n_told


def test_a_radius_by_hand_and_a_scale_are_named_together():
    for name in ("rage", "h_rage"):
        words = nw.make_policy(name, VECTORS, radius=0.5, scale=0.01).estimate().certificate
        assert "if the radius that was given is right" in words
        assert "nothing is proven with scale=0.01" in words
    assert "scale=0.01" in nw.rules.oful(VECTORS, scale=0.01).estimate().certificate
    assert "trust_after=2" in nw.rules.save(VECTORS, horizon=10, trust_after=2.0).estimate().certificate


@pytest.mark.parametrize("name", sorted(nw.rules.POLICIES))
def test_what_is_no_number_gives_no_bound(name):
    policy = told(name)
    policy.rule.model.arrays.means[1] = math.nan
    estimate = policy.estimate()
    if name == "precision_tracking":  # what a look claimed while all were numbers stays true
        assert estimate.regret_bound == policy.rule.claims[estimate.recommended]
        return
    assert estimate.regret_bound == pytest.approx(2.0 * np.linalg.norm(VECTORS, axis=1).max())


def test_no_number_is_never_the_smallest_bound():
    model = told("vaee").rule.model.arrays
    everybody = np.ones(5, np.bool_)
    best = smallest_bound(model, everybody, 0, 1.0)
    assert regret_bound(model, everybody, best, math.nan) == math.inf
    model.means[best] = math.nan
    assert regret_bound(model, everybody, 0, 1.0) == math.inf
    assert smallest_bound(model, everybody, 0, 1.0) == 0
