"""Who asks: RACE, a study's own rule, or any rule of `noisewise.POLICIES`."""

from dataclasses import asdict
from typing import Any

import numpy as np

from noisewise.core.support.checks import check_positive
from noisewise.core.support.version import __version__
from noisewise.study.asking.race import SHARPNESS
from noisewise.study.log.specification import RACE, PolicyChoice, Specification

#: What a study asks of a policy unless its options say otherwise: values are in units of half the span.
SETTING = {"ridge": 1.0, "norm_bound": 1.0}
#: Asks while there are no half-widths that RACE could narrow, because no standard errors are known.
WITHOUT_BOUNDS = "vage"


def pinned_policy(name: str, options: dict[str, Any], *, delta: float, seed: int) -> PolicyChoice:
    """A policy with all its options, and the installed version; ``horizon`` may be among the options.

    They are checked by making the policy on two actions.
    """
    from noisewise.policies.registry import check_known, make_policy

    check_known(name, RACE)
    if name == RACE:
        sharpness = check_positive("sharpness", options.get("sharpness", SHARPNESS))
        others = {option: value for option, value in options.items() if option != "sharpness"}
        if others:
            raise TypeError(
                f"{RACE} has the option sharpness, and no other; got {', '.join(sorted(others))}."
            )
        first = pinned_policy(WITHOUT_BOUNDS, {}, delta=delta, seed=seed)
        return PolicyChoice(RACE, __version__, {"sharpness": sharpness, **first.options})
    made = make_policy(name, np.eye(2), **{**SETTING, "delta": delta, "seed": seed, **options})
    horizon = {"horizon": options["horizon"]} if "horizon" in options else {}
    return PolicyChoice(name, __version__, {**made.options, **horizon})


def policy_body(name: str, options: dict[str, Any], specification: Specification) -> dict[str, Any]:
    """The body of an event "policy"."""
    pinned = pinned_policy(name, options, delta=specification.delta, seed=specification.seed)
    return {"policy": asdict(pinned)}


def racing(policy: PolicyChoice, *, delta: float, seed: int) -> PolicyChoice:
    """RACE: the policy itself, if it is, or as a new study has it."""
    return policy if policy.name == RACE else pinned_policy(RACE, {}, delta=delta, seed=seed)


def without_bounds(policy: PolicyChoice) -> PolicyChoice:
    """The policy that asks where RACE cannot yet; any other policy is one itself."""
    if policy.name != RACE:
        return policy
    options = {name: value for name, value in policy.options.items() if name != "sharpness"}
    return PolicyChoice(WITHOUT_BOUNDS, policy.version, options)
