"""Options that a rule cannot take are refused in one sentence."""

import numpy as np
import pytest

import noisewise as nw


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("lingape", {"noise_level": 0}, "`noise_level` must be a finite number above 0; got 0."),
        ("vaee", {"ridge": "rank"}, "`ridge` must be one of 'dim'; got 'rank'."),
        ("oful", {"ridge": "dim", "norm_bound": 0}, "`norm_bound` must be a finite number above 0; got 0."),
        (
            "information_directed",
            {"information": "some"},
            "`information` must be one of 'full', 'optimistic'; got 'some'.",
        ),
        (
            "information_directed",
            {"action_sigma": [1.0]},
            "`action_sigma` must be 2 finite numbers above 0, one per action; got [1.0].",
        ),
        (
            "weighted_oful",
            {"noise": "gaussian"},
            "`noise` must be one of 'bounded', 'sub-gaussian'; got 'gaussian'. Did you mean 'sub-gaussian'?",
        ),
        ("weighted_oful", {"noise_bound": 0.0}, "`noise_bound` must be a finite number above 0; got 0.0."),
        (
            "weighted_oful",
            {"radius": "mixture"},
            "`radius` must be left out with noise='bounded', which has its own; got 'mixture'. "
            "(noise='sub-gaussian' takes it.)",
        ),
        ("oful", {"ridge": -1.0}, "`ridge` must be a finite number above 0; got -1.0."),
        ("linear_thompson", {"scale": -0.5}, "`scale` must be at least 0; got -0.5."),
        ("save", {}, "`horizon` must be given for 'save': it plans for a number of rounds; got None."),
        ("weighted_oful_plus", {"horizon": 0}, "`horizon` must be at least 1; got 0."),
        ("vage", {"share": 0.0}, "`share` must lie strictly between 0 and 1; got 0.0."),
        ("vaee", {"delta": 0.0}, "`delta` must lie strictly between 0 and 1; got 0.0."),
        ("vaee", {"seed": -1}, "`seed` must be a whole number of at least 0; got -1."),
        ("precision_tracking", {"eps": -1.0}, "`eps` must be at least 0; got -1.0."),
    ],
)
def test_bad_options_get_one_sentence(name, options, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole sentence is compared
        nw.make_policy(name, np.eye(2), **options)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("linear_thompson", {"scale": "wide"}, "`scale` must be a number; got 'wide'."),
        ("save", {"horizon": 10, "ridge": 2.0}, "save() has no option 'ridge'."),
        (
            "weighted_oful",
            {"noise_bond": 1.0},
            "weighted_oful() has no option 'noise_bond'. Did you mean 'noise_bound'?",
        ),
    ],
)
def test_options_of_no_meaning_or_no_type_get_one_sentence(name, options, message):
    with pytest.raises(TypeError) as caught:
        nw.rules.POLICIES[name](np.eye(2), **options)
    assert str(caught.value) == message


def test_a_radius_that_needs_sigma_min_asks_for_it():
    with pytest.raises(ValueError, match=r"^`sigma_min` must be given with radius='paper'"):
        nw.rules.lingape(np.eye(2), radius="paper")


@pytest.mark.parametrize(("name", "options"), [("information_directed", {}), ("varcb", {"horizon": 10})])
def test_rules_that_need_sigma_before_they_choose_ask_for_it(name, options):
    policy = nw.make_policy(name, np.eye(2), **options)
    sentence = f"^`sigma` must be given: '{name}' needs it before it chooses; got None.$"
    with pytest.raises(ValueError, match=sentence):
        policy.ask()
    world = nw.Environment(np.eye(2), [1, 0], [1.0])
    sentence = (
        f"^`env` must announce sigma for '{name}', which needs it before the choice: "
        "make it with announced=True.$"
    )
    with pytest.raises(ValueError, match=sentence):
        nw.simulate(policy, world, horizon=1)
