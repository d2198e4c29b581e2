"""Rules (one per file), the ask/tell shell around them, and all rules by name (`constructors`)."""

from typing import Any

from noisewise.policies import constructors as _constructors
from noisewise.policies.registry import POLICIES, load_policy, make_policy, register
from noisewise.policies.shell.policy import Estimate, Policy
from noisewise.policies.shell.rule import Rule
from noisewise.policies.shell.set_estimate import SetEstimate
from noisewise.policies.shell.set_policy import SetPolicy

__all__ = [
    "POLICIES",
    "Estimate",
    "Policy",
    "Rule",
    "SetEstimate",
    "SetPolicy",
    "load_policy",
    "make_policy",
    "register",
]


def __getattr__(name: str) -> Any:
    """Rules can be had here by name; `noisewise.rules` lists them."""
    if name in POLICIES and hasattr(_constructors, name):
        return getattr(_constructors, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
