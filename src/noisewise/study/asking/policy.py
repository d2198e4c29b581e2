"""Who asks: RACE, a study's own rule, or any rule of `noisewise.POLICIES`."""

import functools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import numpy as np

from noisewise.core.checks import check_positive
from noisewise.core.version import __version__
from noisewise.study.asking.race import SHARPNESS
from noisewise.study.log.specification import RACE, PolicyChoice, Specification

#: What a study asks of a policy unless its options say otherwise: values are in units of half the span.
SETTING = {"ridge": 1.0, "norm_bound": 1.0}


def pinned_policy(name: str, options: dict[str, Any], *, delta: float, seed: int) -> PolicyChoice:
    """A policy with all its options, and the installed version; ``horizon`` may be among the options.

    They are checked by making the policy on two actions.
    """
    from noisewise.rules.registry import check_known, make_policy

    check_known(name, RACE)
    if name == RACE:
        sharpness = check_positive("sharpness", options.get("sharpness", SHARPNESS))
        others = {option: value for option, value in options.items() if option != "sharpness"}
        if others:
            raise TypeError(
                f"{RACE} has the option sharpness, and no other; got {', '.join(sorted(others))}."
            )
        return PolicyChoice(RACE, __version__, {"sharpness": sharpness})
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


def checked(policy: PolicyChoice) -> PolicyChoice:
    """The policy, whose options may come from a log."""
    with _from_a_log():
        _check_pinned(policy.name, json.dumps(policy.options, sort_keys=True))
    return policy


def sharpness_of(policy: PolicyChoice) -> float:
    """How sharply RACE tells strong rivals from weak ones."""
    with _from_a_log():
        return check_positive("sharpness", policy.options.get("sharpness"))


@functools.lru_cache(maxsize=64)
def _check_pinned(name: str, options: str) -> None:
    """Refuse options that the policy would not have been pinned with."""
    from noisewise.rules.policy import Policy
    from noisewise.rules.registry import make_policy, rule_named

    given, rule = json.loads(options), rule_named(name)
    horizon = given.pop("horizon", None)
    needed = {"horizon": horizon} if horizon is not None else {}
    if given.get("sigma_min") is not None:
        needed["sigma_min"] = given["sigma_min"]
    known = set(make_policy(name, np.eye(2), **SETTING, **needed).options)
    if missing := sorted(known - set(given)):
        raise ValueError(f"{name} lacks the option {missing[0]!r}.")
    if unknown := sorted(set(given) - known):
        raise ValueError(f"{name} has no option {unknown[0]!r}.")
    Policy(rule(**given), np.eye(2), horizon=horizon)


@contextmanager
def _from_a_log() -> Iterator[None]:
    """Policies come from logs as well: whatever is wrong with one is said in one sentence."""
    try:
        yield
    except (ValueError, TypeError, KeyError, OverflowError) as problem:
        raise ValueError(
            f"the policy of this study is not valid: {problem.args[0] if problem.args else problem} Choose "
            "another one, with `set_policy`."
        ) from None
