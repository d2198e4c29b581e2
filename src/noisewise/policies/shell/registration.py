"""The rules known by name: loading a rule's module registers it."""

from collections.abc import Callable
from typing import Any

from noisewise.policies.shell.rule import Rule

#: Constructors by name: ``POLICIES["vaee"](actions, **options)``.
POLICIES: dict[str, Callable[..., Any]] = {}
#: The rules themselves by name.
RULES: dict[str, Rule] = {}


def register(rule: Rule, constructor: Callable[..., Any]) -> None:
    """Make a rule known by its name to `make_policy`, `load_policy` and the command line."""
    if rule.name in POLICIES:
        raise ValueError(f"`name` must be new; got {rule.name!r}, which is registered already.")
    POLICIES[rule.name] = constructor
    RULES[rule.name] = rule
