"""Every rule is registered under its name, and tested."""

from pathlib import Path

import pytest

import noisewise as nw
from noisewise.rules.registry import rule_named

TESTS = Path(__file__).parent


@pytest.mark.parametrize("name", nw.rules.POLICIES)
def test_every_rule_is_tested(name):
    assert rule_named(name).name == name
    assert nw.rules.POLICIES[name] is getattr(nw.rules, name)
    texts = [file.read_text("utf-8") for file in TESTS.glob("test_*.py")]
    assert any(f".{name}(" in text or f'"{name}"' in text for text in texts)


def test_a_rule_that_is_not_there_is_no_attribute():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = nw.rules.nothing
