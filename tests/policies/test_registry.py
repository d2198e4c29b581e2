"""Every rule is registered under its name, and tested in a file of its own."""

from pathlib import Path

import pytest

import noisewise as nw
from noisewise.policies.registry import rule_named

TESTS = Path(__file__).parent / "rules"


@pytest.mark.parametrize("name", nw.POLICIES)
def test_every_rule_is_tested_in_the_file_of_its_module(name):
    assert rule_named(name).name == name
    module = nw.POLICIES[name].__module__
    file = TESTS / f"test_{module.rpartition('.')[2]}.py"
    assert file.exists()
    text = file.read_text("utf-8")
    assert f".{name}(" in text or f'"{name}"' in text


def test_rules_can_be_had_from_the_room_of_policies():
    from noisewise import policies
    from noisewise.policies import vaee

    assert vaee is nw.rules.vaee
    assert policies.save is nw.rules.save
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = policies.nothing
