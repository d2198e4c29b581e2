"""Linear Thompson sampling: measure what is best under a draw from the variance-weighted posterior.

Each round: draw ``θ̃`` from ``N(θ̂, scale²·V⁻¹)``, measure the action of the largest ``<θ̃, a>``, learn it
with its sigma. ``N(θ̂, V⁻¹)`` is the posterior of the prior ``N(0, I/λ)`` under Gaussian noise.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from noisewise.actions import ActionSet
from noisewise.core.choice.selection import Mask, first_best
from noisewise.core.model.covariances import perturbed_means
from noisewise.core.model.dense import Floats, theta
from noisewise.core.model.vectors import spread
from noisewise.core.support.checks import check_not_negative
from noisewise.policies.rules.baselines.widest import RULE as WIDEST
from noisewise.policies.shared.least_squares import HasDenseModel, Setting, State, make_setting
from noisewise.policies.shell.on_sets import OnSets
from noisewise.policies.shell.options import SharedOptions, constructor, option


class Params(NamedTuple):
    """What does not change during a run."""

    setting: Setting
    scale: float


def make_params(actions: ActionSet, horizon: int | None, options: dict[str, Any]) -> Params:
    """Check the options."""
    return Params(make_setting(actions, options), check_not_negative("scale", options["scale"]))


def choose(params: Params, state: State, allowed: Mask, sigma: float, draws: Floats) -> int:
    """The best action under a draw from ``N(θ̂, scale²·V⁻¹)``."""
    drawn = perturbed_means(state.model, draws, params.scale)
    return first_best(drawn, state.model.squared_widths, allowed)


def one_draw_per_feature(params: Params) -> int:
    """A normal number for every feature."""
    return int(params.setting.columns.shape[0])


def aim(params: Params, state: HasDenseModel, draws: Floats, direction: Floats) -> float:
    """On a set of vectors: the best action for the same draw."""
    direction[:] = theta(state.model) + params.scale * np.dot(spread(state.model), draws)
    return 0.0


RULE = replace(
    WIDEST,
    name="linear_thompson",
    make_params=make_params,
    choose=choose,
    n_draws=one_draw_per_feature,
    on_sets=OnSets(aim, random=True),
    pools=False,
    reference="Thompson 1933; linear: Agrawal and Goyal, ICML 2013, weighted by the variances",
    year=2013,
    guarantee="anytime certificate, whatever the scale; regret on average over the prior at scale 1",
    cost="n·dim + dim²",
)


class LinearThompsonOptions(SharedOptions):
    """Thompson sampling: draw a parameter from the weighted posterior, measure what is best under it."""

    scale: float = option(
        1.0, "Multiplies the posterior's standard deviations; 0 is `greedy`, 1 the posterior itself."
    )


linear_thompson = constructor(RULE, LinearThompsonOptions)
