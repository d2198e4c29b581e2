"""VAGE, variance-aware gap exploration: settle the closest races, and keep a share for what is known least.

Ours. Each round it looks for the leader (the best mean among the candidates) and its strongest challengers
(the largest upper bounds on the difference), and measures whichever action, of **all**, most reduces the
variances of those differences, the closest race counting most. Two ledgers keep the paper's rate: whenever
the widest actions hold at most a share of the total precision, or of the total credit ``Σ min(1, W²/σ²)``
(W the largest width at the time), the widest action is measured. docs/rules.md has the proof.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from noisewise.policies.rules.ours.vage.ledgers import (
    CONCENTRATION,
    CREDIT,
    CREDIT_TO_WIDEST,
    PRECISION,
    PRECISION_TO_WIDEST,
    are_due,
    book,
    share_of_precision,
)
from noisewise.policies.rules.ours.vage.noise_history import (
    NoiseHistory,
    average_variance,
    new_history,
    observe_all,
)
from noisewise.policies.rules.ours.vage.races import RACES, closest_races
from noisewise.policies.rules.ours.vage.settlement import most_settling
from noisewise.policies.rules.ours.vage.sketch import Sketch, make_sketch
from noisewise.policies.shared.least_squares import Setting, make_setting, present_radius
from noisewise.policies.shell.options import SharedOptions, constructor, option
from noisewise.policies.shell.rule import own_ball, rule_in
from numpy.typing import NDArray

from noisewise.actions import ActionSet
from noisewise.core.choice.selection import Mask, drop_ruled_out, first_best, widest
from noisewise.core.model.covariances import contrast_widths, squared_covariances
from noisewise.core.model.dense import Floats, fold, new_model
from noisewise.core.model.model import Model
from noisewise.core.support.checks import check_positive, check_probability


class Params(NamedTuple):
    """What does not change during a run."""

    setting: Setting
    share: float  # ρ: what each ledger keeps for the widest action
    challenge: float  # how many reaches of a difference's width count for a challenger
    sketch: Sketch  # of the vectors, so that a round need not read all of them to find the races


class State(NamedTuple):
    """The model, the candidates, the two ledgers, and what sigmas were like."""

    model: Model
    candidates: Mask  # (n,)
    ledgers: Floats  # (5,): what the names above say
    noise: NoiseHistory


def make_params(actions: ActionSet, horizon: int | None, options: dict[str, Any]) -> Params:
    """Check the options."""
    share = check_probability("share", options["share"])
    challenge = check_positive("challenge", options["challenge"])
    return Params(make_setting(actions, options), share, challenge, make_sketch(actions.columns))


def init(params: Params) -> State:
    """Nothing measured: all actions are candidates, the ledgers are empty."""
    model = new_model(params.setting.columns, params.setting.ridge)
    n = model.means.size
    return State(model, np.ones(n, np.bool_), np.zeros(5), new_history(n))


def choose(params: Params, state: State, allowed: Mask, sigma: float, draws: Floats) -> int:
    """The widest action if a ledger says so; else what most reduces the variances of the closest races."""
    if not is_due(params, state):
        model, leader = state.model, recommend(params, state)
        rivals, weights = np.empty(RACES, np.int64), np.empty(RACES)
        reach = usual_reach(params, state)
        closest_races(model, params.sketch, state.candidates, leader, reach, rivals, weights)
        if weights[0] > 0.0:
            action = most_settling(model, params.sketch, rivals, leader, weights, state.noise, sigma, allowed)
            if action >= 0:
                return action
    return widest(state.model, allowed)


def is_due(params: Params, state: State) -> bool:
    """Whether the widest actions hold at most their share of the precision, or of the credit."""
    return are_due(state.ledgers, params.share, params.setting.radius.rank)


def usual_reach(params: Params, state: State) -> float:
    """How many widths of a difference a challenger is given, ``c·√(2·log((1 + log P)/δ))``.

    P is the total precision in units of the largest possible value. The certificate's radius grows with
    √dim: it must hold for all differences at once, while this only ranks them.
    """
    limits = params.setting.radius
    most = limits.norm_bound * limits.max_norm
    precision = max(1.0, most * most * float(state.ledgers[PRECISION]))
    return params.challenge * math.sqrt(2.0 * math.log((1.0 + math.log(precision)) / limits.delta))


def absorb(params: Params, state: State, action: int, reward: float, sigma: float) -> None:
    """Book the measurement, learn it, and drop the candidates that it rules out."""
    book(state.model, state.ledgers, state.noise, action, sigma)
    fold(state.model, action, reward, sigma)
    drop_ruled_out(state.model, state.candidates, present_radius(params, state))


def imagine(params: Params, state: State, action: int, sigma: float) -> None:
    """A pending measurement is booked, and comes out as expected."""
    book(state.model, state.ledgers, state.noise, action, sigma)
    fold(state.model, action, state.model.means[action], sigma)


def recommend(params: Params, state: State) -> int:
    """The leader: the best mean among the candidates."""
    return first_best(state.model.means, state.model.squared_widths, state.candidates)


def candidates(params: Params, state: State) -> Mask:
    """What no certificate so far has ruled out."""
    return state.candidates


def catch_up(params: Params, state: State, actions: NDArray[np.int64], sigmas: Floats) -> None:
    """Fill the rest of the state from measurements whose order is not known.

    Which was the widest at the time is not known either, so turns are counted instead: each ledger is set
    such that one measurement in 1/share goes to the widest action.
    """
    if not actions.size:
        return
    precisions, books = sigmas**-2.0, state.ledgers
    credits = np.minimum(1.0, state.model.squared_widths.max() * precisions)
    books[CONCENTRATION] = ((precisions / precisions.sum()) ** 2).sum()
    rough = share_of_precision(books, params.share, params.setting.radius.rank)
    for share, amounts, whole, to_widest in (
        (rough, precisions, PRECISION, PRECISION_TO_WIDEST),
        (params.share, credits, CREDIT, CREDIT_TO_WIDEST),
    ):
        until_due = -actions.size % max(1, round(1.0 / share))
        books[whole] = amounts.sum()
        books[to_widest] = share * (amounts.sum() + until_due * amounts.mean())
    observe_all(state.noise, actions, sigmas)
    drop_ruled_out(state.model, state.candidates, present_radius(params, state))


def explain(params: Params, state: State, action: int, label: Callable[[int], str]) -> str:
    """Which race it settles, or that it is the turn of what is known least."""
    model = state.model
    width = math.sqrt(model.squared_widths[action])
    least = ", the least of all" if model.squared_widths[action] >= model.squared_widths.max() else ""
    known = f"{label(action)} is known to ±{width:.2g}{least}"
    leader, rivals, weights = recommend(params, state), np.empty(RACES, np.int64), np.empty(RACES)
    closest_races(model, params.sketch, state.candidates, leader, usual_reach(params, state), rivals, weights)
    challengers = rivals[weights > 0.0]
    if not challengers.size:
        return f"Nothing can still beat {label(leader)}; {known}, if anything is to be measured at all."
    if is_due(params, state):
        share = share_of_precision(state.ledgers, params.share, params.setting.radius.rank)
        return f"{known}, and {share:.0%} of all precision is kept for such checks."
    noise = average_variance(state.noise) * state.noise.relative[action] + model.squared_widths[action]
    gains = [
        squared_covariances(model, challengers[j : j + 1], leader, np.ones(1))[action] / noise
        for j in range(challengers.size)
    ]
    most = int(np.argmax(weights[: challengers.size] * gains))
    challenger = int(challengers[most])
    variance = contrast_widths(model, leader)[challenger] ** 2
    before, after = math.sqrt(variance), math.sqrt(max(0.0, variance - gains[most]))
    title = "its strongest challenger" if most == 0 else "one of its strongest challengers"
    race = f"{label(leader)}, the best so far, from {label(challenger)}, {title}"
    return (
        f"To tell {race}: measuring {label(action)} is expected to bring the standard error of their "
        f"difference from {before:.2g} to {after:.2g}."
    )


RULE = rule_in(
    __name__,
    name="vage",
    radius=present_radius,
    ball=own_ball,
    sees_sigma="if announced",
    reference="ours: docs/rules.md",
    guarantee="anytime certificate; VAEE's rate up to 1/√share",
    cost="3·n·dim",
)


class VageOptions(SharedOptions):
    """Variance-aware gap exploration: settle the race between the leader and its strongest challenger."""

    share: float = option(
        0.03,
        "What the widest actions get of the precision and of the credit, at least; between 0 and 1 (and up "
        "to a fifth while few rounds carry most of the precision). Larger is safer against a wrong early "
        "leader, smaller is faster when the leader is right.",
    )
    challenge: float = option(
        0.85,
        "A challenger is judged by its mean and this many times ``√(2·log((1 + log S)/delta))`` widths of "
        "its difference to the leader: larger looks at more challengers, smaller settles the nearest race "
        "first.",
    )


vage = constructor(RULE, VageOptions)
