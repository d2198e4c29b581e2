"""All rules by name: make a policy, or load one; rules from elsewhere join here."""

from importlib.metadata import entry_points
from os import PathLike
from pathlib import Path
from typing import Any, overload

from numpy.typing import ArrayLike

from noisewise.actions import ActionSet, OracleSet
from noisewise.core.support.checks import nearest
from noisewise.policies import constructors as constructors  # loading it registers all rules
from noisewise.policies.shell.creation import new_policy
from noisewise.policies.shell.policy import Policy
from noisewise.policies.shell.policy_file import actions_of, read_saved, refusing_damage
from noisewise.policies.shell.registration import POLICIES as POLICIES
from noisewise.policies.shell.registration import RULES
from noisewise.policies.shell.registration import register as register
from noisewise.policies.shell.rule import Rule
from noisewise.policies.shell.set_policy import SetPolicy

_plugins = list(entry_points(group="noisewise.rules"))


@overload
def make_policy(name: str, actions: OracleSet, **options: Any) -> SetPolicy: ...
@overload
def make_policy(name: str, actions: ActionSet | ArrayLike, **options: Any) -> Policy: ...
def make_policy(name: str, actions: ActionSet | OracleSet | ArrayLike, **options: Any) -> Policy | SetPolicy:
    """The policy of this name on these actions, with the options of its constructor."""
    check_known(name)
    made: Policy | SetPolicy = POLICIES[name](actions, **options)
    return made


def rule_named(name: str) -> Rule:
    """The rule of this name."""
    check_known(name)
    return RULES[name]


def load_plugins() -> None:
    """Let rules of installed packages register themselves (entry points of group ``noisewise.rules``).

    An entry point names a module, which registers its rules when it is loaded, or a function that does so.
    """
    while _plugins:
        loaded = _plugins.pop().load()
        if callable(loaded):
            loaded()


def check_known(name: str, *others: str) -> None:
    """Refuse the name of a rule that there is not; ``others`` are known, too, where it is said."""
    if name not in (*POLICIES, *others):
        load_plugins()
    if name not in (*POLICIES, *others):
        listed = sorted([*POLICIES, *others])
        raise KeyError(f"there is no rule {name!r}; known are {', '.join(listed)}.{nearest(name, listed)}")


@overload
def load_policy(path: str | PathLike[str], actions: OracleSet) -> SetPolicy: ...
@overload
def load_policy(path: str | PathLike[str], actions: ActionSet | ArrayLike) -> Policy: ...
@overload
def load_policy(path: str | PathLike[str], actions: None = None) -> Any: ...
def load_policy(
    path: str | PathLike[str], actions: ActionSet | OracleSet | ArrayLike | None = None
) -> Policy | SetPolicy:
    """Read a policy that was saved.

    Args:
        path: The file.
        actions: The action set, if it was not stored with the policy (a memory map is not).
    """
    saved = read_saved(Path(path))
    known = actions is None or isinstance(actions, ActionSet | OracleSet)
    given: Any = actions if known else ActionSet(actions)  # type: ignore[arg-type]
    name = saved.header["rule"]
    if name not in POLICIES:
        load_plugins()
    if name not in POLICIES:
        raise ValueError(
            f"`path` must hold a policy whose rule is known here; {str(saved.path)!r} has the rule "
            f"{name[:80]!r}: install the package that it comes from, or load it with a newer noisewise."
        )
    with refusing_damage(saved.path):
        whole = actions_of(saved, given)
        policy: Policy | SetPolicy = new_policy(
            RULES[name], whole, saved.header["options"], horizon=saved.header["horizon"]
        )
        policy.resume(saved)
    return policy
