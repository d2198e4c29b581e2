"""All rules: ``nw.rules.rage(actions)`` makes a policy.

`POLICIES` holds the same constructors in a dictionary, with the rules of other packages that have registered.
`rule.py` has the base class, `policy.py` what asks and tells it; each rule has a file of its own, such as
`_vaee.py`, which reads like the box in its paper.
"""

from typing import Any

from noisewise.rules.policy import Estimate as Estimate
from noisewise.rules.policy import Policy as Policy
from noisewise.rules.registry import OURS
from noisewise.rules.registry import POLICIES as POLICIES
from noisewise.rules.registry import load_policy as load_policy
from noisewise.rules.registry import make_policy as make_policy
from noisewise.rules.registry import register as register
from noisewise.rules.rule import Rule as Rule

_OTHERS = ("POLICIES", "Estimate", "Policy", "Rule", "load_policy", "make_policy", "register")
__all__ = sorted([*_OTHERS, *OURS], key=lambda name: (not name.isupper(), name.islower(), name))


def __getattr__(name: str) -> Any:
    if name in POLICIES:
        return POLICIES[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*POLICIES, "POLICIES"]
