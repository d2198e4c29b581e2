"""What rules that divide a budget of rounds into phases share: designs that are tracked in precision."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from noisewise.core.choice.selection import Mask, first_best, first_largest, widest
from noisewise.core.model.dense import Floats, fold, new_model
from noisewise.core.model.model import Model
from noisewise.policies.shared.least_squares import (
    HasSetting,
    Setting,
    not_ruled_out,
    present_radius,
)
from noisewise.policies.shell.options import SharedOptions, option
from noisewise.policies.shell.rule import Rule, own_ball


class State(NamedTuple):
    """The model of everything told; the survivors, and the design of the present phase."""

    model: Model
    survivors: Mask  # (n,)
    shares: Floats  # (n,): of this phase's precision
    given: Floats  # (n,): Σ 1/σ² in this phase
    sums: Floats  # (n,): Σ reward/σ²
    phase: Floats  # (1,): its number, from 1
    left: Floats  # (1,): how many of its measurements are still to come


def first_phase(setting: Setting, shares: Floats, rounds: float) -> State:
    """All actions survive; the first phase begins."""
    model = new_model(setting.columns, setting.ridge)
    n = model.means.size
    everybody = np.ones(n, np.bool_)
    left = np.array([float(max(1.0, rounds))])
    return State(model, everybody, shares.copy(), np.zeros(n), np.zeros(n), np.ones(1), left)


def choose(params: HasSetting, state: State, allowed: Mask, sigma: float, draws: Floats) -> int:
    """The action of the design that lags most in precision."""
    on_design = allowed & (state.shares > 0.0)
    if not on_design.any():
        return widest(state.model, allowed)
    return first_largest(-state.given / np.maximum(state.shares, 1e-300), on_design)


def absorb(params: HasSetting, state: State, action: int, reward: float, sigma: float) -> None:
    """Learn; every measurement counts for the phase."""
    fold(state.model, action, reward, sigma)
    weight = 1.0 / (sigma * sigma)
    state.given[action] += weight
    state.sums[action] += weight * reward
    state.left[0] -= 1.0


def wants_plan(params: Any, state: State) -> bool:
    """When the phase is over."""
    return bool(state.left[0] <= 0.0)


def begin(state: State, shares: Floats, rounds: float) -> None:
    """The next phase, in place; infinitely many rounds for the last."""
    state.phase[0] += 1.0
    state.shares[:] = shares
    state.given[:] = 0.0
    state.sums[:] = 0.0
    state.left[0] = max(1.0, rounds)


def keep_going(state: State) -> None:
    """After the budget is used up the present design goes on."""
    state.left[0] = math.inf


def recommend(params: HasSetting, state: State) -> int:
    """The largest mean, over all measurements, among the survivors that the certificate allows."""
    possible = not_ruled_out(params, state)
    left = possible & state.survivors
    among = left if left.any() else possible
    return first_best(state.model.means, state.model.squared_widths, among)


class BudgetOptions(SharedOptions):
    """What rules with a budget share."""

    horizon: int | None = option(None, "The number of measurements planned (a simulation brings its own).")


def budget_rule(
    name: str,
    make_params: Callable[..., Any],
    init: Callable[[Any], State],
    plan: Callable[[Any, State], None],
    **declared: Any,
) -> Rule:
    """A rule that divides a budget: its parameters, first phase and plan are its own, the rest is shared."""
    return Rule(
        name=name,
        make_params=make_params,
        init=init,
        plan=plan,
        wants_plan=wants_plan,
        choose=choose,
        absorb=absorb,
        recommend=recommend,
        radius=present_radius,
        ball=own_ball,
        candidates=not_ruled_out,
        needs_horizon=True,
        fixed_set=True,
        **declared,
    )
