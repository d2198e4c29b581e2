"""VAGE, variance-aware gap exploration: settle the closest races, and keep a share for what is known least.

Ours. Each round it looks for the leader (the best mean among the candidates) and its strongest challengers
(the largest upper bounds on the difference), and measures whichever action, of **all**, most reduces the
variances of those differences, the closest race counting most. Two ledgers keep the paper's rate: whenever
the widest actions hold at most a share of the total precision, or of the total credit ``Σ min(1, W²/σ²)``
(W the largest width at the time), the widest action is measured. docs/vage.md has the proof.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.actions import ActionSet
from noisewise.core.choice.selection import TIE, Mask, drop_ruled_out, first_best, widest
from noisewise.core.compiler.kernels import kernel
from noisewise.core.model.covariances import contrast_widths, squared_covariances
from noisewise.core.model.dense import Floats, fold, new_model
from noisewise.core.model.model import Model
from noisewise.core.support.checks import check_positive, check_probability
from noisewise.policies.rules.ours.vage.noise_history import (
    DIFFER,
    NoiseHistory,
    average_variance,
    new_history,
    observe,
    observe_all,
)
from noisewise.policies.rules.ours.vage.races import (
    KnownWidths,
    closest_rivals,
    fold_in_races,
    follow,
    nothing_known,
)
from noisewise.policies.rules.ours.vage.settlement import Foreseen, most_settling
from noisewise.policies.shared.least_squares import Setting, make_setting, present_radius
from noisewise.policies.shell.options import SharedOptions, constructor, option
from noisewise.policies.shell.rule import rule_in

#: How many races are looked at; with the first alone, a quiet round may settle a race and the leader, which
#: is in all of them, stay unknown.
RACES = 4
#: A race that is behind the closest by this share of its reach counts 1/e of it.
BEHIND = 0.25
#: A race that counts less is left out.
NEGLIGIBLE = 0.01
# What the ledgers hold: all, and what went to an action that was the widest at the time; and Σw²/(Σw)², which
# is one over the number of equal measurements that would be as even as those made.
PRECISION, PRECISION_TO_WIDEST, CREDIT, CREDIT_TO_WIDEST, CONCENTRATION = range(5)
#: The widest actions' share of the precision while few rounds carry it all.
ROUGH_SHARE = 0.2


class Params(NamedTuple):
    """What does not change during a run."""

    setting: Setting
    share: float  # ρ: what each ledger keeps for the widest action
    challenge: float  # how many reaches of a difference's width count for a challenger


class State(NamedTuple):
    """The model, the candidates, the two ledgers, and what sigmas were like."""

    model: Model
    candidates: Mask  # (n,)
    ledgers: Floats  # (5,): what the names above say
    noise: NoiseHistory
    known: KnownWidths  # so that most rounds need not look at all actions to find the races


def make_params(actions: ActionSet, horizon: int | None, options: dict[str, Any]) -> Params:
    """Check the options."""
    share = check_probability("share", options["share"])
    challenge = check_positive("challenge", options["challenge"])
    return Params(make_setting(actions, options), share, challenge)


def init(params: Params) -> State:
    """Nothing measured: all actions are candidates, the ledgers are empty."""
    model = new_model(params.setting.columns, params.setting.ridge)
    n = model.means.size
    return State(model, np.ones(n, np.bool_), np.zeros(5), new_history(n), nothing_known(model))


@kernel
def choose(params: Params, state: State, allowed: Mask, sigma: float, draws: Floats) -> int:
    """The widest action if a ledger says so; else what most reduces the variances of the closest races."""
    if not is_due(params, state):
        leader, challengers, weights = closest_races(params, state)
        if challengers.size > 0:
            noise, longest = foresee(state, sigma), params.setting.radius.max_norm
            action = most_settling(state.model, challengers, leader, weights, noise, allowed, longest)
            if action >= 0:
                return action
    return widest(state.model, allowed)


@kernel
def is_due(params: Params, state: State) -> bool:
    """Whether the widest actions hold at most their share of the precision, or of the credit."""
    books, tie = state.ledgers, 1.0 + TIE
    return bool(
        books[PRECISION_TO_WIDEST] <= share_of_precision(params, state) * books[PRECISION] * tie
        or books[CREDIT_TO_WIDEST] <= params.share * books[CREDIT] * tie
    )


@kernel
def share_of_precision(params: Params, state: State) -> float:
    """ρ, or more while few rounds carry the precision: ``(dim/2)·Σw²/(Σw)²``, at most a fifth.

    After a handful of measurements that count, a leader means little, and the next one that counts
    would be lost on it.
    """
    rough = float(0.5 * params.setting.radius.rank * state.ledgers[CONCENTRATION])
    return max(params.share, min(ROUGH_SHARE, rough))


@kernel
def closest_races(params: Params, state: State) -> tuple[int, NDArray[np.int64], Floats]:
    """The best mean among the candidates, what may be furthest above it, and what each race counts.

    Weights fall with what a race is behind the closest, ``e^(-behind/(BEHIND·slack))``.
    """
    means = state.model.means
    leader = first_best(means, state.model.squared_widths, state.candidates)
    reach = usual_reach(params, state)
    challengers, slacks = closest_rivals(state.model, state.known, state.candidates, leader, reach, RACES)
    weights, found = np.empty(challengers.size), 0
    for challenger, slack in zip(challengers, slacks):  # noqa: B905 - Numba knows no `strict`
        behind = (slacks[0] + means[challengers[0]]) - (slack + means[challenger])
        weights[found] = math.exp(-behind / (BEHIND * slacks[0]))
        if weights[found] < NEGLIGIBLE:
            break
        found += 1
    return leader, challengers[:found], weights[:found]


@kernel
def usual_reach(params: Params, state: State) -> float:
    """How many widths of a difference a challenger is given, ``c·√(2·log((1 + log P)/δ))``.

    P is the total precision in units of the largest possible value. The certificate's radius grows with
    √dim: it must hold for all differences at once, while this only ranks them.
    """
    limits = params.setting.radius
    most = limits.norm_bound * limits.max_norm
    precision = max(1.0, most * most * state.ledgers[PRECISION])
    return params.challenge * math.sqrt(2.0 * math.log((1.0 + math.log(precision)) / limits.delta))


@kernel
def foresee(state: State, sigma: float) -> Foreseen:
    """The variance of the coming measurement: announced, or what is predicted of each action."""
    relative = state.noise.relative
    if math.isnan(sigma):
        alike = state.noise.tally[DIFFER] == 0.0
        return Foreseen(average_variance(state.noise), relative[: 0 if alike else relative.size])
    return Foreseen(sigma * sigma, relative[:0])


@kernel
def absorb(params: Params, state: State, action: int, reward: float, sigma: float) -> None:
    """Book the measurement, learn it, and drop the candidates that it rules out."""
    book(state, action, sigma)
    fold_in_races(state.model, state.known, action, reward, sigma)
    drop_ruled_out(state.model, state.candidates, present_radius(params, state))
    follow(state.known, state.model, state.candidates)


@kernel
def imagine(params: Params, state: State, action: int, sigma: float) -> None:
    """A pending measurement is booked, and comes out as expected."""
    book(state, action, sigma)
    fold(state.model, action, state.model.means[action], sigma)


@kernel
def book(state: State, action: int, sigma: float) -> None:
    """Enter one measurement in both ledgers, before it is learnt."""
    books, precision = state.ledgers, 1.0 / (sigma * sigma)
    largest = state.model.squared_widths.max()
    credit = min(1.0, largest * precision)
    # In shares: squares of the precisions themselves would overflow.
    part = precision / (books[PRECISION] + precision)
    books[CONCENTRATION] = books[CONCENTRATION] * (1.0 - part) ** 2 + part * part
    books[PRECISION] += precision
    books[CREDIT] += credit
    if state.model.squared_widths[action] >= largest * (1.0 - TIE):
        books[PRECISION_TO_WIDEST] += precision
        books[CREDIT_TO_WIDEST] += credit
    observe(state.noise, action, sigma)


@kernel
def recommend(params: Params, state: State) -> int:
    """The leader: the best mean among the candidates."""
    return first_best(state.model.means, state.model.squared_widths, state.candidates)


@kernel
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
    for share, amounts, whole, to_widest in (
        (share_of_precision(params, state), precisions, PRECISION, PRECISION_TO_WIDEST),
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
    leader, challengers, weights = closest_races(params, state)
    if not challengers.size:
        return f"Nothing can still beat {label(leader)}; {known}, if anything is to be measured at all."
    if is_due(params, state):
        share = share_of_precision(params, state)
        return f"{known}, and {share:.0%} of all precision is kept for such checks."
    noise = average_variance(state.noise) * state.noise.relative[action] + model.squared_widths[action]
    gains = [
        squared_covariances(model, challengers[j : j + 1], leader, np.ones(1))[action] / noise
        for j in range(challengers.size)
    ]
    most = int(np.argmax(weights * gains))
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
    sees_sigma="if announced",
    reference="ours: docs/vage.md",
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
