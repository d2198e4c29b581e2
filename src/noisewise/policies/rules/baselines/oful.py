"""OFUL (Abbasi-Yadkori, Pál and Szepesvári 2011): optimism that takes all measurements for equally good.

Each round: measure the action of the largest ``<θ̂, a> + β·‖a‖``, learn it with the assumed sigma ``s``.
With the default radius ``β = √(2·log(1/δ) + log det(V/λ)) + √λ·B``, where ``V = λ·I + Σ a aᵀ/s²``.
"""

from typing import Any, NamedTuple

from noisewise.actions import ActionSet
from noisewise.core.choice.selection import Mask, most_optimistic
from noisewise.core.model.dense import Floats, fold, new_model, theta
from noisewise.core.support.checks import check_positive
from noisewise.policies.shared.least_squares import (
    Setting,
    State,
    best_mean,
    make_setting,
    ridge_of,
    scaled_radius,
    within,
)
from noisewise.policies.shell.on_sets import OnSets
from noisewise.policies.shell.options import SharedOptions, constructor, option
from noisewise.policies.shell.rule import anytime, below, own_ball, rule_in


class Params(NamedTuple):
    """What does not change during a run."""

    setting: Setting
    noise_level: float
    scale: float


def make_params(actions: ActionSet, horizon: int | None, options: dict[str, Any]) -> Params:
    """Check the options.

    In the textbook ``V = ridge·I + Σ a aᵀ`` without weights; our model divides by the noise level squared,
    so the ridge is divided by it too.
    """
    level = check_positive("noise_level", options["noise_level"])
    setting = make_setting(actions, options | {"ridge": ridge_of(actions, options, level)})
    return Params(setting, level, check_positive("scale", options["scale"]))


def init(params: Params) -> State:
    """Nothing measured yet."""
    return State(new_model(params.setting.columns, params.setting.ridge))


def radius(params: Params, state: State) -> float:
    """``β + √λ·B``; only the stochastic part is scaled."""
    return scaled_radius(params.setting.radius, state.model, params.scale)


def choose(params: Params, state: State, allowed: Mask, sigma: float, draws: Floats) -> int:
    """The most optimistic action."""
    return most_optimistic(state.model, allowed, radius(params, state))


def absorb(params: Params, state: State, action: int, reward: float, sigma: float) -> None:
    """Learn as if every measurement had the assumed noise."""
    fold(state.model, action, reward, params.noise_level)


def candidates(params: Params, state: State) -> Mask:
    """The actions that the confidence set does not rule out."""
    return within(state.model, radius(params, state))


def certificate(params: Params, state: State) -> str:
    """It rests on the noise level."""
    return anytime(
        params,
        f"if no sigma exceeds noise_level={params.noise_level:g}",
        unproven=below("scale", params.scale),
    )


def most_sigma(params: Params) -> float:
    """The noise level."""
    return params.noise_level


def aim(params: Params, state: State, draws: Floats, direction: Floats) -> float:
    """On a set of vectors: the most optimistic action of the confidence ellipsoid."""
    direction[:] = theta(state.model)
    return radius(params, state)


RULE = rule_in(
    __name__,
    name="oful",
    ball=own_ball,
    recommend=best_mean,
    on_sets=OnSets(aim),
    sees_sigma="never",
    order_free=True,
    reference="Abbasi-Yadkori, Pál and Szepesvári, NeurIPS 2011",
    year=2011,
    guarantee="anytime certificate if sigma ≤ noise_level; cumulative regret d·√T, up to logarithms",
    cost="n·dim + dim²",
)


class OfulOptions(SharedOptions):
    """OFUL: optimism with unweighted least squares. It never looks at sigma."""

    noise_level: float = option(
        1.0, "The sigma assumed for every measurement; the certificate holds if none is noisier."
    )
    scale: float = option(1.0, "Multiplies the stochastic part of the radius; 1 is faithful.")
    radius: str | float = option("self-normalised")


oful = constructor(RULE, OfulOptions)
