"""Frank-Wolfe sampling, FWS (Wang, Tzeng and Proutiere 2021): a step towards the best shares every round."""

import math
from typing import NamedTuple

import numpy as np

from noisewise.core.choice.selection import ROUNDING, TIE, Mask, first_largest, masked_argmax
from noisewise.core.model.dense import TOLD, Floats, fold, new_model, total_precision
from noisewise.core.model.model import Model
from noisewise.policies.rules.identification.frank_wolfe_sampling.matrix_game import best_mixture
from noisewise.policies.shared.alternatives import (
    costs_of_rivals,
    first_unseen,
    inverse_of_moment,
    payoffs_of,
    rivals_within,
    with_vectors,
)
from noisewise.policies.shared.least_squares import (
    Params,
    best_mean,
    not_ruled_out,
    plain_params,
    present_radius,
)
from noisewise.policies.shell.options import SharedOptions, constructor
from noisewise.policies.shell.rule import own_ball, rule_in

#: Rivals count as equally close within ``t^-SMOOTHING/n``, as in the authors' experiments; in nats.
SMOOTHING = 0.9


class State(NamedTuple):
    """The model, the shares that are aimed at, and the precision that each action has."""

    model: Model
    shares: Floats  # (n,)
    given: Floats  # (n,): Σ 1/σ²


def init(params: Params) -> State:
    """Nothing measured: equal shares."""
    model = new_model(with_vectors(params.setting.columns), params.setting.ridge)
    n = model.means.size
    return State(model, np.full(n, 1.0 / n), np.zeros(n))


def choose(params: Params, state: State, allowed: Mask, sigma: float, draws: Floats) -> int:
    """Each action once; then the one whose share of the precision is furthest below what is aimed at."""
    unseen = first_unseen(state.given, allowed)
    if unseen >= 0:
        return unseen
    return first_largest(state.shares / np.maximum(state.given, 1e-300), allowed)


def absorb(params: Params, state: State, action: int, reward: float, sigma: float) -> None:
    """Learn the measurement; once there is one for every action, step towards better shares."""
    fold(state.model, action, reward, sigma)
    state.given[action] += 1.0 / (sigma * sigma)
    told = state.model.tally[TOLD]
    if told >= state.given.size:
        state.shares[:] = state.shares + (step(params, state) - state.shares) / told


def step(params: Params, state: State) -> Floats:
    """The shares to step towards, (n,): equal ones now and then, else what lifts the closest rivals most."""
    model, n = state.model, state.shares.size
    told = model.tally[TOLD]
    equal = np.full(n, 1.0 / n)
    leader = best_mean(params, state)
    root = math.floor(math.sqrt(told // n))
    if root * root == told // n or is_tied(model, leader):
        return equal
    inverse = inverse_of_moment(model, state.shares)
    costs = costs_of_rivals(model, inverse, leader)
    near = np.empty(n, np.int64)
    # In units of the mean precision, where the original has σ = 1.
    count = rivals_within(costs, told**-SMOOTHING / n * told / total_precision(model), near)
    if count == 0:
        return equal
    return best_mixture(payoffs_of(model, inverse, costs, leader, near[:count]))


def is_tied(model: Model, leader: int) -> bool:
    """Whether another action is as good as the leader, up to rounding."""
    best = model.means[leader]
    slack = TIE * math.sqrt(model.squared_widths[leader]) + ROUNDING * abs(best)
    others = np.ones(model.means.size, np.bool_)
    others[leader] = False
    return bool(model.means[masked_argmax(model.means, others)] >= best - slack)


RULE = rule_in(
    __name__,
    name="frank_wolfe_sampling",
    make_params=plain_params,
    recommend=best_mean,
    radius=present_radius,
    ball=own_ball,
    candidates=not_ruled_out,
    reference="Wang, Tzeng and Proutiere, Fast pure exploration via Frank-Wolfe, Algorithm 1; shares of "
    "precision instead of counts here",
    year=2021,
    guarantee="anytime certificate; for equal sigmas asymptotically optimal with stop='glr'",
    cost="n·dim² + dim³",
)


frank_wolfe_sampling = constructor(
    RULE,
    SharedOptions,
    """FWS: step by step towards the shares that best tell the leader from its closest rivals.

    With equal sigmas it is the published rule; otherwise the shares are of precision, and least squares is
    weighted. ``simulate(stop="glr")`` is its stopping rule.
    """,
)
