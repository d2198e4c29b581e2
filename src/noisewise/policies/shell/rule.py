"""What a rule is: a handful of functions on arrays, and what it declares about itself."""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from types import ModuleType
from typing import Any, Literal

from noisewise.core.choice.radius import FIXED, Radius
from noisewise.core.choice.selection import Mask, likelihood_ratio, regret_bound
from noisewise.core.model.dense import Floats
from noisewise.policies.shell.on_sets import OnSets

SeesSigma = Literal["before", "if announced", "after", "never"]
#: Those that are told a coming sigma; the first cannot do without.
FORESEEING = ("before", "if announced")

ANYTIME = "anytime"
IF_GIVEN = "if the radius that was given is right"


def no_draws(params: Any) -> int:
    """A rule that makes no random choices."""
    return 0


def no_limit(params: Any) -> float:
    """The certificate holds whatever the sigmas are."""
    return math.inf


def anytime(params: Any, *conditions: str, unproven: str = "") -> str:
    """A certificate that is true at every moment at once, in words: on which conditions, and what voids it.

    Args:
        params: The rule's; a radius given by hand is a condition.
        conditions: Each starts with "if".
        unproven: The option, with its value, that nothing is proven for.
    """
    by_hand = [IF_GIVEN] if params.setting.radius.kind == FIXED else []
    words = " and ".join([*by_hand, *conditions])
    doubt = f"but nothing is proven with {unproven}" if unproven else ""
    return ", ".join(part for part in (ANYTIME, words, doubt) if part)


def below(name: str, value: float, proven: float = 1.0) -> str:
    """The option as `anytime` names it, if it is below what the proof has."""
    return f"{name}={value:g}" if value < proven else ""


def always_anytime(params: Any, state: Any) -> str:
    """The certificate of most rules: true at every moment at once, and as good as its radius."""
    return anytime(params)


def bound_by_radius(params: Any, state: Any, candidates: Mask, action: int, radius: float) -> float:
    """The regret bound of most rules: the largest upper bound on a contrast with a candidate."""
    return regret_bound(state.model, candidates, action, radius)


def certain_by_radius(params: Any, state: Any, action: int, eps: float, radius: float) -> bool:
    """The likelihood ratio of most rules: every other action's lead, over its width, is above the radius."""
    return likelihood_ratio(state.model, action, eps) > radius * radius / 2.0


def own_ball(params: Any) -> Radius:
    """The ball of most rules: the radius that was chosen."""
    radius: Radius = params.setting.radius
    return radius


