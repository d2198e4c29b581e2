"""All rules by name; each loads its file at first use, and rules from elsewhere join here."""

import dataclasses
import importlib
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import entry_points
from os import PathLike
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from noisewise.actions import ActionSet, OracleSet
from noisewise.core.checks import nearest
from noisewise.rules.policy import Policy, read_policy
from noisewise.rules.rule import Rule, option_names

#: Every rule with its file and its class, in the order in which people read them.
OURS = {
    "vage": "_vage.Vage",
    "vaee": "_vaee.Vaee",
    "vaee_as_printed": "_vaee.VaeeAsPrinted",
    "robust_vaee": "_robust_vaee.RobustVaee",
    "vagd": "_vagd.Vagd",
    "static_design": "_vagd.StaticDesign",
    "widest": "_baselines.Widest",
    "uniform": "_baselines.Uniform",
    "round_robin": "_baselines.RoundRobin",
    "greedy": "_baselines.Greedy",
    "weighted_oful": "_weighted_oful.WeightedOful",
    "weighted_oful_plus": "_weighted_oful_plus.WeightedOfulPlus",
    "save": "_save.Save",
    "voful": "_voful.Voful",
    "voful2": "_voful.Voful2",
    "varcb": "_varcb.Varcb",
    "linear_thompson": "_linear_thompson.LinearThompson",
    "linnats": "_linnats.Linnats",
    "linnats_unknown": "_linnats.LinnatsUnknown",
    "oful": "_oful.Oful",
    "adaoful": "_adaoful.Adaoful",
    "lingape": "_lingape.Lingape",
    "weighted_lingape": "_lingape.WeightedLingape",
    "frank_wolfe_sampling": "_frank_wolfe_sampling.FrankWolfeSampling",
    "lingame": "_lingame.Lingame",
    "phased_elimination": "_phased_elimination.PhasedElimination",
    "rage": "_rage.Rage",
    "information_directed": "_information_directed.InformationDirected",
    "h_rage": "_rage.HRage",
    "peace": "_peace.Peace",
    "od_linbai": "_od_linbai.OdLinbai",
    "precision_tracking": "_precision_tracking.PrecisionTracking",
    "top_two_thompson": "_top_two_thompson.TopTwoThompson",
    "bayes_gap": "_bayes_gap.BayesGap",
}
Constructor = Callable[..., Policy]

_others: dict[str, type[Rule]] = {}
_constructors: dict[str, Constructor] = {}
_plugins = list(entry_points(group="noisewise.rules"))


class _Policies(Mapping[str, Constructor]):
    """The constructors of all rules by name: ``POLICIES["vaee"](actions, **options)``."""

    def __getitem__(self, name: str) -> Constructor:
        if name not in _constructors:
            _constructors[name] = _constructor(_class_of(name))
        return _constructors[name]

    def __contains__(self, name: object) -> bool:
        return name in OURS or name in _others

    def __iter__(self) -> Iterator[str]:
        return iter([*OURS, *_others])

    def __len__(self) -> int:
        return len(OURS) + len(_others)


#: The constructors of all rules by name, those of other packages included.
POLICIES: Mapping[str, Constructor] = _Policies()


def _class_of(name: str) -> type[Rule]:
    if name in _others:
        return _others[name]
    module, _, kind = OURS[name].partition(".")
    found: type[Rule] = getattr(importlib.import_module(f"noisewise.rules.{module}"), kind)
    return found


def rule_named(name: str) -> type[Rule]:
    """The class of the rule of this name."""
    check_known(name)
    return _class_of(name)


def register(rule: type[Rule]) -> Constructor:
    """Make a rule known by its name to `make_policy`, `load_policy` and the command line; its constructor."""
    if rule.name in POLICIES:
        raise ValueError(f"`name` must be new; got {rule.name!r}, which is registered already.")
    _others[rule.name] = rule
    return POLICIES[rule.name]


def make_policy(name: str, actions: ActionSet | OracleSet | ArrayLike, **options: Any) -> Policy:
    """The policy of this name on these actions, with the options of its constructor."""
    check_known(name)
    return POLICIES[name](actions, **options)


