"""All rules by name, each a function that makes a policy: ``nw.rules.rage(actions)``.

`POLICIES` holds the same functions in a dictionary, with the rules of other packages that have registered.
The list itself is `noisewise.policies.constructors`.
"""

from noisewise.policies import POLICIES as POLICIES
from noisewise.policies import constructors as _constructors
from noisewise.policies.constructors import *  # noqa: F403 - nothing else is in there

__all__ = ["POLICIES", *sorted(name for name in vars(_constructors) if name in POLICIES)]
