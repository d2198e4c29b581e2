"""Five ways to recommend: the same for every rule, live, simulated, copied and saved."""

import functools
import math

import numpy as np
import pytest
from scipy import stats
from tests.support.needed import NEEDED

import noisewise as nw
from noisewise.core.selection import regret_bound
from noisewise.rules.rule import RECOMMENDATIONS
from noisewise.testing.contract import random_history, replay

OPTIONS = NEEDED | {name: {"explore": "candidates"} for name in ("vaee", "robust_vaee")}
FALSE_ALARM = 1e-6


def expected(policy, history, told, kind):
    """What to recommend after the first ``told`` measurements, from its definition."""
    plain = policy.estimate()
    best = int(policy.rule.recommend())
    actions = history.actions[:told]
    if kind == "best" or not actions:
        return best
    if kind == "last":
        return actions[-1] if plain.candidates[actions[-1]] else best
    counts = np.bincount(actions, minlength=len(history.vectors))
    if kind == "most-played":
        most = int(counts.argmax())
        return most if plain.candidates[most] else best
    chance = policy._advice.chance
    return int(np.sort(actions)[math.floor(chance * told)])


@pytest.mark.parametrize("name", nw.rules.POLICIES)
@pytest.mark.parametrize("kind", [kind for kind in RECOMMENDATIONS if kind != "smallest-bound"])
def test_each_way_is_what_it_says_for_every_rule(name, kind):
    history = random_history(3, length=20)
    make = functools.partial(nw.make_policy, name, recommendation=kind, **OPTIONS.get(name, {}))
    policy = make(history.vectors)
    for t in range(20):
        assert policy.recommend() == expected(policy, history, t, kind)
        policy.tell(history.actions[t], history.rewards[t], history.sigmas[t])
    assert policy.estimate().recommended == policy.recommend()


@pytest.mark.parametrize("name", nw.rules.POLICIES)
def test_the_smallest_bound_is_the_smallest_and_certified(name):
    for seed in range(4):
        history = random_history(seed)
        # Above the noise level that some rules assume there would be no certificate.
        history = history._replace(sigmas=[min(1.0, sigma) for sigma in history.sigmas])
        make = functools.partial(nw.make_policy, name, **OPTIONS.get(name, {}))
        policy = replay(functools.partial(make, recommendation="smallest-bound"), history)
        estimate, model = policy.estimate(), policy.rule.model.arrays
        bounds = [regret_bound(model, estimate.candidates, k, estimate.radius) for k in range(12)]
        least = min(bound for k, bound in enumerate(bounds) if estimate.candidates[k])
        assert bounds[estimate.recommended] <= least * (1 + 1e-8)
        certified = min(2 * policy.actions.max_norm, least)
        if name == "precision_tracking":  # which may have claimed more at an earlier look
            assert estimate.regret_bound <= certified * (1 + 1e-8)
        else:
            assert estimate.regret_bound == pytest.approx(certified)


INSTANCE = nw.instances.sphere(15, 3)
ENV = INSTANCE.environment(nw.schedules.log_uniform)


def test_each_measurement_is_drawn_equally_often():
    """Action 1 has 3 of 4 measurements; two-sided, false-alarm probability 1e-6."""
    drawn = 0
    for seed in range(800):
        policy = nw.rules.round_robin(np.eye(2), recommendation="uniform-played", seed=seed)
        policy.tell_many([1, 0, 1, 1], [0.0] * 4, [1.0] * 4)
        drawn += policy.recommend()
    low, high = stats.binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], 800, 0.75)
    assert low <= drawn <= high


def test_bad_recommendations_get_one_sentence():
    with pytest.raises(
        ValueError, match=r"`recommendation` must be one of .*; got 'lest'. Did you mean 'last'"
    ):
        nw.rules.widest(np.eye(2), recommendation="lest")
    with pytest.raises(ValueError, match="`recommendation` must be 'best' with explore='all'"):
        nw.vaee(np.eye(2), recommendation="last")

    class Blind(nw.extending.Rule):
        name = "blind"

        def beta(self):
            return math.nan

    with pytest.raises(
        ValueError, match="must not be 'smallest-bound' for 'blind', which has no certificate"
    ):
        nw.Policy(Blind(recommendation="smallest-bound"), np.eye(2))