@dataclass(frozen=True, kw_only=True)
class Rule:
    """An algorithm as functions on a state of arrays, which they change in place.

    ``params`` and ``state`` are NamedTuples of numbers and arrays of fixed size. ``params.setting`` is a
    `Setting`; ``state.model`` a `Model`. ``make_params``
    and ``init`` are plain Python.
    """

    name: str
    make_params: Callable[..., Any]
    """``(actions, horizon, options) -> params``; refuses bad options."""
    init: Callable[[Any], Any]
    """``(params) -> state`` before any measurement."""
    choose: Callable[[Any, Any, Mask, float, Floats], int]
    """``(params, state, allowed, sigma, draws) -> action``; sigma is NaN unless announced."""
    absorb: Callable[[Any, Any, int, float, float], None]
    """``(params, state, action, reward, sigma)``; sigma is NaN for a rule that never sees it."""
    recommend: Callable[[Any, Any], int]
    """``(params, state) -> action``"""
    radius: Callable[[Any, Any], float]
    """``(params, state) -> radius`` of the certificate; NaN for a rule that has none."""
    candidates: Callable[[Any, Any], Mask]
    """``(params, state) -> (n,)`` mask of the actions that may still be the best."""
    imagine: Callable[[Any, Any, int, float], None] | None = None
    """``(params, state, action, sigma)``: as if a pending measurement came out as expected; default: absorb
    it with the action's mean as its reward."""
    certificate: Callable[[Any, Any], str] = always_anytime
    """``(params, state)``: what kind of certificate the radius gives; plain Python."""
    most_sigma: Callable[[Any], float] = no_limit
    """``(params)``: the largest sigma that the certificate allows; plain Python."""
    bound: Callable[[Any, Any, Mask, int, float], float] = bound_by_radius
    """``(params, state, candidates, action, radius)``: how far ``action`` can be below the best."""
    certain: Callable[[Any, Any, int, float, float], bool] = certain_by_radius
    """``(params, state, action, eps, radius)``: whether no other action is better by eps or more."""
    ball: Callable[[Any], Radius] | None = None
    """``(params)``: the radius such that theta is within the ball around the model's estimate at all times,
    and all measurements are in the model; None if the certificate rests on something else. Only with one can
    the rule have ``radius="restarted"``."""
    n_draws: Callable[[Any], int] = no_draws
    """``(params) ->`` how many standard normal numbers ``choose`` wants each round."""
    wants_plan: Callable[[Any, Any], bool] | None = None
    """``(params, state)``: whether ``plan`` must run before the next choice."""
    plan: Callable[[Any, Any], None] | None = None
    """``(params, state)``: plain Python between compiled stretches, such as a design solver."""
    absorb_many: Callable[[Any, Any, Any, Any, Any], None] | None = None
    """``(params, state, actions, rewards, sigmas)``; default: one by one."""
    make_room: Callable[[Any, Any, int], Any] | None = None
    """``(params, state, count) ->`` a state with room for so many measurements, where no horizon was given;
    default: there is always room. Plain Python."""
    explain: Callable[[Any, Any, int, Callable[[int], str]], str] | None = None
    """``(params, state, action, label) ->`` why it should be measured now, in words; plain Python."""
    on_sets: OnSets | None = None
    """How it runs on sets that answer questions, such as a ball; None if it needs a list of actions."""
    catch_up: Callable[[Any, Any, Any, Any], None] | None = None
    """``(params, state, actions, sigmas)``: bring the rest of a fresh state up to date after its model was
    filled with many measurements at once; these are the actions and sigmas, in an order that means nothing.
    A rule without it learns measurements one by one; plain Python."""

    around: "Rule | None" = None
    """The rule that this one is, with restarts around it."""
    compiled: bool = True
    """Whether Numba can compile the kernels."""
    needs_horizon: bool = False
    sees_sigma: SeesSigma = "after"
    """When it learns a measurement's sigma: "before" the choice, always; before it "if announced";
    "after" the measurement; "never"."""
    fixed_set: bool = False
    """Whether it cannot do with actions that are allowed in some rounds only."""
    order_free: bool = False
    """Whether the order of the measurements does not matter."""
    pools: bool = False
    """Whether measurements of one action may be replaced by their weighted mean."""
    reconstruction: bool = False
    """Whether the original could not be consulted, so that this is our reading of it."""
    reference: str = ""
    year: int | None = None
    """When it was published."""
    guarantee: str = ""
    """What is proven about it, in words: "anytime certificate", "regret", "none"."""
    cost: str = ""
    """Arithmetic per round, as in "n·dim"."""


def rule_in(module: str, *also: ModuleType, **declared: Any) -> Rule:
    """The rule of a module: the functions it defines under a `Rule`'s names, and what is declared here.

    Args:
        module: The name of the rule's own module.
        also: Modules whose functions it shares, unless it has its own.
        declared: Everything else, and functions that have another name.
    """
    found: dict[str, Any] = {}
    for home in (*also, sys.modules[module]):
        for field in fields(Rule):
            function = vars(home).get(field.name)
            if callable(function) and function.__module__ == home.__name__:
                found[field.name] = function
    return Rule(**{**found, **declared})


def check_horizon(rule: Rule, horizon: int | None) -> None:
    """Refuse to start a rule that needs to know its number of rounds and was not told."""
    if rule.needs_horizon and horizon is None:
        raise ValueError(
            f"`horizon` must be given for {rule.name!r}: it plans for a number of rounds; got None."
        )


def make_params(rule: Rule, actions: Any, horizon: int | None, options: dict[str, Any]) -> Any:
    """The rule's parameters on these actions: an `ActionSet`, or a set known through its oracle."""
    check_horizon(rule, horizon)
    return rule.make_params(actions, horizon, options)
