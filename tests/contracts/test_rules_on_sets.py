"""Every rule that runs on infinite sets keeps every promise of the contract there."""

import functools

import pytest
from tests.support.needed import NEEDED

import noisewise as nw
from noisewise.rules.registry import rule_named
from noisewise.testing import SET_CHECKS, check_rule_on_sets

VARIANTS = {
    **{
        name: functools.partial(nw.make_policy, name, **NEEDED.get(name, {}))
        for name in nw.rules.POLICIES
        if not rule_named(name).lists_only
    },
    "vaee on candidates": functools.partial(nw.vaee, explore="candidates", radius=1.0),
    "vaee, last": functools.partial(nw.vaee, explore="candidates", radius=1.0, recommendation="last"),
    "robust_vaee, one pass": functools.partial(nw.robust_vaee, estimator="one-pass", radius=5.0),
    "robust_vaee, one pass as published": functools.partial(
        nw.robust_vaee, estimator="one-pass", tau0=1.0, floor=True, radius=1.0
    ),
    "weighted oful, sub-gaussian": functools.partial(nw.rules.weighted_oful, noise="sub-gaussian"),
}


def test_the_rules_that_must_run_on_sets_do():
    assert {
        "vaee",
        "robust_vaee",
        "weighted_oful",
        "uniform",
        "widest",
        "greedy",
        "linear_thompson",
        "oful",
    } <= set(VARIANTS)


@pytest.mark.parametrize("check", SET_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_rule_keeps_its_promise_on_sets(variant, check):
    check(VARIANTS[variant])


def test_a_rule_that_needs_a_list_says_so():
    with pytest.raises(ValueError, match=r"must be a list of vectors for 'vagd'.*got Ball\(3, radius=1\)"):
        check_rule_on_sets(nw.vagd)
