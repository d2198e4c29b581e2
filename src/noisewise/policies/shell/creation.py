"""How a policy is made: the shell that fits a list or an infinite set."""

from typing import Any, overload

from numpy.typing import ArrayLike

from noisewise.actions import ActionSet, OracleSet
from noisewise.policies.shell.policy import Policy
from noisewise.policies.shell.rule import Rule
from noisewise.policies.shell.set_policy import SetPolicy


@overload
def new_policy(
    rule: Rule, actions: OracleSet, options: dict[str, Any], *, horizon: int | None = None
) -> SetPolicy: ...
@overload
def new_policy(
    rule: Rule, actions: ActionSet | ArrayLike, options: dict[str, Any], *, horizon: int | None = None
) -> Policy: ...
def new_policy(
    rule: Rule,
    actions: ActionSet | OracleSet | ArrayLike,
    options: dict[str, Any],
    *,
    horizon: int | None = None,
) -> Policy | SetPolicy:
    """A rule with all its options on these actions, before any measurement."""
    if isinstance(actions, OracleSet):
        return SetPolicy(rule, actions, options, horizon=horizon)
    return Policy(rule, actions, options, horizon=horizon)
