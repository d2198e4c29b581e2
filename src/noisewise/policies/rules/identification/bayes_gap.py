"""BayesGap (Hoffman, Shahriari and de Freitas 2014): narrow the gap between the safest and its best rival."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.actions import ActionSet
from noisewise.core.choice.selection import ROUNDING, TIE, Mask, first_best, first_largest, first_near
from noisewise.core.model.dense import TOLD, TOTAL_PRECISION, Floats, fold, new_model
from noisewise.core.model.model import Model
from noisewise.core.native.verbs import verb
from noisewise.core.support.checks import check_positive
from noisewise.policies.shared.least_squares import (
    Setting,
    imagine,
    make_setting,
    not_ruled_out,
    present_radius,
)
from noisewise.policies.shell.options import SharedOptions, constructor, option
from noisewise.policies.shell.rule import own_ball, rule_in

#: Gaps are guessed by bounds of this many standard errors, as the authors do.
GUESS = 3.0
NOTHING = -1


class Params(NamedTuple):
    """What does not change during a run."""

    setting: Setting
    eps: float
    horizon: float  # T; 0 if it is not known
    kappa: float  # Σ 1/‖a‖²


class State(NamedTuple):
    """The model, and the safest action with the smallest gap so far."""

    model: Model
    smallest_gap: Floats  # (1,)
    safest: NDArray[np.int64]  # (1,)


def make_params(actions: ActionSet, horizon: int | None, options: dict[str, Any]) -> Params:
    """Check the options, and add up the inverse squared norms."""
    setting = make_setting(actions, options)
    squared = np.einsum("ij,ij->j", setting.columns, setting.columns)
    kappa = float((1.0 / squared[squared > 0.0]).sum())
    return Params(setting, check_positive("eps", options["eps"]), float(horizon or 0), kappa)


def init(params: Params) -> State:
    """The prior ``N(0, I/ridge)``."""
    model = new_model(params.setting.columns, params.setting.ridge)
    return State(model, np.full(1, np.inf), np.full(1, NOTHING))


def exploration(params: Params, state: State) -> float:
    """β: what the rest of the budget can afford, ``β² = ((T - n)·w̄ + κ·ridge)/(4·H_eps)``.

    w̄ is the mean precision so far, where the original has 1/σ²; an unknown T is taken as twice what
    was told.
    """
    model = state.model
    n, told = model.means.size, model.tally[TOLD]
    horizon = params.horizon if params.horizon > 0.0 else 2.0 * told
    precision = model.tally[TOTAL_PRECISION] / told if told > 0.0 else 0.0
    budget = max(0.0, horizon - n) * precision + params.kappa * params.setting.ridge
    return math.sqrt(budget / (4.0 * hardness(model, params.eps)))


@verb
def hardness(model: Model, eps: float) -> float:
    """``H_eps = Σ max((gap + eps)/2, eps)⁻²``, with gaps guessed from bounds."""
    slack = GUESS * np.sqrt(model.squared_widths)
    guessed = best_of_others(model.means + slack) - (model.means - slack)
    return float((np.maximum((guessed + eps) / 2.0, eps) ** -2.0).sum())


@verb
def best_of_others(upper: Floats) -> Floats:
    """For each action the largest upper bound of the others, (n,); its own if there are none."""
    top = int(np.argmax(upper))
    others = np.full(upper.size, upper[top])
    if upper.size > 1:
        others[top] = max(upper[:top].max(initial=-np.inf), upper[top + 1 :].max(initial=-np.inf))
    return others


def safest_and_rival(params: Params, state: State) -> tuple[int, int, float]:
    """J, whose worst-case gap is the smallest; its most optimistic rival; and that gap."""
    model = state.model
    slack = exploration(params, state) * np.sqrt(model.squared_widths)
    everybody = np.ones(slack.size, np.bool_)
    upper = model.means + slack
    others = best_of_others(upper)
    gap = others - (model.means - slack)
    safest = int(np.argmin(gap))
    rounding = ROUNDING * (abs(others[safest]) + abs(model.means[safest]))
    safest = first_near(-gap, everybody, safest, TIE * slack[safest] + rounding)
    if slack.size > 1:
        everybody[safest] = False
    return safest, first_best(upper, model.squared_widths, everybody), gap[safest]


def choose(params: Params, state: State, allowed: Mask, sigma: float, draws: Floats) -> int:
    """The wider of the safest action and its rival."""
    safest, rival, _ = safest_and_rival(params, state)
    widths = state.model.squared_widths
    wider, other = (safest, rival) if widths[safest] >= widths[rival] * (1.0 - TIE) else (rival, safest)
    if allowed[wider]:
        return wider
    return other if allowed[other] else first_largest(widths, allowed)


def absorb(params: Params, state: State, action: int, reward: float, sigma: float) -> None:
    """Learn the measurement, and remember the safest action if its gap is the smallest so far."""
    fold(state.model, action, reward, sigma)
    safest, _, gap = safest_and_rival(params, state)
    if gap <= state.smallest_gap[0]:
        state.smallest_gap[0], state.safest[0] = gap, safest


def recommend(params: Params, state: State) -> int:
    """The safest action at its smallest gap; the best mean if the certificate has ruled it out."""
    candidates = not_ruled_out(params, state)
    safest = state.safest[0]
    if safest != NOTHING and candidates[safest]:
        return int(safest)
    return first_best(state.model.means, state.model.squared_widths, candidates)


RULE = rule_in(
    __name__,
    name="bayes_gap",
    imagine=imagine,
    radius=present_radius,
    ball=own_ball,
    candidates=not_ruled_out,
    reconstruction=True,
    reference="Hoffman, Shahriari and de Freitas 2014",
    year=2014,
    guarantee="anytime certificate; a budget bound for equal sigmas",
    cost="n·dim",
)


class BayesGapOptions(SharedOptions):
    """BayesGap: narrow the gap between the action that is safest to recommend and its best rival."""

    eps: float = option(0.01, "A regret that does not matter; keeps the guessed hardness finite.")
    horizon: int | None = option(
        None,
        "The number of measurements it plans for (a simulation brings its own); default: as many again as "
        "were told.",
    )


bayes_gap = constructor(RULE, BayesGapOptions)
