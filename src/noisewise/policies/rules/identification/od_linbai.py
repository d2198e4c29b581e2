"""OD-LinBAI (Yang and Tan 2022): a budget in phases; half of the survivors go after each."""

import math
from typing import Any, NamedTuple

import numpy as np

from noisewise.actions import ActionSet
from noisewise.core.choice.selection import Mask
from noisewise.core.model.dense import Floats
from noisewise.core.support.checks import check_count
from noisewise.policies.rules.identification.rage import phase_estimate
from noisewise.policies.shared import budget
from noisewise.policies.shared.least_squares import Setting, make_setting
from noisewise.policies.shell.options import constructor

#: How far a phase's design may be from the best.
GAP = 0.01


class Params(NamedTuple):
    """What does not change during a run."""

    setting: Setting
    n_phases: int  # ⌈log₂ dim⌉
    rounds: float  # m: what every phase spends before rounding up
    first: Floats  # (n,): the shares of the first phase


def make_params(actions: ActionSet, horizon: int | None, options: dict[str, Any]) -> Params:
    """Divide the budget: ``m = (T - min(n, d(d+1)/2) - Σ_r ⌈d/2^r⌉)/⌈log₂ d⌉``, and plan the first phase."""
    setting, dim = make_setting(actions, options), actions.rank
    n_phases = max(1, math.ceil(math.log2(max(1, dim))))
    rounding = sum(math.ceil(dim / 2**r) for r in range(1, n_phases))
    kept = min(actions.n_actions, dim * (dim + 1) // 2)
    rounds = max(1.0, (check_count("horizon", horizon) - kept - rounding) / n_phases)
    return Params(setting, n_phases, rounds, shares_for(setting, np.ones(actions.n_actions, np.bool_)))


def shares_for(setting: Setting, survivors: Mask) -> Floats:
    """A G-optimal design of the survivors, in the space that they span."""
    from noisewise.designs import optimal_design

    rows = np.flatnonzero(survivors)
    shares = np.zeros(survivors.size)
    vectors = np.ascontiguousarray(setting.columns[:, rows].T)
    shares[rows] = 1.0 / rows.size
    if rows.size > 1 and vectors.any():
        shares[rows] = optimal_design(vectors, gap=GAP).dense()
    return shares


def rounds_of(params: Params, shares: Floats) -> float:
    """``Σ ⌈m·share⌉``."""
    return float(np.ceil(params.rounds * shares).sum())


def init(params: Params) -> budget.State:
    """The first phase begins."""
    return budget.first_phase(params.setting, params.first, rounds_of(params, params.first))


def plan(params: Params, state: budget.State) -> None:
    """End of phase r: the best ``⌈d/2^r⌉`` survivors by its measurements alone stay."""
    phase = int(state.phase[0])
    if phase > params.n_phases:
        budget.keep_going(state)
        return
    estimate, _ = phase_estimate(params.setting, state.given, state.sums)
    values = np.where(state.survivors, estimate @ params.setting.columns, -np.inf)
    best = np.argsort(-values, kind="stable")[: math.ceil(params.setting.radius.rank / 2**phase)]
    kept = np.zeros(values.size, np.bool_)
    kept[best] = True
    state.survivors[:] &= kept
    shares = shares_for(params.setting, state.survivors)
    budget.begin(state, shares, rounds_of(params, shares))


RULE = budget.budget_rule(
    "od_linbai",
    make_params,
    init,
    plan,
    reconstruction=True,
    reference="Yang and Tan, Minimax optimal fixed-budget best arm identification in linear bandits, "
    "Algorithm 1; shares of precision instead of counts here",
    year=2022,
    guarantee="minimax optimal error exponent for equal sigmas; anytime certificate",
    cost="n·dim, and a design per phase",
)


class OdLinbaiOptions(budget.BudgetOptions):
    """OD-LinBAI: divide a budget into ⌈log₂ dim⌉ phases, and keep ⌈dim/2^r⌉ actions after phase r.

    Every phase measures the survivors alone, by their G-optimal design, and judges them by its own
    measurements. An action that informs but cannot be the best is lost early: on Soare's instance it fails.
    Our reconstruction: the shares are of precision, and the last action is chosen by all measurements.
    """


od_linbai = constructor(RULE, OdLinbaiOptions)
