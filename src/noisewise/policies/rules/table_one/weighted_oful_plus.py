"""Weighted OFUL+ (Zhou and Gu 2022): weights that also fear the actions that are still uncertain.

Each round ``k`` of ``K``, with ``R`` the bound on the noise, ``α = 1/√K`` and ``γ² = R/√d``:

1. measure the action of the largest ``<θ̂, a> + (β + √λ·B)·‖a‖``;
2. learn it with the sigma ``√max(σ², α², γ²·‖a‖)``, its width ``‖a‖`` taken before;
3. ``β = 12·√(d·log(1 + k·A²/(α²·d·λ))·z) + 30·z·R/γ²`` with ``z = log(32·(log(γ²/α) + 1)·k²/δ)``.

The theorem behind the radius was read where two papers of ICML 2023 restate it. Its constants are worked
out from there: noise and action divided by the sigma that enters have variance at most 1 and product at
most R/γ².
"""

import math
from typing import Any, NamedTuple, Protocol

from noisewise.actions import ActionSet
from noisewise.core.choice.radius import Radius
from noisewise.core.choice.selection import Mask, most_optimistic
from noisewise.core.model.dense import TOLD, Floats, fold
from noisewise.core.model.model import Model
from noisewise.core.support.checks import check_count, check_positive
from noisewise.policies.shared.bounded_noise import BoundedNoiseOptions
from noisewise.policies.shared.least_squares import (
    HasModel,
    Setting,
    State,
    best_mean,
    make_setting,
    plain_init,
    within,
)
from noisewise.policies.shell.options import constructor, option
from noisewise.policies.shell.rule import anytime, below, rule_in


class Weighting(NamedTuple):
    """How sigmas enter, and what the radius needs to know of it."""

    noise_bound: float  # R
    floor: float  # α
    caution: float  # γ²
    scale: float


class HasWeighting(Protocol):
    """The parameters of a rule that learns with a cautious sigma."""

    @property
    def setting(self) -> Setting:
        """With the radius' limits."""

    @property
    def weighting(self) -> Weighting:
        """How sigmas enter."""


class Params(NamedTuple):
    """What does not change during a run."""

    setting: Setting
    weighting: Weighting


def make_weighting(actions: ActionSet, horizon: int | None, options: dict[str, Any]) -> Weighting:
    """Check the options; ``α = 1/√K`` and ``γ² = R/√d``."""
    noise_bound = check_positive("noise_bound", options["noise_bound"])
    floor = 1.0 / math.sqrt(check_count("horizon", horizon))
    caution = noise_bound / math.sqrt(max(1, actions.rank))
    return Weighting(noise_bound, floor, caution, check_positive("scale", options["scale"]))


def make_params(actions: ActionSet, horizon: int | None, options: dict[str, Any]) -> Params:
    """Check the options."""
    return Params(make_setting(actions, options), make_weighting(actions, horizon, options))


def cautious_sigma(weighting: Weighting, model: Model, action: int, sigma: float) -> float:
    """``√max(σ², α², γ²·‖a‖)``: γ² times the width itself, not its square."""
    width = math.sqrt(max(0.0, model.squared_widths[action]))
    return math.sqrt(max(sigma * sigma, weighting.floor * weighting.floor, weighting.caution * width))


def cautious_radius(limits: Radius, weighting: Weighting, model: Model) -> float:
    """``β_k + √λ·B`` after k measurements; only the stochastic part β_k is scaled."""
    told = model.tally[TOLD]
    if told == 0.0:
        return limits.bias
    rank = max(1, limits.rank)
    # A large floor would make the inner logarithm negative; its bound is 0 then.
    peeled = max(0.0, math.log(weighting.caution / weighting.floor)) + 1.0
    log_term = math.log(32.0 * peeled * told * told / limits.delta)
    spread = told * (limits.max_norm / weighting.floor) ** 2 / (rank * limits.ridge)
    stochastic = 12.0 * math.sqrt(rank * math.log1p(spread) * log_term)
    stochastic += 30.0 * log_term * weighting.noise_bound / weighting.caution
    return limits.bias + weighting.scale * stochastic


def radius(params: HasWeighting, state: HasModel) -> float:
    """The radius that goes with the measurements so far."""
    return cautious_radius(params.setting.radius, params.weighting, state.model)


def choose(params: Params, state: State, allowed: Mask, sigma: float, draws: Floats) -> int:
    """The most optimistic action."""
    return most_optimistic(state.model, allowed, radius(params, state))


def absorb(params: Params, state: State, action: int, reward: float, sigma: float) -> None:
    """Learn with the cautious sigma."""
    fold(state.model, action, reward, cautious_sigma(params.weighting, state.model, action, sigma))


def candidates(params: HasWeighting, state: HasModel) -> Mask:
    """The actions that the confidence set does not rule out."""
    return within(state.model, radius(params, state))


def certificate(params: HasWeighting, state: Any) -> str:
    """It rests on the noise bound."""
    weighting = params.weighting
    return anytime(
        params,
        f"if noise stays within ±noise_bound={weighting.noise_bound:g}",
        unproven=below("scale", weighting.scale),
    )


def most_sigma(params: HasWeighting) -> float:
    """Noise within ±R has no larger standard deviation."""
    return params.weighting.noise_bound


RULE = rule_in(
    __name__,
    name="weighted_oful_plus",
    init=plain_init,
    recommend=best_mean,
    needs_horizon=True,
    reference="Zhou and Gu, NeurIPS 2022, Theorem 4.3 as restated at ICML 2023",
    year=2022,
    guarantee="anytime certificate; cumulative regret d·√(Σσ²) + d·R + d, up to logarithms",
    cost="n·dim + dim²",
)


class WeightedOfulPlusOptions(BoundedNoiseOptions):
    """Weighted OFUL+: optimism with weights that also depend on how uncertain an action is."""

    scale: float = option(1.0, "Multiplies the stochastic part of the radius; 1 is faithful.")


weighted_oful_plus = constructor(RULE, WeightedOfulPlusOptions)