def load_policy(
    path: str | PathLike[str], actions: ActionSet | OracleSet | ArrayLike | None = None
) -> Policy:
    """Read a policy that was saved.

    Args:
        path: The file.
        actions: The action set, if it was not stored with the policy (a memory map is not).
    """
    return read_policy(Path(path), actions, _saved_rule)


def _saved_rule(name: str, options: dict[str, Any], path: Path) -> Rule:
    if name not in POLICIES:
        load_plugins()
    if name not in POLICIES:
        raise ValueError(
            f"`path` must hold a policy whose rule is known here; {str(path)!r} has the rule "
            f"{name[:80]!r}: install the package that it comes from, or load it with a newer noisewise."
        )
    rule = _class_of(name)(**options)
    if rule.options().keys() != options.keys():
        raise ValueError("its options are not those of its rule")
    return rule


def load_plugins() -> None:
    """Let rules of installed packages register themselves (entry points of group ``noisewise.rules``).

    An entry point names a module, which registers its rules when it is loaded, or a function that does so.
    """
    while _plugins:
        loaded = _plugins.pop().load()
        if callable(loaded):
            loaded()


def check_known(name: str, *others: str) -> None:
    """Refuse the name of a rule that does not exist; ``others`` are accepted as well."""
    if name not in (*POLICIES, *others):
        load_plugins()
    if name not in (*POLICIES, *others):
        listed = sorted([*POLICIES, *others])
        raise KeyError(f"unknown rule {name!r}; choose from {', '.join(listed)}.{nearest(name, listed)}")


def _constructor(rule: type[Rule]) -> Constructor:
    """What makes a policy of a rule; its signature and documentation come from the class."""
    names = option_names(rule)

    def construct(actions: Any, **options: Any) -> Policy:
        for name in options:
            if name not in names:
                raise TypeError(f"{rule.name}() has no option {name!r}.{nearest(name, names)}")
        return Policy(rule(**options), actions)

    construct.__name__ = construct.__qualname__ = rule.name
    construct.__module__ = rule.__module__
    construct.__wrapped__ = rule  # type: ignore[attr-defined]  # so `nw.vaee??` and `inspect` show the rule
    construct.__signature__ = _signature(rule, names)  # type: ignore[attr-defined]
    construct.__doc__ = _documentation(rule, names)
    return construct


def _signature(rule: type[Rule], names: list[str]) -> inspect.Signature:
    accepted: Any = ActionSet | ArrayLike if rule.lists_only else ActionSet | OracleSet | ArrayLike
    parameters = [inspect.Parameter("actions", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=accepted)]
    fields = {field.name: field for field in dataclasses.fields(rule)}  # type: ignore[arg-type]
    for name in names:
        field = fields[name]
        parameters.append(
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type
            )
        )
    return inspect.Signature(parameters, return_annotation=Policy)


def _documentation(rule: type[Rule], names: list[str]) -> str:
    """What the rule does, then every option with its meaning: those that all rules have first."""
    summary, explained = _parts(rule.__doc__ or "")
    for parent in rule.__mro__[1:]:
        explained = _parts(parent.__doc__ or "")[1] | explained
    accepted = "The `ActionSet`, or an array of vectors"
    explained["actions"] = (
        f"{accepted}." if rule.lists_only else f"{accepted}; or a set such as `noisewise.sets.Ball`."
    )
    shared = {field.name for field in dataclasses.fields(Rule)}  # type: ignore[arg-type]
    ordered = ["actions", *sorted(names, key=lambda name: name not in shared)]
    entries = [_entry(name, explained.get(name, "")) for name in ordered]
    return "\n".join([summary, "", "Args:", *entries])


def _parts(doc: str) -> tuple[str, dict[str, str]]:
    """The text of a docstring before its arguments, and the explanation of each argument."""
    text, _, listed = inspect.cleandoc(doc).partition("\nArgs:\n")
    found = re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", listed, re.MULTILINE)
    return text.strip(), {name: " ".join(words.split()) for name, words in found}


def _entry(name: str, explanation: str) -> str:
    return textwrap.fill(
        f"{name}: {explanation}",
        105,
        initial_indent=" " * 4,
        subsequent_indent=" " * 8,
        break_on_hyphens=False,
    )
