"""Rules (one per file), the ask/tell shell around them, and all rules by name (`constructors`)."""

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
