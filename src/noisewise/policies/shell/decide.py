"""What a rule measures next: the one place where lists, infinite sets and studies ask a rule."""

import math
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from noisewise.core.choice.selection import Mask
from noisewise.core.model.dense import Floats
from noisewise.core.support.randomness import normals
from noisewise.policies.shell.rule import FORESEEING, Rule

NO_DRAWS = np.empty(0)
Choice_co = TypeVar("Choice_co", covariant=True)


class Menu(Protocol[Choice_co]):
    """What can be measured, and how a rule chooses from it."""

    def n_draws(self, rule: Rule, params: Any) -> int:
        """How many standard normal numbers the choice needs."""

    def choose(self, rule: Rule, params: Any, state: Any, sigma: float, draws: Floats) -> Choice_co:
        """The rule's choice; sigma is NaN where the rule does not see it beforehand."""


@dataclass(frozen=True)
class Rows:
    """A list of actions, of which some are allowed this time."""

    allowed: Mask  # (n,)

    def n_draws(self, rule: Rule, params: Any) -> int:
        """As many as the rule says."""
        return rule.n_draws(params)

    def choose(self, rule: Rule, params: Any, state: Any, sigma: float, draws: Floats) -> int:
        """The row of the action."""
        return int(rule.choose(params, state, self.allowed, sigma, draws))


def decide(
    rule: Rule,
    params: Any,
    state: Any,
    menu: Menu[Choice_co],
    *,
    sigma: float | None,
    seed: int,
    number: int,
) -> Choice_co:
    """What the rule measures next.

    Args:
        rule: The rule.
        params: Its parameters.
        state: What it knows, measurements under way included. A rule that plans may change it.
        menu: What can be measured.
        sigma: The noise of the coming measurement in the rule's units; None if it is not known.
        seed: Seed of the rule's random choices.
        number: Which question this is: each has random numbers of its own, and the same ones always.
    """
    announced = announced_sigma(rule, sigma)
    plan_if_wanted(rule, params, state)
    n_draws = menu.n_draws(rule, params)
    draws = normals(seed, "live", number, n_draws) if n_draws else NO_DRAWS
    return menu.choose(rule, params, state, announced, draws)


def announced_sigma(rule: Rule, sigma: float | None) -> float:
    """What the rule sees of a coming sigma: NaN unless it looks ahead; refused if it cannot do without."""
    if sigma is None and rule.sees_sigma == "before":
        raise ValueError(f"`sigma` must be given: {rule.name!r} needs it before it chooses; got None.")
    return math.nan if sigma is None or rule.sees_sigma not in FORESEEING else sigma


def plan_if_wanted(rule: Rule, params: Any, state: Any) -> None:
    """Let a rule plan that says it must, such as solve for a new design; this changes its state."""
    if rule.plan and rule.wants_plan and rule.wants_plan(params, state):
        rule.plan(params, state)


def imagine(rule: Rule, params: Any, state: Any, row: int, sigma: float) -> None:
    """Change a state as if a measurement under way came out as expected."""
    if rule.imagine is None:
        rule.absorb(params, state, row, float(state.model.means[row]), sigma)
    else:
        rule.imagine(params, state, row, sigma)
