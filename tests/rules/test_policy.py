"""The shell: what it says, what it refuses, and that a refusal changes nothing."""

import inspect
import math

import numpy as np
import pytest

import noisewise as nw
from noisewise.rules.registry import rule_named


@pytest.fixture
def policy():
    return nw.vaee(np.eye(3))


def test_pending_measurements_are_not_asked_for_again(policy):
    first = policy.ask()
    second = policy.ask(pending=[first])
    third = policy.ask(pending=[first, (second, 0.5)])
    assert {first, second, third} == {0, 1, 2}


def test_a_pending_sigma_left_out_is_the_median_told(policy):
    for sigma in (0.1, 0.2, 5.0):
        policy.tell(0, 1.0, sigma)
    assert policy.ask(pending=[1]) == policy.ask(pending=[(1, 0.2)])
    twin = policy.copy()
    twin.tell(1, float(twin.estimate().means[1]), 0.2)
    assert policy.ask(pending=[1]) == twin.ask()


def test_telling_many_is_telling_each_or_none(policy):
    twin = policy.copy()
    policy.tell_many([0, 1, 2], [1.0, 2.0, 3.0], [0.1, 0.2, 0.3])
    for measurement in zip([0, 1, 2], [1.0, 2.0, 3.0], [0.1, 0.2, 0.3], strict=True):
        twin.tell(*measurement)
    assert np.array_equal(policy.estimate().means, twin.estimate().means)
    with pytest.raises(ValueError, match="`sigma` must"):
        policy.tell_many([0, 1], [1.0, 2.0], [0.1, -0.2])
    with pytest.raises(ValueError, match="equally long; got 2, 1 and 2"):
        policy.tell_many([0, 1], [1.0], [0.1, 0.2])
    assert policy.n_told == 3


@pytest.mark.parametrize(
    ("measurement", "error", "message"),
    [
        ((3, 1.0, 1.0), ValueError, "`action` must be a row number from 0 to 2; got 3."),
        ((-1, 1.0, 1.0), ValueError, "`action` must be a row number from 0 to 2; got -1."),
        ((True, 1.0, 1.0), ValueError, "`action` must be a row number from 0 to 2; got True."),
        (("a", 1.0, 1.0), ValueError, "`action` must be a row number, this set has no labels; got 'a'."),
        ((0, math.nan, 1.0), ValueError, "`reward` must be a finite number; got nan."),
        ((0, "high", 1.0), TypeError, "`reward` must be a number; got 'high'."),
        ((0, 1.0, -0.3), ValueError, "`sigma` must be a finite number above 0; got -0.3."),
        ((0, 1.0, 0), ValueError, "`sigma` must be a finite number above 0; got 0."),
        ((0, 1.0, math.inf), ValueError, "`sigma` must be a finite number above 0; got inf."),
        ((0, 1.0, 1e-200), ValueError, "`sigma` must lie between 1e-100 and 1e100; got 1e-200."),
        ((0, 1.0, None), TypeError, "`sigma` must be a number; got None."),
    ],
)
def test_a_bad_measurement_gets_one_sentence_and_changes_nothing(policy, measurement, error, message):
    with pytest.raises(error) as caught:
        policy.tell(*measurement)
    assert str(caught.value) == message
    assert policy.n_told == 0
    assert policy.estimate().total_precision == 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: p.ask(sigma=-1.0), "`sigma` must be a finite number above 0; got -1.0."),
        (lambda p: p.ask(pending=[9]), "`action` must be a row number from 0 to 2; got 9."),
        (lambda p: p.ask(pending=[(0, 1.0, 2.0)]), "`pending` must hold actions or pairs"),
        (lambda p: p.ask(pending=3), "`pending` must be a list of actions or pairs"),
        (lambda p: p.ask(allowed=[]), "`allowed` must contain at least one action; got []."),
        (lambda p: p.ask(allowed=np.ones(2, bool)), "`allowed` must have shape (3,); got (2,)."),
    ],
)
def test_a_bad_question_gets_one_sentence(policy, call, message):
    with pytest.raises((ValueError, TypeError)) as caught:
        call(policy)
    assert str(caught.value).startswith(message)


def test_a_saved_policy_keeps_its_labels_and_refuses_other_sets(tmp_path):
    actions = nw.ActionSet(np.eye(2), labels=["a", "b"])
    policy = nw.vaee(actions, delta=0.1)
    policy.tell("a", 1.0, 0.1)
    policy.save(tmp_path / "p.npz")
    loaded = nw.load_policy(tmp_path / "p.npz")
    assert loaded.actions.labels == ["a", "b"]
    assert loaded.options == policy.options
    with pytest.raises(ValueError, match="must be the set this policy was saved with"):
        nw.load_policy(tmp_path / "p.npz", actions=nw.ActionSet(2 * np.eye(2)))
    assert [path.name for path in tmp_path.iterdir()] == ["p.npz"]


def test_a_policy_on_a_memory_map_needs_its_set_again(tmp_path):
    stored = np.memmap(tmp_path / "v.bin", dtype=np.float64, mode="w+", shape=(3, 2))
    stored[:] = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]
    actions = nw.ActionSet(stored)
    nw.vaee(actions).save(tmp_path / "p.npz")
    with pytest.raises(ValueError, match="`actions` must be given"):
        nw.load_policy(tmp_path / "p.npz")
    assert nw.load_policy(tmp_path / "p.npz", actions=actions).n_told == 0


def test_a_reward_that_would_overflow_is_refused_and_changes_nothing():
    policy = nw.vaee(np.eye(3))
    before = policy.rule.model.arrays.factor.copy()
    with pytest.raises(ValueError, match=r"^`reward` must be within 1e\+150 sigmas of 0; got 1e\+300\.$"):
        policy.tell(0, 1e300, 1e-99)
    assert np.array_equal(policy.rule.model.arrays.factor, before)


def test_signatures_show_the_defaults_that_are_used():
    for name, constructor in nw.rules.POLICIES.items():
        needed = {"sigma_min": 0.1} if name == "vaee_as_printed" else {}
        if rule_named(name).needs_horizon:
            needed["horizon"] = 10
        options = constructor(np.eye(3), **needed).options
        for parameter in inspect.signature(constructor).parameters.values():
            if parameter.name not in ("actions", "design", "horizon", *needed):
                assert options[parameter.name] == parameter.default, (name, parameter.name)
