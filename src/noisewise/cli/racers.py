"""The rules that take part in a comparison: those named, or all that fit, and why the others do not."""

import inspect
from collections.abc import Iterable
from typing import Any

from noisewise.operations.values import named_with_options

EVERY_RULE = "all"
#: For rules that know more or less than the others, or may differ from the original.
MARKS = {
    "↑": "privileged, sees sigma before the choice",
    "↓": "handicapped, never sees sigma",
    "*": "our reconstruction",
}


def choose_racers(
    texts: list[str], env: Any, horizon: int, replications: int, seed: int
) -> tuple[dict[str, Any], dict[str, str]]:
    """The policies to compare by their labels, and of ``all`` those left out, with the reason."""
    from noisewise.rules.registry import POLICIES, load_plugins, make_policy
    from noisewise.simulation.simulate import misfit

    racers: dict[str, Any] = {}
    left_out: dict[str, str] = {}
    for name, options in (named_with_options(text, "policies") for text in texts):
        if name != EVERY_RULE:
            constructor = POLICIES.get(name)
            known = _known(constructor, horizon) if constructor else {}
            racers[_label(name, options)] = make_policy(name, env.actions, **known | options)
            continue
        load_plugins()
        smallest = min(float(env.sigmas(horizon, seed, r).min()) for r in range(replications))
        for each, constructor in POLICIES.items():
            known = _known(constructor, horizon)
            radius = inspect.signature(constructor).parameters.get("radius")
            if radius is not None and radius.default == "paper":
                known["sigma_min"] = smallest * float(env.action_sigma.min())
            try:
                policy = make_policy(each, env.actions, **options | known)
            except (ValueError, TypeError) as problem:
                left_out[each] = str(problem)
                continue
            reason = misfit(policy, env)
            if reason is None:
                racers[_label(each, options)] = policy
            else:
                left_out[each] = reason
    return racers, left_out


def marks(policy: Any) -> str:
    """The marks that stand behind a rule's name."""
    rule = policy.rule
    found = {"before": "↑", "never": "↓"}.get(rule.sees_sigma, "") + "*" * rule.reconstruction
    return f" {found}" if found else ""


def legend(policies: Iterable[Any]) -> str:
    """What the marks of these policies mean; nothing if there are none."""
    used = "".join(marks(policy) for policy in policies)
    return " ".join(f"{mark} {meaning}." for mark, meaning in MARKS.items() if mark in used)


def _known(constructor: Any, horizon: int) -> dict[str, Any]:
    """What a simulation can tell a rule that asks for it."""
    return {"horizon": horizon} if "horizon" in inspect.signature(constructor).parameters else {}


def _label(name: str, options: dict[str, Any]) -> str:
    return name + (f"({', '.join(f'{key}={value}' for key, value in options.items())})" if options else "")
