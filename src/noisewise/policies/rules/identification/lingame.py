"""LinGame (Degenne, Ménard, Shang and Valko 2020): shares learnt against the most confusing alternative."""

import math
from typing import Any, NamedTuple

import numpy as np

from noisewise.actions import ActionSet
from noisewise.core.choice.selection import Mask, first_largest
from noisewise.core.model.dense import TOLD, Floats, fold, new_model, total_precision
from noisewise.core.model.model import Model
from noisewise.core.native.verbs import verb
from noisewise.core.support.checks import check_choice
from noisewise.policies.shared.alternatives import (
    closest_rival,
    costs_of_rivals,
    first_unseen,
    inverse_of_moment,
    shifts_towards,
    with_vectors,
)
from noisewise.policies.shared.least_squares import (
    Setting,
    best_mean,
    make_setting,
    not_ruled_out,
    present_radius,
)
from noisewise.policies.shell.options import SharedOptions, constructor, option
from noisewise.policies.shell.rule import own_ball, rule_in

#: Where the learners' doubt starts, as in the authors' experiments; in nats.
FIRST_DOUBT = 0.01
#: A learner per action has a loss per action: more would not fit into memory.
MOST_ACTIONS = 5000


class Params(NamedTuple):
    """What does not change during a run."""

    setting: Setting
    n_learners: int  # one for each action that may lead, or a single one
    optimistic: bool


class State(NamedTuple):
    """The model, the learners, and the precision that each action has and should have."""

    model: Model
    losses: Floats  # (learners, n): the sums of what each action lost, minus what it would have told
    doubts: Floats  # (learners,): the sums of mixability gaps, which set the learning rates
    given: Floats  # (n,): Σ 1/σ²
    wanted: Floats  # (n,): the sums of the learners' shares of it


def make_params(actions: ActionSet, horizon: int | None, options: dict[str, Any]) -> Params:
    """Check the options."""
    single = check_choice("learners", options["learners"], ("per-answer", "single")) == "single"
    n = actions.n_actions
    if not single and n > MOST_ACTIONS:
        raise ValueError(
            f"`actions` must be at most {MOST_ACTIONS} for learners='per-answer', which keeps a number for "
            f"every two of them; got {n}: use learners='single'."
        )
    return Params(make_setting(actions, options), 1 if single else n, bool(options["optimistic"]))


def init(params: Params) -> State:
    """Nothing measured, and nothing learnt."""
    model = new_model(with_vectors(params.setting.columns), params.setting.ridge)
    n, m = model.means.size, params.n_learners
    return State(model, np.zeros((m, n)), np.full(m, FIRST_DOUBT), np.zeros(n), np.zeros(n))


def choose(params: Params, state: State, allowed: Mask, sigma: float, draws: Floats) -> int:
    """Each action once; then the one furthest behind the precision that the learners want for it."""
    unseen = first_unseen(state.given, allowed)
    if unseen >= 0:
        return unseen
    return first_largest(state.wanted - state.given, allowed)


def absorb(params: Params, state: State, action: int, reward: float, sigma: float) -> None:
    """Learn the measurement, and play the next round of the game."""
    precision = 1.0 / (sigma * sigma)
    fold(state.model, action, reward, sigma)
    state.given[action] += precision
    told, n = state.model.tally[TOLD], state.given.size
    if told <= n:
        state.wanted[action] += precision
    if told >= n:
        state.wanted[:] += precision * (play(params, state))


def play(params: Params, state: State) -> Floats:
    """One round of the game: the shares of the leader's learner, which then learns what they missed."""
    model = state.model
    leader = best_mean(params, state)
    learner = leader if params.n_learners > 1 else 0
    losses = state.losses[learner]
    shares = hedged(losses, state.doubts[learner])
    inverse = inverse_of_moment(model, shares)
    costs = costs_of_rivals(model, inverse, leader)
    rival = closest_rival(costs)
    if rival >= 0:
        shifts = shifts_towards(model, inverse, leader, rival)
        gains = information(params, model, shifts)
        state.doubts[learner] += mixability_gap(shares, losses, gains, state.doubts[learner])
        losses[:] += -1.0 * (gains)
    return shares


def information(params: Params, model: Model, shifts: Floats) -> Floats:
    """What a measurement of each action would tell about the alternative, in nats: ``<a_k, θ̂ - λ>²·w/2``.

    w is the mean precision so far, which is 1 where the original has σ = 1. Optimistic: as much as it may
    tell if θ̂ is wrong, ``|<a_k, θ̂ - λ>| + √(2·log t)·‖a_k‖``, but at most log t.
    """
    told = model.tally[TOLD]
    half = 0.5 * total_precision(model) / told
    if not params.optimistic:
        tells: Floats = half * shifts * shifts
        return tells
    reach = np.abs(shifts) + np.sqrt(2.0 * math.log(told) * model.squared_widths)
    may_tell: Floats = np.minimum(half * reach * reach, math.log(told))
    return may_tell


@verb
def hedged(losses: Floats, doubt: float) -> Floats:
    """AdaHedge: shares proportional to ``exp(-rate·loss)``, with the rate ``log n/doubt``."""
    rate = math.log(losses.size) / doubt
    unscaled = np.exp(-rate * (losses - losses.min()))
    shares: Floats = unscaled / unscaled.sum()
    return shares


@verb
def mixability_gap(shares: Floats, losses: Floats, gains: Floats, doubt: float) -> float:
    """How much less the shares gain than the best that their rate can hope for; at least 0.

    That is by how much the soft minimum of the losses falls. From the losses: a share may be 0 by rounding.
    """
    if losses.size == 1:
        return 0.0
    rate = math.log(losses.size) / doubt
    hoped = soft_minimum(losses, rate) - soft_minimum(losses - gains, rate)
    return max(0.0, float(hoped - (shares * gains).sum()))


def soft_minimum(losses: Floats, rate: float) -> float:
    """``-log(Σ exp(-rate·loss))/rate``."""
    least = losses.min()
    return float(least - math.log(np.exp(-rate * (losses - least)).sum()) / rate)


RULE = rule_in(
    __name__,
    name="lingame",
    recommend=best_mean,
    radius=present_radius,
    ball=own_ball,
    candidates=not_ruled_out,
    reference="Degenne, Ménard, Shang and Valko, Gamification of pure exploration for linear bandits, "
    "LinGame; in precision instead of counts here",
    year=2020,
    guarantee="anytime certificate; for equal sigmas asymptotically optimal with stop='glr'",
    cost="n·dim² + dim³",
)


class LingameOptions(SharedOptions):
    """LinGame: a learner's shares of the precision against the alternative that they tell least about.

    With equal sigmas it is the published rule; otherwise the shares are of precision, and least squares is
    weighted. ``simulate(stop="glr")`` is its stopping rule.
    """

    learners: str = option(
        "per-answer",
        '``"per-answer"``: one for each action that leads, as published; ``"single"``: one for all, as in '
        "a later rerun by one of the authors.",
    )
    optimistic: bool = option(
        True, "Whether learners are told what an action may tell at most; the rerun does without."
    )


lingame = constructor(RULE, LingameOptions)
