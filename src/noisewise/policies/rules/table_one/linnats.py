"""LinNATS (Xu, Min and Wang 2023), our reconstruction: Thompson sampling that adapts to the noise.

Known variance (`linnats`), each round, with weights and radius β of Weighted OFUL+:

1. draw ``ξ ~ N(0, I)`` and measure the action of the largest ``<θ̂ + spread·β·V^(-1/2)·ξ, a>``;
2. learn it with the sigma ``√max(σ², α², γ²·‖a‖)``.

Unknown variance (`linnats_unknown`), each round, with layers, weights and radii of SAVE: walk down to the
layer where a remaining action is wide, and draw there, ``<θ̂_l + spread·β_l·V_l^(-1/2)·ξ, a>``; measure the
best under the draw if it is wide, else the widest, and learn it in this layer. A narrow action would teach
the layer nothing.

Only the abstract could be read. It promises regret d^1.5·√(Σσ²) + d^1.5 by "stratified sampling" for
unknown variances; these have that rate by the same arguments, but are not the paper's algorithm.
"""

from dataclasses import replace
from typing import Any, NamedTuple

from noisewise.actions import ActionSet
from noisewise.core.choice.selection import Mask, first_best, first_largest
from noisewise.core.model.covariances import perturbed_means
from noisewise.core.model.dense import Floats
from noisewise.core.support.checks import check_not_negative
from noisewise.policies.rules.baselines.linear_thompson import one_draw_per_feature
from noisewise.policies.rules.table_one.save import RULE as SAVE
from noisewise.policies.rules.table_one.weighted_oful_plus import RULE as WEIGHTED_OFUL_PLUS
from noisewise.policies.rules.table_one.weighted_oful_plus import Weighting, cautious_radius, make_weighting
from noisewise.policies.shared import layers
from noisewise.policies.shared.bounded_noise import BoundedNoiseOptions, LayeredOptions
from noisewise.policies.shared.layers import descend_among, is_wide, layer
from noisewise.policies.shared.least_squares import Setting, State, make_setting
from noisewise.policies.shell.options import constructor, option


class Params(NamedTuple):
    """What does not change during a run."""

    setting: Setting
    weighting: Weighting
    spread: float


def make_params(actions: ActionSet, horizon: int | None, options: dict[str, Any]) -> Params:
    """Check the options."""
    spread = check_not_negative("spread", options["spread"])
    return Params(make_setting(actions, options), make_weighting(actions, horizon, options), spread)


def choose(params: Params, state: State, allowed: Mask, sigma: float, draws: Floats) -> int:
    """The best action under a draw that is as wide as the confidence set."""
    radius = cautious_radius(params.setting.radius, params.weighting, state.model)
    drawn = perturbed_means(state.model, draws, params.spread * radius)
    return first_best(drawn, state.model.squared_widths, allowed)


def choose_unknown(
    params: layers.Params, state: layers.State, allowed: Mask, sigma: float, draws: Floats
) -> int:
    """The best remaining action under a draw from the layer, if it is wide there; else the widest."""
    level, remaining = descend_among(params, state, allowed)
    drawn = perturbed_means(layer(state.layers, level), draws, params.spread * state.radii[level])
    action = first_best(drawn, state.layers.squared_widths[level], remaining)
    widest = first_largest(state.layers.squared_widths[level], remaining)
    if is_wide(params, state.layers.squared_widths, level, widest) and not is_wide(
        params, state.layers.squared_widths, level, action
    ):
        return widest
    return action


RULE = replace(
    WEIGHTED_OFUL_PLUS,
    name="linnats",
    make_params=make_params,
    choose=choose,
    n_draws=one_draw_per_feature,
    reconstruction=True,
    reference="Xu, Min and Wang, NeurIPS 2023, for known variances",
    year=2023,
    guarantee="anytime certificate; cumulative regret d^1.5·√(Σσ²) + d^1.5, up to logarithms",
)
UNKNOWN = replace(
    SAVE,
    name="linnats_unknown",
    choose=choose_unknown,
    n_draws=one_draw_per_feature,
    reconstruction=True,
    reference="Xu, Min and Wang, NeurIPS 2023, on the layers of SAVE",
    year=2023,
    guarantee="anytime certificate; the original: cumulative regret d^1.5·√(Σσ²) + d^1.5, up to logarithms",
)


class LinnatsOptions(BoundedNoiseOptions):
    """LinNATS for known variances (our reconstruction): Thompson sampling with cautious weights."""

    spread: float = option(1.0, "The draw's standard deviations in radii; 1 as derived, 0 is greedy.")


linnats = constructor(RULE, LinnatsOptions)


class LinnatsUnknownOptions(LayeredOptions):
    """LinNATS for unknown variances (our reconstruction): Thompson sampling in layers, blind to sigma."""

    scale: float = option(
        1.0, "Multiplies the stochastic part of the radii; 1 is the reconstruction as derived."
    )
    spread: float = option(1.0, "The draw's standard deviations in radii; 1 as derived.")
    trust_after: float = option(
        64.0,
        "Layer l trusts its measured variance once 2ˡ exceeds this times a square root of a logarithm; 64 "
        "as in SAVE.",
    )


linnats_unknown = constructor(UNKNOWN, LinnatsUnknownOptions)
