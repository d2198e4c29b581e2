"""What constructors of rules say about themselves and their options."""

import pytest

import noisewise as nw


@pytest.mark.parametrize("name", ["weighted_oful", "oful", "linear_thompson"])
def test_the_constructor_explains_its_own_and_the_shared_options(name):
    text = nw.POLICIES[name].__doc__
    own = {"weighted_oful": "noise_bound:", "oful": "noise_level:", "linear_thompson": "scale:"}[name]
    assert own in text
    assert "norm_bound:" in text


RIVALS = ("weighted_oful_plus", "varcb", "linnats", "save", "linnats_unknown")


def test_options_that_mean_nothing_to_a_rule_are_not_offered():
    assert "sigma_min:" in nw.weighted_oful.__doc__
    for name in (*RIVALS, "voful", "voful2"):
        text = nw.POLICIES[name].__doc__
        assert "sigma_min:" not in text
        assert "radius:" not in text
        assert "norm_bound:" in text


@pytest.mark.parametrize("name", [*RIVALS, "voful", "voful2", "weighted_oful", "oful", "linear_thompson"])
def test_every_rule_of_table_1_says_what_it_is(name):
    rule = nw.policies.registry.rule_named(name)
    assert rule.reference
    assert 2011 <= rule.year <= 2024
    assert rule.guarantee
    assert "n" in rule.cost
    assert rule.reconstruction == (name in ("varcb", "linnats", "linnats_unknown", "voful", "voful2"))
    assert rule.reconstruction == ("reconstruction" in nw.POLICIES[name].__doc__) or "voful" in name
