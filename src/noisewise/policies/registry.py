"""All rules by name; rules from elsewhere join here."""

from collections.abc import Callable
from importlib.metadata import entry_points
from os import PathLike
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from noisewise.actions import ActionSet, OracleSet
from noisewise.core.checks import nearest
from noisewise.policies.adaoful import RULE as ADAOFUL
from noisewise.policies.adaoful import adaoful
from noisewise.policies.bayes_gap import RULE as BAYES_GAP
from noisewise.policies.bayes_gap import bayes_gap
from noisewise.policies.frank_wolfe_sampling import RULE as FRANK_WOLFE_SAMPLING
from noisewise.policies.frank_wolfe_sampling import frank_wolfe_sampling
from noisewise.policies.greedy import RULE as GREEDY
from noisewise.policies.greedy import greedy
from noisewise.policies.h_rage import RULE as H_RAGE
from noisewise.policies.h_rage import h_rage
from noisewise.policies.information_directed import RULE as INFORMATION_DIRECTED
from noisewise.policies.information_directed import information_directed
from noisewise.policies.linear_thompson import RULE as LINEAR_THOMPSON
from noisewise.policies.linear_thompson import linear_thompson
from noisewise.policies.lingame import RULE as LINGAME
from noisewise.policies.lingame import lingame
from noisewise.policies.lingape import RULE as LINGAPE
from noisewise.policies.lingape import WEIGHTED as WEIGHTED_LINGAPE
from noisewise.policies.lingape import lingape, weighted_lingape
from noisewise.policies.linnats import RULE as LINNATS
from noisewise.policies.linnats import UNKNOWN as LINNATS_UNKNOWN
from noisewise.policies.linnats import linnats, linnats_unknown
from noisewise.policies.od_linbai import RULE as OD_LINBAI
from noisewise.policies.od_linbai import od_linbai
from noisewise.policies.oful import RULE as OFUL
from noisewise.policies.oful import oful
from noisewise.policies.peace import RULE as PEACE
from noisewise.policies.peace import peace
from noisewise.policies.phased_elimination import RULE as PHASED_ELIMINATION
from noisewise.policies.phased_elimination import phased_elimination
from noisewise.policies.policy import Policy
from noisewise.policies.precision_tracking import RULE as PRECISION_TRACKING
from noisewise.policies.precision_tracking import precision_tracking
from noisewise.policies.rage import RULE as RAGE
from noisewise.policies.rage import rage
from noisewise.policies.robust_vaee import RULE as ROBUST_VAEE
from noisewise.policies.robust_vaee import robust_vaee
from noisewise.policies.round_robin import RULE as ROUND_ROBIN
from noisewise.policies.round_robin import round_robin
from noisewise.policies.rule import Rule
from noisewise.policies.save import RULE as SAVE
from noisewise.policies.save import save
from noisewise.policies.saving import actions_of, read_saved, refusing_damage
from noisewise.policies.top_two_thompson import RULE as TOP_TWO_THOMPSON
from noisewise.policies.top_two_thompson import top_two_thompson
from noisewise.policies.uniform import RULE as UNIFORM
from noisewise.policies.uniform import uniform
from noisewise.policies.vaee import AS_PRINTED, vaee, vaee_as_printed
from noisewise.policies.vaee import RULE as VAEE
from noisewise.policies.vagd import RULE as VAGD
from noisewise.policies.vagd import STATIC, static_design, vagd
from noisewise.policies.vage import RULE as VAGE
from noisewise.policies.vage import vage
from noisewise.policies.varcb import RULE as VARCB
from noisewise.policies.varcb import varcb
from noisewise.policies.voful import RULE as VOFUL
from noisewise.policies.voful import voful
from noisewise.policies.voful2 import RULE as VOFUL2
from noisewise.policies.voful2 import voful2
from noisewise.policies.weighted_oful import RULE as WEIGHTED_OFUL
from noisewise.policies.weighted_oful import weighted_oful
from noisewise.policies.weighted_oful_plus import RULE as WEIGHTED_OFUL_PLUS
from noisewise.policies.weighted_oful_plus import weighted_oful_plus
from noisewise.policies.widest import RULE as WIDEST
from noisewise.policies.widest import widest

#: Constructors by name: ``POLICIES["vaee"](actions, **options)``.
POLICIES: dict[str, Callable[..., Policy]] = {}
_RULES: dict[str, Rule] = {}
_plugins = list(entry_points(group="noisewise.rules"))


def register(rule: Rule, constructor: Callable[..., Policy]) -> None:
    """Make a rule known by its name to `make_policy`, `load_policy` and the command line."""
    if rule.name in POLICIES:
        raise ValueError(f"`name` must be new; got {rule.name!r}, which is registered already.")
    POLICIES[rule.name] = constructor
    _RULES[rule.name] = rule


def make_policy(name: str, actions: ActionSet | OracleSet | ArrayLike, **options: Any) -> Policy:
    """The policy of this name on these actions, with the options of its constructor."""
    _check_known(name)
    return POLICIES[name](actions, **options)


def rule_named(name: str) -> Rule:
    """The rule of this name."""
    _check_known(name)
    return _RULES[name]


def load_plugins() -> None:
    """Let rules of installed packages register themselves (entry points of group ``noisewise.rules``)."""
    while _plugins:
        _plugins.pop().load()()


def _check_known(name: str) -> None:
    if name not in POLICIES:
        load_plugins()
    if name not in POLICIES:
        listed = ", ".join(sorted(POLICIES))
        raise KeyError(f"`name` must be one of {listed}; got {name!r}.{nearest(name, list(POLICIES))}")


def load_policy(
    path: str | PathLike[str], actions: ActionSet | OracleSet | ArrayLike | None = None
) -> Policy:
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
        policy = Policy(
            _RULES[name], actions_of(saved, given), saved.header["options"], horizon=saved.header["horizon"]
        )
        policy.resume(saved)
    return policy


for _rule, _constructor in (
    (VAGE, vage),
    (VAEE, vaee),
    (AS_PRINTED, vaee_as_printed),
    (ROBUST_VAEE, robust_vaee),
    (VAGD, vagd),
    (STATIC, static_design),
    (WIDEST, widest),
    (UNIFORM, uniform),
    (ROUND_ROBIN, round_robin),
    (GREEDY, greedy),
    (WEIGHTED_OFUL, weighted_oful),
    (WEIGHTED_OFUL_PLUS, weighted_oful_plus),
    (SAVE, save),
    (VOFUL, voful),
    (VOFUL2, voful2),
    (VARCB, varcb),
    (LINNATS, linnats),
    (LINNATS_UNKNOWN, linnats_unknown),
    (OFUL, oful),
    (ADAOFUL, adaoful),
    (LINEAR_THOMPSON, linear_thompson),
    (LINGAPE, lingape),
    (WEIGHTED_LINGAPE, weighted_lingape),
    (FRANK_WOLFE_SAMPLING, frank_wolfe_sampling),
    (LINGAME, lingame),
    (RAGE, rage),
    (H_RAGE, h_rage),
    (PEACE, peace),
    (OD_LINBAI, od_linbai),
    (PHASED_ELIMINATION, phased_elimination),
    (PRECISION_TRACKING, precision_tracking),
    (INFORMATION_DIRECTED, information_directed),
    (TOP_TWO_THOMPSON, top_two_thompson),
    (BAYES_GAP, bayes_gap),
):
    register(_rule, _constructor)
