"""All rules by name; rules from elsewhere join here."""

from collections.abc import Callable
from importlib.metadata import entry_points
from os import PathLike
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from noisewise.actions import ActionSet, OracleSet
from noisewise.core.support.checks import nearest
from noisewise.policies.rules.baselines.greedy import RULE as GREEDY
from noisewise.policies.rules.baselines.greedy import greedy
from noisewise.policies.rules.baselines.linear_thompson import RULE as LINEAR_THOMPSON
from noisewise.policies.rules.baselines.linear_thompson import linear_thompson
from noisewise.policies.rules.baselines.oful import RULE as OFUL
from noisewise.policies.rules.baselines.oful import oful
from noisewise.policies.rules.baselines.round_robin import RULE as ROUND_ROBIN
from noisewise.policies.rules.baselines.round_robin import round_robin
from noisewise.policies.rules.baselines.uniform import RULE as UNIFORM
from noisewise.policies.rules.baselines.uniform import uniform
from noisewise.policies.rules.baselines.widest import RULE as WIDEST
from noisewise.policies.rules.baselines.widest import widest
from noisewise.policies.rules.identification.bayes_gap import RULE as BAYES_GAP
from noisewise.policies.rules.identification.bayes_gap import bayes_gap
from noisewise.policies.rules.identification.frank_wolfe_sampling.frank_wolfe_sampling import (
    RULE as FRANK_WOLFE_SAMPLING,
)
from noisewise.policies.rules.identification.frank_wolfe_sampling.frank_wolfe_sampling import (
    frank_wolfe_sampling,
)
from noisewise.policies.rules.identification.h_rage import RULE as H_RAGE
from noisewise.policies.rules.identification.h_rage import h_rage
from noisewise.policies.rules.identification.information_directed import RULE as INFORMATION_DIRECTED
from noisewise.policies.rules.identification.information_directed import information_directed
from noisewise.policies.rules.identification.lingame import RULE as LINGAME
from noisewise.policies.rules.identification.lingame import lingame
from noisewise.policies.rules.identification.lingape import RULE as LINGAPE
from noisewise.policies.rules.identification.lingape import WEIGHTED as WEIGHTED_LINGAPE
from noisewise.policies.rules.identification.lingape import lingape, weighted_lingape
from noisewise.policies.rules.identification.od_linbai import RULE as OD_LINBAI
from noisewise.policies.rules.identification.od_linbai import od_linbai
from noisewise.policies.rules.identification.peace import RULE as PEACE
from noisewise.policies.rules.identification.peace import peace
from noisewise.policies.rules.identification.phased_elimination import RULE as PHASED_ELIMINATION
from noisewise.policies.rules.identification.phased_elimination import phased_elimination
from noisewise.policies.rules.identification.rage import RULE as RAGE
from noisewise.policies.rules.identification.rage import rage
from noisewise.policies.rules.identification.top_two_thompson import RULE as TOP_TWO_THOMPSON
from noisewise.policies.rules.identification.top_two_thompson import top_two_thompson
from noisewise.policies.rules.ours.precision_tracking.precision_tracking import RULE as PRECISION_TRACKING
from noisewise.policies.rules.ours.precision_tracking.precision_tracking import precision_tracking
from noisewise.policies.rules.ours.vage.vage import RULE as VAGE
from noisewise.policies.rules.ours.vage.vage import vage
from noisewise.policies.rules.paper.robust_vaee import RULE as ROBUST_VAEE
from noisewise.policies.rules.paper.robust_vaee import robust_vaee
from noisewise.policies.rules.paper.vaee import AS_PRINTED, vaee, vaee_as_printed
from noisewise.policies.rules.paper.vaee import RULE as VAEE
from noisewise.policies.rules.paper.vagd import RULE as VAGD
from noisewise.policies.rules.paper.vagd import STATIC, static_design, vagd
from noisewise.policies.rules.table_one.adaoful import RULE as ADAOFUL
from noisewise.policies.rules.table_one.adaoful import adaoful
from noisewise.policies.rules.table_one.linnats import RULE as LINNATS
from noisewise.policies.rules.table_one.linnats import UNKNOWN as LINNATS_UNKNOWN
from noisewise.policies.rules.table_one.linnats import linnats, linnats_unknown
from noisewise.policies.rules.table_one.save import RULE as SAVE
from noisewise.policies.rules.table_one.save import save
from noisewise.policies.rules.table_one.varcb import RULE as VARCB
from noisewise.policies.rules.table_one.varcb import varcb
from noisewise.policies.rules.table_one.voful.voful import RULE as VOFUL
from noisewise.policies.rules.table_one.voful.voful import voful
from noisewise.policies.rules.table_one.voful.voful2 import RULE as VOFUL2
from noisewise.policies.rules.table_one.voful.voful2 import voful2
from noisewise.policies.rules.table_one.weighted_oful import RULE as WEIGHTED_OFUL
from noisewise.policies.rules.table_one.weighted_oful import weighted_oful
from noisewise.policies.rules.table_one.weighted_oful_plus import RULE as WEIGHTED_OFUL_PLUS
from noisewise.policies.rules.table_one.weighted_oful_plus import weighted_oful_plus
from noisewise.policies.shell.policy import Policy
from noisewise.policies.shell.policy_file import actions_of, read_saved, refusing_damage
from noisewise.policies.shell.rule import Rule

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
