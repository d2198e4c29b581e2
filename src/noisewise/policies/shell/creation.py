"""How a policy is made: the shell that fits a list, a long list, a catalogue or an infinite set."""

from typing import Any, overload

from numpy.typing import ArrayLike

from noisewise.actions import ActionSet, Catalogue, OracleSet
from noisewise.policies.shell.catalogues.catalogue_policy import CataloguePolicy
from noisewise.policies.shell.catalogues.long_list_policy import LongListPolicy, is_faster
from noisewise.policies.shell.policy import Policy
from noisewise.policies.shell.rule import Rule
from noisewise.policies.shell.set_policy import SetPolicy


@overload
def new_policy(
    rule: Rule, actions: OracleSet, options: dict[str, Any], *, horizon: int | None = None
) -> SetPolicy: ...
@overload
def new_policy(
    rule: Rule, actions: Catalogue, options: dict[str, Any], *, horizon: int | None = None
) -> CataloguePolicy: ...
@overload
def new_policy(
    rule: Rule, actions: ActionSet | ArrayLike, options: dict[str, Any], *, horizon: int | None = None
) -> Policy: ...
def new_policy(
    rule: Rule,
    actions: ActionSet | OracleSet | Catalogue | ArrayLike,
    options: dict[str, Any],
    *,
    horizon: int | None = None,
) -> Policy | SetPolicy | CataloguePolicy:
    """A rule with all its options on these actions, before any measurement."""
    if isinstance(actions, OracleSet):
        return SetPolicy(rule, actions, options, horizon=horizon)
    if isinstance(actions, Catalogue):
        return CataloguePolicy(rule, actions, options, horizon=horizon)
    listed = actions if isinstance(actions, ActionSet) else ActionSet(actions)
    kind = LongListPolicy if is_faster(rule, listed, options) else Policy
    return kind(rule, listed, options, horizon=horizon)
