"""LinGapE (Xu, Honda and Sugiyama 2018): settle the one comparison that is most in doubt, again and again."""

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from noisewise.actions import ActionSet
from noisewise.core.choice.selection import Mask, first_largest, most_telling, strongest_rival
from noisewise.core.model.dense import TOLD, Floats, fold, log_det, new_model, total_precision
from noisewise.core.model.model import Model
from noisewise.core.support.checks import check_positive
from noisewise.policies.shared.least_squares import (
    Setting,
    best_mean,
    make_setting,
    ridge_of,
    scaled_radius,
    within,
)
from noisewise.policies.shell.options import SharedOptions, constructor, fixed, option
from noisewise.policies.shell.rule import anytime, below, own_ball, rule_in


class Params(NamedTuple):
    """What does not change during a run."""

    setting: Setting
    weighted: bool
    noise_level: float  # assumed of every measurement, or of the first
    union: float  # what the printed radius has inside its root for all pairs
    logarithmic: bool  # the heuristic radius of a rerun instead
    scale: float


class State(NamedTuple):
    """The model, and which actions were measured at all."""

    model: Model
    seen: Mask  # (n,)
    n_seen: Floats  # (1,)


def make_params(actions: ActionSet, horizon: int | None, options: dict[str, Any]) -> Params:
    """Check the options.

    In the paper ``A = λI + Σ a aᵀ`` without weights; our model divides by the noise level squared, so the
    ridge is divided by it too.
    """
    level, scale = (
        check_positive("noise_level", options["noise_level"]),
        check_positive("scale", options["scale"]),
    )
    weighted = options["weighted"]
    ridge = ridge_of(actions, options, 1.0 if weighted else level)
    printed, logarithmic = options["radius"] == "printed", options["radius"] == "logarithmic"
    radius = "self-normalised" if printed or logarithmic else options["radius"]
    setting = make_setting(actions, options | {"ridge": ridge, "radius": radius})
    union = 4.0 * math.log(actions.n_actions) if printed else 0.0
    return Params(setting, weighted, level, union, logarithmic, scale)


def init(params: Params) -> State:
    """Nothing measured yet."""
    model = new_model(params.setting.columns, params.setting.ridge)
    return State(model, np.zeros(model.means.size, np.bool_), np.zeros(1))


def radius(params: Params, state: State) -> float:
    """``C_t = √(2·log(n²·√det(V/λ)/δ)) + √λ·R`` as printed, or the radius chosen; scaled but for the bias."""
    limits = params.setting.radius
    if params.logarithmic:
        # Of the round that comes.
        return params.scale * math.sqrt(limits.doubt + 4.0 * math.log(2.0 + state.model.tally[TOLD]))
    if params.union > 0.0:
        doubt = limits.doubt + params.union + log_det(state.model)
        return limits.bias + params.scale * math.sqrt(doubt)
    return scaled_radius(limits, state.model, params.scale)


def choose(params: Params, state: State, allowed: Mask, sigma: float, draws: Floats) -> int:
    """Each action once; then the one that tells most about the leader and its strongest rival."""
    model = state.model
    if not params.weighted and state.n_seen[0] < state.seen.size:
        unseen = allowed & ~state.seen
        if unseen.any():
            return first_largest(np.zeros(unseen.size), unseen)
    leader = best_mean(params, state)
    rival = strongest_rival(model, leader, radius(params, state))
    variance = params.noise_level**2
    if params.weighted and model.tally[TOLD] > 0.0:
        variance = model.tally[TOLD] / total_precision(model)  # the harmonic mean of those told
    return most_telling(model, leader, rival, variance, allowed)


def absorb(params: Params, state: State, action: int, reward: float, sigma: float) -> None:
    """Learn, with sigma or with the assumed noise."""
    fold(state.model, action, reward, sigma if params.weighted else params.noise_level)
    if not state.seen[action]:
        state.seen[action] = True
        state.n_seen[0] += 1.0


def candidates(params: Params, state: State) -> Mask:
    """The actions that the certificate does not rule out."""
    return within(state.model, radius(params, state))


def certificate(params: Params, state: State) -> str:
    """A heuristic radius proves nothing; without weights the certificate rests on the noise level."""
    if params.logarithmic:
        return "a heuristic radius, not proven"
    level = [] if params.weighted else [f"if no sigma exceeds noise_level={params.noise_level:g}"]
    return anytime(params, *level, unproven=below("scale", params.scale))


def most_sigma(params: Params) -> float:
    """The noise level, unless every measurement has its own weight."""
    return math.inf if params.weighted else params.noise_level


RULE = rule_in(
    __name__,
    name="lingape",
    ball=own_ball,
    recommend=best_mean,
    sees_sigma="never",
    order_free=True,
    reference="Xu, Honda and Sugiyama, A fully adaptive algorithm for pure exploration in linear bandits, "
    "Algorithm 1 with greedy selection",
    year=2018,
    guarantee="anytime certificate, if no sigma exceeds noise_level; stop='gap' is its stopping rule, for "
    "recommendation='best'",
    cost="n·dim",
)
WEIGHTED = replace(
    RULE,
    name="weighted_lingape",
    sees_sigma="after",
    reference=RULE.reference + "; weighted by 1/σ² here",
    guarantee="anytime certificate; stop='gap' is its stopping rule, for recommendation='best'",
)


class LingapeOptions(SharedOptions):
    """LinGapE: measure what tells most about the best mean and its strongest rival. It never sees sigma.

    ``simulate(stop="gap", eps=…)`` stops where the paper does. The proof is for ``recommendation="best"``
    and for another way to choose the measurement, by the ratios of a linear programme; this is the greedy
    one of the paper's experiments.
    """

    noise_level: float = option(
        1.0, "The sigma assumed for every measurement; the certificate holds if none is noisier."
    )
    scale: float = option(
        1.0,
        'Multiplies the stochastic part of the radius; 1 is faithful. The default ``radius="printed"`` has '
        'a union over all pairs in it; ``radius="logarithmic"``, the heuristic ``√(2·(log 1/δ + 2·log(1 + '
        "t)))`` of a published rerun, t the round that comes, is smaller, and proves nothing.",
    )
    radius: str | float = option("printed")
    weighted: bool = fixed(False)


lingape = constructor(RULE, LingapeOptions)


class WeightedLingapeOptions(SharedOptions):
    """LinGapE with weighted least squares: the same comparison, every measurement with its own weight.

    What a measurement will tell is judged with the harmonic mean of the variances told so far, and
    no action is measured merely because it has not been.
    """

    noise_level: float = option(1.0, "The sigma expected of the first measurement.")
    scale: float = option(
        1.0,
        'Multiplies the stochastic part of the radius; 1 is faithful. ``radius="printed"`` is the '
        "paper's, with a union over all pairs in it.",
    )
    weighted: bool = fixed(True)


weighted_lingape = constructor(WEIGHTED, WeightedLingapeOptions)
