"""Weighted OFUL (Zhou, Gu and Szepesvári 2021): optimism with variance-weighted least squares.

Each round, with ``R`` the bound on the noise and ``s`` the smallest sigma that entered so far:

1. measure the action of the largest ``<θ̂, a> + (β + √λ·B)·‖a‖``;
2. learn it with the sigma ``max(R/√d, σ)``;
3. ``β = 8·√(d·log(1 + t·A²/(s²·d·λ))·log(4t²/δ)) + 4·(R/s)·log(4t²/δ)``.

The sub-Gaussian variant learns with sigma itself, and takes its radius from the self-normalised bound.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from noisewise.actions import ActionSet
from noisewise.core.choice.selection import Mask, most_optimistic
from noisewise.core.model.dense import TOLD, Floats, fold, new_model, theta
from noisewise.core.model.model import Model
from noisewise.core.support.checks import check_choice, check_positive
from noisewise.policies.shared.least_squares import (
    Setting,
    best_mean,
    imagine,
    make_setting,
    scaled_radius,
    within,
)
from noisewise.policies.shell.on_sets import OnSets
from noisewise.policies.shell.options import SharedOptions, constructor, option
from noisewise.policies.shell.rule import anytime, below, own_ball, rule_in


class Params(NamedTuple):
    """What does not change during a run."""

    setting: Setting
    bounded: bool  # as printed; otherwise sub-Gaussian
    noise_bound: float  # R
    scale: float


class State(NamedTuple):
    """The model, and the smallest sigma that entered it."""

    model: Model
    smallest: Floats  # (1,)


def make_params(actions: ActionSet, horizon: int | None, options: dict[str, Any]) -> Params:
    """Check the options."""
    noise = check_choice("noise", options["noise"], ("bounded", "sub-gaussian"))
    noise_bound = check_positive("noise_bound", options["noise_bound"])
    scale = check_positive("scale", options["scale"])
    return Params(make_setting(actions, options), noise == "bounded", noise_bound, scale)


def init(params: Params) -> State:
    """``A_0 = λI``."""
    return State(new_model(params.setting.columns, params.setting.ridge), np.full(1, np.inf))


def radius(params: Params, state: State) -> float:
    """``β_t + √λ·B``; only the stochastic part β_t is scaled."""
    limits = params.setting.radius
    if not params.bounded:
        return scaled_radius(limits, state.model, params.scale)
    told = state.model.tally[TOLD]
    if told == 0.0:
        return limits.bias
    rank, smallest = max(1, limits.rank), state.smallest[0]
    log_term = math.log(4.0 * told * told / limits.delta)
    spread = told * (limits.max_norm / smallest) ** 2 / (rank * limits.ridge)
    stochastic = 8.0 * math.sqrt(rank * math.log1p(spread) * log_term)
    stochastic += float(4.0 * params.noise_bound / smallest * log_term)
    return limits.bias + params.scale * stochastic


def choose(params: Params, state: State, allowed: Mask, sigma: float, draws: Floats) -> int:
    """The most optimistic action."""
    return most_optimistic(state.model, allowed, radius(params, state))


def absorb(params: Params, state: State, action: int, reward: float, sigma: float) -> None:
    """Learn with the floored sigma ``max(R/√d, σ)``, or with sigma itself."""
    floor = params.noise_bound / math.sqrt(max(1, params.setting.radius.rank)) if params.bounded else 0.0
    entering = max(floor, sigma)
    fold(state.model, action, reward, entering)
    state.smallest[0] = min(state.smallest[0], entering)


def candidates(params: Params, state: State) -> Mask:
    """The actions that the confidence set does not rule out."""
    return within(state.model, radius(params, state))


def certificate(params: Params, state: State) -> str:
    """As printed it rests on the noise bound."""
    bounded = [f"if noise stays within ±noise_bound={params.noise_bound:g}"] if params.bounded else []
    return anytime(params, *bounded, unproven=below("scale", params.scale))


def most_sigma(params: Params) -> float:
    """Noise within ±R has no larger standard deviation."""
    return params.noise_bound if params.bounded else math.inf


def aim(params: Params, state: State, draws: Floats, direction: Floats) -> float:
    """On a set of vectors: the most optimistic action of the confidence ellipsoid."""
    direction[:] = theta(state.model)
    return radius(params, state)


RULE = rule_in(
    __name__,
    name="weighted_oful",
    ball=own_ball,
    imagine=imagine,
    recommend=best_mean,
    on_sets=OnSets(aim),
    order_free=True,
    reference="Zhou, Gu and Szepesvári, COLT 2021, Algorithm 1",
    year=2021,
    guarantee="anytime certificate; cumulative regret R·√(d·T) + d·√(Σσ²), up to logarithms",
    cost="n·dim + dim²",
)


class WeightedOfulOptions(SharedOptions):
    """Weighted OFUL: measure what could be the best, with variance-weighted least squares."""

    noise: str = option(
        "bounded",
        '``"bounded"``: as printed, for noise within ``±noise_bound``: sigmas below ``noise_bound/√dim`` '
        'are raised to it, and the radius is Bernstein\'s. ``"sub-gaussian"``: no floor and the chosen '
        "``radius``, the fair opponent of VAEE.",
    )
    noise_bound: float = option(1.0, 'R; only for ``noise="bounded"``.')
    scale: float = option(1.0, "Multiplies the stochastic part of the radius; 1 is faithful.")

    @classmethod
    def check_given(cls, given: dict[str, Any]) -> None:
        """As printed the rule has a radius of its own."""
        if given.get("noise", cls.noise) == "bounded" and "radius" in given:
            raise ValueError(
                "`radius` must be left out with noise='bounded', which has its own; "
                f"got {given['radius']!r}. (noise='sub-gaussian' takes it.)"
            )


weighted_oful = constructor(RULE, WeightedOfulOptions)
